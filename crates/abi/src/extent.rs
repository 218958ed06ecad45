//! Extents: the pieces of a raw profile.
//!
//! | kind | payload |
//! |---|---|
//! | block | `block_size` bytes: the counters of one thread |
//! | segment | [`HashSlot`](crate::HashSlot)s: counters of one function's paths or values in one thread |
//! | ring | a [`RingHeader`](crate::RingHeader) and the words of one thread |
//! | spool | a piece of a ring's stream, compressed as an LZ4 block |
//! | cells | some of the cells of a ring that began small |
//!
//! # Blocks
//! The counters of function `f` of a module begin at `module base + f.offset` in the block. A
//! function with an array of counters has one `u64` for each path number or counted edge. A hashed
//! function has one `u64`, its *segment pointer*: the address of the thread's current segment plus
//! the binary logarithm of the segment's slot count. A function whose values are counted has
//! a segment pointer behind its array. The segment pointer has no meaning in the file.
//!
//! # Spools
//! If no collector reads the ring, the thread itself takes pieces of its stream out of the ring. It
//! compresses each piece into a spool extent: 64 bytes of [`ExtentHeader`], then the LZ4 block. If
//! the process is killed after the thread wrote the spool, `taken` in the ring may be too small. So
//! a reader continues in the ring where the last spool ends.
//!
//! # Cells
//! If no collector reads the ring, the ring begins small: its extent has no cells. The cells come
//! in extents of their own, each before the owner needs them. A page with the [`ExtentHeader`]
//! comes first, then the cells. So the file of a short process is small.
//! [`FIRST_CELLS`](crate::FIRST_CELLS) has the sizes. With a collector, the ring's extent has all
//! cells, because the collector maps them.

/// First eight bytes of an extent.
pub const EXTENT_MAGIC: [u8; 8] = *b"HLWEXTNT";

/// Extent kind: a thread's block of counters.
pub const EXTENT_BLOCK: u32 = 1;
/// Extent kind: a segment of a function's counters of paths or values.
pub const EXTENT_SEGMENT: u32 = 2;
/// Extent kind: a thread's ring.
pub const EXTENT_RING: u32 = 3;
/// Extent kind: a spooled piece of a ring's stream.
pub const EXTENT_SPOOL: u32 = 4;
/// Extent kind: cells of a ring.
pub const EXTENT_CELLS: u32 = 5;

/// The header of an extent.
///
/// ```text
/// OFFSET SIZE MEANING
///      0    8  EXTENT_MAGIC
///      8    4  kind
///     12    4  thread id of the present owner (a new thread may take over a dead thread's block or
///              ring)
///     16    8  size of the extent, including this header
///     24    8  head, see below
///     32    8  slots, see below
///     40    8  used, see below
///     48   16  the runtime's list of extents, as addresses in the process: not for readers
/// ```
///
/// ```text
///         size                               head              slots               used
/// block   block_size + 64                    0                 0                   owners so far
/// segment 64 + 16 × slots, rounded up        offset of the     number of slots,    slots used
///         to 4096                            segment pointer   a power of two
///                                            in the block
/// ring    4096 + ring_size, or 4096 if the   0                 ring_size           owners so far
///         cells are in extents of their
///         own; for the kind loops
///         block_size + 64 more
/// spool   64 + the LZ4 block, rounded up     file offset of    stream position     bytes of words
///         to 4096                            its ring's extent of its first word   << 32 | bytes
///                                                                                  of LZ4 block
/// cells   4096 + the cells                   file offset of    stream position     0
///                                            its ring's extent of the first word
///                                                              in the first cell
/// ```
///
/// The header of the block of thread 1234, with `block_size` 4032:
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
    /// [`EXTENT_BLOCK`], [`EXTENT_SEGMENT`], [`EXTENT_RING`], [`EXTENT_SPOOL`], or
    /// [`EXTENT_CELLS`].
    pub kind: u32,
    /// Thread id of the present owner.
    pub tid: u32,
    /// Size of the extent in bytes, including this header.
    pub size: u64,
    /// Segment: offset of the segment pointer in the block. Spool and cells: file offset of their
    /// ring's extent.
    pub head: u64,
    /// Segment: number of slots. Ring: bytes of words. Spool and cells: position of the first word.
    pub slots: u64,
    /// Segment: slots used. Block and ring: owners so far. Spool: bytes of words, and bytes of the
    /// LZ4 block.
    pub used: u64,
    /// The runtime's list of extents; no meaning in the file.
    pub reserved: [u64; 2],
}

const _: () = assert!(size_of::<ExtentHeader>() == 64);
