//! What the graph of a function is to have.

use crate::options::{Collect, ModuleOptions};

/// What the graph of a function is to have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoweringOptions<'a> {
    /// Blocks, by position in the function, to be cut before their terminator.
    pub(super) split: &'a [usize],
    pub(super) exit_edges: ExitEdges,
    pub(super) calls: Calls,
}

/// Whether a segment that may be left in a call has an exit edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExitEdges {
    Present,
    Absent,
}

/// What a call does to the path that makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Calls {
    /// The path ends before the call, and the next begins there.
    EndPaths,
    /// The path goes on behind the call.
    ContinuePaths,
}

impl<'a> LoweringOptions<'a> {
    /// What the options of a module ask for.
    pub(crate) fn new(options: &ModuleOptions, split: &'a [usize]) -> Self {
        Self {
            split,
            exit_edges: match options.has_exit_edges() {
                true => ExitEdges::Present,
                false => ExitEdges::Absent,
            },
            calls: match options.collect {
                Collect::Trace => Calls::EndPaths,
                Collect::Paths
                | Collect::Edges
                | Collect::Loops
                | Collect::Variation
                | Collect::Times => Calls::ContinuePaths,
            },
        }
    }
}
