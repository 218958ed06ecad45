//! panic = "abort": SIGABRT, no drop runs, what was finished is counted.
//#profile panic = "abort"
//#signal 6
//#expect-calls work 10
//#open abort

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static SINK: AtomicU64 = AtomicU64::new(0);

#[inline(never)]
fn work(n: u64) -> u64 {
    SINK.fetch_add(n, Relaxed)
}

fn main() {
    for i in 0.. {
        if i == 10 {
            panic!("enough");
        }
        println!("{}", work(i));
    }
}
