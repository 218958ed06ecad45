//! Simulates all schemes, each with several intervals between dumps, in one pass.
//!
//! The result equals that of a [`SchemeSimulator`](super::schemes::SchemeSimulator) for each scheme
//! and interval. They share most of their state:
//!
//! - No dump removes an entry. So which condition an entry belongs to depends on the addresses
//!   only.
//! - A dump leaves the two-bit counters as they are. So one counter serves all intervals.
//! - A marked register is a dirty register with a mark: it has the same outcomes, and it is dirty
//!   if it is not new. So one marked register for each interval serves all three schemes.
//!
//! Cost: a step for each execution of a condition, with an operation for each interval, and a step
//! for each entry and interval at a dump.

use super::schemes::{ConditionWeights, ENTRIES, HISTORY_BITS, MarkedRegister, Scheme};

/// Number of intervals.
pub const INTERVALS: usize = 4;

/// An entry of the tables.
#[derive(Clone, Copy, Debug)]
struct Entry {
    condition: u32,
    /// 0 and 1 predict not taken, 2 and 3 predict taken.
    counter: u8,
    /// By interval: the outcomes since its last dump.
    registers: [MarkedRegister; INTERVALS],
}

/// The weights that a scheme estimates with an interval.
#[derive(Clone, PartialEq, Debug)]
pub struct SchemeWeights {
    /// The scheme.
    pub scheme: Scheme,
    /// Instructions from one dump to the next.
    pub interval: u64,
    /// By condition.
    pub weights: Vec<ConditionWeights>,
    /// Number of dumps.
    pub dumps: u64,
}

/// The dumps of an interval.
#[derive(Debug)]
struct Dumps {
    interval: u64,
    /// Instructions since the last dump.
    instructions: u64,
    dumps: u64,
    /// By scheme, in the order of [`Scheme::ALL`], and condition.
    weights: [Vec<ConditionWeights>; Scheme::ALL.len()],
}

/// Simulates all schemes on the conditions of a thread.
#[derive(Debug)]
pub struct SweepSimulator {
    /// Instructions of a mean block.
    block_length: f64,
    table: Vec<Option<Entry>>,
    /// At most [`INTERVALS`].
    intervals: Vec<Dumps>,
}

impl SweepSimulator {
    /// A simulator with empty tables, for this number of conditions, and for at most [`INTERVALS`]
    /// intervals. `block_length` is the number of instructions of a mean block.
    pub fn new(intervals: &[u64], block_length: f64, conditions: usize) -> SweepSimulator {
        let intervals = intervals.iter().take(INTERVALS).map(|&interval| Dumps {
            interval: interval.max(1),
            instructions: 0,
            dumps: 0,
            weights: Scheme::ALL.map(|_| vec![ConditionWeights::default(); conditions]),
        });
        SweepSimulator {
            block_length: block_length.max(1.0),
            table: vec![None; ENTRIES],
            intervals: intervals.collect(),
        }
    }

    /// Executes a condition after this number of instructions.
    #[inline]
    pub fn execute(&mut self, condition: u32, address: u64, is_taken: bool, instructions: u32) {
        let slot = &mut self.table[address as usize % ENTRIES];
        let entry = match slot {
            Some(entry) if entry.condition == condition => entry,
            _ => slot.insert(Entry {
                condition,
                // The first execution makes it weak in its direction.
                counter: 1 + u8::from(!is_taken),
                registers: [MarkedRegister::new(HISTORY_BITS); INTERVALS],
            }),
        };
        entry.counter = match is_taken {
            true => (entry.counter + 1).min(3),
            false => entry.counter.saturating_sub(1),
        };
        for register in &mut entry.registers {
            register.push(is_taken);
        }
        for index in 0..self.intervals.len() {
            let dumps = &mut self.intervals[index];
            dumps.instructions += u64::from(instructions);
            if dumps.instructions >= dumps.interval {
                self.dump(index);
            }
        }
    }

    /// Dumps the tables for an interval.
    fn dump(&mut self, index: usize) {
        let dumps = &mut self.intervals[index];
        let entries = self.table.iter().flatten();
        let dirty = entries.filter(|entry| entry.registers[index].is_dirty());
        let dirty = dirty.count().max(1) as f64;
        let unit = dumps.instructions as f64 / (self.block_length * dirty);
        for entry in self.table.iter_mut().flatten() {
            let register = &mut entry.registers[index];
            if !register.is_dirty() {
                continue;
            }
            let marked = register.outcomes();
            for (scheme, weights) in Scheme::ALL.into_iter().zip(&mut dumps.weights) {
                let weights = &mut weights[entry.condition as usize];
                let (taken, not_taken) = match scheme {
                    Scheme::TwoLevelDirtyBit => (marked.taken, HISTORY_BITS - marked.taken),
                    Scheme::TwoLevelMarkerBit => (marked.taken, marked.not_taken),
                    Scheme::OneLevel => {
                        match entry.counter {
                            0 => weights.not_taken += 2.0 * unit,
                            1 => weights.not_taken += unit,
                            2 => weights.taken += unit,
                            _ => weights.taken += 2.0 * unit,
                        }
                        continue;
                    }
                };
                weights.taken += f64::from(taken);
                weights.not_taken += f64::from(not_taken);
            }
            *register = MarkedRegister::new(HISTORY_BITS);
        }
        dumps.instructions = 0;
        dumps.dumps += 1;
    }

    /// Dumps what remains. Returns the weights by interval, and for each by scheme.
    pub fn finish(mut self) -> Vec<SchemeWeights> {
        (0..self.intervals.len()).for_each(|index| self.dump(index));
        let intervals = self.intervals.into_iter().flat_map(|dumps| {
            let schemes = Scheme::ALL.into_iter().zip(dumps.weights);
            schemes.map(move |(scheme, weights)| SchemeWeights {
                scheme,
                interval: dumps.interval,
                weights,
                dumps: dumps.dumps,
            })
        });
        intervals.collect()
    }
}
