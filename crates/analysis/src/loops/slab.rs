//! The id of a slab: a path, or several in a row.

/// The place of a slab's node. 0 is no slab: the beginning of an activation.
pub(super) type Slab = u32;
