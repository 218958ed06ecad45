//! Programs that are compiled, woven, linked and run: one executable, for linking each file alone took longer than compiling it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod c;
mod cases;
mod cxx;
mod edges;
mod module;
mod promote;
mod random;
mod rust;
mod stream;
mod support;
mod timed;
