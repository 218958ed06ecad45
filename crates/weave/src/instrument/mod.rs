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
//!   `ssa_repair` gives values with two definitions their phis.
//! - Program values: `values` counts the targets of indirect calls and the sizes of memory
//!   operations.
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
pub(crate) mod duplication;
mod edges;
mod entry;
pub(crate) mod frequencies;
pub(crate) mod globals;
pub(crate) mod graph;
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
pub(crate) mod ssa_repair;
mod stream;
mod times;
mod values;
mod variable;
pub(crate) mod weights;
pub(crate) mod word;
mod write_back;

pub(crate) use bursts::leaves::ShortLeaves;

use std::collections::HashSet;

use holloway_llvm::{Function, Module};

use crate::selection::{Selection, functions_with_code};

/// Splits blocks and edges of the selected functions, so that every edge has a place for a probe.
/// Lowering depends on it.
pub(crate) fn make_room_for_probes(module: &mut Module<'_>, selection: &Selection<'_>) {
    let selected: HashSet<String> = functions_with_code(module)
        .filter(|function| selection.reason(*function).is_none())
        .map(Function::name)
        .collect();
    let is_selected = |function: Function<'_>| selected.contains(&function.name());
    module.duplicate_tail_returns(&is_selected);
    module.split_landing_pads(&is_selected);
    module.split_critical_edges(&is_selected);
}
