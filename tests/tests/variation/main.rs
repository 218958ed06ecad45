//! Tests of timed paths: the report ranks the paths that vary, and a few samples give the same
//! ranking as all samples.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bursts;
mod planted;
mod view;
