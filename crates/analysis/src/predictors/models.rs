//! Models of the branch predictors of processors. All have 16 KiB of tables for conditions, so that
//! their figures compare designs, not sizes.
//!
//! - *bimodal*: a two-bit counter for each address (Smith 1981)
//! - *gshare*: two-bit counters, indexed with the address and 16 outcomes (McFarling 1993)
//! - *TAGE*: seven tagged tables with 5 to 130 outcomes (Seznec, Michaud 2006)
//! - *longer history*: TAGE with twelve tables and 5 to 1,000 outcomes. It is larger. The
//!   difference to TAGE is what a longer history removes.
//!
//! The target of a switch or a computed jump is the last one that the same table entry saw. The
//! tables have 4,096 entries, indexed with the address, and except for *bimodal* with a hash of the
//! last targets and outcomes.
//!
//! The predictors see synthetic addresses and woven code only. Real predictors see other branches
//! too, are larger or smaller, and are not published. The figures rank branches and paths; they do
//! not predict what a processor counts.

use super::tage::Tage;

/// Lengths of history of the tables of TAGE.
const LENGTHS: [u32; 7] = [5, 9, 15, 25, 44, 76, 130];
/// Lengths of history of the tables with longer history.
const LONGER_LENGTHS: [u32; 12] = [5, 8, 13, 21, 34, 55, 88, 143, 233, 379, 616, 1000];
/// Two-bit counters of the bimodal predictor and of gshare, as a power of two.
const COUNTER_BITS: u32 = 16;
/// Entries of the tables of targets, as a power of two.
const TARGET_BITS: u32 = 12;
/// Bits of history that choose a target.
const TARGET_HISTORY_BITS: u32 = 24;
/// 2³² divided by the golden ratio: multiplying by it spreads the bits of a number (Knuth).
const GOLDEN_RATIO: u32 = 0x9e37_79b9;

/// A model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Model {
    /// A counter for each address.
    Bimodal,
    /// Counters for each address and history.
    Gshare,
    /// Tagged tables with long histories.
    Tage,
    /// Tagged tables with even longer histories.
    LongerHistory,
}

impl Model {
    /// All models, in the order of [`Right`].
    pub const ALL: [Model; 4] = [
        Model::Bimodal,
        Model::Gshare,
        Model::Tage,
        Model::LongerHistory,
    ];

    /// The index in [`Right`].
    pub fn index(self) -> usize {
        self as usize
    }
}

/// Whether each model was right.
pub type Right = [bool; Model::ALL.len()];

/// Two-bit counters.
#[derive(Clone, Debug)]
struct Counters(Vec<u8>);

impl Counters {
    fn new() -> Counters {
        Counters(vec![1; 1 << COUNTER_BITS])
    }

    fn execute(&mut self, index: u64, is_taken: bool) -> bool {
        let index = index as usize & (self.0.len() - 1);
        let counter = &mut self.0[index];
        let is_right = (*counter >= 2) == is_taken;
        *counter = match is_taken {
            true => (*counter + 1).min(3),
            false => counter.saturating_sub(1),
        };
        is_right
    }
}

/// The last targets.
#[derive(Clone, Debug)]
struct Targets(Vec<u32>);

impl Targets {
    fn new() -> Targets {
        Targets(vec![u32::MAX; 1 << TARGET_BITS])
    }

    fn execute(&mut self, index: u64, target: u32) -> bool {
        let index = index as usize & (self.0.len() - 1);
        std::mem::replace(&mut self.0[index], target) == target
    }
}

/// All models, which see the same branches.
#[derive(Clone, Debug)]
pub struct Models {
    bimodal: Counters,
    gshare: Counters,
    tage: Tage,
    longer_history: Tage,
    last_targets: Targets,
    targets_with_history: Targets,
    /// The last outcomes and hashed targets, newest lowest.
    history: u64,
}

impl Default for Models {
    fn default() -> Models {
        Models {
            bimodal: Counters::new(),
            gshare: Counters::new(),
            tage: Tage::new(&LENGTHS),
            longer_history: Tage::new(&LONGER_LENGTHS),
            last_targets: Targets::new(),
            targets_with_history: Targets::new(),
            history: 0,
        }
    }
}

impl Models {
    /// Executes a condition.
    pub fn condition(&mut self, address: u64, is_taken: bool) -> Right {
        let history = self.history & ((1 << COUNTER_BITS) - 1);
        let right = [
            self.bimodal.execute(address, is_taken),
            self.gshare.execute(address ^ history, is_taken),
            self.tage.execute(address, is_taken),
            self.longer_history.execute(address, is_taken),
        ];
        self.history = self.history << 1 | u64::from(is_taken);
        right
    }

    /// Executes a switch or a computed jump, which leads to this block.
    pub fn indirect(&mut self, address: u64, target: u32) -> Right {
        let last = self.last_targets.execute(address, target);
        let recent =
            (self.history as u32 & ((1 << TARGET_HISTORY_BITS) - 1)).wrapping_mul(GOLDEN_RATIO);
        let index = address ^ u64::from(recent >> (u32::BITS - TARGET_BITS));
        let with_history = self.targets_with_history.execute(index, target);
        // Two bits of the target join the history.
        let hash = target.wrapping_mul(GOLDEN_RATIO) >> 30;
        for bit in [hash >> 1, hash & 1] {
            self.history = self.history << 1 | u64::from(bit);
            self.tage.push(bit as u8);
            self.longer_history.push(bit as u8);
        }
        [last, with_history, with_history, with_history]
    }

    /// Size of a model's tables for conditions, in bytes.
    pub fn size(&self, model: Model) -> u64 {
        match model {
            Model::Bimodal | Model::Gshare => 2 * (1 << COUNTER_BITS) / 8,
            Model::Tage => self.tage.bits() / 8,
            Model::LongerHistory => self.longer_history.bits() / 8,
        }
    }
}
