//! What timed paths need beforehand: how often to burst, the cost of a probe, the resolution of the
//! clock, and where a thread's bursts begin.
//!
//! A cost is the least of many empty probes, run by the same instructions as the woven probes, in a
//! ring that no other thread knows yet. Every disturbance makes a probe longer, so the least cost
//! is the same each time, to a few cycles.
//!
//! Cost: some 40 µs for each ring.

use super::ring::Ring;
use super::runtime::Runtime;
use super::timing::TimingState;
use super::{arch, image, proc, report, sys, watch};
use holloway_abi::environment::BURST;
use holloway_abi::{BurstState, DEFAULT_BURST_RATE, OPERAND};

/// Empty probes in a batch. The clock goes in steps, so only the mean of a batch is precise.
const PROBES: u64 = 16;

/// Batches, of which the least mean counts.
const BATCHES: u32 = 16;

/// Number of short times of different lengths, between which the clock's steps show.
const LENGTHS: u32 = 64;

/// Reads how often to burst, from the environment.
pub(super) fn find_burst(runtime: &mut Runtime) {
    runtime.burst = DEFAULT_BURST_RATE;
    let Runtime {
        scratch, directory, ..
    } = runtime;
    if !image::has_bursts() || !proc::variable(BURST.name.as_bytes(), scratch, directory) {
        return;
    }
    match BURST.parse(directory.as_bytes()) {
        Ok(rate) => runtime.burst = rate,
        Err(_) => report::reject_burst(runtime),
    }
}

/// Begins the state of a ring that no other thread knows yet, and whose words are all zero. The
/// calling thread will own the ring.
///
/// In the child of a fork (`parent`), the parent's program time goes on, and so does the weight of
/// the timed path that both are in. The countdown to the next burst starts anew: otherwise children
/// that end before the burst would never be sampled.
pub(super) fn begin(runtime: &Runtime, ring: Ring, parent: Option<BurstState>) {
    arch::set_slot(ring.header().cast());
    let state = TimingState::in_ring(ring);
    if let Some(parent) = parent {
        // SAFETY: the state's bytes, which no other thread uses.
        unsafe { ring.state().write(parent) };
        watch::begin(runtime, state);
        state.random.set(seed());
        start_phase(state); // the parent goes on with its own countdown
        return;
    }
    state.random.set(seed());
    watch::begin(runtime, state);
    calibrate(ring, state);
    state.pass.set(runtime.burst.pass);
    state.timed.set(runtime.burst.timed);
    state.pending.set(0);
    start_phase(state);
}

/// Begins the state of a new owner in the ring of a dead thread.
pub(super) fn hand_on(runtime: &Runtime, ring: Ring) {
    let state = TimingState::in_ring(ring);
    watch::begin(runtime, state);
    state.pending.set(0);
    start_phase(state);
}

/// Start of the random numbers, different for each thread and process.
fn seed() -> u64 {
    let spread = u64::from(sys::thread_id()).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (arch::clock() ^ spread) | 1
}

/// Begins anywhere in an interval: at a path that passes, at a path that warms a burst up, or at a
/// path of a burst. So each path is timed as often as if the thread had run forever.
fn start_phase(state: &TimingState) {
    let pass = state.pass.get();
    let timed = state.timed.get();
    let burst = timed + state.warm_up();
    let phase = state.below(pass + burst);
    let inside = phase.saturating_sub(pass);
    if inside >= timed {
        // The first sample also stands for the paths of this interval before the thread began.
        let before = pass + burst - inside;
        state
            .pending
            .set(state.pending.get().saturating_add(before));
    }
    state.remaining.set(inside);
    state.due.set(pass);
    state.count_from(if inside > 0 { 0 } else { phase });
}

/// Measures empty probes. No path has passed yet, so none warms up.
fn calibrate(ring: Ring, state: &TimingState) {
    state.clock.set(arch::clock());
    state.timed.set(1);
    state.remaining.set(u32::MAX);
    state.count_from(0);
    let (bias, spread) = least_samples(state);
    let overhead = least_ends(state);
    let resolution = step(bias).max(spread);
    let visit = if image::has_bursts() {
        least_visits(state)
    } else {
        0
    };
    ring.clear_words();
    for time in [&state.inner, &state.unsampled] {
        time.set(0);
    }
    for event in [&state.preempted, &state.migrated] {
        event.set(0);
    }
    state.bias.set(bias as u32);
    state.resolution.set(resolution as u32);
    state.overhead.set(overhead as u32);
    state.visit.set(visit as u32);
    let now = arch::clock();
    state.resume_at(now, now);
}

/// The program time.
#[inline(always)]
fn program_time(state: &TimingState) -> u64 {
    arch::path_start().wrapping_sub(state.probe.get())
}

/// Begins a path after a visit, as woven code does.
#[inline(always)]
fn begin_path(state: &TimingState) -> u64 {
    let (inner, start) = (state.inner.get(), state.resume.get());
    let now = arch::path_start();
    state.inner.set(inner);
    state.resume_at(start, now);
    start
}

/// Duration of an empty path, and the spread of durations to both sides of their mean.
fn least_samples(state: &TimingState) -> (u64, u64) {
    let (mut bias, mut all) = (u64::MAX, u64::MAX);
    for _ in 0..BATCHES {
        let (mut start, mut sum) = (program_time(state), 0_u64);
        for _ in 0..PROBES {
            let inner = state.inner.get();
            let end = arch::path_end();
            let duration = end.wrapping_sub(state.probe.get()).wrapping_sub(start);
            bias = bias.min(duration);
            sum = sum.wrapping_add(duration);
            arch::call_sample(1, start, inner, end);
            start = begin_path(state);
        }
        all = all.min(sum);
    }
    (bias, 2 * all.saturating_sub(PROBES * bias) / PROBES)
}

/// Program time of an empty path after which no path begins.
fn least_ends(state: &TimingState) -> u64 {
    let mut overhead = u64::MAX;
    for _ in 0..BATCHES {
        let since = program_time(state);
        let mut start = since;
        for _ in 0..PROBES {
            let inner = state.inner.get();
            arch::call_sample(OPERAND | 1, start, inner, arch::path_end());
            start = program_time(state);
        }
        overhead = overhead.min(start.wrapping_sub(since) / PROBES);
    }
    overhead
}

/// The clock's step: the largest gap between two measured times, among short times of all lengths.
/// Nothing is measured between two steps.
fn step(bias: u64) -> u64 {
    let mut occurred = 1_u128; // bit n: n cycles more than the empty path occurred
    for length in 0..LENGTHS {
        let start = arch::path_start();
        arch::spend(length);
        let over = arch::path_end().wrapping_sub(start).wrapping_sub(bias);
        if over < u64::from(u128::BITS) {
            occurred |= 1 << over;
        }
    }
    let (mut gap, mut largest) = (0, 0);
    while occurred > 1 {
        occurred >>= 1;
        gap += 1;
        if occurred & 1 == 1 {
            largest = gap.max(largest);
            gap = 0;
        }
    }
    if largest == 0 {
        u128::BITS.into()
    } else {
        largest
    }
}

/// Cycles of a visit of `__holloway_burst` before its clock read.
fn least_visits(state: &TimingState) -> u64 {
    let mut visit = u64::MAX;
    for _ in 0..BATCHES {
        let since = program_time(state);
        for _ in 0..PROBES {
            arch::set_countdown(u32::MAX);
            arch::call_burst();
            begin_path(state);
        }
        visit = visit.min(program_time(state).wrapping_sub(since) / PROBES);
    }
    visit
}

/// The state of the calling thread's timed paths, if it has one.
pub(super) fn present() -> Option<BurstState> {
    let block = arch::slot();
    // SAFETY: a ring's state stays mapped; any bytes are a valid state.
    (image::is_timed() && !block.is_null()).then(|| unsafe { Ring::at_slot(block).state().read() })
}

/// Excludes the thread's time since `since` from program time.
pub(super) fn exclude_since(since: u64) {
    let block = arch::slot();
    if image::is_timed() && !block.is_null() {
        let state = TimingState::in_ring(Ring::at_slot(block));
        let taken = arch::clock().wrapping_sub(since);
        state.probe.set(state.probe.get().wrapping_add(taken));
    }
}
