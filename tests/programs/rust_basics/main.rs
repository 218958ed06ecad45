//! Matches, loops, closures, trait objects and generics: marked lines run as often as they must.
//#expect-calls classify 1000
//#expect-runs small 500
//#expect-runs middle 300
//#expect-runs large 200
//#expect-calls area 60

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static SINK: AtomicU64 = AtomicU64::new(0);

// One function an arm: calls of one and the same would be merged into one call.
#[inline(never)]
fn small(n: u64) {
    SINK.fetch_add(n, Relaxed);
}

#[inline(never)]
fn middle(n: u64) {
    SINK.fetch_xor(n, Relaxed);
}

#[inline(never)]
fn large(n: u64) {
    SINK.fetch_sub(n, Relaxed);
}

#[inline(never)]
fn classify(n: u64) -> &'static str {
    match n % 10 {
        0..=4 => {
            small(1); // @small
            "small"
        }
        5..=7 => {
            middle(2); // @middle
            "middle"
        }
        _ => {
            large(3); // @large
            "large"
        }
    }
}

trait Shape {
    fn area(&self) -> u64;
}
struct Square(u64);
struct Circle(u64);
impl Shape for Square {
    #[inline(never)]
    fn area(&self) -> u64 {
        self.0 * self.0
    }
}
impl Shape for Circle {
    #[inline(never)]
    fn area(&self) -> u64 {
        3 * self.0 * self.0
    }
}

fn main() {
    let mut lengths = 0;
    for i in 0..1000 {
        lengths += classify(black_box(i)).len();
    }
    let shapes: Vec<Box<dyn Shape>> =
        (0..60).map(|i| if i % 2 == 0 { Box::new(Square(i)) as Box<dyn Shape> } else { Box::new(Circle(i)) }).collect();
    let area: u64 = black_box(&shapes).iter().map(|s| s.area()).sum();
    let words: std::collections::BTreeMap<usize, usize> =
        "the quick brown fox jumps over the lazy dog".split(' ').fold(Default::default(), |mut map, word| {
            *map.entry(word.len()).or_default() += 1;
            map
        });
    println!("{lengths} {area} {words:?} {}", SINK.load(Relaxed));
}
