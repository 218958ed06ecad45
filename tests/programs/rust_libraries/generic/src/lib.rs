//! Generic code, which lands in the crates that use it, and some that doesn't.

#[inline(never)]
pub fn fold<T: Copy, R>(items: &[T], start: R, step: impl Fn(R, T) -> R) -> R {
    let mut result = start;
    for item in items {
        result = step(result, *item);
    }
    result
}

#[inline(never)]
pub fn not_generic(n: u32) -> u32 {
    if n > 5 { n - 5 } else { n }
}
