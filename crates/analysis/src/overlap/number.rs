//! Numbers of paths, edges, and blocks that two builds of the same code share.

use holloway_format::{EdgeMap, FunctionMap};

/// A path, an edge, or a block: a numbering, and the number in that numbering.
pub(crate) type Number = (Numbering, u64);

/// The numbering that a number belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Numbering {
    /// The numbering of the representative copy.
    Common,
    /// The numbering of the copies with this structure. Used for a path that the common numbering
    /// lacks.
    Own { structure: u64 },
}

/// The edges that every build of the same code has, no matter what it collects. Each comes with its
/// number in the map.
pub(super) fn common_edges(map: &FunctionMap) -> impl Iterator<Item = (&EdgeMap, usize)> {
    let edges = map.edges.iter().zip(0..);
    edges.filter(|(edge, _)| edge.is_always_there())
}
