//! The common parts of the tests of several crates: small programs with their streams and samples,
//! raw profiles as the runtime writes them, damaged files with correct checksums, and naive twins.
//!
//! Only integration tests depend on this crate. A unit test would see two copies of its own crate.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

pub mod build;
pub mod heads;
pub mod naive;
pub mod raw;
pub mod repair;
pub mod samples;
pub mod sequitur;
pub mod streams;
pub mod walk;
