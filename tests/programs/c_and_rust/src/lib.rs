//! The Rust side, as a library of the package: one crate more in the link.
//#expect-calls rust_square 450
//#expect-calls through_c 10

unsafe extern "C" {
    safe fn c_sum(n: i64) -> i64;
}

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn rust_square(n: i64) -> i64 {
    if n % 2 == 0 { n * n } else { -n }
}

#[inline(never)]
pub fn through_c(n: i64) -> i64 {
    c_sum(n) + 1
}
