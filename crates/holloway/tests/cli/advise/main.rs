//! Waits with a hint, allocates in each iteration, and looks for a byte.
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

static DONE: AtomicBool = AtomicBool::new(false);

#[inline(never)]
fn wait() {
    while !DONE.load(Ordering::Acquire) {
        std::hint::spin_loop();
    }
}

#[inline(never)]
fn allocate(rounds: usize) -> usize {
    let mut sum = 0;
    for round in 0..rounds {
        let numbers: Vec<u8> = Vec::with_capacity(black_box(round % 7 + 40));
        sum += numbers.capacity();
    }
    sum
}

#[inline(never)]
fn reuse(rounds: usize) -> usize {
    let mut numbers: Vec<usize> = Vec::with_capacity(40);
    for round in 0..rounds {
        numbers.clear();
        numbers.push(black_box(round));
    }
    numbers.len()
}

#[inline(never)]
fn find(text: &[u8]) -> usize {
    let mut at = 0;
    while at < text.len() && text[at] != b'x' {
        at += 1;
    }
    at
}

fn main() {
    let waker = std::thread::spawn(|| {
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(20) {
            std::thread::sleep(Duration::from_millis(5));
        }
        DONE.store(true, Ordering::Release);
    });
    wait();
    waker.join().unwrap();
    let text = vec![b'a'; 1000];
    let found: usize = (0..300).map(|_| find(black_box(&text))).sum();
    println!("{} {} {found}", allocate(20_000), reuse(20_000));
}
