//! How much a slab forest may hold.

/// Nodes below which nothing is dropped, whatever the limit.
pub(super) const LEAST: usize = 1 << 12;

/// How much a forest may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Nodes, about 64 bytes each while it grows. A few thousand, and what open activations need, are kept in any case.
    pub nodes: usize,
}

impl Default for Limits {
    /// A million nodes. Paths that bzip2 and zlib run at random make as many in some million words at k = 8.
    fn default() -> Limits {
        Limits { nodes: 1 << 20 }
    }
}
