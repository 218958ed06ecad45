//#expect-calls collatz 3000
//#expect-runs longest 1

use std::hint::black_box;

#[inline(never)]
fn collatz(mut n: u64) -> u32 {
    let mut steps = 0;
    while n != 1 {
        n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}

fn main() {
    let mut best = (0, 0);
    for n in 1..=3000 {
        best = best.max((collatz(black_box(n)), n));
    }
    println!("{best:?}"); // @longest
}
