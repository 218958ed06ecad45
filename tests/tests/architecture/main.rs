//! Tests that the sources follow the architecture in ARCHITECTURE.md.
//!
//! - `crate_table`: the table of crates and their levels agrees with `cargo metadata`;
//! - `module_graph`: the modules of every crate form a directed acyclic graph. `module_tree` reads
//!   the sources of a crate, `names` resolves their paths, and `cycles` finds the cycles.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod crate_table;
mod cycles;
mod module_graph;
mod module_tree;
mod names;
