//! The id of a slab. A slab consists of one path or several consecutive paths of an activation.

/// The index of a slab's node in [`Slabs`](super::slabs::Slabs). For K = 2, there are no nodes
/// ([`Successors`](super::successors::Successors)). A slab is then one path, and its id is the
/// path's word.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct SlabId(pub(super) u32);

impl SlabId {
    /// No slab: the beginning of an activation.
    pub(super) const NONE: SlabId = SlabId(0);

    /// The id as an index.
    #[inline(always)]
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}
