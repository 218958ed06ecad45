//! Loops of all kinds. A comment after each call gives its iterations.

use std::hint::black_box;
#[inline(never)]
fn below(i: usize, n: usize) -> bool { black_box(i) < black_box(n) }
#[inline(never)]
fn sink(x: usize) { black_box(x); }
#[inline(never)]
fn counted(n: usize) {
    for i in 0..n {
        sink(i);
    }
}
#[inline(never)]
fn slice(v: &[usize]) {
    for &x in v {
        sink(x);
    }
}
#[inline(never)]
fn breaks(n: usize, key: usize) {
    for i in 0..n {
        if !below(i, key) {
            break;
        }
        sink(i);
    }
}
#[inline(never)]
fn both(n: usize, key: usize) {
    let mut i = 0;
    while below(i, n) && below(i, key) {
        sink(i);
        i += 1;
    }
}
#[inline(never)]
fn whiles(n: usize, key: usize) {
    let mut i = 0;
    while below(i, n) {
        if i % 3 == 1 {
            i += 1;
            continue;
        }
        i += 1;
        if !below(i, key) {
            break;
        }
        sink(i);
    }
}
#[inline(never)]
fn zips(v: &[usize], w: &[usize]) {
    for (x, y) in v.iter().zip(w).enumerate() {
        sink(x + y.0);
    }
}
#[inline(never)]
fn at_the_end(n: usize) {
    let mut i = 0;
    loop {
        sink(i);
        i += 1;
        if !below(i, n) {
            break;
        }
    }
}
#[inline(never)]
fn middle(n: usize) {
    let mut i = 0;
    loop {
        sink(i);
        if !below(i, n) {
            break;
        }
        i += 1;
        sink(i);
    }
}
fn main() {
    let (none, numbers) = (black_box(0), black_box((0..6).collect::<Vec<usize>>()));
    for _ in 0..5 {
        counted(10); // 10
        counted(none); // 0
        slice(&numbers); // 6
        breaks(10, 4); // 5: the fifth is left
        breaks(3, 8); // 3
        both(9, 4); // 4
        both(4, 9); // 4
        whiles(10, 5); // 6: the sixth is left
        whiles(5, 10); // 5
        zips(&numbers, &numbers[none + 1..]); // 5
        at_the_end(6); // 6
        middle(5); // 5: the sixth round ends at its test
    }
}
