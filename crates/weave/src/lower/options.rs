//! Options for the graph of a function.

use holloway_abi::PathEnds;

use super::block_index::BlockIndex;
use crate::options::ModuleOptions;

/// Options for the graph of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoweringOptions<'a> {
    /// Blocks, by position in the function, to be cut before their terminator.
    pub(super) split: &'a [BlockIndex],
    pub(super) exit_edges: ExitEdges,
    pub(super) path_ends: PathEnds,
}

/// Whether a part that may be left in a call has an exit edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExitEdges {
    Present,
    Absent,
}

impl<'a> LoweringOptions<'a> {
    /// The options that a module's options imply.
    pub(crate) fn new(options: &ModuleOptions, split: &'a [BlockIndex]) -> Self {
        Self {
            split,
            exit_edges: match options.has_exit_edges() {
                true => ExitEdges::Present,
                false => ExitEdges::Absent,
            },
            path_ends: options.collect.traits().path_ends,
        }
    }
}
