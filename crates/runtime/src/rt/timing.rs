//! A thread's state of timed paths, which lies behind the header of its ring.
//!
//! The state is reached by atomic loads and stores. They are relaxed, so they compile to plain
//! moves, and the compiler does not join them into vector instructions (see `burst`).

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, compiler_fence};

use super::arch;
use super::ring::Ring;
use holloway_abi::{BurstState, WARM_EVERY, WARM_UP};

/// In place of the program time of a look: the events happened in a probe's time.
pub(super) const LEAVING: u64 = u64::MAX;

/// Mark in `inner`, which woven code keeps for each timed path until it ends: the path is one of
/// those that warm a burst up.
pub(super) const WARMING: u64 = 1 << 63;

/// A 64-bit number of the state.
#[repr(transparent)]
pub(super) struct Cell64(AtomicU64);

impl Cell64 {
    #[inline(always)]
    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(super) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    pub(super) fn address(&self) -> u64 {
        (&raw const *self).addr() as u64
    }
}

/// A 32-bit number of the state.
#[repr(transparent)]
pub(super) struct Cell32(AtomicU32);

impl Cell32 {
    #[inline(always)]
    pub(super) fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(super) fn set(&self, value: u32) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// A thread's [`BurstState`] with the runtime's own fields.
#[repr(C)]
pub(super) struct TimingState {
    pub(super) probe: Cell64,
    pub(super) inner: Cell64,
    /// The program time at which the last visit began, and at which the program goes on after it.
    pub(super) resume: Cell64,
    /// Cost of a sample after which no path begins: the cycles after the last clock read, and the
    /// bias. (The cost of any other sample is the bias.)
    pub(super) overhead: Cell32,
    /// Cycles of a visit of `burst::burst` before its clock read.
    pub(super) visit: Cell32,
    /// Duration of an empty path.
    pub(super) bias: Cell32,
    /// Greatest difference of two measurements of the same time.
    pub(super) resolution: Cell32,
    /// Time stamp of the last clock in the stream.
    pub(super) clock: Cell64,
    /// Program time at which the thread was last found preempted.
    pub(super) preempted: Cell64,
    /// Program time at which the thread was last found on another processor.
    pub(super) migrated: Cell64,
    /// Program time at which the thread last began an untimed path.
    pub(super) unsampled: Cell64,
    /// Address of the word that `watch` looks at.
    pub(super) place: Cell64,
    /// Value of that word as long as nothing happened to the thread.
    pub(super) quiet: Cell64,
    /// Involuntary switches at the last look.
    pub(super) switches: Cell32,
    /// Processor at the last look.
    pub(super) processor: Cell32,
    /// Paths that the burst still times.
    pub(super) remaining: Cell32,
    /// Paths that pass between the last burst and the next.
    pub(super) due: Cell32,
    /// Paths begun that no sample stands for yet.
    pub(super) pending: Cell32,
    /// The countdown as the runtime left it.
    pub(super) left: Cell32,
    /// State of the random numbers.
    pub(super) random: Cell64,
    /// Paths that pass before a burst, on average.
    pub(super) pass: Cell32,
    /// Paths that a burst times.
    pub(super) timed: Cell32,
}

const _: () = assert!(size_of::<TimingState>() == size_of::<BurstState>());

impl TimingState {
    /// The state behind a ring's header.
    #[inline(always)]
    pub(super) fn in_ring<'a>(ring: Ring) -> &'a TimingState {
        // SAFETY: aligned, in the first page of a ring's extent, which stays mapped; any bytes are
        // a valid state.
        unsafe { &*ring.state().cast() }
    }

    /// Sets the countdown.
    #[inline(always)]
    pub(super) fn count_from(&self, paths: u32) {
        self.left.set(paths);
        arch::set_countdown(paths);
    }

    /// Paths that warm a burst up.
    #[inline(always)]
    pub(super) fn warm_up(&self) -> u32 {
        (self.pass.get() / WARM_EVERY).min(WARM_UP)
    }

    /// A random number below `limit`.
    #[inline(always)]
    pub(super) fn below(&self, limit: u32) -> u32 {
        let mut random = self.random.get();
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        self.random.set(random);
        (((random >> 32) * u64::from(limit)) >> 32) as u32
    }

    /// Lets the program go on at the program time `time`, when the clock is `now`.
    #[inline(always)]
    pub(super) fn resume_at(&self, time: u64, now: u64) {
        self.resume.set(time);
        // A handler between the two stores finds that the visit took no time.
        compiler_fence(Ordering::SeqCst);
        self.probe.set(now.wrapping_sub(time));
    }

    /// Did nothing happen to the thread since the last look (see `watch`)?
    #[inline(always)]
    pub(super) fn is_quiet(&self) -> bool {
        // SAFETY: `watch::begin` set the address of an aligned word, which stays mapped as long as
        // the thread runs code of this image.
        let present = unsafe { (self.place.get() as usize as *const u64).read_volatile() };
        present == self.quiet.get()
    }

    /// Is it unknown what happens to this thread?
    #[inline(always)]
    pub(super) fn is_blind(&self) -> bool {
        self.place.get() == self.quiet.address()
    }
}
