//! Competition for the processors: one thread for each processor, which works and rests in turn.
//! Without the rests, a program whose threads yield to each other (tests/planted/lock.c) would give
//! all its time to these threads: it took 5 to 10 times as long, up to 90 s.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The length of a spell of work, and of a rest.
const SPELL: Duration = Duration::from_millis(1);

/// Does a piece of work while other threads compete for the processors.
pub fn beside_noise<T>(work: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let start = Instant::now();
                    while start.elapsed() < SPELL {}
                    thread::sleep(SPELL);
                }
            });
        }
        let _ends = Ends(&is_over);
        work()
    })
}

/// Ends the noise, even if the work panics.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
