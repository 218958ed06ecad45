//! The options that decide how a function is lowered to a graph.

use holloway_abi::PathEnds;

use super::block_index::BlockIndex;
use crate::options::ModuleOptions;

/// Options for the graph of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoweringOptions<'a> {
    /// The blocks to be cut before their terminator.
    pub(super) blocks_to_cut: &'a [BlockIndex],
    pub(super) exit_edges: ExitEdges,
    pub(super) path_ends: PathEnds,
}

/// Whether graphs have exit edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExitEdges {
    Present,
    Absent,
}

impl<'a> LoweringOptions<'a> {
    /// The options that a module's options imply.
    pub(crate) fn new(options: &ModuleOptions, blocks_to_cut: &'a [BlockIndex]) -> Self {
        Self {
            blocks_to_cut,
            exit_edges: match options.has_exit_edges() {
                true => ExitEdges::Present,
                false => ExitEdges::Absent,
            },
            path_ends: options.collect.traits().path_ends,
        }
    }
}
