//! The entry points that woven code calls: assembly that saves registers and calls a body in Rust
//! (see `holloway_abi`, module `symbols`).
//!
//! No module imports this module. Code of the runtime that needs an entry point calls it by its
//! symbol, as woven code does (`arch`).

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;
