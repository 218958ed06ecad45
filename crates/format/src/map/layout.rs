//! Constants of a fragment's layout ([`crate::map`]).

/// First eight bytes of a fragment.
pub const FRAGMENT_MAGIC: [u8; 8] = *b"HLWMODUL";
/// Added to the code of a function's counters where its places are in the order of the source.
pub(super) const IN_SOURCE_ORDER: u8 = 4;
