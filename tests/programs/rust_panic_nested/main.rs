//! Panics in threads: caught, resumed, and raised and caught again in a drop that runs while another unwinds.
//#expect-calls work 240
//#expect-runs dropped 480
//#expect-calls fail 200
//#open panics leave calls

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};

struct Guard<'a> {
    count: &'a mut u64,
    panics: bool,
}

impl Drop for Guard<'_> {
    #[inline(never)]
    fn drop(&mut self) {
        for i in 0..3 {
            *self.count = self.count.wrapping_mul(31).wrapping_add(i);
        }
        *self.count += 1; // @dropped
        if self.panics {
            let caught = catch_unwind(|| fail(7)).unwrap_err();
            *self.count += caught.downcast_ref::<u64>().copied().unwrap();
        }
    }
}

#[inline(never)]
fn fail(n: u64) -> u64 {
    for i in 0.. {
        if i * i > n {
            panic_any(i);
        }
    }
    0
}

#[inline(never)]
fn work(n: u64, count: &mut u64) -> u64 {
    let outer = Guard { count, panics: n % 2 == 0 };
    let mut own = 0;
    let result = catch_unwind(AssertUnwindSafe(|| {
        let _inner = Guard { count: &mut own, panics: false };
        if n % 3 == 0 { fail(n) } else { n }
    }));
    match result {
        Ok(n) => n + own,
        Err(payload) if n % 4 == 0 => resume_unwind(payload),
        Err(payload) => {
            *outer.count += own;
            *payload.downcast::<u64>().unwrap()
        }
    }
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let threads: Vec<_> = (0..4)
        .map(|t| {
            std::thread::spawn(move || {
                let (mut sum, mut count) = (0u64, t);
                for n in 0..60 {
                    let done = catch_unwind(AssertUnwindSafe(|| work(n, &mut count)));
                    sum = sum.wrapping_mul(31).wrapping_add(done.unwrap_or(1));
                }
                if t % 2 == 0 {
                    panic_any(sum.wrapping_add(count));
                }
                sum.wrapping_add(count)
            })
        })
        .collect();
    for thread in threads {
        match thread.join() {
            Ok(sum) => println!("{sum}"),
            Err(payload) => println!("panicked with {}", payload.downcast::<u64>().unwrap()),
        }
    }
}
