//! Programs in C that stand for woven ones, linked with the runtime object.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod aarch64;
mod collector;
mod common;
mod failures;
mod forks;
#[cfg(target_arch = "x86_64")]
mod glibc;
mod hashes;
mod libraries;
mod object;
mod places;
#[cfg(target_arch = "x86_64")]
mod registers;
mod signals;
mod streams;
mod threads;
#[cfg(target_arch = "x86_64")]
mod timed;
#[cfg(target_arch = "x86_64")]
mod timed_events;

/// Whether the programs are linked with musl: `tests/musl` has the same modules.
const MUSL: bool = false;
