//! Code that the end-to-end tests and the benchmarks share. It builds a program plain and woven,
//! runs the program, reads its profile, and compares the profile with the counters of other tools.
//!
//! This library links no crate of the product; some tests link the readers of its files. The tests
//! run the `holloway` executable as a user does.
#![forbid(unsafe_code)]

pub mod agree;
pub mod clang_counts;
pub mod corpus;
pub mod csmith;
pub mod directives;
pub mod expect;
pub mod files;
pub mod gcov;
pub mod kind;
pub mod machine;
pub mod noise;
pub mod optimized;
pub mod optimized_random;
pub mod program;
pub mod random_graph;
pub mod random_plan;
pub mod random_program;
pub mod registry;
pub mod report;
pub mod server;
pub mod tool;
pub mod workload;
