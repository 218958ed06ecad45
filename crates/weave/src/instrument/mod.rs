//! Probes: what each kind of collection inserts into LLVM functions.
//!
//! - Planning: [`plan`] makes the graph of a function, and decides what is counted and where probes
//!   stand, with `weights`, `paths` and `edges`.
//! - Inserting: [`insert`] chooses the probe style of the kind: `counters` (arrays and hash
//!   tables), `stream` (rings), `times` (every path timed) or `bursts` (some paths timed).
//! - Counters: `promote` keeps a loop's counters in registers, with `natural_loops`, `loop_counts`
//!   and `write_back`. `likely_counts` compares with the likely path. `ring_counters` lie next to a
//!   ring.
//! - Values: `sites` sorts probes into blocks, `register` finds where the path register needs a
//!   phi, `variable` makes its LLVM values, and `definitions` holds values with several
//!   definitions.
//! - Code: `probe` and `aarch64` have the instructions, `clock` reads the time, `entry` loads the
//!   thread's slot, and `globals` declares symbols.

mod aarch64;
mod anchors;
mod boundaries;
mod bursts;
mod clock;
mod counters;
mod definitions;
mod edges;
mod entry;
mod frequencies;
pub(crate) mod globals;
mod graph;
pub(crate) mod insert;
mod likely_counts;
mod loop_counts;
mod natural_loops;
mod paths;
pub(crate) mod plan;
mod probe;
mod promote;
mod register;
pub(crate) mod ring_counters;
pub(crate) mod selector;
mod sites;
mod stream;
mod times;
mod variable;
mod weights;
pub(crate) mod word;
mod write_back;

pub(crate) use bursts::leaves::ShortLeaves;
