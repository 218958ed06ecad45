//! Bursts: which paths are timed, and the program time (kinds variation and times).
//!
//! # Program time
//! Paths are timed by the *program time*: the time stamp counter less [`BurstState::probe`], the
//! cycles that probes have taken so far. A visit of the runtime stops it. Whatever a probe takes
//! outside of the path that it times (in the runtime, before, and after), and the bias, are no
//! program time of the paths around it.
//!
//! Woven code reads the clock in these places:
//!
//! - A path begins behind a visit that answered "timed". Woven code reads `inner` =
//!   [`BurstState::inner`] and `start` = [`BurstState::resume`], then the clock (`lfence; rdtsc;
//!   lfence`). It writes `inner` and `resume` back, then `probe` = clock − `start`.
//! - A path begins without a visit (kind times: at a function's entry). Woven code reads `inner`
//!   and `probe`, then the clock (`lfence; rdtsc; lfence`); `start` = clock − `probe`.
//! - A path ends. `end` is the clock (`lfence; rdtsc`).
//!
//! In the first case a handler that is timed may come in between: its time is a probe's time. If it
//! comes between the last two stores, `probe + resume` is ahead of the clock until the next visit.
//! In all other cases the visit itself has read the clock when it ended. The runtime computes the
//! duration `end - probe - start`.
//!
//! On AArch64 the clock is `cntvct_el0`: `isb; mrs x, cntvct_el0; isb` and `isb; mrs x,
//! cntvct_el0`. There, "cycles" are ticks of that counter, and "time stamp counter" means that
//! counter.

use crate::environment;
use crate::ring::RingHeader;

/// Environment variable: `N:M`, the number of paths that pass before a burst and the number that a
/// burst times.
///
/// Each is at most [`BURST_MOST`]; `0:1` times all paths. Absent: [`DEFAULT_BURST_RATE`].
pub const BURST_VARIABLE: &str = environment::BURST.name;

/// Greatest numbers in [`BURST_VARIABLE`]. M is at least 1.
pub const BURST_MOST: u32 = 1_000_000_000;

/// How often paths are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BurstRate {
    /// Paths that pass before a burst, on average.
    pub pass: u32,
    /// Paths that a burst times; at least 1.
    pub timed: u32,
}

/// The rate where [`BURST_VARIABLE`] is absent (Perelman, Chilimbi, Calder 2005).
pub const DEFAULT_BURST_RATE: BurstRate = BurstRate {
    pass: 10_000,
    timed: 1,
};

/// Paths at the beginning of a burst that run in the timed code with probes, but give no sample.
///
/// There is at most one such path for each [`WARM_EVERY`] paths that pass before a burst. Where
/// bursts are closer together, the caches still hold their code.
pub const WARM_UP: u32 = 8;

/// Least number of passing paths for each path that warms up.
pub const WARM_EVERY: u32 = 128;

/// State of a thread's timed paths, [`BURST_STATE`] bytes after the start of its [`RingHeader`].
///
/// Woven code reads and writes the first three fields.
///
/// ```text
/// OFFSET SIZE MEANING
///      0    8  probe: cycles that probes have taken
///      8    8  inner: own cycles of all timed paths that ended, each without the paths timed
///              inside it; bit 63 is the runtime's mark: the path that begins warms a burst up
///     16    8  resume: program time at which the last visit of the runtime began, and at which the
///              program goes on behind it; probe + resume is the clock when the program went on
///     24  104  the runtime's own
/// ```
#[repr(C)]
#[derive(Clone, Copy)]
pub struct BurstState {
    /// Cycles that probes have taken.
    pub probe: u64,
    /// Own cycles of all timed paths that ended.
    pub inner: u64,
    /// Program time at which the program goes on behind the last visit.
    pub resume: u64,
    /// The runtime's own.
    pub own: [u64; 13],
}

/// Offset of the [`BurstState`] from the [`RingHeader`].
pub const BURST_STATE: u64 = 128;

const _: () = assert!(size_of::<RingHeader>() as u64 == BURST_STATE);
const _: () = assert!(size_of::<BurstState>() == 128);
