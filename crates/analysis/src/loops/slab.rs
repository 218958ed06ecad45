//! The id of a slab: one path, or several consecutive paths.

/// The index of a slab's node. 0 means no slab: the beginning of an activation.
pub(super) type SlabId = u32;
