//! Tests the runtime object with C programs that contain, written by hand, the code that the weaver
//! would add.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod aarch64;
mod collector;
mod failures;
mod forks;
#[cfg(target_arch = "x86_64")]
mod glibc;
mod harness;
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
