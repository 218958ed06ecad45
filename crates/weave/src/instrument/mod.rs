//! Probes: what each kind of collection inserts into LLVM functions.
//!
//! | stage | modules |
//! |---|---|
//! | plan | [`plan`]: graph, counted paths or edges, probes; with `weights`, `paths`, `edges` |
//! | insert | [`insert`] chooses the probe style of the kind |
//! | styles | `counters` (arrays and hash tables), `stream` (rings), `times` (every path), `bursts` (some) |
//! | counters | `promote` keeps a loop's counters in registers, with `natural_loops`, `loop_counts`, `write_back`; `likely_counts` compares with the likely path; `ring_counters` lie next to a ring |
//! | values | `sites` (probes by block), `register` (where the path register needs a phi), `variable` (its LLVM values), `definitions` (values with several definitions) |
//! | code | `probe` and `aarch64` (instructions), `clock`, `entry`, `anchors`, `globals` (symbols) |

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
