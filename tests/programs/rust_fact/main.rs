//! `fact` of Burger and Dybvig (1998, figures 2 and 3) left early by unwinding: plain frames, which nothing stops for, and
//! frames with a landing pad. `catch_unwind` stands outside.
//#[exits] expect-calls fact 5
//#[exits] expect-edge fact test base 1
//#[exits] expect-edge fact test recurse 4
//#[exits] expect-edge fact recurse multiply 0
//#expect-left base 1
//#expect-left recurse 4
//#[paths closed] expect-calls fact 0
// The same where `done` returns: 120.
//#expect-calls whole 5
//#expect-edge whole whole_test whole_base 1
//#expect-edge whole whole_test whole_recurse 4
//#expect-edge whole whole_recurse whole_multiply 4
//#expect-left whole_base 0
//#expect-left whole_recurse 0
// Five guards are dropped on the way out, by landing pads: those frames aren't left, they resume the unwinding.
//#expect-calls guarded 5
//#expect-calls drop_guard 5
//#expect-left guarded_base 0
//#expect-left guarded_recurse 0
//#[exits] expect-runs guarded_multiply 0
//#open panics leave calls

use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static SINK: AtomicU64 = AtomicU64::new(0);

#[inline(never)]
fn mark(n: u64) {
    SINK.fetch_add(n, Relaxed);
}

struct Guard;
impl Drop for Guard {
    fn drop(&mut self) {
        drop_guard();
    }
}

#[inline(never)]
fn drop_guard() {
    mark(1);
}

#[inline(never)]
fn fact(n: u64, done: &dyn Fn(u64) -> u64) -> u64 {
    if n < 2 { // @test
        let one = done(1); // @base
        mark(2);
        return one;
    }
    let rest = fact(n - 1, done); // @recurse
    if rest != 0 {
        mark(3); // @multiply
    }
    n * rest
}

#[inline(never)]
fn whole(n: u64, done: &dyn Fn(u64) -> u64) -> u64 {
    if n < 2 { // @whole_test
        let one = done(1); // @whole_base
        mark(2);
        return one;
    }
    let rest = whole(n - 1, done); // @whole_recurse
    if rest != 0 {
        mark(3); // @whole_multiply
    }
    n * rest
}

#[inline(never)]
fn guarded(n: u64, done: &dyn Fn(u64) -> u64) -> u64 {
    let _guard = Guard;
    if n < 2 {
        let one = done(1); // @guarded_base
        mark(2);
        return one;
    }
    let rest = guarded(n - 1, done); // @guarded_recurse
    if rest != 0 {
        mark(4); // @guarded_multiply
    }
    n * rest
}

fn main() {
    let leave: &dyn Fn(u64) -> u64 = black_box(&|n: u64| -> u64 { resume_unwind(Box::new(n)) });
    let give: &dyn Fn(u64) -> u64 = black_box(&|n: u64| n);
    let caught = |f: fn(u64, &dyn Fn(u64) -> u64) -> u64| -> u64 {
        let left = catch_unwind(AssertUnwindSafe(|| f(5, leave)));
        *left.unwrap_err().downcast::<u64>().unwrap()
    };
    println!("{} {} {}", caught(fact), caught(guarded), whole(5, give));
}
