//! The rate of timed paths, and the program time (kinds variation and times).
//!
//! A *visit* is a call of the runtime's entry point [`BURST_SYMBOL`](crate::BURST_SYMBOL) or
//! [`SAMPLE_SYMBOL`](crate::SAMPLE_SYMBOL) from woven code. The *clock* is the processor's time
//! stamp counter.
//!
//! # Program time
//! Paths are timed by the *program time*: the clock minus [`BurstState::probe`], the cycles that
//! probes have taken so far. Program time stands still during a visit. It also excludes the rest of
//! a probe's cost outside of the path that the probe times, and the probe's bias.
//!
//! Woven code reads the clock in three cases:
//!
//! 1. A path begins after a visit whose result says that the path is timed. Woven code reads
//!    `inner` = [`BurstState::inner`] and `start` = [`BurstState::resume`], then the clock
//!    (`lfence; rdtsc; lfence`). It writes `inner` and `resume` back, then `probe` = clock −
//!    `start`.
//! 2. A path begins without a visit (kind times: at a function's entry). Woven code reads `inner`
//!    and `probe`, then the clock (`lfence; rdtsc; lfence`); `start` = clock − `probe`.
//! 3. A path ends. `end` is the clock (`lfence; rdtsc`).
//!
//! A signal handler with timed paths may interrupt case 1. The handler's time then counts as time
//! of a probe. If the handler runs between the last two stores, `probe + resume` is ahead of the
//! clock until the next visit.
//!
//! If the next path is not timed, the visit itself reads the clock when it ends, and writes `probe`
//! and `resume`. The runtime computes the duration of a path as `end - probe - start`.
//!
//! On AArch64 the clock is the counter `cntvct_el0`, read with `isb; mrs x, cntvct_el0; isb` or
//! `isb; mrs x, cntvct_el0`. There, "cycles" are ticks of that counter.

use crate::ring::RingHeader;

/// The greatest N and M in [`BURST_VARIABLE`](crate::BURST_VARIABLE). M is at least 1.
pub const BURST_MOST: u32 = 1_000_000_000;

/// The rate of timed paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BurstRate {
    /// N: untimed paths that begin before a burst, on average.
    pub untimed: u32,
    /// M: paths that a burst times; at least 1.
    pub timed: u32,
}

/// The rate if [`BURST_VARIABLE`](crate::BURST_VARIABLE) is unset (Perelman, Chilimbi, Calder
/// 2005).
pub const DEFAULT_BURST_RATE: BurstRate = BurstRate {
    untimed: 10_000,
    timed: 1,
};

/// The most warm-up paths of a burst: its first paths, which run in timed code without a sample.
///
/// A burst has at most one warm-up path for each [`WARM_EVERY`] untimed paths before it. If bursts
/// are closer together, the processor's caches still hold the timed code.
pub const WARM_UP: u32 = 8;

/// The least number of untimed paths before a burst for each warm-up path of the burst.
pub const WARM_EVERY: u32 = 128;

/// The state of a thread's timed paths, [`BURST_STATE`] bytes after the start of its
/// [`RingHeader`].
///
/// Woven code reads and writes the first three fields.
///
/// ```text
/// OFFSET SIZE MEANING
///      0    8  probe: cycles that probes have taken
///      8    8  inner: exclusive cycles of all timed paths that ended: each path's cycles without
///              the cycles of the paths that were timed inside it; the runtime sets bit 63 if the
///              path that begins is a warm-up path
///     16    8  resume: program time at the beginning of the last visit, and at which the program
///              continues after that visit; probe + resume is the clock when the program continued
///     24  104  private to the runtime
/// ```
#[repr(C)]
#[derive(Clone, Copy)]
pub struct BurstState {
    /// Cycles that probes have taken.
    pub probe: u64,
    /// Exclusive cycles of all timed paths that ended.
    pub inner: u64,
    /// Program time at which the program continues after the last visit.
    pub resume: u64,
    /// Private to the runtime.
    pub runtime_private: [u64; 13],
}

/// Offset of the [`BurstState`] from the [`RingHeader`].
pub const BURST_STATE: u64 = 128;

const _: () = assert!(size_of::<RingHeader>() as u64 == BURST_STATE);
const _: () = assert!(size_of::<BurstState>() == 128);
