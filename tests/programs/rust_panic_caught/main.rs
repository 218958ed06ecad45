//! Panics caught by catch_unwind and by join; drops run while unwinding.
// 75 calls return; the 25 that panic end at panic_any, which does not return.
//#expect-calls work 100
//#expect-runs dropped 120
//#expect-runs survived 100
//#open panics leave calls

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static SINK: AtomicU64 = AtomicU64::new(0);

#[inline(never)]
fn mark(n: u64) {
    SINK.fetch_add(n, Relaxed);
}

struct Guard;
impl Drop for Guard {
    #[inline(never)]
    fn drop(&mut self) {
        mark(1); // @dropped
    }
}

#[inline(never)]
fn work(n: u32) -> u32 {
    let _guard = Guard;
    if n % 4 == 0 {
        panic_any(n);
    }
    n
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let mut sum = 0;
    for i in 0..100 {
        sum += match catch_unwind(AssertUnwindSafe(|| work(i))) {
            Ok(n) => n,
            Err(payload) => *payload.downcast::<u32>().unwrap() * 1000,
        };
        mark(1); // @survived
    }
    let results: Vec<bool> = (0..20)
        .map(|i| {
            std::thread::spawn(move || {
                let _guard = Guard;
                assert!(i % 2 == 0, "odd");
            })
            .join()
            .is_ok()
        })
        .collect();
    println!("{sum} {} {}", results.iter().filter(|r| **r).count(), SINK.load(Relaxed));
}
