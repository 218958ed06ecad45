//! Counters of hashed functions: open addressing in segments of `2^bits` slots.
//!
//! A key stands at [`hash_slot`], or after it (wrapping) with no free slot between. It never moves.
//! A key is written before its count, so a process killed in between leaves a key with a count of
//! 0. Several segments of one function add up. Readers check all of this.

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
    /// Path number + 1, or 0.
    pub key: u64,
    /// Executions of the path.
    pub count: u64,
}

/// Slot where the search for `path` begins in a segment of `2^bits` slots (then linear, wrapping).
#[inline]
pub const fn hash_slot(path: u64, bits: u32) -> u64 {
    path.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - bits)
}

const _: () = assert!(size_of::<HashSlot>() == 16);
