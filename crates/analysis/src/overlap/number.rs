//! Numbers that two builds of the same code share: of paths, edges, and blocks.

use holloway_format::{EdgeMap, FunctionMap};

/// A path, an edge or a block: in which numbering, and its number there.
pub(crate) type Number = (Numbered, u64);

/// Whose numbering a number is of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Numbered {
    /// The one that stands for all.
    Common,
    /// That of the copies with this structure, for what the common one has not.
    Own { structure: u64 },
}

/// The edges that two builds of the same code have in common whatever they collect, with their numbers.
pub(super) fn lasting(map: &FunctionMap) -> impl Iterator<Item = (&EdgeMap, usize)> {
    let edges = map.edges.iter().zip(0..);
    edges.filter(|(edge, _)| edge.is_always_there())
}
