//! Small programs for the tests: compiles, weaves, links, and runs them, and reads their counts.
#![allow(
    dead_code,
    unused_imports,
    clippy::unwrap_used,
    unreachable_pub,
    reason = "shared by test binaries that use parts of it; a test may panic"
)]

mod bench;
mod case;
mod graph;
mod random;
mod stream;

pub use bench::*;
pub use case::{
    Case, Collection, KINDS, KINDS_TIMED, KINDS_WITH_EXITS, assert_agree, check, check_kinds,
    check_with, guide,
};
pub use graph::{block_counts, flow};
pub use random::Program;
pub use stream::{Followed, Step, Stream, follow};
