//! The tests of `tests/runtime` that the C library has to do with, of programs that are linked with musl.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../runtime/common/mod.rs"]
mod common;
#[path = "../runtime/failures.rs"]
mod failures;
#[path = "../runtime/forks.rs"]
mod forks;
#[path = "../runtime/libraries.rs"]
mod libraries;
#[path = "../runtime/object.rs"]
mod object;
#[path = "../runtime/signals.rs"]
mod signals;
#[path = "../runtime/streams.rs"]
mod streams;
#[path = "../runtime/threads.rs"]
mod threads;
#[cfg(target_arch = "x86_64")]
#[path = "../runtime/timed.rs"]
mod timed;
#[cfg(target_arch = "x86_64")]
#[path = "../runtime/timed_events.rs"]
mod timed_events;

/// Whether the programs are linked with musl.
const MUSL: bool = true;
