//! The id of a slab: one path, or several consecutive paths.

/// The index of a slab's node. [`Successors`](super::successors::Successors) count paths without
/// nodes: there, the id is the path's word.
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
