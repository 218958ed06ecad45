//! Times of paths: the report finds what varies, and a few samples show what all samples show.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bursts;
mod planted;
mod view;
