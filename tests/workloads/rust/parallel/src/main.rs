//! Four parallel jobs whose results don't depend on who did what: `parallel SIZE THREADS` prints a line for each.

use rayon::prelude::*;
use std::collections::BTreeMap;

/// SplitMix64: the same numbers on every machine.
fn random(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn sorted_checksum(size: u64) -> u64 {
    let mut numbers: Vec<u64> = (0..size).into_par_iter().map(random).collect();
    numbers.par_sort_unstable();
    numbers.par_iter().enumerate().map(|(i, n)| (i as u64).wrapping_mul(*n)).reduce(|| 0, u64::wrapping_add)
}

#[inline(never)]
fn escape(x: i64, y: i64) -> u32 {
    // Fixed point, 2^-16: no floating point, so that every build agrees.
    let (mut a, mut b) = (0i64, 0i64);
    for turn in 0..200 {
        let (aa, bb) = ((a * a) >> 16, (b * b) >> 16);
        if aa + bb > 4 << 16 {
            return turn;
        }
        b = ((2 * a * b) >> 16) + y;
        a = aa - bb + x;
    }
    200
}

fn mandelbrot(side: i64) -> u64 {
    (0..side)
        .into_par_iter()
        .map(|row| {
            let y = (row * 3 << 16) / side - (3 << 15);
            (0..side).map(|column| u64::from(escape((column * 3 << 16) / side - (2 << 16), y))).sum::<u64>()
        })
        .sum()
}

fn letters(n: u64) -> BTreeMap<char, u64> {
    (0..n)
        .into_par_iter()
        .fold(BTreeMap::new, |mut map, i| {
            for c in format!("{:x}", random(i)).chars() {
                *map.entry(c).or_default() += 1;
            }
            map
        })
        .reduce(BTreeMap::new, |mut a, b| {
            for (c, n) in b {
                *a.entry(c).or_default() += n;
            }
            a
        })
}

#[inline(never)]
fn is_prime(n: u64) -> bool {
    if n < 4 {
        return n > 1;
    }
    if n % 2 == 0 || n % 3 == 0 {
        return false;
    }
    let mut d = 5;
    while d * d <= n {
        if n % d == 0 || n % (d + 2) == 0 {
            return false;
        }
        d += 6;
    }
    true
}

fn main() {
    let mut numbers = std::env::args().skip(1).map_while(|n| n.parse::<u64>().ok());
    let (size, threads) = numbers.next().zip(numbers.next()).expect("usage: parallel SIZE THREADS");
    rayon::ThreadPoolBuilder::new().num_threads(threads as usize).build_global().expect("threads");
    println!("sorted {}", sorted_checksum(size * 1000));
    println!("mandelbrot {}", mandelbrot(size.isqrt() as i64 * 16));
    println!("letters {:?}", letters(size * 100));
    println!("primes {}", (0..size * 1000).into_par_iter().filter(|n| is_prime(*n)).count());
}
