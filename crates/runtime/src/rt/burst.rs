//! Timed paths: which paths are timed, and their samples (`holloway_abi`, modules `burst` and
//! `sample`; Perelman, Chilimbi, Calder 2005, section 4.1). The method has the two counters of
//! Arnold and Ryder 2001: nCheck is [`COUNTDOWN_SYMBOL`](holloway_abi::COUNTDOWN_SYMBOL), nInstr is
//! [`TimingState::remaining`].
//!
//! The entry points of [`sample`] and [`burst`] save only the general registers. So these functions
//! must not touch a vector register, and neither must the functions they call, except through an
//! entry point that saves the vector registers. They stand in a section of their own, which a test
//! disassembles.
//!
//! # Handlers
//! A signal handler may come anywhere, and its paths may be timed.
//! - During a visit: the interrupted visit overwrites the handler's changes of the state, on
//!   purpose. All of the handler's time, probes included, lies between two of the visit's own clock
//!   reads, and counts as a probe's time. (The second clock read may be that of the path that
//!   begins after the visit.) Program time then goes back to the visit's. The next sample moves the
//!   events that the handler found there.
//! - After the visit's last store and before woven code reads that store: the handler's time counts
//!   in the enclosing paths.
//! - Between a path's clock read and woven code's stores, or between the end of a path and the
//!   visit: the handler's time counts in the path (see [`TimingState::probe_at`]).
//!
//! Samples take their places in the ring with one instruction. If a handler jumps out of a visit,
//! the next visit goes on with the state: no flag says that a visit is under way.
//!
//! # Weights
//! A burst stands for its own paths and for the paths that interval_passed since the last burst. A
//! thread begins anywhere in an interval, also inside a burst, and so does the child of a fork. So
//! threads that are shorter than an interval are sampled as often as they should be. A first burst
//! stands for a whole interval.
//!
//! # Warming up
//! The first paths of a burst wait until their timed code, and the code of this file, is in the
//! caches. A path of 15 cycles took 915 cycles on average in bursts of one path, 156 in bursts of
//! ten, and 26 in bursts of a hundred (miniz_oxide, 10,000 paths between bursts, measured once). So
//! a burst begins with [`WARM_UP`](holloway_abi::WARM_UP) paths without a sample; the next sample
//! stands for them too. The rest of the effect (pulldown-cmark, measured once): times of a path are
//! 5 to 20 % longer on average with 10000:1 and 1000:1 than with 100:1, about a step of the clock
//! in the median, because the eight paths may have been other paths.
//!
//! # Short paths
//! The clock is read when all earlier instructions are done. So a path is timed from end to end,
//! where it usually overlaps with its neighbors. The own times of all paths of pulldown-cmark come
//! to 14 cycles a path with 100:1, and to 5 cycles in a whole run. This is no cost of the probe,
//! and nothing to subtract.
//!
//! # Limits
//! - Each image of a process has its own bursts and its own program time: another image's probes
//!   count in the paths around them.
//! - A path that begins in one thread and ends in another has no duration.
//! - The child of a raw `clone` has its parent's countdown until its first burst.
//!
//! Cost (2 cores, virtual, measured once): 150 cycles for a timed path that another path follows at
//! once; 115 of them are the two clock reads, which wait for earlier instructions. A timed path
//! that is a whole function takes 275 cycles, with four clock reads. A sample has 32 bytes,
//! compressed to 13 where no collector takes it.

use core::sync::atomic::{Ordering, compiler_fence};

use super::ring::Ring;
use super::timing::{Cell64, LEAVING, TimingState, WARMING};
use super::{arch, image};
use holloway_abi::{
    CHUNK, CLOCK_AGE, OPERAND, SAMPLE_CALLED, SAMPLE_CHECK, SAMPLE_FLAG_BITS, SAMPLE_MIGRATED,
    SAMPLE_PREEMPTED, SAMPLE_UNKNOWN, SAMPLE_UNWATCHED, SAMPLE_WORDS, digits,
};

/// Longest duration that a sample can hold. A longer one is unknown ([`SAMPLE_UNKNOWN`]).
const LONGEST_DURATION: u64 = (1 << (62 - SAMPLE_FLAG_BITS)) - 1;

/// Body of `__holloway_burst`.
#[unsafe(link_section = ".text.holloway_hot")]
pub(super) extern "C" fn burst() -> *mut u8 {
    let mut since = arch::path_end();
    let mut block = arch::slot();
    if block.is_null() {
        block = arch::enter_first();
        since = arch::path_end();
        let state = TimingState::in_ring(Ring::at_slot(block));
        if let Some(left) = arch::countdown().checked_sub(1) {
            state.count_from(left);
            return core::ptr::null_mut();
        }
        arch::set_countdown(u32::MAX); // as the caller left it, before there was a state
    }
    let state = TimingState::in_ring(Ring::at_slot(block));
    let (probe, since) = state.probe_at(since);
    let time = state.time_at(probe, since, state.visit.get());
    if !state.is_quiet() {
        arch::tend(time);
    }
    let interval_passed = state.remaining.get() == 0 && state.due.get() != 0;
    if interval_passed || arch::countdown().wrapping_add(1) != state.left.get() {
        state.unsampled.set(time);
    }
    state.begin_timed_path();
    state.leave(time, NextPath::Timed);
    block
}

/// Body of `__holloway_sample`.
#[unsafe(link_section = ".text.holloway_hot")]
pub(super) extern "C" fn sample(word: u32, start: u64, inner: u64, end: u64) -> *mut u8 {
    let block = arch::slot();
    if block.is_null() {
        // The path began in another thread, whose stack this thread goes on with.
        if image::times_all_paths() {
            return arch::enter_first();
        }
        return block;
    }
    let ring = Ring::at_slot(block);
    let state = TimingState::in_ring(ring);
    let (probe, end) = state.probe_at(end);
    let inner_before = state.inner();
    let is_last = word & OPERAND != 0;
    let cost = if is_last {
        &state.overhead
    } else {
        &state.bias
    };
    let time = state.time_at(probe, end, cost.get());
    let mut flags = 0;
    if !state.is_quiet() || end.wrapping_sub(state.clock.get()) >= CLOCK_AGE {
        flags = arch::tend(time);
    }
    let bias = u64::from(state.bias.get());
    let mut duration = end.wrapping_sub(probe).wrapping_sub(start);
    if duration > LONGEST_DURATION {
        (duration, flags) = (bias, flags | SAMPLE_UNKNOWN);
    }
    let timed_inside = inner_before.wrapping_sub(inner & !WARMING).min(duration);
    let flags = flags | event_flags(state, start, time);
    if inner & WARMING == 0 {
        let sample = Sample {
            word: word & !OPERAND,
            start,
            duration,
            timed_inside,
            flags,
            paths: take_pending(state),
        };
        write(ring, sample);
    }
    let own = (duration - timed_inside).saturating_sub(bias);
    state.inner.set(inner_before.wrapping_add(own));
    let is_timed = image::times_all_paths() || (!is_last && state.next_is_timed(time));
    let next = if is_timed && !is_last {
        NextPath::Timed
    } else {
        NextPath::Untimed
    };
    state.leave(time, next);
    if is_timed {
        block
    } else {
        core::ptr::null_mut()
    }
}

/// Paths that a sample stands for; none stay pending.
#[inline(always)]
fn take_pending(state: &TimingState) -> u32 {
    if image::times_all_paths() {
        return 1;
    }
    let paths = state.pending.get();
    state.pending.set(0);
    paths.min(!OPERAND)
}

/// Flags for the events since a path's start.
#[inline(always)]
fn event_flags(state: &TimingState, start: u64, time: u64) -> u32 {
    let mut flags = 0;
    if arch::countdown() != state.left.get() {
        state.unsampled.set(time);
        state.left.set(arch::countdown());
        flags |= SAMPLE_CALLED;
    }
    let mut since = |event: &Cell64, flag| {
        if is_after(event.get(), start) {
            flags |= flag;
            if is_after(event.get(), time) {
                // A handler that was timed during a visit found the event. Program time went back
                // to the visit's, so the path after the visit has the flag, too.
                event.set(time);
            }
        }
    };
    since(&state.preempted, SAMPLE_PREEMPTED);
    since(&state.migrated, SAMPLE_MIGRATED);
    since(&state.unsampled, SAMPLE_CALLED);
    if state.is_blind() {
        flags |= SAMPLE_UNWATCHED;
    }
    flags
}

/// The path that begins where a visit ends.
#[derive(Clone, Copy)]
enum NextPath {
    /// A timed path begins at once.
    Timed,
    /// No path begins at once, or an untimed one.
    Untimed,
}

/// The sample of a timed path that has ended.
#[derive(Clone, Copy)]
struct Sample {
    word: u32,
    start: u64,
    duration: u64,
    timed_inside: u64,
    flags: u32,
    paths: u32,
}

/// Appends a sample to the ring.
#[inline(always)]
fn write(ring: Ring, sample: Sample) {
    const BYTES: u64 = 4 * SAMPLE_WORDS as u64;
    let Sample {
        word,
        start,
        duration,
        timed_inside,
        flags,
        paths,
    } = sample;
    let mut words: [u32; SAMPLE_WORDS] = [
        word,
        OPERAND | start as u32,
        OPERAND | (start >> 31) as u32,
        OPERAND | duration as u32,
        OPERAND | ((duration >> 31) as u32) << SAMPLE_FLAG_BITS | flags,
        OPERAND | timed_inside as u32,
        OPERAND | (timed_inside >> 31) as u32,
        OPERAND | paths,
    ];
    words[4] |= digits(words) << SAMPLE_CHECK;
    let place = ring.take_places(BYTES);
    for (position, word) in (place..).step_by(4).zip(&words) {
        ring.put(position, *word);
    }
    if place.wrapping_add(BYTES - 4) & (CHUNK - 1) < BYTES {
        arch::make_space(); // the sample has a chunk's first place
    }
}

impl TimingState {
    /// Cycles of all timed paths that ended, without the mark.
    #[inline(always)]
    fn inner(&self) -> u64 {
        self.inner.get() & !WARMING
    }

    /// Paths that pass before the next burst: on average as many as asked for, at random, so that
    /// bursts are never in step with the program.
    #[inline(always)]
    fn next_threshold(&self) -> u32 {
        let pass = self.pass.get();
        let spread = (pass / 4).max(pass.min(4));
        pass - spread + self.below(2 * spread + 1)
    }

    /// Begins a timed path, inside a burst or as its first path.
    #[inline(always)]
    fn begin_timed_path(&self) {
        let timed = self.timed.get();
        let warm_up = self.warm_up();
        let (remaining, paths) = match self.remaining.get() {
            0 => (timed + warm_up, self.due.get() + 1),
            remaining => (remaining, 1),
        };
        self.remaining.set(remaining - 1);
        let is_warming = warm_up > 0 && remaining > timed;
        let warming = if is_warming { WARMING } else { 0 };
        self.inner.set(self.inner() | warming);
        self.pending.set(self.pending.get().saturating_add(paths));
        if remaining > 1 {
            self.count_from(0);
        } else {
            let due = self.next_threshold();
            self.due.set(due);
            self.count_from(due);
        }
    }

    /// Does a timed path begin where a timed path has just ended?
    #[inline(always)]
    fn next_is_timed(&self, time: u64) -> bool {
        if self.remaining.get() == 0 {
            let left = arch::countdown().wrapping_sub(1);
            if left as i32 >= 0 {
                self.count_from(left);
                self.unsampled.set(time);
                return false;
            }
        }
        self.begin_timed_path();
        true
    }

    /// Ends a visit that began at the program time `time`: goes on watching, and lets program time
    /// go on.
    #[inline(always)]
    fn leave(&self, time: u64, next: NextPath) {
        if !self.is_quiet() {
            arch::tend(LEAVING);
        }
        match next {
            NextPath::Timed => self.resume.set(time), // woven code reads the clock
            NextPath::Untimed => self.resume_at(time, arch::clock()),
        }
    }

    /// The clock when the last visit ended, or, until woven code has read the clock, when it began.
    #[inline(always)]
    fn seen(&self) -> u64 {
        self.probe.get().wrapping_add(self.resume.get())
    }

    /// The cycles of probes at the clock `now`, which the caller has just read. The second result
    /// is `now`, or the clock at a handler's end if the handler was timed after `now`: its cycles
    /// are in the first result.
    #[inline(always)]
    fn probe_at(&self, now: u64) -> (u64, u64) {
        let probe = self.probe.get();
        compiler_fence(Ordering::SeqCst);
        let seen = self.seen();
        // A handler that was timed while woven code wrote the two numbers leaves a sum that is
        // ahead of the clock.
        let now = if seen > now {
            seen.min(arch::clock())
        } else {
            now
        };
        (probe, now)
    }

    /// The program time of a visit that began at `since`. The probe's assumed `cost` before it is
    /// subtracted. Program time never goes back: otherwise an event of an earlier visit would seem
    /// to come after this visit.
    #[inline(always)]
    fn time_at(&self, probe: u64, since: u64, cost: u32) -> u64 {
        let now = since.wrapping_sub(probe);
        let ran = since.saturating_sub(self.seen());
        now.wrapping_sub(ran.min(u64::from(cost)))
    }
}

/// Is `time` after `other`?
#[inline(always)]
fn is_after(time: u64, other: u64) -> bool {
    time.wrapping_sub(other) as i64 > 0
}
