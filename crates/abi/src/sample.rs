//! Samples and clocks: the records of timed paths (kinds variation and times).
//!
//! Only the runtime appends to the ring of a thread whose paths are timed. A sample is the path's
//! word and seven operands, in the form of control words' operands:
//!
//! - 0, 1 (31 + 31 bits): program time at the path's start, low and high half.
//! - 2 (31 bits): low half of the duration in cycles of program time. The duration includes the
//!   bias of the path's own probe, which readers subtract.
//! - 3 (22 + 9 bits): high half of the duration, above the `SAMPLE_…` flags and, at
//!   [`SAMPLE_CHECK`], the check.
//! - 4, 5 (31 + 31 bits): own cycles, without bias, of the paths that were timed inside this path
//!   (its callees' paths), low and high half.
//! - 6 (31 bits): number of paths begun that this sample stands for. It is 0 if an earlier sample,
//!   of a callee, already stands for them.
//!
//! The sum of operand 6 over a thread's samples is an unbiased estimate of the number of paths that
//! the thread began.
//!
//! A path's inclusive time is its duration less the bias. Its own time is the inclusive time less
//! operands 4 and 5, where [`SAMPLE_CALLED`] is not set.
//!
//! The check makes the exclusive or of all hexadecimal digits of a sample come to 0 ([`digits`]).
//! It covers the word and the operands without bit 31. So readers find every sample with one
//! flipped bit, and fifteen in sixteen samples of random bits.
//!
//! All eight words take their places with one instruction, so a handler's words stand before or
//! after them. A sample that a kill cut short lacks operands (0 in the file); readers skip it.
//!
//! # Clocks
//! [`WORD_CLOCK`](crate::WORD_CLOCK) has ten operands:
//!
//! - 0, 1: time stamp counter, low and high 31 bits.
//! - 2, 3: nanoseconds of CLOCK_MONOTONIC, low and high 31 bits.
//! - 4: bias of a probe, in cycles.
//! - 5: involuntary context switches of the thread so far.
//! - 6, 7: cycles that probes have taken so far, low and high 31 bits.
//! - 8: resolution of the clock, in cycles. Two equal times may differ by this much, since the
//!   clock goes in steps and probes vary.
//! - 9: exclusive or of operands 0 to 8.
//!
//! A clock stands where a thread's stream begins, and before a sample where the last clock is
//! [`CLOCK_AGE`] cycles old or more. At a clock, the program time is operands 0 and 1 less operands
//! 6 and 7.
//!
//! # Example
//! The path with word 7 began at program time 1000. Its duration is 150 cycles, 100 of them in
//! callees' paths. It stands for 10,001 paths:
//!
//! ```text
//! 07 00 00 00  e8 03 00 80  00 00 00 80  96 00 00 80     word, start, duration
//! a0 00 00 80  64 00 00 80  00 00 00 80  11 27 00 80     check 10, others, 10001 paths
//! ```

use crate::word::OPERAND;

/// Flag of a sample: the thread was preempted while the path ran.
pub const SAMPLE_PREEMPTED: u32 = 1;
/// Flag of a sample: the kernel moved the thread to another processor while the path ran.
///
/// Moves during a wait of the thread's own are the program's doing, and do not set the flag.
pub const SAMPLE_MIGRATED: u32 = 2;
/// Flag of a sample: untimed woven code ran inside the path, so its own time is unknown.
pub const SAMPLE_CALLED: u32 = 4;
/// Flag of a sample: nobody knows whether the thread was preempted.
pub const SAMPLE_UNWATCHED: u32 = 8;
/// Flag of a sample: the path's duration is unknown, and the sample has the bias in its place.
///
/// There are three reasons:
/// - the path began in another thread;
/// - the path began before a handler whose probes it does not know;
/// - the path took hardly longer than the paths timed inside it, and the assumed cost of their
///   probes is more than the whole duration.
pub const SAMPLE_UNKNOWN: u32 = 256;

/// Words of a sample.
pub const SAMPLE_WORDS: usize = 8;
/// Words of a clock: [`WORD_CLOCK`](crate::WORD_CLOCK) and its operands.
pub const CLOCK_WORDS: usize = 11;
/// Bits of the flags and the check, below the high half of a sample's duration.
pub const SAMPLE_FLAG_BITS: u32 = 9;
/// Lowest bit of the check (four bits) among a sample's flags.
pub const SAMPLE_CHECK: u32 = 4;
/// Cycles between two clocks of a thread that goes on taking samples.
pub const CLOCK_AGE: u64 = 1 << 26;

/// The exclusive or of the hexadecimal digits of all words, without [`OPERAND`] bits.
///
/// It is 0 for a whole sample.
#[inline]
pub const fn digits(words: [u32; SAMPLE_WORDS]) -> u32 {
    let [a, b, c, d, e, f, g, h] = words;
    let all = (a ^ b ^ c ^ d ^ e ^ f ^ g ^ h) & !OPERAND;
    let all = all ^ all >> 16;
    let all = all ^ all >> 8;
    (all ^ all >> 4) & 0xF
}
