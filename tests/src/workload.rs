//! The programs of the slow tests and of the benchmarks: their sources, builds, and runs.
//!
//! | module | contents |
//! |---|---|
//! | `program` | a program with its inputs and command lines |
//! | `suite` | the table of real programs: half C and C++, half Rust, most with one thread |
//! | `micro` | the table of tight loops |
//! | `c`, `rust` | sources from the cargo registry, drivers from tests/workloads, and builds |
//! | `flavor` | the ways in which a program is built |
//!
//! Each flavor runs the same program with the same input.

mod c;
mod flavor;
mod micro;
mod program;
mod rust;
mod suite;

pub use c::CProject;
pub use flavor::{FLAVORS, Flavor};
pub use micro::MICRO;
pub use program::{Scale, Source, Workload};
pub use rust::build_command as rust_build_command;
pub use suite::{
    BZIP2, CHESS, FIRST_BUILDS, JSON, LUA, MARKDOWN, MINISAT, PAINT, PARALLEL, PARSE, PNG, QUICKJS,
    RIPGREP, RIPGREP_2, SCRIPT, SQLITE, SUITE, XZ, XZ_2, ZLIB, ZSTD, ZSTD_2,
};
