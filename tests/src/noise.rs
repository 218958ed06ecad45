//! Makes load on the processors: one thread for each processor, which works and rests in turn.
//! Without the rests, a program whose threads yield to each other (tests/planted/lock.c) would
//! leave nearly all its time to these threads: it took 5 to 10 times as long, up to 90 s.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The duration of a phase of work, and of a rest.
const PHASE: Duration = Duration::from_millis(1);

/// Runs `work` while other threads compete for the processors.
pub fn beside_noise<T>(work: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let start = Instant::now();
                    while start.elapsed() < PHASE {}
                    thread::sleep(PHASE);
                }
            });
        }
        let _stop = StopNoise(&is_over);
        work()
    })
}

/// Ends the noise, even if the work panics.
struct StopNoise<'a>(&'a AtomicBool);

impl Drop for StopNoise<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
