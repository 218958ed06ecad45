//! The programs of the slow tests and of the benches: how each is had, built and run.
//!
//! `suite` is the table: real programs, half C and C++, half Rust, most of one thread, some of two. `micro` is another:
//! tight loops of our own. `c` and `rust` build them. Sources come out of the cargo registry (`registry`); drivers and
//! scripts of ours lie in tests/workloads. The same program and input run in every flavour.

mod c;
mod flavour;
mod micro;
mod program;
mod rust;
mod suite;

pub use c::CProject;
pub use flavour::{FLAVOURS, Flavour};
pub use micro::MICRO;
pub use program::{Scale, Source, Workload};
pub use rust::build_command as rust_build_command;
pub use suite::{
    BZIP2, CHESS, JSON, LUA, MARKDOWN, MINISAT, PAINT, PARALLEL, PARSE, PNG, QUICKJS, RIPGREP,
    RIPGREP_2, SCRIPT, SQLITE, SUITE, XZ, XZ_2, ZLIB, ZSTD, ZSTD_2,
};
