//! What timed paths need to know beforehand: how often to burst, what a probe costs, how fine the clock is, where a thread's bursts begin.
//!
//! The costs are the least of many empty probes, by the same instructions as the woven ones, in a ring that nobody has yet: whatever
//! disturbs a probe makes it longer, so the least is the same each time, to a few cycles.
//!
//! Cost: some 40 us for each ring.

use super::burst::State;
use super::page::Inner;
use super::ring::Ring;
use super::text::number;
use super::{arch, kind, proc, report, sys, watch};
use holloway_abi::{BURST, BURST_MOST, BURST_VARIABLE, BurstState, OPERAND, Timing};

/// Empty probes whose mean is taken: the clock goes in steps, so one by itself says little.
const ROUNDS: u64 = 16;

/// Means of which the least is taken.
const BATCHES: u32 = 16;

/// Times of all lengths from none on, for the clock's steps to show between them.
const LENGTHS: u32 = 64;

/// Are paths timed?
pub(super) fn is_timed() -> bool {
    kind().is_timed()
}

/// Reads how often to burst, from the environment.
pub(super) fn find_burst(inner: &mut Inner) {
    inner.burst = BURST;
    let Inner {
        scratch, directory, ..
    } = inner;
    if kind().traits().timing != Timing::Bursts
        || !proc::variable(BURST_VARIABLE.as_bytes(), scratch, directory)
    {
        return;
    }
    match parse(directory.as_bytes()) {
        Some(burst) => inner.burst = burst,
        None => report::refuse_burst(inner),
    }
}

/// `N:M`, or `N` for `N:1`.
fn parse(text: &[u8]) -> Option<(u32, u32)> {
    let (pass, rest) = decimal(text)?;
    let (most, rest) = match rest.split_first() {
        None => (1, rest),
        Some((b':', rest)) => decimal(rest)?,
        Some(_) => return None,
    };
    (rest.is_empty() && most > 0).then_some((pass, most))
}

/// A number of at most [`BURST_MOST`], and what follows.
fn decimal(text: &[u8]) -> Option<(u32, &[u8])> {
    const DIGITS: usize = 10;
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (value, rest) = number(text, 10);
    (1..=DIGITS)
        .contains(&digits)
        .then_some(value)
        .filter(|value| *value <= u64::from(BURST_MOST))
        .map(|value| (value as u32, rest))
}

/// The state of a ring that nobody has yet, whose words are all zero; the calling thread will have it. In the child of a fork
/// (`parent`) the parent's program time goes on, and what the timed path stands for that both are in. Its way to the next burst does not: children that end before
/// that would never be met.
pub(super) fn begin(inner: &Inner, ring: Ring, parent: Option<BurstState>) {
    arch::set_slot(ring.header().cast());
    let state = State::of(ring);
    if let Some(parent) = parent {
        // SAFETY: the state's bytes, which nobody else uses.
        unsafe { ring.state().write(parent) };
        watch::begin(inner, state);
        state.random.set(seed());
        start_phase(state); // the parent goes on with what is left of its own
        return;
    }
    let (pass, most) = inner.burst;
    state.random.set(seed());
    watch::begin(inner, state);
    calibrate(ring, state);
    state.pass.set(pass);
    state.most.set(most);
    state.pending.set(0);
    start_phase(state);
}

/// Goes on with the ring of a dead thread.
pub(super) fn hand_on(inner: &Inner, ring: Ring) {
    let state = State::of(ring);
    watch::begin(inner, state);
    state.pending.set(0);
    start_phase(state);
}

/// Where random numbers start from: another place for each thread and process.
fn seed() -> u64 {
    let places = u64::from(sys::thread_id()).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (arch::clock() ^ places) | 1
}

/// Begins anywhere in an interval, a path that passes or one of a burst, also of those that warm it up: so each path is timed as often as if the thread had run forever.
fn start_phase(state: &State) {
    let (pass, most) = (state.pass.get(), state.most.get());
    let burst = most + state.warm_up();
    let phase = state.below(pass + burst);
    let inside = phase.saturating_sub(pass);
    if inside >= most {
        // The first sample stands for what passed and warmed it up before the thread began, too.
        let before = pass + burst - inside;
        state
            .pending
            .set(state.pending.get().saturating_add(before));
    }
    state.remaining.set(inside);
    state.due.set(pass);
    state.count_from(if inside > 0 { 0 } else { phase });
}

/// What the clock says of empty probes. No path has passed yet, so none warms up.
fn calibrate(ring: Ring, state: &State) {
    state.clock.set(arch::clock());
    state.most.set(1);
    state.remaining.set(u32::MAX);
    state.count_from(0);
    let (bias, wavering) = least_samples(state);
    let overhead = least_ends(state);
    let resolution = step(bias).max(wavering);
    let visit = if kind().traits().timing == Timing::Bursts {
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
fn program_time(state: &State) -> u64 {
    arch::path_start().wrapping_sub(state.probe.get())
}

/// Begins a path behind a visit, as woven code does.
#[inline(always)]
fn go_on(state: &State) -> u64 {
    let (inner, start) = (state.inner.get(), state.resume.get());
    let now = arch::path_start();
    state.inner.set(inner);
    state.resume_at(start, now);
    start
}

/// Duration of an empty path; and how far durations waver, to both sides of their mean.
fn least_samples(state: &State) -> (u64, u64) {
    let (mut bias, mut all) = (u64::MAX, u64::MAX);
    for _ in 0..BATCHES {
        let (mut start, mut sum) = (program_time(state), 0_u64);
        for _ in 0..ROUNDS {
            let inner = state.inner.get();
            let end = arch::path_end();
            let duration = end.wrapping_sub(state.probe.get()).wrapping_sub(start);
            bias = bias.min(duration);
            sum = sum.wrapping_add(duration);
            arch::call_sample(1, start, inner, end);
            start = go_on(state);
        }
        all = all.min(sum);
    }
    (bias, 2 * all.saturating_sub(ROUNDS * bias) / ROUNDS)
}

/// What an empty path takes of the program time where none begins behind it.
fn least_ends(state: &State) -> u64 {
    let mut overhead = u64::MAX;
    for _ in 0..BATCHES {
        let since = program_time(state);
        let mut start = since;
        for _ in 0..ROUNDS {
            let inner = state.inner.get();
            arch::call_sample(OPERAND | 1, start, inner, arch::path_end());
            start = program_time(state);
        }
        overhead = overhead.min(start.wrapping_sub(since) / ROUNDS);
    }
    overhead
}

/// The clock's step: of short times of all lengths, the largest gap between two that occur. Where they are a step apart and more, nothing lies between.
fn step(bias: u64) -> u64 {
    let mut found = 1_u128; // by cycles over the empty path
    for length in 0..LENGTHS {
        let start = arch::path_start();
        arch::spend(length);
        let over = arch::path_end().wrapping_sub(start).wrapping_sub(bias);
        if over < u64::from(u128::BITS) {
            found |= 1 << over;
        }
    }
    let (mut gap, mut largest) = (0, 0);
    while found > 1 {
        found >>= 1;
        gap += 1;
        if found & 1 == 1 {
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

/// What a visit of `__holloway_burst` takes before its clock read.
fn least_visits(state: &State) -> u64 {
    let mut visit = u64::MAX;
    for _ in 0..BATCHES {
        let since = program_time(state);
        for _ in 0..ROUNDS {
            arch::set_countdown(u32::MAX);
            arch::call_burst();
            go_on(state);
        }
        visit = visit.min(program_time(state).wrapping_sub(since) / ROUNDS);
    }
    visit
}

/// The state of the calling thread's timed paths, if it has any.
pub(super) fn present() -> Option<BurstState> {
    let block = arch::slot();
    // SAFETY: a ring's state, which stays mapped; any bytes are one.
    (is_timed() && !block.is_null()).then(|| unsafe { Ring::of_block(block).state().read() })
}

/// What the thread did since `since` in here was no program time.
pub(super) fn leave_out(since: u64) {
    let block = arch::slot();
    if is_timed() && !block.is_null() {
        let state = State::of(Ring::of_block(block));
        let taken = arch::clock().wrapping_sub(since);
        state.probe.set(state.probe.get().wrapping_add(taken));
    }
}
