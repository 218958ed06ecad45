//! A program in a store of profiles, and its record in the database.

use std::time::Duration;

use holloway_analysis::block_times::{BlockTimes, CarriedOver, KeptProgram};
use holloway_format::samples::{AddressSamples, KnownBlocks, MonitoredFile};
use holloway_format::{Count, FunctionIndex, varint};

/// Samples per second in what `report` reads: those of Morph's monitor.
pub(super) const FREQUENCY: u64 = 1024;
/// The version of a program's record.
const VERSION: u64 = 1;

/// A program in the database.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Program {
    pub(super) path: String,
    pub(super) build_id: Vec<u8>,
    pub(super) map: [u8; 16],
    /// When a run was added last, in seconds since 1970.
    pub(super) updated: u64,
    /// The moment that the weights of the times hold for, in seconds since 1970.
    pub(super) aged: u64,
    pub(super) samples: u64,
    pub(super) runs: u64,
    /// 0 if unknown.
    pub(super) code_bytes: u64,
    pub(super) times: BlockTimes,
    /// The times when this build replaced another.
    pub(super) reference: Option<BlockTimes>,
}

impl Program {
    pub(super) fn age(&mut self, now: u64, half_life: Duration) {
        let elapsed = Duration::from_secs(now.saturating_sub(self.aged));
        self.times.age(elapsed, half_life);
        self.aged = self.aged.max(now);
    }

    /// The samples of the program, as a monitor would have written them. Their addresses are not
    /// kept.
    pub(super) fn monitored(&self) -> MonitoredFile {
        let samples = self.times.samples(FREQUENCY).into_iter();
        MonitoredFile {
            path: self.path.clone(),
            build_id: self.build_id.clone(),
            blocks: KnownBlocks::Known {
                map: self.map,
                left_out: 0,
            },
            addresses: samples
                .map(|(block, samples)| AddressSamples {
                    address: 0,
                    samples,
                    block: Some(block),
                })
                .collect(),
        }
    }

    pub(super) fn kept(
        &self,
        bytes: usize,
        now: u64,
        carried_over: Option<CarriedOver>,
    ) -> KeptProgram {
        KeptProgram {
            path: self.path.clone(),
            samples: Count(self.samples),
            runs: self.runs,
            age: Duration::from_secs(now.saturating_sub(self.updated)),
            stored_bytes: bytes as u64,
            code_bytes: Some(self.code_bytes).filter(|&bytes| bytes > 0),
            moved: self
                .reference
                .as_ref()
                .map(|reference| self.times.moved(reference)),
            carried_over,
        }
    }

    /// ```text
    /// v version  v length, path  v length, build id  16 bytes map
    /// v updated (s)  v aged (s)  v samples  v runs
    /// v bytes of code  times  v 1 if there is a reference  [times]
    /// times: v blocks, each: v module - previous module
    ///        v function (- previous function in the same module)  v block  v microseconds
    /// ```
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        varint::put(&mut out, VERSION);
        for bytes in [self.path.as_bytes(), &self.build_id] {
            varint::put(&mut out, bytes.len() as u64);
            out.extend_from_slice(bytes);
        }
        out.extend_from_slice(&self.map);
        for number in [
            self.updated,
            self.aged,
            self.samples,
            self.runs,
            self.code_bytes,
        ] {
            varint::put(&mut out, number);
        }
        put_times(&mut out, &self.times);
        varint::put(&mut out, self.reference.is_some().into());
        if let Some(reference) = &self.reference {
            put_times(&mut out, reference);
        }
        out
    }

    /// `None` if the record has another version or is damaged.
    pub(super) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let input = &mut bytes;
        if take(input)? != VERSION {
            return None;
        }
        let take_bytes = |input: &mut &[u8]| {
            let length = usize::try_from(take(input)?).ok()?;
            input.split_off(..length).map(<[u8]>::to_vec)
        };
        Some(Self {
            path: String::from_utf8(take_bytes(input)?).ok()?,
            build_id: take_bytes(input)?,
            map: input.split_off(..16)?.try_into().ok()?,
            updated: take(input)?,
            aged: take(input)?,
            samples: take(input)?,
            runs: take(input)?,
            code_bytes: take(input)?,
            times: take_times(input)?,
            reference: match take(input)? {
                0 => None,
                _ => Some(take_times(input)?),
            },
        })
    }
}

fn put_times(out: &mut Vec<u8>, times: &BlockTimes) {
    varint::put(out, times.blocks().count() as u64);
    let mut previous = FunctionIndex::default();
    for ((index, block), time) in times.blocks() {
        let modules = index.module - previous.module;
        let base = if modules == 0 { previous.function } else { 0 };
        for number in [modules, index.function - base, block] {
            varint::put(out, number.into());
        }
        varint::put(out, (time / 1e3).round() as u64);
        previous = index;
    }
}

fn take_times(input: &mut &[u8]) -> Option<BlockTimes> {
    let count = take(input)?;
    let mut previous = FunctionIndex::default();
    let mut take_block = || {
        let number = |input: &mut &[u8]| u32::try_from(take(input)?).ok();
        let modules = number(input)?;
        let base = if modules == 0 { previous.function } else { 0 };
        previous = FunctionIndex {
            module: previous.module.checked_add(modules)?,
            function: base.checked_add(number(input)?)?,
        };
        let block = number(input)?;
        Some(((previous, block), take(input)? as f64 * 1e3))
    };
    let blocks: Option<Vec<_>> = (0..count).map(|_| take_block()).collect();
    blocks.map(BlockTimes::from_blocks)
}

fn take(input: &mut &[u8]) -> Option<u64> {
    let (value, length) = varint::take(input)?;
    *input = &input[length..];
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_survive_encoding_and_damage_is_no_panic() {
        let times = BlockTimes::from_blocks([
            (
                (
                    FunctionIndex {
                        module: 0,
                        function: 3,
                    },
                    1,
                ),
                5e3,
            ),
            (
                (
                    FunctionIndex {
                        module: 0,
                        function: 3,
                    },
                    2,
                ),
                6e6,
            ),
            (
                (
                    FunctionIndex {
                        module: 2,
                        function: 1,
                    },
                    0,
                ),
                7e9,
            ),
        ]);
        let program = Program {
            path: "/bin/app".to_owned(),
            build_id: vec![1, 2],
            map: [3; 16],
            updated: 4,
            aged: 5,
            samples: 6,
            runs: 7,
            code_bytes: 8,
            reference: Some(times.clone()),
            times,
        };
        let bytes = program.encode();
        assert_eq!(Program::decode(&bytes), Some(program));
        for length in 0..bytes.len() {
            assert_eq!(Program::decode(&bytes[..length]), None);
        }
    }
}
