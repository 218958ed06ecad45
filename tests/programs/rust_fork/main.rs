//! std::process: this very program as a child, its output read, its end waited for; exit from inside.
//#exit 3
//#expect-calls child_work 12
//#expect-calls parent_work 5
//#processes 4
//#open exit

use std::process::{Command, exit};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static SINK: AtomicU64 = AtomicU64::new(0);

#[inline(never)]
fn child_work(n: u64) -> u64 {
    SINK.fetch_add(n, Relaxed)
}

#[inline(never)]
fn parent_work(n: u64) -> u64 {
    SINK.fetch_add(n, Relaxed)
}

fn main() {
    if let Some(n) = std::env::args().nth(1) {
        let sum: u64 = (0..4).map(child_work).sum();
        println!("child {n} {sum}");
        return;
    }
    for n in 0..3 {
        let output = Command::new(std::env::current_exe().unwrap()).arg(n.to_string()).output().unwrap();
        print!("{}", String::from_utf8_lossy(&output.stdout));
    }
    for n in 0..5 {
        parent_work(n);
    }
    exit(3);
}
