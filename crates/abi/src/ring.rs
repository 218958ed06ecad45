//! The ring of a thread: shared memory to which the thread appends its stream, and from which a
//! reader takes words.
//!
//! The *owner* of a ring is the thread that appends to it. The *reader* is the collector, the owner
//! itself, or a later process (see "Taking words out"). A *cell* of a ring is 4 bytes that hold one
//! word. A cell is 0 while it is free.
//!
//! With streams, the thread's slot holds the address of a [`RingHeader`], 64 bytes after the start
//! of a ring extent. The cells begin [`RING_WORDS`] bytes after the start of the [`RingHeader`]. A
//! path that ends appends one [word](crate::WORD_CONTROL), with the exceptions of the next section.
//!
//! A *stream position* counts bytes of words since the beginning of the stream. It never decreases.
//! The word at stream position `p` is in the cell at offset `p & (ring_size - 1)`. `ring_size` is
//! [`RING_SIZE`], a constant in woven code.
//!
//! # Ring counters (kind loops)
//! Ring counters follow the cells: at offset `RING_WORDS + RING_SIZE` from the start of the
//! [`RingHeader`] are 64 bytes, then `block_size` bytes of counters with the layout of a block of
//! counters. Woven code counts complete activations and left paths there, and appends no word for
//! them (`format::map`, "Ring counters"). Woven code finds a module's ring counters by a second
//! symbol: the name of the module's base symbol with `_beside` appended.
//!
//! # Appending
//! One instruction *reserves* a cell: it adds 4 to the cursor. Then the owner writes the word into
//! the cell. So the words of a signal handler never overwrite the word of the code that the handler
//! interrupted. A cell that is reserved but not yet written is 0. Such a cell is a *hole*.
//!
//! A *chunk* is [`CHUNK`] bytes of cells. After the owner wrote the first word of a chunk, it calls
//! [`CHUNK_SYMBOL`](crate::CHUNK_SYMBOL). The call returns when [`RESERVE`] bytes, counted from the
//! start of the chunk, are free. So signal handlers that interrupt each other just before such
//! calls still find free cells.
//!
//! # Taking words out
//! There is one reader at a time:
//! - the collector that [`RawHeader::collector`](crate::RawHeader::collector) names, while the
//!   collector and the process live;
//! - without a collector, the owner, which spools;
//! - after the end of the process, any process that reads the file.
//!
//! The reader
//! 1. loads `cursor` (relaxed) and `missing_from`; the ring holds the words at `taken ..
//!    min(cursor, missing_from)`;
//! 2. loads words (relaxed, because no other memory depends on them) up to the first hole; woven
//!    code stores words relaxed on any processor;
//! 3. sets their cells to 0 (relaxed), adds the number of holes among them to `holes`, and stores
//!    `taken` (release; the owner loads `taken` with acquire before it uses the cells again);
//! 4. executes `fence(SeqCst)`, loads `waiting`, and wakes the owner if `waiting` is 1, with
//!    `FUTEX_WAKE` (shared, not private) on the low half of `taken`.
//!
//! The owner sets `waiting`, executes a fence, loads `taken` once more, and only then waits. Each
//! wait ends after 20 ms at the latest. So a lost wake-up, for example from a collector that was
//! killed, costs 20 ms.
//!
//! # Holes
//! The reader waits until the owner fills a hole. In three cases the reader takes the hole as a
//! word 0, because the owner will never fill it, or because the owner itself waits for the reader:
//! - The hole is below [`RingHeader::start`]: its owner is dead.
//! - The hole is at `taken`, and the owner waits for the reader. The owner then runs a handler that
//!   interrupted the frame which reserved the cell, or jumped out of that frame for good. The
//!   reader checks three conditions: `waiting` was 1 (acquire); the owner needs the cell, so
//!   `(cursor - 4 rounded down to CHUNK) + RESERVE > taken + ring_size`; and the cell was still 0
//!   *after* these checks. The second condition excludes an owner that has not yet woken up from an
//!   earlier wait.
//! - The process has ended.
//!
//! In the second case, the interrupted frame may still write its word, or the rest of its record,
//! after the reader passed the cell. That word is lost, and may overwrite a later word.
//!
//! # The end of a stream
//! If the collector has ended or no space is left, the runtime sets `missing_from`, prints its line
//! on standard error, and adds 1 to `lost`. The file keeps the ring's words below `missing_from`.
//! The thread writes its later words to private memory. Only the cursor still advances.

use crate::profile::PAGE;

/// Size of a chunk of a ring in bytes.
///
/// Woven code calls [`CHUNK_SYMBOL`](crate::CHUNK_SYMBOL) after it wrote a cell whose offset is a
/// multiple of this size.
pub const CHUNK: u64 = 1 << 16;

/// Size of a ring's cells in bytes; a power of two.
///
/// A busy thread appends this many bytes in a few milliseconds. So the thread can continue while
/// the collector cuts a block of its trace. The ring is not larger because the ring of each living
/// thread occupies disk space, at once or as its cells are used.
pub const RING_SIZE: u64 = 1 << 21;

/// Bytes of the first chunk that a ring without a collector begins with.
///
/// Such a ring begins its stream this many bytes before the end of a chunk, so that the owner soon
/// calls [`CHUNK_SYMBOL`](crate::CHUNK_SYMBOL). The first cells in the file are these, and a page
/// of the next chunk. At each call, the cells of the new chunk and a page of the next one must be
/// in the file. If they are not, the cells in the file at least double. Until then, the owner
/// writes later words, which only signal handlers append, to private memory. They are copied to the
/// file when their cells become a part of it.
pub const FIRST_CELLS: u64 = 2 * PAGE;

/// Bytes from the start of the current chunk that are free when
/// [`CHUNK_SYMBOL`](crate::CHUNK_SYMBOL) returns.
pub const RESERVE: u64 = 6 * CHUNK;

/// Offset of a ring's cells from its [`RingHeader`].
pub const RING_WORDS: u64 = PAGE - 64;

/// The header of a ring, at offset 64 of a ring extent.
///
/// ```text
/// OFFSET SIZE MEANING
///      0    8  cursor: stream position after the last reserved cell; only the owner adds to it
///      8    8  origin: cursor at the start: 0, or in the child of a fork the parent's cursor at
///              the fork, rounded up to a multiple of CHUNK. Without a collector: rounded up to a
///              multiple of RING_SIZE, plus CHUNK - FIRST_CELLS
///     16    8  ring_size: bytes of words, RING_SIZE
///     24    8  start: position of the present owner's WORD_OWNER
///     32   32  private to the runtime: not for readers
///     64    8  taken: stream position up to which a reader has taken words
///     72    4  waiting: 1 while the owner waits on `taken` (a futex on its low 32 bits)
///     76    4  reserved, 0
///     80    8  missing_from: stream position from which the owner drops words; u64::MAX: none
///     88    8  controls: control words and their operands that were appended
///     96    8  left_out: words of paths that the collector took but did not analyze (--sample)
///    104    8  holes: holes that the reader took
///    112   16  reserved, 0
/// ```
///
/// A ring whose owner has appended the four words of the example in the module of words:
///
/// ```text
///  0  10 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00   cursor 16, origin 0 (a collector)
/// 16  00 00 20 00 00 00 00 00  00 00 00 00 00 00 00 00   ring_size 2 MiB, start 0
/// 64  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00   nothing taken
/// 80  ff ff ff ff ff ff ff ff  02 00 00 00 00 00 00 00   none missing, 2 words of a record
/// ```
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RingHeader {
    /// Stream position after the last reserved cell.
    pub cursor: u64,
    /// Stream position of the first word.
    pub origin: u64,
    /// Bytes of cells.
    pub ring_size: u64,
    /// Stream position of the present owner's first word.
    pub start: u64,
    /// Private to the runtime.
    pub runtime_private: [u64; 4],
    /// Stream position after the last word that a reader took.
    pub taken: u64,
    /// 1 while the owner waits for free cells.
    pub waiting: u32,
    /// 0.
    pub reserved: u32,
    /// Stream position from which the owner drops words; `u64::MAX`: none.
    pub missing_from: u64,
    /// Number of appended control words and operands.
    pub controls: u64,
    /// Number of words of paths that the reader took but did not analyze.
    pub left_out: u64,
    /// Number of holes that the reader took. This includes the holes in records that a signal
    /// handler jumped out of, which `controls` counts as well.
    pub holes: u64,
    /// 0.
    pub reserved2: [u64; 2],
}

const _: () = assert!(size_of::<RingHeader>() == 128);
