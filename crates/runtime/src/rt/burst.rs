//! Timed paths: which paths are timed, and what is said of each (`holloway_abi`, "Timed paths"; Perelman,
//! Chilimbi, Calder 2005, section 4.1, with the two counters of Arnold and Ryder 2001, here nCheck
//! in [`COUNTDOWN_SYMBOL`] and nInstr in [`State::remaining`]).
//!
//! [`sample`] and [`burst`] are called with nothing but the general registers kept, so they and all they call without a thunk that
//! keeps the rest must not touch a vector register. They stand in a section of their own, which a test disassembles. State is
//! reached by atomic loads and stores (relaxed, so plain moves), which a compiler doesn't join into vectors.
//!
//! # Handlers
//! A signal handler may come anywhere, and be timed itself. What it changes of the state is overwritten by the interrupted visit, on purpose: all the handler
//! took, its probes included, lies between two of the visit's own clock reads, and is a probe's time; the second may be that of the path that begins behind the visit. Program time goes back to the visit's then, and what
//! the handler found to have happened is moved there by the next sample. One that comes after the visit's last store, and before woven code has read it, is in the enclosing paths' time. A handler that comes between a path's clock read and the numbers that woven code writes then is in the path's time. So is one between the end and the visit ([`State::probe_at`]).
//! Samples take their places in the ring with one instruction. A handler that jumps out of a visit leaves a state that the next visit goes on with: no flag says that one is under way.
//!
//! # Weights
//! A burst stands for the paths that passed since the last one and its own. A thread begins anywhere in an interval, also in a burst, and so does the child of a fork, so that
//! those too short for a whole interval are met as often as they should be; a first burst then stands for a whole interval.
//!
//! # Warming up
//! The first paths of a burst wait for their timed code, and for this file's, to come into the caches: a path of 15 cycles took 915 on average where bursts are of one path,
//! 156 where they are of ten, 26 of a hundred (miniz_oxide's, after 10,000 paths each, measured once). So a burst begins with paths of which nothing is said
//! ([`WARM_UP`](holloway_abi::WARM_UP)); the sample after them stands for them too. What is left (pulldown-cmark, measured once): times of one path are 5 to 20 % longer on average with 10000:1 and 1000:1 than
//! with 100:1, about a step of the clock in the median, for the eight may have been other paths.
//!
//! # Short paths
//! The clock is read when all before it is done, so a path is timed from end to end, where in its place among others it overlaps with them. Own times of all paths of that program, 5 cycles each in a
//! whole run, come to 14 a path with 100:1: that is no cost of the probe, and nothing to be subtracted.
//!
//! # Limits
//! Each image of a process has bursts and a program time of its own: what another image's probes take is time of the paths around them. A path that begins in one
//! thread and ends in another has no duration. The child of a raw `clone` has its parent's countdown until its first burst.
//!
//! Cost (2 cores, virtual, measured once): a timed path that another follows at once takes 150 cycles, 115 of them the two clock reads that wait for what came before; one that is a whole function's 275,
//! with four. Of 32 bytes, compressed to 13 where no collector takes them.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, compiler_fence};

use super::ring::Ring;
use super::{arch, kind, watch};
use holloway_abi::{
    BurstState, CHUNK, CLOCK_AGE, OPERAND, SAMPLE_CALLED, SAMPLE_CHECK, SAMPLE_FLAG_BITS,
    SAMPLE_MIGRATED, SAMPLE_PREEMPTED, SAMPLE_UNKNOWN, SAMPLE_UNWATCHED, SAMPLE_WORDS, Timing,
    WARM_EVERY, WARM_UP, digits,
};

/// A number of the state.
#[repr(transparent)]
pub(super) struct Wide(AtomicU64);

impl Wide {
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

/// A smaller one.
#[repr(transparent)]
pub(super) struct Narrow(AtomicU32);

impl Narrow {
    #[inline(always)]
    pub(super) fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(super) fn set(&self, value: u32) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// A thread's [`BurstState`], with what is the runtime's own of it.
#[repr(C)]
pub(super) struct State {
    pub(super) probe: Wide,
    pub(super) inner: Wide,
    /// The program time at which the last visit began, and at which the program goes on behind it.
    pub(super) resume: Wide,
    /// Cycles of a function's last sample that are neither the path's nor measured: those behind the last clock read, and the bias. Of others it is the bias.
    pub(super) overhead: Narrow,
    /// Cycles of a visit of [`burst`] before its clock read.
    pub(super) visit: Narrow,
    /// Duration of an empty path.
    pub(super) bias: Narrow,
    /// How far apart two times of the same length may come out.
    pub(super) resolution: Narrow,
    /// Time stamp of the last clock.
    pub(super) clock: Wide,
    /// Program times at which the thread was found preempted, on another processor, to have begun a path that isn't timed.
    pub(super) preempted: Wide,
    pub(super) migrated: Wide,
    pub(super) unsampled: Wide,
    /// See [`watch`]: where something stands as long as nothing happened, and what.
    pub(super) place: Wide,
    pub(super) quiet: Wide,
    /// Involuntary switches, and processor, at the last look.
    pub(super) switches: Narrow,
    pub(super) processor: Narrow,
    /// Paths that the burst still times; paths that pass between the last burst and the next.
    pub(super) remaining: Narrow,
    pub(super) due: Narrow,
    /// Paths begun that no sample stands for yet; the countdown as the runtime left it.
    pub(super) pending: Narrow,
    pub(super) left: Narrow,
    /// For the next threshold.
    pub(super) random: Wide,
    /// Paths that pass before a burst, on average, and paths in one.
    pub(super) pass: Narrow,
    pub(super) most: Narrow,
}

const _: () = assert!(size_of::<State>() == size_of::<BurstState>());

impl State {
    /// The state behind a ring's header.
    #[inline(always)]
    pub(super) fn of<'a>(ring: Ring) -> &'a State {
        // SAFETY: aligned, in the first page of a ring's extent, which stays mapped; any bytes are a valid state.
        unsafe { &*ring.state().cast() }
    }

    /// Cycles of all timed paths that ended, without the mark.
    #[inline(always)]
    fn inner(&self) -> u64 {
        self.inner.get() & !WARMING
    }

    /// Has anything happened to the thread that has to be looked at?
    #[inline(always)]
    fn is_quiet(&self) -> bool {
        watch::load(self) == self.quiet.get()
    }

    /// Sets what the countdown starts from.
    #[inline(always)]
    pub(super) fn count_from(&self, paths: u32) {
        self.left.set(paths);
        arch::set_countdown(paths);
    }

    /// Paths that pass before the next burst: on average as many as asked for, never in step with the program.
    #[inline(always)]
    fn threshold(&self) -> u32 {
        let pass = self.pass.get();
        let spread = (pass / 4).max(pass.min(4));
        pass - spread + self.below(2 * spread + 1)
    }

    /// Paths that warm a burst up.
    #[inline(always)]
    pub(super) fn warm_up(&self) -> u32 {
        (self.pass.get() / WARM_EVERY).min(WARM_UP)
    }

    /// A random number below this.
    #[inline(always)]
    pub(super) fn below(&self, limit: u32) -> u32 {
        let mut random = self.random.get();
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        self.random.set(random);
        (((random >> 32) * u64::from(limit)) >> 32) as u32
    }

    /// A path begins that is timed, in a burst or as the first of one.
    #[inline(always)]
    fn take(&self) {
        let (most, warm_up) = (self.most.get(), self.warm_up());
        let (remaining, paths) = match self.remaining.get() {
            0 => (most + warm_up, self.due.get() + 1),
            remaining => (remaining, 1),
        };
        self.remaining.set(remaining - 1);
        let is_warming = warm_up > 0 && remaining > most;
        let warming = if is_warming { WARMING } else { 0 };
        self.inner.set(self.inner() | warming);
        self.pending.set(self.pending.get().saturating_add(paths));
        if remaining > 1 {
            self.count_from(0);
        } else {
            let due = self.threshold();
            self.due.set(due);
            self.count_from(due);
        }
    }

    /// Is the path timed that begins where another has just ended?
    #[inline(always)]
    fn goes_on(&self, at: u64) -> bool {
        if self.remaining.get() == 0 {
            let left = arch::countdown().wrapping_sub(1);
            if left as i32 >= 0 {
                self.count_from(left);
                self.unsampled.set(at);
                return false;
            }
        }
        self.take();
        true
    }

    /// The end of a visit that began at the program time `at`: watches on, and reads the clock last. Where a timed path begins behind the visit, woven
    /// code does that.
    #[inline(always)]
    fn leave(&self, at: u64, goes_on: bool) {
        if !self.is_quiet() {
            arch::tend(watch::LEAVING);
        }
        if goes_on {
            self.resume.set(at);
        } else {
            self.resume_at(at, arch::clock());
        }
    }

    /// The program goes on at the program time `at`, when the clock is `now`.
    #[inline(always)]
    pub(super) fn resume_at(&self, at: u64, now: u64) {
        self.resume.set(at);
        compiler_fence(Ordering::SeqCst); // a handler between the two finds that the visit took no time
        self.probe.set(now.wrapping_sub(at));
    }

    /// The clock when the last visit ended; before woven code has read that, when it began.
    #[inline(always)]
    fn seen(&self) -> u64 {
        self.probe.get().wrapping_add(self.resume.get())
    }

    /// What probes have taken when the clock was `now`, as somebody has just read it; and `now`, or if a handler was timed after
    /// that, the clock when that was over: what comes after `now` is in the sum.
    #[inline(always)]
    fn probe_at(&self, now: u64) -> (u64, u64) {
        let probe = self.probe.get();
        compiler_fence(Ordering::SeqCst);
        let seen = self.seen();
        // A handler that was timed while woven code wrote the two numbers leaves a sum that lies ahead.
        let now = if seen > now {
            seen.min(arch::clock())
        } else {
            now
        };
        (probe, now)
    }
}

impl State {
    /// The program time of a visit that began at `since`. So much before it is the probe's as that is taken to cost, but program time never goes back, for
    /// what happened at an earlier visit would seem to have happened later.
    #[inline(always)]
    fn time_at(&self, probe: u64, since: u64, cost: u32) -> u64 {
        let now = since.wrapping_sub(probe);
        let ran = since.saturating_sub(self.seen());
        now.wrapping_sub(ran.min(u64::from(cost)))
    }
}

/// Is a program time after another?
#[inline(always)]
fn is_after(time: u64, other: u64) -> bool {
    time.wrapping_sub(other) as i64 > 0
}

/// A timed path that has ended.
#[derive(Clone, Copy)]
struct Sample {
    word: u32,
    start: u64,
    duration: u64,
    others: u64,
    flags: u32,
    paths: u32,
}

/// Mark in `inner`, which woven code keeps for each timed path until it ends: the path is one of those that warm a burst up.
const WARMING: u64 = 1 << 63;

/// Longest duration that can be said. What seems longer has no duration ([`SAMPLE_UNKNOWN`]).
const LONGEST: u64 = (1 << (62 - SAMPLE_FLAG_BITS)) - 1;

/// Body of `__holloway_burst`.
#[unsafe(link_section = ".text.holloway_hot")]
pub(super) extern "C" fn burst() -> *mut u8 {
    let mut since = arch::path_end();
    let mut block = arch::slot();
    if block.is_null() {
        block = arch::enter_first();
        since = arch::path_end();
        let state = State::of(Ring::of_block(block));
        if let Some(left) = arch::countdown().checked_sub(1) {
            state.count_from(left);
            return core::ptr::null_mut();
        }
        arch::set_countdown(u32::MAX); // as the caller's check did, before there was a state
    }
    let state = State::of(Ring::of_block(block));
    let (probe, since) = state.probe_at(since);
    let at = state.time_at(probe, since, state.visit.get());
    if !state.is_quiet() {
        arch::tend(at);
    }
    let passed = state.remaining.get() == 0 && state.due.get() != 0;
    if passed || arch::countdown().wrapping_add(1) != state.left.get() {
        state.unsampled.set(at);
    }
    state.take();
    state.leave(at, true);
    block
}

/// Whether all paths are timed, without bursts.
fn times_all() -> bool {
    kind().traits().timing == Timing::All
}

/// Body of `__holloway_sample`.
#[unsafe(link_section = ".text.holloway_hot")]
pub(super) extern "C" fn sample(word: u32, start: u64, inner: u64, end: u64) -> *mut u8 {
    let block = arch::slot();
    if block.is_null() {
        // Begun by another thread, whose stack this one goes on with.
        return if times_all() {
            arch::enter_first()
        } else {
            block
        };
    }
    let ring = Ring::of_block(block);
    let state = State::of(ring);
    let (probe, end) = state.probe_at(end);
    let known = state.inner();
    let is_last = word & OPERAND != 0;
    let cost = if is_last {
        &state.overhead
    } else {
        &state.bias
    };
    let at = state.time_at(probe, end, cost.get());
    let mut flags = 0;
    if !state.is_quiet() || end.wrapping_sub(state.clock.get()) >= CLOCK_AGE {
        flags = arch::tend(at);
    }
    let bias = u64::from(state.bias.get());
    let mut duration = end.wrapping_sub(probe).wrapping_sub(start);
    if duration > LONGEST {
        (duration, flags) = (bias, flags | SAMPLE_UNKNOWN);
    }
    let others = known.wrapping_sub(inner & !WARMING).min(duration);
    let flags = flags | flags_of(state, start, at);
    if inner & WARMING == 0 {
        let sample = Sample {
            word: word & !OPERAND,
            start,
            duration,
            others,
            flags,
            paths: pending(state),
        };
        write(ring, sample);
    }
    let own = (duration - others).saturating_sub(bias);
    state.inner.set(known.wrapping_add(own));
    let next = if times_all() {
        block
    } else if is_last || !state.goes_on(at) {
        core::ptr::null_mut()
    } else {
        block
    };
    state.leave(at, !is_last && !next.is_null());
    next
}

/// Paths that a sample stands for.
#[inline(always)]
fn pending(state: &State) -> u32 {
    if times_all() {
        return 1;
    }
    let paths = state.pending.get();
    state.pending.set(0);
    paths.min(!OPERAND)
}

/// What happened since a path's start.
#[inline(always)]
fn flags_of(state: &State, start: u64, at: u64) -> u32 {
    let mut flags = 0;
    if arch::countdown() != state.left.get() {
        state.unsampled.set(at);
        state.left.set(arch::countdown());
        flags |= SAMPLE_CALLED;
    }
    let mut since = |time: &Wide, flag| {
        if is_after(time.get(), start) {
            flags |= flag;
            if is_after(time.get(), at) {
                time.set(at); // a handler that was timed during a visit found it: program time went back to the visit's, and the path behind it is marked, too
            }
        }
    };
    since(&state.preempted, SAMPLE_PREEMPTED);
    since(&state.migrated, SAMPLE_MIGRATED);
    since(&state.unsampled, SAMPLE_CALLED);
    if watch::is_blind(state) {
        flags |= SAMPLE_UNWATCHED;
    }
    flags
}

/// Appends a sample.
#[inline(always)]
fn write(ring: Ring, sample: Sample) {
    const SIZE: u64 = 4 * SAMPLE_WORDS as u64;
    let Sample {
        word,
        start,
        duration,
        others,
        flags,
        paths,
    } = sample;
    let mut words: [u32; SAMPLE_WORDS] = [
        word,
        OPERAND | start as u32,
        OPERAND | (start >> 31) as u32,
        OPERAND | duration as u32,
        OPERAND | ((duration >> 31) as u32) << SAMPLE_FLAG_BITS | flags,
        OPERAND | others as u32,
        OPERAND | (others >> 31) as u32,
        OPERAND | paths,
    ];
    words[4] |= digits(words) << SAMPLE_CHECK;
    let place = ring.take_places(SIZE);
    for (position, word) in (place..).step_by(4).zip(&words) {
        ring.put(position, *word);
    }
    if place.wrapping_add(SIZE - 4) & (CHUNK - 1) < SIZE {
        arch::make_space(); // a first place of a chunk is among them
    }
}
