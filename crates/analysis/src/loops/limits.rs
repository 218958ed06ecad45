//! Limits on the size of a slab forest.

/// A forest may always have this many nodes, whatever its limit.
pub(super) const MIN_NODES: usize = 1 << 12;

/// The limits on the size of a slab forest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Maximum number of nodes; a node takes about 64 bytes while the forest grows. A forest may
    /// exceed the limit in two cases: it may always have a few thousand nodes, and it keeps the
    /// nodes that open activations need.
    pub nodes: usize,
}

impl Default for Limits {
    /// A million nodes. bzip2 and zlib run paths in random order; with K = 8, they produce a
    /// million nodes within a few million words.
    fn default() -> Limits {
        Limits { nodes: 1 << 20 }
    }
}
