//! Rings: where a thread appends the words of its stream.
//!
//! With streams, the thread's slot holds the address of a [`RingHeader`], 64 bytes into a ring
//! extent. The words begin [`RING_WORDS`] bytes from the header's start. Each path that ends
//! appends one [word](crate::WORD_CONTROL), except for the paths in the next section. The word at
//! stream position `p` (in bytes, ever growing) is at `p & (ring_size - 1)`. `ring_size` is
//! [`RING_SIZE`], a constant in woven code.
//!
//! # Counters behind the words (kind loops)
//! At `RING_WORDS + RING_SIZE` from the header lie 64 bytes and `block_size` bytes of counters.
//! Paths that are whole activations, and paths left in a call, are counted there as in a block.
//! They append no word (`format::map`, "Paths in streams"). Woven code finds the counters by a
//! symbol of its own: the symbol of its module's base with `_beside` appended.
//!
//! # Appending
//! One instruction takes a place: it adds 4 to the cursor. Then the word is written there. So a
//! signal handler's words come before or after the word, never over it. A place that is taken but
//! not yet written is 0; this is a *hole*.
//!
//! The thread that wrote the first word of a chunk (at a multiple of [`CHUNK`]) calls
//! [`CHUNK_SYMBOL`](crate::CHUNK_SYMBOL) next. The call returns when [`RESERVE`] bytes from the
//! chunk's start on are free. So handlers that interrupt each other just before such calls still
//! find free places.
//!
//! # Taking words out
//! There is one reader at a time:
//! - the collector that [`RawHeader::collector`](crate::RawHeader::collector) names, while the
//!   collector and the process live;
//! - without a collector, the threads themselves, which spool;
//! - after the end of the process, whoever finds the file.
//!
//! The reader
//! 1. loads `cursor` (relaxed) and `missing`; the ring holds the words at `taken .. min(cursor,
//!    missing)`;
//! 2. loads words (relaxed, since nothing else depends on them) up to the first hole; woven code
//!    stores them relaxed on any processor;
//! 3. sets their places to 0 (relaxed), adds the holes among them to `holes`, and stores `taken`
//!    (release; the owner loads it with acquire before it uses the places again);
//! 4. runs `fence(SeqCst)`, loads `waiting`, and wakes the owner if it is 1: `FUTEX_WAKE` (shared,
//!    not private) on the low half of `taken`. The owner sets `waiting`, runs a fence, loads
//!    `taken` once more, and only then waits. A time-out of 20 ms covers the rest.
//!
//! # Holes
//! The reader passes over a hole, which stays a 0 in the reader's output, where nobody will fill it
//! or nobody can wait for that:
//! - below [`RingHeader::start`], since its owner is dead;
//! - at `taken`, if three things hold: `waiting` was 1 (acquire); the owner cannot go on before the
//!   hole is taken, so `(cursor - 4 rounded down to CHUNK) + RESERVE > taken + ring_size`
//!   (otherwise it may only not have been woken yet from an earlier wait); and the place was still
//!   0 *after* these checks. The owner then runs in a handler far above the frame that left the
//!   hole, or jumped out of the frame for good;
//! - when the process is gone.
//!
//! In the second case the frame may still write its word, or the rest of its record, a lap too
//! late. Those words are lost, and may overwrite others.
//!
//! # The end of a stream
//! If the collector is gone or no space is left, the runtime sets `missing`, writes the line on
//! stderr, and adds 1 to `lost`. The file keeps the ring's words up to there: the thread's later
//! words go to private memory. Only the cursor goes on.

use crate::environment;
use crate::profile::PAGE;

/// Bytes of a chunk of a ring.
///
/// Woven code calls [`CHUNK_SYMBOL`](crate::CHUNK_SYMBOL) where the place just written is a
/// multiple of it.
pub const CHUNK: u64 = 1 << 16;

/// Bytes of a ring's words; a power of two.
///
/// A busy thread appends this much in some milliseconds, so it goes on while the collector cuts a
/// block of its trace. The ring is not larger because each living thread reserves its bytes on
/// disk.
pub const RING_SIZE: u64 = 1 << 21;

/// Bytes that are free from the start of a chunk on when [`CHUNK_SYMBOL`](crate::CHUNK_SYMBOL)
/// returns.
pub const RESERVE: u64 = 6 * CHUNK;

/// Offset of a ring's words from its [`RingHeader`].
pub const RING_WORDS: u64 = PAGE - 64;

/// Environment variable: the process id of the collector that reads the rings of this run, a space,
/// and the directory where the collector finds them.
///
/// Threads spool if the variable is absent, or if HOLLOWAY_DATA names another directory.
pub const COLLECTOR_VARIABLE: &str = environment::internal::COLLECTOR;

/// Head of a ring, at offset 64 of a ring extent.
///
/// ```text
/// OFFSET SIZE MEANING
///      0    8  cursor: stream position after the last place taken; only the owner adds to it
///      8    8  origin: cursor at the start; in the child of a fork, the parent's cursor at the
///              fork, rounded up to a multiple of CHUNK
///     16    8  ring_size: bytes of words, RING_SIZE
///     24    8  start: position of the present owner's WORD_OWNER
///     32   32  the runtime's own: not for readers
///     64    8  taken: stream position up to which a reader has taken words
///     72    4  waiting: 1 while the owner waits on `taken` (a futex on its low 32 bits)
///     76    4  reserved, 0
///     80    8  missing: stream position from which on words are dropped; u64::MAX: none
///     88    8  controls: control words and their operands that were appended
///     96    8  left_out: words of paths that the collector took and, for a sample, left out
///    104    8  holes: places that the collector took unwritten
///    112   16  reserved, 0
/// ```
///
/// A ring whose owner has appended the four words of the example in the module of words:
///
/// ```text
///  0  10 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00   cursor 16, origin 0
/// 16  00 00 20 00 00 00 00 00  00 00 00 00 00 00 00 00   ring_size 2 MiB, start 0
/// 64  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00   nothing taken
/// 80  ff ff ff ff ff ff ff ff  02 00 00 00 00 00 00 00   none missing, 2 words are no path's
/// ```
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RingHeader {
    /// Position after the last place taken.
    pub cursor: u64,
    /// Position of the first word.
    pub origin: u64,
    /// Bytes of words.
    pub ring_size: u64,
    /// Position where the present owner's words begin.
    pub start: u64,
    /// The runtime's own.
    pub own: [u64; 4],
    /// Position after the last word that a reader took.
    pub taken: u64,
    /// 1 while the owner waits.
    pub waiting: u32,
    /// 0.
    pub reserved: u32,
    /// Position from which on words are missing.
    pub missing: u64,
    /// Appended words that end no path.
    pub controls: u64,
    /// Words of paths that a reader took and did not look at.
    pub left_out: u64,
    /// Places that a reader took and nobody wrote. They include the unwritten places of records
    /// that a handler jumped out of, which `controls` counts as well.
    pub holes: u64,
    /// 0.
    pub more: [u64; 2],
}

const _: () = assert!(size_of::<RingHeader>() == 128);
