//! Tests `holloway monitor` and `holloway manager`: programs without counters are sampled, and the
//! samples lie in the functions and blocks that use the time. The tests need the permission to
//! sample.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod app;
mod killed;
mod refused;
mod server;
mod watching;
