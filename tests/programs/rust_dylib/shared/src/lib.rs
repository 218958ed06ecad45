//! Lives in a shared object of its own.

#[inline(never)]
pub fn shared_work(n: u64) -> String {
    if n % 3 == 0 { format!("three times {}", n / 3) } else { n.to_string() }
}
