//! A hash table with linear probing, called a segment. It has the counters of a hashed function's
//! paths, or those of a function's values: `SiteValue` in the crate `holloway-format` packs a value
//! and its place into one number. Both are called paths here.
//!
//! A segment has `2^bits` slots. A path's key is in the slot [`hash_slot`], or in a later slot with
//! no free slot in between; after the last slot, the search continues at the first. A key never
//! moves. The runtime writes a key before its count. If the process is killed in between, the key
//! has a count of 0. A function may have several segments in one thread; a path's count is the sum
//! over them. Readers reject a segment that breaks these rules.

/// A counter of a hashed function.
///
/// ```text
/// OFFSET SIZE MEANING
///      0    8  key: path number + 1; 0: a free slot
///      8    8  count: executions of the path; 0: the process was killed before it counted the path
/// ```
///
/// Path 6, executed 258 times:
///
/// ```text
///  0  07 00 00 00 00 00 00 00  02 01 00 00 00 00 00 00
/// ```
#[repr(C)]
#[derive(Clone, Copy)]
pub struct HashSlot {
    /// Path number + 1; 0 for a free slot.
    pub key: u64,
    /// Executions of the path.
    pub count: u64,
}

/// The index of the slot where the search for `path` begins, in a segment of `2^bits` slots.
#[inline]
pub const fn hash_slot(path: u64, bits: u32) -> u64 {
    path.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - bits)
}

const _: () = assert!(size_of::<HashSlot>() == 16);
