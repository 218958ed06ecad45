//! Exactness: our counts are equal to those of counters that we didn't write, and to a naive tracer's.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod clang;
mod ours;
mod tracer;
