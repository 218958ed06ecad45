//! Times of paths: what varies is found, and few times tell what all would.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bursts;
mod planted;
mod view;
