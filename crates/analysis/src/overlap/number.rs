//! Numbers that identify the same path, edge, or block in two builds of the same code.

use holloway_format::{EdgeMap, FunctionMap};

/// Identifies a path, an edge, or a block: a numbering, and the number in that numbering.
pub(crate) type Number = (Numbering, u64);

/// The numbering that a number belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Numbering {
    /// The numbering of the representative copy.
    Common,
    /// The numbering of the copies with this structure, for a path that the common numbering does
    /// not contain. `structure` is [`FunctionMap::structure_hash`].
    Own { structure: u64 },
}

/// The edges that every build of the same code has, no matter what it collects. Each edge comes
/// with its number in the map.
pub(crate) fn common_edges(map: &FunctionMap) -> impl Iterator<Item = (&EdgeMap, usize)> {
    let edges = map.edges.iter().zip(0..);
    edges.filter(|(edge, _)| edge.is_always_there())
}
