//! Plans the probes of each function, and inserts them.
//!
//! - Planning: [`plan`] makes the graph of a function, decides what is counted, and chooses the
//!   edges with probes. It uses `weights`, `paths`, and `edges`.
//! - Inserting: [`insert`] chooses the style of the probes by the kind of collection: `counters`
//!   (arrays and hash tables), `stream` (rings), `times` (every path timed), `bursts` (some
//!   paths timed), or `block_probes` (nothing counted).
//! - Counters: `promote` keeps a loop's counters in registers, with `natural_loops`, `loop_counts`,
//!   and `write_back`. `likely_counts` makes the count of a likely path cheaper. `ring_counters`
//!   manages the counters next to a ring.
//! - Values: `sites` assigns probes to LLVM blocks. `register` computes where the path register
//!   needs a phi, and `variable` makes its LLVM values. `definitions` describes variables with
//!   several definitions.
//! - Code: `probe` and `aarch64` emit the instructions, `clock` reads the time, `entry` loads the
//!   thread's slot, and `globals` declares symbols.

mod aarch64;
mod anchors;
pub(crate) mod block_probes;
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
