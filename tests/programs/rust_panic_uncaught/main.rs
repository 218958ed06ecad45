//! A panic that reaches main: exit status 101, drops run on the way.
//#exit 101
//#expect-runs dropped 1
//#expect-calls work 11
//#open a panic leaves main

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
        println!("dropped");
    }
}

#[inline(never)]
fn work(n: u64) -> u64 {
    assert!(n < 10, "{n} is too much");
    SINK.fetch_add(n, Relaxed)
}

fn main() {
    let _guard = Guard;
    for i in 0.. {
        println!("{}", work(i));
    }
}
