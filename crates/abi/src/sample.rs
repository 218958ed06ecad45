//! Samples and clock records, which streams with timed paths contain (kinds variation and times).
//!
//! In these kinds, woven code appends no words itself; the runtime appends them. A sample is the
//! path's word and seven operands with bit 31 set, as in a control word's record:
//!
//! - 0, 1 (31 + 31 bits): program time at the path's start, low and high half.
//! - 2 (31 bits): low half of the duration in cycles of program time. The duration includes the
//!   bias of the path's own probe, which readers subtract.
//! - 3 (22 + 9 bits): high half of the duration, above the `SAMPLE_…` flags and, at
//!   [`SAMPLE_CHECK`], the check.
//! - 4, 5 (31 + 31 bits): exclusive cycles, without bias, of the paths that were timed inside this
//!   path (its callees' paths), low and high half.
//! - 6 (31 bits): number of paths that this sample stands for: the paths that began since the last
//!   sample. It is 0 if the sample of a callee already stands for them.
//!
//! The sum of operand 6 over a thread's samples is an unbiased estimate of the number of paths that
//! the thread began.
//!
//! A path's inclusive time is its duration minus the bias. Its exclusive time is the inclusive time
//! minus operands 4 and 5. The exclusive time is unknown if [`SAMPLE_CALLED`] is set.
//!
//! The runtime chooses the check so that the exclusive or of all hexadecimal digits of the sample
//! is 0 ([`digits`]). The check covers the word and the operands without bit 31. So readers detect
//! every sample with one flipped bit, and fifteen of sixteen samples of random bits.
//!
//! One instruction reserves the cells of all eight words. So words of a signal handler come before
//! or after the sample. If the process was killed while it wrote a sample, operands of the sample
//! are 0 in the file. Readers skip that sample.
//!
//! # Clock records
//! A clock record is [`WORD_CLOCK`](crate::WORD_CLOCK) and ten operands:
//!
//! - 0, 1: time stamp counter, low and high 31 bits.
//! - 2, 3: nanoseconds of CLOCK_MONOTONIC, low and high 31 bits.
//! - 4: bias of a probe, in cycles.
//! - 5: number of involuntary context switches of the thread so far.
//! - 6, 7: cycles that probes have taken so far, low and high 31 bits.
//! - 8: resolution of the clock, in cycles. Two measured times of the same length may differ by
//!   this much, because the clock advances in steps and the cost of probes varies.
//! - 9: exclusive or of operands 0 to 8.
//!
//! A clock record is at the beginning of a thread's stream, and before each sample that ends
//! [`CLOCK_AGE`] cycles or more after the last clock record. The program time of a clock record is
//! operands 0 and 1 minus operands 6 and 7.
//!
//! # Example
//! The path with word 7 began at program time 1000. Its duration is 150 cycles. 100 of these cycles
//! belong to paths of callees. The sample stands for 10,001 paths:
//!
//! ```text
//! 07 00 00 00  e8 03 00 80  00 00 00 80  96 00 00 80     word, start, duration
//! a0 00 00 80  64 00 00 80  00 00 00 80  11 27 00 80     check 10, callees, 10001 paths
//! ```

use crate::word::OPERAND;

/// Flag of a sample: the thread was preempted while the path ran.
pub const SAMPLE_PREEMPTED: u32 = 1;
/// Flag of a sample: the kernel moved the thread to another processor while the path ran.
///
/// A move while the thread waited by itself does not set the flag: the program caused the wait.
pub const SAMPLE_MIGRATED: u32 = 2;
/// Flag of a sample: untimed woven code ran inside the path, so the path's exclusive time is
/// unknown.
pub const SAMPLE_CALLED: u32 = 4;
/// Flag of a sample: it is unknown whether the thread was preempted.
pub const SAMPLE_UNWATCHED: u32 = 8;
/// Flag of a sample: the path's duration is unknown, and the sample contains the bias instead.
///
/// There are three reasons:
/// - the path began in another thread;
/// - a signal handler with timed paths interrupted the beginning of the path, which does not know
///   the cycles of the handler's probes;
/// - the path took hardly longer than the paths timed inside it, and the assumed cost of their
///   probes exceeds the path's duration.
pub const SAMPLE_UNKNOWN: u32 = 256;

/// Number of words of a sample.
pub const SAMPLE_WORDS: usize = 8;
/// Number of words of a clock record: [`WORD_CLOCK`](crate::WORD_CLOCK) and its operands.
pub const CLOCK_WORDS: usize = 11;
/// Number of bits of the flags and the check in operand 3, below the high half of the duration.
pub const SAMPLE_FLAG_BITS: u32 = 9;
/// Lowest bit of the check among the flags of a sample. The check has four bits.
pub const SAMPLE_CHECK: u32 = 4;
/// Age in cycles of the last clock record from which the next sample gets a new clock record.
pub const CLOCK_AGE: u64 = 1 << 26;

/// The exclusive or of the hexadecimal digits of all words, without [`OPERAND`] bits.
///
/// The result is 0 for an intact sample.
#[inline]
pub const fn digits(words: [u32; SAMPLE_WORDS]) -> u32 {
    let [a, b, c, d, e, f, g, h] = words;
    let word = (a ^ b ^ c ^ d ^ e ^ f ^ g ^ h) & !OPERAND;
    let half = word ^ word >> 16;
    let byte = half ^ half >> 8;
    (byte ^ byte >> 4) & 0xF
}
