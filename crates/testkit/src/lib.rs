//! What the tests of several crates share: small programs, their streams and samples, raw profiles
//! as the runtime writes them, damaged files with right checksums, and naive twins.
//!
//! Only tests depend on this crate, and only integration tests: a unit test would see two copies of
//! the crate that it is in.
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
