//! Reads one sample: its address and its branch stack.
//!
//! ```text
//! SIZE  MEANING                                        present if sample_type has
//! 8     identifier                                     IDENTIFIER  1 << 16
//! 8     address of the instruction                     IP          1 << 0
//! 4 4   process, thread                                TID         1 << 1
//! 8     time                                           TIME        1 << 2
//! 8     address of data                                ADDR        1 << 3
//! 8     id                                             ID          1 << 6
//! 8     id of the stream                               STREAM_ID   1 << 9
//! 8     processor                                      CPU         1 << 7
//! 8     period                                         PERIOD      1 << 8
//! …     values of counters (below)                     READ        1 << 4
//! 8 8n  n, and n addresses of callers                  CALLCHAIN   1 << 5
//! 4 n   n, and n bytes                                 RAW         1 << 10
//! 8     n: number of branches                          BRANCH_STACK 1 << 11
//! 8       index of the newest branch in hardware         branch_sample_type has HW_INDEX 1 << 17
//! 24n     branches, the newest first: source, target, flags
//! ```
//! Later fields are not read. A stack of calls (LBR call stack) is not read either: its entries are
//! not the last branches. Flags of a branch: bit 0 mispredicted, bit 1 predicted, bits 24 and 25
//! speculation: 1 if the processor executed the branch speculatively, and discarded it.
//!
//! Values of counters: `value`, or with GROUP (1 << 3) `n`, then n values. Times of enabling
//! (1 << 0) and running (1 << 1) follow the value, or `n`. Each value has an id (1 << 2) and a
//! number of lost records (1 << 4).

use super::screen::Formats;
use crate::address_spaces::BranchEntry;

const IP: u64 = 1 << 0;
const TID: u64 = 1 << 1;
const TIME: u64 = 1 << 2;
const ADDR: u64 = 1 << 3;
const READ: u64 = 1 << 4;
const CALLCHAIN: u64 = 1 << 5;
const ID: u64 = 1 << 6;
const CPU: u64 = 1 << 7;
const PERIOD: u64 = 1 << 8;
const STREAM_ID: u64 = 1 << 9;
const RAW: u64 = 1 << 10;
const IDENTIFIER: u64 = 1 << 16;

const TIME_ENABLED: u64 = 1 << 0;
const TIME_RUNNING: u64 = 1 << 1;
const VALUE_ID: u64 = 1 << 2;
const GROUP: u64 = 1 << 3;
const VALUE_LOST: u64 = 1 << 4;

/// In `branch_sample_type`: stacks have an index.
const HARDWARE_INDEX: u64 = 1 << 17;

/// Speculation of a branch: on a wrong path.
const WRONG_PATH: u64 = 1;

/// A sample in user mode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedSample {
    /// Nanoseconds of the kernel's clock, or 0.
    pub time: u64,
    /// The process.
    pub process: u32,
    /// The address of the instruction.
    pub address: u64,
    /// The taken branches before the sample, the oldest first. Empty if they were not recorded.
    pub stack: Vec<BranchEntry>,
}

/// Reads the body of a sample. `None` if it is damaged.
pub(super) fn parse(data: &[u8], formats: &Formats) -> Option<RecordedSample> {
    let mut data = Words(data);
    let has = |flag| formats.sample_type & flag != 0;
    let mut sample = RecordedSample::default();
    data.skip_if(has(IDENTIFIER))?;
    if has(IP) {
        sample.address = data.u64()?;
    }
    if has(TID) {
        sample.process = data.u64()? as u32;
    }
    for flag in [TIME, ADDR, ID, STREAM_ID, CPU, PERIOD] {
        data.skip_if(has(flag))?;
    }
    if has(READ) {
        skip_values(&mut data, formats.read_format)?;
    }
    if has(CALLCHAIN) {
        let callers = data.u64()?;
        data.skip(callers.checked_mul(8)?)?;
    }
    if has(RAW) {
        let length = data.u32()?;
        data.skip(length.into())?;
    }
    if formats.has_all_branches() {
        sample.stack = stack(&mut data, formats.branch_sample_type)?;
    }
    Some(sample)
}

fn skip_values(data: &mut Words<'_>, format: u64) -> Option<()> {
    let has = |flag| format & flag != 0;
    let values = match has(GROUP) {
        true => data.u64()?,
        false => {
            data.u64()?;
            1
        }
    };
    data.skip_if(has(TIME_ENABLED))?;
    data.skip_if(has(TIME_RUNNING))?;
    let words = u64::from(has(GROUP)) + u64::from(has(VALUE_ID)) + u64::from(has(VALUE_LOST));
    data.skip(values.checked_mul(8 * words)?)
}

fn stack(data: &mut Words<'_>, format: u64) -> Option<Vec<BranchEntry>> {
    let count = data.u64()?;
    data.skip_if(format & HARDWARE_INDEX != 0)?;
    let mut stack = Vec::new();
    for _ in 0..count {
        let (from, to, flags) = (data.u64()?, data.u64()?, data.u64()?);
        if flags >> 24 & 3 != WRONG_PATH {
            stack.push(BranchEntry {
                from,
                to,
                mispredicted: flags & 1 != 0,
            });
        }
    }
    stack.reverse();
    Some(stack)
}

/// The unread part of a record, little-endian.
struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn u64(&mut self) -> Option<u64> {
        let (word, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*word))
    }

    fn u32(&mut self) -> Option<u32> {
        let (word, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*word))
    }

    fn skip(&mut self, bytes: u64) -> Option<()> {
        self.0 = self.0.get(usize::try_from(bytes).ok()?..)?;
        Some(())
    }

    fn skip_if(&mut self, is_there: bool) -> Option<()> {
        match is_there {
            true => self.skip(8),
            false => Some(()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    const BRANCH_STACK: u64 = 1 << 11;
    const ANY_BRANCH: u64 = 1 << 3;

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn formats(sample_type: u64, read_format: u64, branch_sample_type: u64) -> Formats {
        Formats {
            sample_type,
            read_format,
            branch_sample_type,
            maps_have_build_ids: false,
        }
    }

    fn entry(from: u64, to: u64, mispredicted: bool) -> BranchEntry {
        BranchEntry {
            from,
            to,
            mispredicted,
        }
    }

    #[test]
    fn a_stack_is_read_after_everything_that_may_precede_it() {
        let all = IDENTIFIER
            | IP
            | TID
            | TIME
            | ADDR
            | ID
            | STREAM_ID
            | CPU
            | PERIOD
            | READ
            | CALLCHAIN
            | BRANCH_STACK;
        let group = GROUP | TIME_ENABLED | TIME_RUNNING | VALUE_ID | VALUE_LOST;
        let head = [1, 0x1140, 7 | 8 << 32, 2, 3, 4, 5, 6, 1000];
        let values = [2, 90, 80, 11, 12, 0, 21, 22, 0];
        let callers = [3, 0x1140, 0x1150, 0x1160];
        // The newest branch comes first. The second was taken on a wrong path.
        let stack = [3, 99, 0x10, 0x20, 1, 0x55, 0x66, 1 << 24, 0x30, 0x40, 2];
        let body = [&head[..], &values, &callers, &stack, &[77]].concat();
        let found = parse(
            &words(&body),
            &formats(all, group, ANY_BRANCH | HARDWARE_INDEX),
        )
        .unwrap();
        assert_eq!(found.process, 7);
        assert_eq!(found.address, 0x1140);
        assert_eq!(
            found.stack,
            [entry(0x30, 0x40, false), entry(0x10, 0x20, true)]
        );

        // One value, no group, no index.
        let body = [0x1140, 5, 90, 1, 0x10, 0x20, 0];
        let some = IP | READ | BRANCH_STACK;
        let found = parse(&words(&body), &formats(some, TIME_RUNNING, ANY_BRANCH)).unwrap();
        assert_eq!(found.stack, [entry(0x10, 0x20, false)]);
    }

    #[test]
    fn raw_data_has_a_length_in_bytes() {
        let mut body = words(&[0x1140]);
        body.extend([4, 0, 0, 0, 1, 2, 3, 4]);
        body.extend(words(&[1, 0x10, 0x20, 0]));
        let found = parse(&body, &formats(IP | RAW | BRANCH_STACK, 0, ANY_BRANCH)).unwrap();
        assert_eq!(found.stack, [entry(0x10, 0x20, false)]);
    }

    #[test]
    fn lengths_beyond_the_record_are_damage() {
        for body in [
            vec![0x1140, u64::MAX],
            vec![0x1140, 2, 0x10, 0x20, 0],
            vec![0x1140],
            vec![],
        ] {
            assert_eq!(
                parse(&words(&body), &formats(IP | BRANCH_STACK, 0, ANY_BRANCH)),
                None
            );
        }
        let huge = formats(IP | READ, GROUP, 0);
        assert_eq!(parse(&words(&[0x1140, 1 << 61, 0]), &huge), None);
    }
}
