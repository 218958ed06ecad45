//! Prepares the timing of paths: reads the rate of bursts, measures the cost of a probe and the
//! resolution of the clock, and chooses the start of a thread's bursts.
//!
//! A cost is the minimum over many empty probes. The same instructions as in woven code run these
//! probes, in a ring that no other thread knows yet. Every disturbance makes a probe longer. So the
//! minimum is the same each time, except for a few cycles.
//!
//! Cost: about 40 µs for each ring.

use super::ring::Ring;
use super::runtime::Runtime;
use super::timing::TimingState;
use super::{arch, image, proc, report, sys, watch};
use holloway_abi::environment::BURST;
use holloway_abi::{BurstState, DEFAULT_BURST_RATE, OPERAND};

/// Empty probes in a batch. The clock advances in steps, so only the mean of a batch is precise.
const PROBES: u64 = 16;

/// Number of batches. The result is the least mean of a batch.
const BATCHES: u32 = 16;

/// Number of loops of different lengths whose times show the clock's steps.
const LENGTHS: u32 = 64;

/// Reads the rate of bursts from the environment.
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

/// Initializes the state of timed paths in a new ring, whose words are all zero and which no other
/// thread knows yet. The calling thread will own the ring.
///
/// In the child of a fork, `parent` is the state of the forking thread. The child continues the
/// parent's program time and its pending paths. But the countdown to the next burst starts at a new
/// random value. Without that, children that end before the burst would never be sampled.
pub(super) fn begin(runtime: &Runtime, ring: Ring, parent: Option<BurstState>) {
    arch::set_slot(ring.header().cast());
    let state = TimingState::in_ring(ring);
    if let Some(parent) = parent {
        // SAFETY: the state's bytes, which no other thread uses.
        unsafe { ring.state().write(parent) };
        watch::begin(runtime, state);
        state.random.set(seed());
        start_phase(state); // the parent continues with its own countdown
        return;
    }
    state.random.set(seed());
    watch::begin(runtime, state);
    calibrate(ring, state);
    state.untimed.set(runtime.burst.untimed);
    state.timed.set(runtime.burst.timed);
    state.pending.set(0);
    start_phase(state);
}

/// Prepares the state in the ring of a dead thread for its new owner.
pub(super) fn hand_on(runtime: &Runtime, ring: Ring) {
    let state = TimingState::in_ring(ring);
    watch::begin(runtime, state);
    state.pending.set(0);
    start_phase(state);
}

/// The seed of the random numbers. It differs between threads and processes.
fn seed() -> u64 {
    let thread_hash = u64::from(sys::thread_id()).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (arch::clock() ^ thread_hash) | 1
}

/// Chooses a random start in the cycle of untimed paths, warm-up paths, and timed paths. So each
/// path is timed as often as if the thread had always run.
fn start_phase(state: &TimingState) {
    let untimed = state.untimed.get();
    let timed = state.timed.get();
    let burst = timed + state.warm_up();
    let phase = state.random_below(untimed + burst);
    let inside = phase.saturating_sub(untimed);
    if inside >= timed {
        // The first sample also stands for the paths of this interval before the thread began.
        let before = untimed + burst - inside;
        state
            .pending
            .set(state.pending.get().saturating_add(before));
    }
    state.remaining.set(inside);
    state.interval.set(untimed);
    state.set_countdown(if inside > 0 { 0 } else { phase });
}

/// Measures empty probes. The rate of bursts is not set yet, so there are no warm-up paths.
fn calibrate(ring: Ring, state: &TimingState) {
    ring.rewind_chunk();
    state.last_clock.set(arch::clock());
    state.timed.set(1);
    state.remaining.set(u32::MAX);
    state.set_countdown(0);
    let (bias, spread) = measure_samples(state);
    let overhead = measure_ends(state);
    let resolution = clock_step(bias).max(spread);
    let visit_cost = if image::has_bursts() {
        measure_visits(state)
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
    state.visit_cost.set(visit_cost as u32);
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

/// Returns the least duration of an empty path, and twice the difference between the least mean of
/// a batch and the least duration.
fn measure_samples(state: &TimingState) -> (u64, u64) {
    let (mut bias, mut least_sum) = (u64::MAX, u64::MAX);
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
        least_sum = least_sum.min(sum);
    }
    (bias, 2 * least_sum.saturating_sub(PROBES * bias) / PROBES)
}

/// The program time of an empty path after which no path begins.
fn measure_ends(state: &TimingState) -> u64 {
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

/// The step of the clock: the largest gap between neighboring measured times, over loops of all
/// lengths. No measured time lies between two steps.
fn clock_step(bias: u64) -> u64 {
    let mut occurred = 1_u128; // bit n: a loop took n cycles more than the empty path
    for length in 0..LENGTHS {
        let start = arch::path_start();
        arch::spend(length);
        let excess = arch::path_end().wrapping_sub(start).wrapping_sub(bias);
        if excess < u64::from(u128::BITS) {
            occurred |= 1 << excess;
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

/// Cycles of a visit of `__holloway_burst` before it reads the clock.
fn measure_visits(state: &TimingState) -> u64 {
    let mut visit_cost = u64::MAX;
    for _ in 0..BATCHES {
        let since = program_time(state);
        for _ in 0..PROBES {
            arch::set_countdown(u32::MAX);
            arch::call_burst();
            begin_path(state);
        }
        visit_cost = visit_cost.min(program_time(state).wrapping_sub(since) / PROBES);
    }
    visit_cost
}

/// The state of the calling thread's timed paths, if it has one.
pub(super) fn present() -> Option<BurstState> {
    let slot = arch::slot();
    // SAFETY: a ring's state stays mapped; any bytes are a valid state.
    (image::is_timed() && !slot.is_null()).then(|| unsafe { Ring::at_slot(slot).state().read() })
}

/// Excludes the time since the clock `since` from the thread's program time.
pub(super) fn exclude_since(since: u64) {
    let slot = arch::slot();
    if image::is_timed() && !slot.is_null() {
        let state = TimingState::in_ring(Ring::at_slot(slot));
        let taken = arch::clock().wrapping_sub(since);
        state.probe.set(state.probe.get().wrapping_add(taken));
    }
}
