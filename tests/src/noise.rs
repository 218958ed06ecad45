//! Others that want the processors as well: a thread for each, which takes time for a while and rests for a while. If they never rested, a program whose threads yield to
//! each other (tests/planted/lock.c) would give all its time to them: it took 5 to 10 times as long, and as much as 90 s.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long they take time, and how long they rest.
const WHILE: Duration = Duration::from_millis(1);

/// Does something while others want the processors.
pub fn beside_noise<T>(something: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let start = Instant::now();
                    while start.elapsed() < WHILE {}
                    thread::sleep(WHILE);
                }
            });
        }
        let _ends = Ends(&is_over);
        something()
    })
}

/// Ends the noise, also where something panics.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
