//! Threads of std, scoped ones, channels, and thread_local values whose drops run woven code at the thread's end.
//#expect-calls work 8000
//#expect-calls drop_local 12
//#expect-runs received 400
//#unequal std locks and channels wait as long as it takes
//#unequal __rust_alloc channels allocate as they wait
//#unequal __rust_alloc_zeroed likewise, blocks in advance
//#unequal __rust_dealloc likewise
//#unequal __rust_no_alloc_shim_is_unstable_v2 likewise
//#unequal main channels again, inlined

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

static SINK: AtomicU64 = AtomicU64::new(0);

struct Local(Cell<u64>);
impl Drop for Local {
    fn drop(&mut self) {
        drop_local(self.0.get());
    }
}
thread_local! {
    static LOCAL: Local = const { Local(Cell::new(0)) };
}

#[inline(never)]
fn drop_local(n: u64) {
    SINK.fetch_add(n, Relaxed);
}

#[inline(never)]
fn work(n: u64) -> u64 {
    LOCAL.with(|local| local.0.set(local.0.get() + 1));
    if n % 2 == 0 { n / 2 } else { 3 * n + 1 }
}

fn main() {
    let total = Arc::new(Mutex::new(0));
    let threads: Vec<_> = (0..8)
        .map(|t| {
            let total = Arc::clone(&total);
            thread::spawn(move || {
                let sum: u64 = (0..500).map(|i| work(i * t)).sum();
                *total.lock().unwrap() += sum;
            })
        })
        .collect();
    for t in threads {
        t.join().unwrap();
    }
    let mut parts = [0; 4];
    thread::scope(|scope| {
        // Joined, for the scope's end waits for the work only, not for the drops of thread_local values.
        let mut threads = Vec::new();
        for (t, part) in parts.iter_mut().enumerate() {
            threads.push(scope.spawn(move || *part = (0..1000).map(|i| work(i + t as u64)).sum()));
        }
        threads.into_iter().for_each(|t| t.join().unwrap());
    });
    let (sender, receiver) = mpsc::channel();
    let send = |t: u64| {
        let sender = sender.clone();
        thread::spawn(move || (0..100).for_each(|i| sender.send(i * t).unwrap()))
    };
    let threads: Vec<_> = (0..4).map(send).collect();
    drop(sender);
    let mut received = 0u64;
    while let Ok(n) = receiver.recv() {
        received += SINK.fetch_add(n, Relaxed) / u64::MAX + n; // @received
    }
    // A channel is closed before its senders have come to their ends.
    for t in threads {
        t.join().unwrap();
    }
    println!("{} {parts:?} {received}", total.lock().unwrap());
}
