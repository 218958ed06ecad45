//! Tests the programs of tests/programs. Each program is built and run plain and woven, and the
//! counts are compared.
//!
//! The main file determines the language: `main.c`, `main.cpp`, `main.rs` (the build makes a Cargo
//! project with this file), or `Cargo.toml` (a complete project, which is copied before it is
//! built).
//!
//! | module | contents |
//! |---|---|
//! | `catalog` | the programs, and the directives in their sources |
//! | `variant` | one way to build a program |
//! | `matrix` | the variants and the streams of each program, and the sample of them |
//! | `build`, `run` | builds a program in a variant, and runs it |
//! | `check` | compares the kinds of profile that are counted |
//! | `streams`, `timed` | compares streams, and streams of timed paths |
//! | `lines` | compares counts of lines with gcov's |

mod build;
mod catalog;
mod check;
mod lines;
mod matrix;
mod run;
mod streams;
mod timed;
mod variant;

pub use build::{build_cargo, compiler, find_executable};
pub use catalog::{Language, Program, all};
pub use check::inconsistencies;
pub use matrix::Matrix;
pub use run::{profiles, run_program};
pub use streams::{StreamCheck, StreamRuns};
pub use variant::{Libc, Variant};
