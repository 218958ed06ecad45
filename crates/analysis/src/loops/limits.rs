//! Limits on the size of a slab forest.

/// A forest may always have this many nodes, whatever its limit.
pub(super) const MIN_NODES: usize = 1 << 12;

/// The limits on the size of a slab forest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Maximum number of nodes; a node takes about 64 bytes while the forest grows. A few thousand
    /// nodes, and the nodes that open activations need, are kept in any case.
    pub nodes: usize,
}

impl Default for Limits {
    /// A million nodes. With k = 8, bzip2 and zlib run paths in random order and produce that many
    /// nodes in some million words.
    fn default() -> Limits {
        Limits { nodes: 1 << 20 }
    }
}
