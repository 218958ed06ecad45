//! Estimates a profile from the tables of a branch predictor (Conte, Patel, Cox 1994, section 3).
//!
//! The tables are *dumped* after each interval of instructions: their content is added to the
//! estimated weights of the arcs, and the entries are marked as clean. The paper dumps at context
//! switches and system calls, which a trace does not have.
//!
//! - [`Scheme::OneLevel`] is a branch target buffer of two-bit counters. N instructions after the
//!   last dump, with d dirty entries and B instructions in a mean block, an entry counts as w =
//!   N/(B·d) executions: 2w for the direction of a strong counter, w for that of a weak one
//!   (table 2).
//! - [`Scheme::TwoLevelDirtyBit`] is the first level of a PAs predictor: a table of history
//!   registers. A dump adds the ones of each dirty register to the taken arc, and its zeros to the
//!   other arc. It clears the registers, so zeros of the last dump may count.
//! - [`Scheme::TwoLevelMarkerBit`] marks where the valid history of a register begins, so only
//!   executions count.
//!
//! Both tables are mapped directly, by address, and have tags. A branch that evicts another one
//! loses what the other left since the last dump. The paper gives neither the associativity nor the
//! state of a new entry: here, a new counter is weak in the direction of its first execution, and
//! a new register is clear.
//!
//! Cost: a step for each execution of a condition, and a step for each entry at a dump.

/// Entries of either table.
pub const ENTRIES: usize = 1024;
/// Bits of a history register.
pub const HISTORY_BITS: u32 = 12;

/// A way to estimate a profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheme {
    /// Two-bit counters.
    OneLevel,
    /// History registers with a dirty bit.
    TwoLevelDirtyBit,
    /// History registers with a marker bit and a full bit.
    TwoLevelMarkerBit,
}

impl Scheme {
    /// All schemes, in the order of the paper's section 3.
    pub const ALL: [Scheme; 3] = [
        Scheme::TwoLevelDirtyBit,
        Scheme::TwoLevelMarkerBit,
        Scheme::OneLevel,
    ];
}

/// The outcomes of a register that count at a dump.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Outcomes {
    /// Executions that were taken.
    pub taken: u32,
    /// Executions that were not taken.
    pub not_taken: u32,
}

fn mask(width: u32) -> u32 {
    (1 << width) - 1
}

fn outcomes(history: u32, valid: u32) -> Outcomes {
    let taken = (history & mask(valid)).count_ones();
    Outcomes {
        taken,
        not_taken: valid - taken,
    }
}

/// A history register with a dirty bit. All its bits count once it is dirty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DirtyRegister {
    width: u32,
    history: u32,
    is_dirty: bool,
}

impl DirtyRegister {
    /// A clean register of `width` bits, at most 31.
    pub fn new(width: u32) -> DirtyRegister {
        DirtyRegister {
            width,
            history: 0,
            is_dirty: false,
        }
    }

    /// Shifts an outcome in: 1 for taken.
    pub fn push(&mut self, is_taken: bool) {
        self.history = (self.history << 1 | u32::from(is_taken)) & mask(self.width);
        self.is_dirty = true;
    }

    /// The outcomes that count.
    pub fn outcomes(&self) -> Outcomes {
        match self.is_dirty {
            true => outcomes(self.history, self.width),
            false => Outcomes::default(),
        }
    }
}

/// A history register with a marker bit and a full bit. The bits right of the leading 1 are valid;
/// all bits are valid once the register is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MarkedRegister {
    width: u32,
    history: u32,
    is_full: bool,
}

impl MarkedRegister {
    /// A clean register of `width` bits, at most 31.
    pub fn new(width: u32) -> MarkedRegister {
        MarkedRegister {
            width,
            history: 1,
            is_full: false,
        }
    }

    /// Shifts an outcome in: 1 for taken.
    pub fn push(&mut self, is_taken: bool) {
        // A register that is not full has its marker as the leading 1.
        self.is_full |= self.history >> (self.width - 1) == 1;
        self.history = (self.history << 1 | u32::from(is_taken)) & mask(self.width);
    }

    /// The outcomes that count.
    pub fn outcomes(&self) -> Outcomes {
        let valid = match self.is_full {
            true => self.width,
            false => self.history.ilog2(),
        };
        outcomes(self.history, valid)
    }

    /// Whether an outcome was shifted in.
    pub fn is_dirty(&self) -> bool {
        self.is_full || self.history != 1
    }

    /// The bits of the register.
    pub fn history(&self) -> u32 {
        self.history
    }

    /// Whether the marker was shifted out, so that all bits are valid.
    pub fn is_full(&self) -> bool {
        self.is_full
    }
}

/// A two-bit counter with a dirty bit.
#[derive(Clone, Copy, Debug)]
struct Counter {
    /// 0 and 1 predict not taken, 2 and 3 predict taken.
    value: u8,
    is_dirty: bool,
}

impl Counter {
    fn push(&mut self, is_taken: bool) {
        self.value = match is_taken {
            true => (self.value + 1).min(3),
            false => self.value.saturating_sub(1),
        };
        self.is_dirty = true;
    }
}

/// The content of an entry.
#[derive(Clone, Copy, Debug)]
enum Content {
    Counter(Counter),
    Dirty(DirtyRegister),
    Marked(MarkedRegister),
}

impl Content {
    /// The content of a new entry, before its first execution.
    fn new(scheme: Scheme, is_taken: bool) -> Content {
        match scheme {
            // The first execution makes it weak in its direction.
            Scheme::OneLevel => Content::Counter(Counter {
                value: 1 + u8::from(!is_taken),
                is_dirty: false,
            }),
            Scheme::TwoLevelDirtyBit => Content::Dirty(DirtyRegister::new(HISTORY_BITS)),
            Scheme::TwoLevelMarkerBit => Content::Marked(MarkedRegister::new(HISTORY_BITS)),
        }
    }

    fn push(&mut self, is_taken: bool) {
        match self {
            Content::Counter(counter) => counter.push(is_taken),
            Content::Dirty(register) => register.push(is_taken),
            Content::Marked(register) => register.push(is_taken),
        }
    }
}

/// An entry of the table: a condition, and what the predictor knows of it.
#[derive(Clone, Copy, Debug)]
struct Entry {
    condition: u32,
    content: Content,
}

/// The estimated executions of a condition.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct ConditionWeights {
    /// Executions that were taken.
    pub taken: f64,
    /// Executions that were not taken.
    pub not_taken: f64,
}

/// Simulates one scheme with one interval on the conditions of a thread, step by step.
/// [`SweepSimulator`](super::sweep::SweepSimulator) simulates all of them in one pass.
#[derive(Debug)]
pub struct SchemeSimulator {
    scheme: Scheme,
    /// Instructions from one dump to the next.
    interval: u64,
    /// Instructions of a mean block.
    block_length: f64,
    table: Vec<Option<Entry>>,
    /// By condition.
    weights: Vec<ConditionWeights>,
    /// Instructions since the last dump.
    instructions: u64,
    dumps: u64,
}

impl SchemeSimulator {
    /// A simulator with empty tables, for this number of conditions. It dumps after `interval`
    /// instructions. `block_length` is the number of instructions of a mean block.
    pub fn new(
        scheme: Scheme,
        interval: u64,
        block_length: f64,
        conditions: usize,
    ) -> SchemeSimulator {
        SchemeSimulator {
            scheme,
            interval: interval.max(1),
            block_length: block_length.max(1.0),
            table: vec![None; ENTRIES],
            weights: vec![ConditionWeights::default(); conditions],
            instructions: 0,
            dumps: 0,
        }
    }

    /// Executes a condition after this number of instructions.
    #[inline]
    pub fn execute(&mut self, condition: u32, address: u64, is_taken: bool, instructions: u32) {
        self.instructions += u64::from(instructions);
        let slot = &mut self.table[address as usize % ENTRIES];
        let entry = match slot {
            Some(entry) if entry.condition == condition => entry,
            _ => slot.insert(Entry {
                condition,
                content: Content::new(self.scheme, is_taken),
            }),
        };
        entry.content.push(is_taken);
        if self.instructions >= self.interval {
            self.dump();
        }
    }

    fn dump(&mut self) {
        let entries = self.table.iter().flatten();
        let dirty = entries
            .filter(|entry| matches!(entry.content, Content::Counter(counter) if counter.is_dirty));
        let dirty = dirty.count().max(1) as f64;
        let unit = self.instructions as f64 / (self.block_length * dirty);
        for entry in self.table.iter_mut().flatten() {
            let weights = &mut self.weights[entry.condition as usize];
            let outcomes = match &mut entry.content {
                Content::Counter(counter) => {
                    if std::mem::take(&mut counter.is_dirty) {
                        match counter.value {
                            0 => weights.not_taken += 2.0 * unit,
                            1 => weights.not_taken += unit,
                            2 => weights.taken += unit,
                            _ => weights.taken += 2.0 * unit,
                        }
                    }
                    continue;
                }
                Content::Dirty(register) => {
                    let outcomes = register.outcomes();
                    *register = DirtyRegister::new(register.width);
                    outcomes
                }
                Content::Marked(register) => {
                    let outcomes = register.outcomes();
                    *register = MarkedRegister::new(register.width);
                    outcomes
                }
            };
            weights.taken += f64::from(outcomes.taken);
            weights.not_taken += f64::from(outcomes.not_taken);
        }
        self.instructions = 0;
        self.dumps += 1;
    }

    /// Dumps what remains. Returns the weights of each condition, and the number of dumps.
    pub fn finish(mut self) -> (Vec<ConditionWeights>, u64) {
        self.dump();
        (self.weights, self.dumps)
    }
}
