//! Common helpers for the tests of several crates: small programs with their streams and samples,
//! raw profiles as the runtime writes them, damaged files with repaired checksums, checks of
//! reports on narrow terminals, and slow reference implementations.
//!
//! Only integration tests depend on this crate. In a unit test, the crate under test and the
//! dependency of this crate would be two different copies with different types.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

pub mod branches;
pub mod build;
pub mod heads;
pub mod naive;
pub mod narrow;
pub mod perf_data;
pub mod raw;
pub mod repair;
pub mod samples;
pub mod sequitur;
pub mod streams;
pub mod traces;
pub mod walk;
