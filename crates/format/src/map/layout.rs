//! Constants of a fragment's layout ([`crate::map`]).

/// First eight bytes of a fragment.
pub const FRAGMENT_MAGIC: [u8; 8] = *b"HLWMODUL";
/// Flag in the byte with the kind of a function's counters: the function's places are in the order
/// of the source.
pub(super) const IN_SOURCE_ORDER: u8 = 4;
/// Kind of counters: counted edges, and the head of a hash table of values.
pub(super) const WITH_VALUES: u8 = 8;
/// Flag in the byte with the kind of a dag edge: the edge is off the spanning tree.
pub(super) const CHORD: u8 = 8;
