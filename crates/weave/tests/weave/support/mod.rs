//! Helpers of the tests: they compile, weave, link, and run small programs, and read the programs'
//! counts.
#![allow(
    dead_code,
    unused_imports,
    clippy::unwrap_used,
    unreachable_pub,
    reason = "shared by test binaries that use parts of it; a test may panic"
)]

mod case;
mod graph;
mod random;
mod stream;
mod workspace;

pub use case::{
    Case, Collection, KINDS, KINDS_TIMED, KINDS_WITH_EXITS, assert_agree, check, check_kinds,
    check_with, guide,
};
pub use graph::{block_counts, flow};
pub use random::Program;
pub use stream::{FollowedStream, Step, Stream, follow};
pub use workspace::*;
