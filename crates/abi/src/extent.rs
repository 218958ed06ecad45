//! Extents: the pieces of a raw profile.
//!
//! | kind | payload |
//! |---|---|
//! | block | the counters of one thread, `block_size` bytes |
//! | segment | counters of one hashed function: [`HashSlot`](crate::HashSlot) records |
//! | ring | a [`RingHeader`](crate::RingHeader) and the words of one thread |
//! | spool | a piece of a ring's stream, as an LZ4 block |
//!
//! # Blocks
//! Function `f` of a module has its counters at `module base + f.offset`. An array function has one
//! `u64` for each path number or counted edge. A hashed function has one `u64`: the address of the
//! thread's current segment plus the logarithm of its slots, which has no meaning in the file.
//!
//! # Spools
//! The thread itself takes a piece of its ring's stream out where no collector reads the ring. The
//! extent is 64 bytes of [`ExtentHeader`], then the LZ4 block. A kill may come between the spool
//! and the move of `taken` in the ring: a reader goes on in the ring where the last spool ends.

/// First eight bytes of an extent.
pub const EXTENT_MAGIC: [u8; 8] = *b"HLWEXTNT";

/// Extent kind: a thread's block of counters.
pub const EXTENT_BLOCK: u32 = 1;
/// Extent kind: a segment of a hashed function's counters.
pub const EXTENT_SEGMENT: u32 = 2;
/// Extent kind: a thread's ring.
pub const EXTENT_RING: u32 = 3;
/// Extent kind: a spooled piece of a ring's stream.
pub const EXTENT_SPOOL: u32 = 4;

/// Head of an extent.
///
/// ```text
/// OFFSET SIZE MEANING
///      0    8  EXTENT_MAGIC
///      8    4  kind
///     12    4  thread id of the present owner (blocks and rings are handed on)
///     16    8  size of the extent, this header included
///     24    8  head, see below
///     32    8  slots, see below
///     40    8  used, see below
///     48   16  the runtime's own list of extents, as addresses in the process: not for readers
/// ```
///
/// ```text
///         size                               head              slots               used
/// block   block_size + 64                    0                 0                   owners so far
/// segment 64 + 16 × slots, rounded up        offset of the     number of slots,    slots used
///         to 4096                            function's head   a power of two
///                                            in the block
/// ring    4096 + ring_size; for the kind     0                 ring_size           owners so far
///         loops block_size + 64 more
/// spool   64 + the LZ4 block, rounded up     file offset of    stream position     bytes of words
///         to 4096                            its ring's extent of its first word   << 32 | bytes
///                                                                                  of LZ4 block
/// ```
///
/// The head of the block of thread 1234, with `block_size` 4032:
///
/// ```text
///  0  48 4c 57 45 58 54 4e 54  01 00 00 00 d2 04 00 00   HLWEXTNT, block, thread 1234
/// 16  00 10 00 00 00 00 00 00  00 00 00 00 00 00 00 00   4096 bytes
/// 32  00 00 00 00 00 00 00 00  01 00 00 00 00 00 00 00   first owner
/// ```
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ExtentHeader {
    /// [`EXTENT_MAGIC`].
    pub magic: [u8; 8],
    /// [`EXTENT_BLOCK`], [`EXTENT_SEGMENT`], [`EXTENT_RING`], or [`EXTENT_SPOOL`].
    pub kind: u32,
    /// Thread id of the owner.
    pub tid: u32,
    /// Bytes, header included.
    pub size: u64,
    /// Segment: offset of the function's head in the block. Spool: offset of its ring.
    pub head: u64,
    /// Segment: number of slots. Ring: bytes of words. Spool: position of its first word.
    pub slots: u64,
    /// Segment: slots used. Block and ring: owners so far. Spool: bytes of words and of the block.
    pub used: u64,
    /// The runtime's own; no meaning in the file.
    pub reserved: [u64; 2],
}

const _: () = assert!(size_of::<ExtentHeader>() == 64);
