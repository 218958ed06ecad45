//! Tests that compile, weave, link, and run programs. They share one executable, because linking
//! one for each file took longer than compiling them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod c;
mod cases;
mod cxx;
mod early;
mod edges;
mod module;
mod peeling;
mod promote;
mod random;
mod rust;
mod stream;
mod support;
mod tails;
mod timed;
