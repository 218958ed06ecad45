//! What the end-to-end tests and the benches share: building a program plain and woven, running it, reading its
//! profile, and the counters of others to hold against ours.
//!
//! Nothing of the product is linked in here: the `holloway` executable is driven as a user drives it.
#![forbid(unsafe_code)]

pub mod agree;
pub mod clang_counts;
pub mod corpus;
pub mod directives;
pub mod expect;
pub mod files;
pub mod gcov;
pub mod kind;
pub mod machine;
pub mod noise;
pub mod program;
pub mod random_graph;
pub mod random_program;
pub mod registry;
pub mod report;
pub mod tool;
pub mod workload;
