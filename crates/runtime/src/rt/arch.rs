//! The code that depends on the processor: thread-local variables, clocks, system calls, and calls
//! of the entry points. The modules for both processors have the same functions.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub(super) use aarch64::*;
#[cfg(target_arch = "x86_64")]
pub(super) use x86_64::*;
