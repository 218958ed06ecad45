//! Tests that our counts equal those of independent counters and of a simple tracer.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bitcode;
mod calm;
mod clang;
mod gcov;
mod grams;
mod kinds;
mod left;
mod long;
mod ours;
mod outcomes;
mod rustc;
mod sequence;
mod shelf;
mod throws;
mod tracer;
