//! Measures the processor time of all threads of this process.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Runs a piece of work. Returns its result and the processor time that all threads took.
pub(super) fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = processor_time();
    let result = work();
    (result, processor_time().saturating_sub(start))
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// The speed in million items per second.
pub(super) fn rate(items: u64, time: Duration) -> f64 {
    items as f64 / time.as_secs_f64().max(1e-9) / 1e6
}
