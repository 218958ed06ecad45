//! The state of a thread's timed paths, which follows the header of its ring.
//!
//! All accesses to the state are relaxed atomic loads and stores. They compile to plain moves, and
//! the compiler does not merge them into vector instructions (see `burst`).

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, compiler_fence};

use super::arch;
use super::ring::Ring;
use holloway_abi::{BurstState, WARM_EVERY, WARM_UP};

/// Value in place of a program time: the events happened during a probe, so no sample shows them.
pub(super) const IN_PROBE: u64 = u64::MAX;

/// Bit of `inner` that marks a warm-up path. Woven code keeps the value of `inner` at the start of
/// each timed path until the path ends.
pub(super) const WARM_UP_MARK: u64 = 1 << 63;

/// A 64-bit field of the state.
#[repr(transparent)]
pub(super) struct Field64(AtomicU64);

impl Field64 {
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

/// A 32-bit field of the state.
#[repr(transparent)]
pub(super) struct Field32(AtomicU32);

impl Field32 {
    #[inline(always)]
    pub(super) fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(super) fn set(&self, value: u32) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// A thread's [`BurstState`], including the fields that are private to the runtime.
#[repr(C)]
pub(super) struct TimingState {
    /// Cycles that probes have taken.
    pub(super) probe: Field64,
    /// Exclusive cycles of all timed paths that ended, perhaps with [`WARM_UP_MARK`].
    pub(super) inner: Field64,
    /// Program time at the beginning of the last visit, and at which the program continues after
    /// that visit.
    pub(super) resume: Field64,
    /// Cost of a sample after which no path begins: the bias, and the cycles after the last clock
    /// read. The cost of any other sample is the bias.
    pub(super) overhead: Field32,
    /// Cycles of a visit of `burst::burst` before it reads the clock.
    pub(super) visit_cost: Field32,
    /// Measured duration of an empty path.
    pub(super) bias: Field32,
    /// Greatest difference between two measurements of the same duration.
    pub(super) resolution: Field32,
    /// Time stamp of the last clock record in the stream.
    pub(super) last_clock: Field64,
    /// Program time of the last visit that found that the thread had been preempted.
    pub(super) preempted: Field64,
    /// Program time of the last visit that found the thread on another processor.
    pub(super) migrated: Field64,
    /// Program time at which the thread last began an untimed path.
    pub(super) unsampled: Field64,
    /// Address of the word by which `watch` detects interruptions of the thread.
    pub(super) watched_word: Field64,
    /// Value of that word as long as nothing interrupted the thread.
    pub(super) quiet_value: Field64,
    /// Number of involuntary switches when `watch` last checked the thread.
    pub(super) switches: Field32,
    /// Processor when `watch` last checked the thread.
    pub(super) processor: Field32,
    /// Paths that the present burst will still time, warm-up paths included.
    pub(super) remaining: Field32,
    /// Untimed paths between the last burst and the next burst.
    pub(super) interval: Field32,
    /// Paths that have begun and that no sample stands for yet.
    pub(super) pending: Field32,
    /// The countdown that the runtime set last.
    pub(super) last_countdown: Field32,
    /// State of the random number generator.
    pub(super) random: Field64,
    /// Untimed paths before a burst, on average.
    pub(super) untimed: Field32,
    /// Paths that a burst times.
    pub(super) timed: Field32,
}

const _: () = assert!(size_of::<TimingState>() == size_of::<BurstState>());

impl TimingState {
    /// The state that follows a ring's header.
    #[inline(always)]
    pub(super) fn in_ring<'a>(ring: Ring) -> &'a TimingState {
        // SAFETY: aligned, in the first page of a ring's extent, which stays mapped; any bytes are
        // a valid state.
        unsafe { &*ring.state().cast() }
    }

    /// Sets the countdown.
    #[inline(always)]
    pub(super) fn set_countdown(&self, paths: u32) {
        self.last_countdown.set(paths);
        arch::set_countdown(paths);
    }

    /// Number of warm-up paths of a burst.
    #[inline(always)]
    pub(super) fn warm_up(&self) -> u32 {
        (self.untimed.get() / WARM_EVERY).min(WARM_UP)
    }

    /// A random number less than `limit` (xorshift).
    #[inline(always)]
    pub(super) fn random_below(&self, limit: u32) -> u32 {
        let mut random = self.random.get();
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        self.random.set(random);
        (((random >> 32) * u64::from(limit)) >> 32) as u32
    }

    /// Lets the program continue at the program time `time`, when the clock is `now`.
    #[inline(always)]
    pub(super) fn resume_at(&self, time: u64, now: u64) {
        self.resume.set(time);
        // For a handler between the two stores, the visit took no time.
        compiler_fence(Ordering::SeqCst);
        self.probe.set(now.wrapping_sub(time));
    }

    /// Did nothing interrupt the thread since `watch` last checked it?
    #[inline(always)]
    pub(super) fn is_quiet(&self) -> bool {
        // SAFETY: `watch::begin` set the address of an aligned word, which stays mapped as long as
        // the thread runs code of this image.
        let present = unsafe { (self.watched_word.get() as usize as *const u64).read_volatile() };
        present == self.quiet_value.get()
    }

    /// Are interruptions of this thread unknown, because `watch` cannot detect them cheaply?
    #[inline(always)]
    pub(super) fn is_unwatched(&self) -> bool {
        self.watched_word.get() == self.quiet_value.address()
    }
}
