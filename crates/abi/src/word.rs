//! Words of a stream, 4 bytes each.
//!
//! # Paths
//! A path's word is 1 + the index that its counter would have in a block:
//! `1 + (module base + function offset) / 8 + path number`.
//!
//! # Control words
//! Words from [`WORD_CONTROL`] on are control words. Their operands follow as words with bit 31 set
//! and 31 bits of payload each, lowest bits first. An operand may look like a control word, so
//! readers take as many operands as the control word has.
//!
//! A control word and its operands take their places with one instruction, and are then written one
//! after the other. If a signal handler jumps out meanwhile, the record lacks words, and their
//! places stay 0. A spool or a reader's batch may end inside a record.
//!
//! - [`WORD_CAUGHT`], 3 operands: position `P` / 4 (low and high 31 bits), and the catcher. An
//!   exception or a `longjmp` came back to a frame whose function was entered when the cursor was
//!   `P`. All frames entered later are gone. The catcher is the word of path 0 of the function, or
//!   0 if all its paths are counted behind the ring.
//! - [`WORD_OWNER`], 1 operand: thread id. The following words belong to another thread: a new
//!   stream begins. Every ring begins with this word. Every new owner of a ring (of a dead thread,
//!   of an unloaded library) appends one.
//! - [`WORD_CLOCK`], 10 operands (see [`CLOCK_WORDS`](crate::CLOCK_WORDS)): the thread's clock, for
//!   timed paths.
//!
//! Example: thread 1234 begins a ring and runs the paths with the words 7 and 9.
//!
//! ```text
//! 02 ff ff ff  d2 04 00 80  07 00 00 00  09 00 00 00     WORD_OWNER, 1234 with bit 31, 7, 9
//! ```

/// First control word.
pub const WORD_CONTROL: u32 = 0xFFFF_FF00;
/// Control word: control came back to a frame.
pub const WORD_CAUGHT: u32 = WORD_CONTROL + 1;
/// Control word: the ring's next owner.
pub const WORD_OWNER: u32 = WORD_CONTROL + 2;
/// Control word: the thread's clock.
pub const WORD_CLOCK: u32 = WORD_CONTROL + 3;
/// Bit 31, which is set in operands of control words.
pub const OPERAND: u32 = 1 << 31;
