//! The words of a stream. Each word has 4 bytes.
//!
//! # Paths
//! A path's word is 1 + the index that its counter would have in a block:
//! `1 + (module base + function offset) / 8 + path number`.
//!
//! # Control words
//! Words of at least [`WORD_CONTROL`] are control words. A control word is followed by its
//! operands: words with bit 31 set and 31 bits of payload, lowest bits first. The control word and
//! its operands are a *record*. An operand may look like a control word. So each control word has a
//! fixed number of operands.
//!
//! One instruction reserves the cells of a record. The runtime then writes the words one by one. If
//! a signal handler jumps out in between, the record lacks words, and their cells stay 0. The words
//! of a spool or of a reader's batch may end inside a record.
//!
//! - [`WORD_CAUGHT`], 3 operands: position `P` / 4 (low and high 31 bits), and the catcher. Control
//!   came back to a frame, by an exception or a `longjmp`. The frame's function was entered when
//!   the cursor was `P`. All frames entered later are gone. The catcher is the word of path 0 of
//!   the function, or 0 if all paths of the function have ring counters.
//! - [`WORD_OWNER`], 1 operand: thread id. The following words belong to another thread: a new
//!   stream begins. Every ring begins with this record. Every new owner of a ring appends one. (A
//!   ring gets a new owner after its thread ended, or after its library was unloaded.)
//! - [`WORD_CLOCK`], 10 operands (see [`CLOCK_WORDS`](crate::CLOCK_WORDS)): a clock record, for
//!   timed paths.
//!
//! Example: thread 1234 begins a ring and runs the paths with the words 7 and 9.
//!
//! ```text
//! 02 ff ff ff  d2 04 00 80  07 00 00 00  09 00 00 00     WORD_OWNER, 1234 with bit 31, 7, 9
//! ```

/// The lowest control word.
pub const WORD_CONTROL: u32 = 0xFFFF_FF00;
/// Control word: control came back to a frame.
pub const WORD_CAUGHT: u32 = WORD_CONTROL + 1;
/// Control word: the following words belong to another thread.
pub const WORD_OWNER: u32 = WORD_CONTROL + 2;
/// Control word: a clock record.
pub const WORD_CLOCK: u32 = WORD_CONTROL + 3;
/// Bit 31, which is set in all operands.
pub const OPERAND: u32 = 1 << 31;
