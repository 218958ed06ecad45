//! The entry points that woven code calls, in assembly around their bodies (see `holloway_abi`).
//!
//! This is the top of the runtime: nothing imports it. Code of the runtime that needs an entry
//! point calls it by its symbol, as woven code does (`arch`).

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;
