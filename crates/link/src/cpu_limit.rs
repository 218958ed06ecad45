//! The CPU time that a worker may take for a build with counts (`EarlyLink`).
//!
//! Some passes of LLVM take hours for a few functions: counts make them try what they would leave
//! alone otherwise. The kernel ends such a worker, and its module is compiled without counts, as if
//! LLVM had crashed. The limit is CPU time, so a busy machine does not change which modules lose
//! their counts.

use std::ops::Range;

use rustix::process::{Resource, getrlimit, setrlimit};

/// The limit of the smallest module, in seconds.
const FLOOR: u64 = 120;
/// A larger module may take one more second for so many bytes of bitcode. LLVM usually takes one
/// second for about 1,000,000 bytes.
const BYTES_PER_SECOND: u64 = 10_000;

/// The limit for a module with its bitcode in this range of its file, in seconds.
pub(crate) fn seconds(bitcode: &Range<usize>) -> u64 {
    FLOOR + bitcode.len() as u64 / BYTES_PER_SECOND
}

/// Limits the CPU time of this process. At the limit, the kernel ends it with SIGXCPU. A lower
/// limit that the user has set stays.
pub(crate) fn set(seconds: u64) {
    let mut limit = getrlimit(Resource::Cpu);
    let current = limit.current.unwrap_or(u64::MAX);
    limit.current = Some(current.min(seconds));
    // If it fails, there is no limit, as for other builds.
    let _ = setrlimit(Resource::Cpu, limit);
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn large_modules_may_take_longer() {
        assert_eq!(seconds(&(0..100)), 120);
        assert_eq!(seconds(&(1_000..1_001_000)), 220);
    }
}
