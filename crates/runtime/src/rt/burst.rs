//! Decides which paths are timed, and appends their samples (`holloway_abi`, modules `burst` and
//! `sample`; Perelman, Chilimbi, Calder 2005, section 4.1). The method uses the two
//! counters of Arnold and Ryder 2001: nCheck is
//! [`COUNTDOWN_SYMBOL`](holloway_abi::COUNTDOWN_SYMBOL), nInstr is [`TimingState::remaining`]. A
//! *visit* is a call of [`burst`] or [`sample`] from woven code.
//!
//! The entry points of [`sample`] and [`burst`] save only the general registers. So these functions
//! and their callees must not use a vector register, except through an entry point that saves the
//! vector registers. They are in a separate section, `.text.holloway_hot`, which a test
//! disassembles.
//!
//! # Signal handlers
//! A signal handler may interrupt any instruction, and its paths may be timed. There are three
//! cases:
//! - The handler interrupts a visit. The visit overwrites the handler's changes to the state, on
//!   purpose. The handler runs between two clock reads of the visit, so all of its time counts as
//!   time of a probe. (The second clock read may belong to the path that begins after the visit.)
//!   Program time then continues at the visit's program time. If the handler recorded an
//!   interruption, the next sample moves the interruption to that program time ([`event_flags`]).
//! - The handler runs after the visit's last store and before woven code reads that store. The
//!   handler's time counts in the enclosing paths.
//! - The handler runs between a path's clock read and woven code's stores, or between the end of a
//!   path and the visit. The handler's time counts in the path (see [`TimingState::probe_at`]).
//!
//! One instruction reserves the cells of a sample in the ring. If a handler jumps out of a visit,
//! the next visit continues with the state, because no flag marks an unfinished visit.
//!
//! # Weights
//! The samples of a burst stand for the burst's paths and for the untimed paths since the last
//! burst. A thread begins at a random point of an interval or of a burst, and so does the child of
//! a fork. So threads that are shorter than an interval are sampled in the right proportion. The
//! first burst of a thread stands for a complete interval.
//!
//! # Warm-up
//! The first paths of a burst wait until their timed code, and the code of this file, is in the
//! caches. A path of 15 cycles took 915 cycles on average in bursts of one path, 156 in bursts of
//! ten, and 26 in bursts of a hundred (miniz_oxide, 10,000 paths between bursts, measured once). So
//! a burst begins with [`WARM_UP`](holloway_abi::WARM_UP) paths without a sample. The next sample
//! stands for them too. Part of the effect remains (pulldown-cmark, measured once): the times of a
//! path are 5 to 20 % longer on average with 10000:1 and 1000:1 than with 100:1. The median is
//! longer by about one step of the clock. The reason is that the eight warm-up paths may be
//! executions of other paths.
//!
//! # Short paths
//! The clock is read when all earlier instructions are done. So a timed path does not overlap with
//! its neighbors, as it does without probes. The exclusive times of all paths of pulldown-cmark
//! have a mean of 14 cycles with 100:1, while the whole run has 5 cycles per path. This difference
//! is no cost of the probe, so it is not subtracted.
//!
//! # Limits
//! - Each image of a process has its own bursts and its own program time. The probes of one image
//!   count in the enclosing paths of another image.
//! - A path that begins in one thread and ends in another has no duration.
//! - The child of a raw `clone` has its parent's countdown until its first burst.
//!
//! Cost (2 cores, virtual, measured once): 150 cycles for a timed path that another path follows at
//! once; 115 of them are the two clock reads, which wait for earlier instructions. A timed path
//! that is a complete activation takes 275 cycles, with four clock reads. A sample has 32 bytes. If
//! no collector takes it, it is compressed to 13 bytes.

use core::sync::atomic::{Ordering, compiler_fence};

use super::ring::Ring;
use super::timing::{Field64, IN_PROBE, TimingState, WARM_UP_MARK};
use super::{arch, image};
use holloway_abi::{
    CHUNK, CLOCK_AGE, OPERAND, SAMPLE_CALLED, SAMPLE_CHECK, SAMPLE_FLAG_BITS, SAMPLE_MIGRATED,
    SAMPLE_PREEMPTED, SAMPLE_UNKNOWN, SAMPLE_UNWATCHED, SAMPLE_WORDS, digits,
};

/// Longest duration that a sample can hold. A longer one is unknown ([`SAMPLE_UNKNOWN`]).
const LONGEST_DURATION: u64 = (1 << (62 - SAMPLE_FLAG_BITS)) - 1;

/// Body of `__holloway_burst`: decides whether the path that begins is timed. Returns the ring if
/// it is, and null if it is not.
#[unsafe(link_section = ".text.holloway_hot")]
pub(super) extern "C" fn burst() -> *mut u8 {
    let mut visit_start = arch::path_end();
    let mut slot = arch::slot();
    if slot.is_null() {
        slot = arch::enter_first();
        visit_start = arch::path_end();
        let state = TimingState::in_ring(Ring::at_slot(slot));
        if let Some(countdown) = arch::countdown().checked_sub(1) {
            state.set_countdown(countdown);
            return core::ptr::null_mut();
        }
        arch::set_countdown(u32::MAX); // the caller's value, from before the state was created
    }
    let state = TimingState::in_ring(Ring::at_slot(slot));
    let (probe, visit_start) = state.probe_at(visit_start);
    let time = state.time_at(probe, visit_start, state.visit_cost.get());
    if !state.is_quiet() {
        arch::tend(time);
    }
    let interval_passed = state.remaining.get() == 0 && state.interval.get() != 0;
    if interval_passed || arch::countdown().wrapping_add(1) != state.last_countdown.get() {
        state.unsampled.set(time);
    }
    state.begin_timed_path();
    state.leave(time, NextPath::Timed);
    slot
}

/// Body of `__holloway_sample`: appends the sample of a timed path, and decides whether the next
/// path is timed. Returns the ring if it is, and null if it is not.
#[unsafe(link_section = ".text.holloway_hot")]
pub(super) extern "C" fn sample(word: u32, start: u64, inner: u64, end: u64) -> *mut u8 {
    let slot = arch::slot();
    if slot.is_null() {
        // The path began in another thread, whose stack this thread continues.
        if image::times_all_paths() {
            return arch::enter_first();
        }
        return slot;
    }
    let ring = Ring::at_slot(slot);
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
    if !state.is_quiet() || end.wrapping_sub(state.last_clock.get()) >= CLOCK_AGE {
        flags = arch::tend(time);
    }
    let bias = u64::from(state.bias.get());
    let mut duration = end.wrapping_sub(probe).wrapping_sub(start);
    if duration > LONGEST_DURATION {
        (duration, flags) = (bias, flags | SAMPLE_UNKNOWN);
    }
    let timed_inside = inner_before
        .wrapping_sub(inner & !WARM_UP_MARK)
        .min(duration);
    let flags = flags | event_flags(state, start, time);
    if inner & WARM_UP_MARK == 0 {
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
    let exclusive = (duration - timed_inside).saturating_sub(bias);
    state.inner.set(inner_before.wrapping_add(exclusive));
    let is_timed = image::times_all_paths() || (!is_last && state.next_is_timed(time));
    let next = if is_timed && !is_last {
        NextPath::Timed
    } else {
        NextPath::Untimed
    };
    state.leave(time, next);
    if is_timed {
        slot
    } else {
        core::ptr::null_mut()
    }
}

/// Takes the number of pending paths, which the sample stands for.
#[inline(always)]
fn take_pending(state: &TimingState) -> u32 {
    if image::times_all_paths() {
        return 1;
    }
    let paths = state.pending.get();
    state.pending.set(0);
    paths.min(!OPERAND)
}

/// Flags of a sample for the interruptions and untimed paths since the path's start.
#[inline(always)]
fn event_flags(state: &TimingState, start: u64, time: u64) -> u32 {
    let mut flags = 0;
    if arch::countdown() != state.last_countdown.get() {
        state.unsampled.set(time);
        state.last_countdown.set(arch::countdown());
        flags |= SAMPLE_CALLED;
    }
    let mut add_flag_if_inside = |event: &Field64, flag| {
        if is_after(event.get(), start) {
            flags |= flag;
            if is_after(event.get(), time) {
                // A handler with timed paths found the event during a visit. Program time then went
                // back to the visit's, so the path after the visit gets the flag, too.
                event.set(time);
            }
        }
    };
    add_flag_if_inside(&state.preempted, SAMPLE_PREEMPTED);
    add_flag_if_inside(&state.migrated, SAMPLE_MIGRATED);
    add_flag_if_inside(&state.unsampled, SAMPLE_CALLED);
    if state.is_unwatched() {
        flags |= SAMPLE_UNWATCHED;
    }
    flags
}

/// The path that begins at the end of a visit.
#[derive(Clone, Copy)]
enum NextPath {
    /// A timed path begins at once.
    Timed,
    /// No path begins at once, or an untimed path begins.
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
    let start_position = ring.reserve_cells(BYTES);
    for (position, word) in (start_position..).step_by(4).zip(&words) {
        ring.put(position, *word);
    }
    if start_position.wrapping_add(BYTES - 4) & (CHUNK - 1) < BYTES {
        arch::make_space(); // the sample contains the first cell of a chunk
    }
}

impl TimingState {
    /// Exclusive cycles of all timed paths that ended, without [`WARM_UP_MARK`].
    #[inline(always)]
    fn inner(&self) -> u64 {
        self.inner.get() & !WARM_UP_MARK
    }

    /// Draws the number of untimed paths before the next burst. Its mean is the requested number.
    /// It is random so that bursts are never in step with the program.
    #[inline(always)]
    fn next_interval(&self) -> u32 {
        let untimed = self.untimed.get();
        let spread = (untimed / 4).max(untimed.min(4));
        untimed - spread + self.random_below(2 * spread + 1)
    }

    /// Begins a timed path: the first path of a burst or a later one.
    #[inline(always)]
    fn begin_timed_path(&self) {
        let timed = self.timed.get();
        let warm_up = self.warm_up();
        let (remaining, paths) = match self.remaining.get() {
            0 => (timed + warm_up, self.interval.get() + 1),
            remaining => (remaining, 1),
        };
        self.remaining.set(remaining - 1);
        let is_warming = warm_up > 0 && remaining > timed;
        let warming = if is_warming { WARM_UP_MARK } else { 0 };
        self.inner.set(self.inner() | warming);
        self.pending.set(self.pending.get().saturating_add(paths));
        if remaining > 1 {
            self.set_countdown(0);
        } else {
            let interval = self.next_interval();
            self.interval.set(interval);
            self.set_countdown(interval);
        }
    }

    /// Begins the path after a timed path. Returns whether the new path is timed.
    #[inline(always)]
    fn next_is_timed(&self, time: u64) -> bool {
        if self.remaining.get() == 0 {
            let countdown = arch::countdown().wrapping_sub(1);
            if countdown as i32 >= 0 {
                self.set_countdown(countdown);
                self.unsampled.set(time);
                return false;
            }
        }
        self.begin_timed_path();
        true
    }

    /// Ends a visit that began at the program time `time`: lets program time continue, and watches
    /// for interruptions again.
    #[inline(always)]
    fn leave(&self, time: u64, next: NextPath) {
        if !self.is_quiet() {
            arch::tend(IN_PROBE);
        }
        match next {
            NextPath::Timed => self.resume.set(time), // woven code reads the clock
            NextPath::Untimed => self.resume_at(time, arch::clock()),
        }
    }

    /// The clock at the end of the last visit. Until woven code has read the clock after the visit,
    /// this is the clock at the beginning of the visit.
    #[inline(always)]
    fn resume_clock(&self) -> u64 {
        self.probe.get().wrapping_add(self.resume.get())
    }

    /// The cycles that probes took until the clock `now`, which the caller has just read. The
    /// second result is `now`. But if a handler with timed paths ran after the caller read `now`,
    /// the first result includes the handler's cycles, and the second result is the clock at the
    /// handler's end.
    #[inline(always)]
    fn probe_at(&self, now: u64) -> (u64, u64) {
        let probe = self.probe.get();
        compiler_fence(Ordering::SeqCst);
        let resumed = self.resume_clock();
        // If a handler with timed paths ran between woven code's stores of `resume` and `probe`,
        // their sum is ahead of the clock.
        let now = if resumed > now {
            resumed.min(arch::clock())
        } else {
            now
        };
        (probe, now)
    }

    /// The program time of a visit that began at the clock `visit_start`, minus the assumed `cost`
    /// of the probe before the visit. Program time never decreases. If it did, an event of an
    /// earlier visit would seem to come after this visit.
    #[inline(always)]
    fn time_at(&self, probe: u64, visit_start: u64, cost: u32) -> u64 {
        let now = visit_start.wrapping_sub(probe);
        let since_resume = visit_start.saturating_sub(self.resume_clock());
        now.wrapping_sub(since_resume.min(u64::from(cost)))
    }
}

/// Is `time` after `other`?
#[inline(always)]
fn is_after(time: u64, other: u64) -> bool {
    time.wrapping_sub(other) as i64 > 0
}
