//! Models of the branch predictors of processors. All have about 64 KiB of tables for conditions,
//! as in the championships of branch prediction, so that their figures compare designs, not sizes.
//!
//! - *bimodal*: a two-bit counter for each address (Smith 1981)
//! - *gshare*: two-bit counters, indexed with the address and 18 outcomes (McFarling 1993)
//! - *TAGE*: seven tagged tables with 5 to 130 outcomes (Seznec, Michaud 2006)
//! - *longer history*: TAGE with twelve tables and 5 to 1,000 outcomes. It is larger. The
//!   difference to TAGE is what a longer history removes.
//!
//! The target of a switch or a computed jump is the last one that the same table entry saw. The
//! tables have 4,096 entries, indexed with the address, and except for *bimodal* with a hash of the
//! last targets and outcomes.
//!
//! The predictors see woven code only, and synthetic addresses where real ones are unknown. Real
//! predictors see other branches too, are larger or smaller, and are not published. The figures
//! rank branches and paths; they do not predict what a processor counts.

use super::tage::Tage;

/// Lengths of history of the tables of TAGE.
const LENGTHS: [u32; 7] = [5, 9, 15, 25, 44, 76, 130];
/// Lengths of history of the tables with longer history.
const LONGER_LENGTHS: [u32; 12] = [5, 8, 13, 21, 34, 55, 88, 143, 233, 379, 616, 1000];
/// Two-bit counters of the bimodal predictor and of gshare, as a power of two.
const COUNTER_BITS: u32 = 18;
const COUNTERS: usize = 1 << COUNTER_BITS;
/// Entries of the tables of targets, as a power of two.
const TARGET_BITS: u32 = 12;
const TARGETS: usize = 1 << TARGET_BITS;
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

/// A simulated predictor. It predicts a branch, learns its outcome, and returns whether the
/// prediction was right.
pub(super) trait Predictor {
    /// Executes a condition.
    fn condition(&mut self, address: u64, is_taken: bool) -> bool;

    /// Executes a switch or a computed jump, which leads to this block.
    fn indirect(&mut self, address: u64, target: u32) -> bool;

    /// Size of the tables for conditions, in bytes.
    fn size(&self) -> u64;
}

/// Two-bit counters.
#[derive(Clone, Debug)]
struct Counters(Box<[u8; COUNTERS]>);

impl Counters {
    const SIZE: u64 = 2 * COUNTERS as u64 / 8;

    fn new() -> Counters {
        let counters = vec![1; COUNTERS].try_into();
        Counters(counters.expect("as many counters"))
    }

    #[inline]
    fn execute(&mut self, index: u64, is_taken: bool) -> bool {
        let counter = &mut self.0[index as usize % COUNTERS];
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
struct Targets(Box<[u32; TARGETS]>);

impl Targets {
    fn new() -> Targets {
        Targets(Box::new([u32::MAX; TARGETS]))
    }

    #[inline]
    fn execute(&mut self, index: u64, target: u32) -> bool {
        let last = &mut self.0[index as usize % TARGETS];
        std::mem::replace(last, target) == target
    }
}

/// The last targets by address and history, and the history.
#[derive(Clone, Debug)]
struct TargetsWithHistory {
    targets: Targets,
    /// The last outcomes and hashed targets, newest lowest.
    history: u64,
}

impl TargetsWithHistory {
    fn new() -> TargetsWithHistory {
        TargetsWithHistory {
            targets: Targets::new(),
            history: 0,
        }
    }

    #[inline]
    fn push(&mut self, bit: u8) {
        self.history = self.history << 1 | u64::from(bit);
    }

    /// Returns whether the prediction was right, and two bits of the target, which join the
    /// history.
    #[inline]
    fn execute(&mut self, address: u64, target: u32) -> (bool, [u8; 2]) {
        let recent =
            (self.history as u32 & ((1 << TARGET_HISTORY_BITS) - 1)).wrapping_mul(GOLDEN_RATIO);
        let index = address ^ u64::from(recent >> (u32::BITS - TARGET_BITS));
        let is_right = self.targets.execute(index, target);
        let hash = target.wrapping_mul(GOLDEN_RATIO) >> 30;
        let bits = [(hash >> 1) as u8, (hash & 1) as u8];
        bits.into_iter().for_each(|bit| self.push(bit));
        (is_right, bits)
    }
}

/// Counters and targets by address.
#[derive(Clone, Debug)]
pub(super) struct Bimodal {
    counters: Counters,
    targets: Targets,
}

impl Predictor for Bimodal {
    #[inline]
    fn condition(&mut self, address: u64, is_taken: bool) -> bool {
        self.counters.execute(address, is_taken)
    }

    #[inline]
    fn indirect(&mut self, address: u64, target: u32) -> bool {
        self.targets.execute(address, target)
    }

    fn size(&self) -> u64 {
        Counters::SIZE
    }
}

/// Counters and targets by address and history.
#[derive(Clone, Debug)]
pub(super) struct Gshare {
    counters: Counters,
    targets: TargetsWithHistory,
}

impl Predictor for Gshare {
    #[inline]
    fn condition(&mut self, address: u64, is_taken: bool) -> bool {
        let history = self.targets.history & ((1 << COUNTER_BITS) - 1);
        let is_right = self.counters.execute(address ^ history, is_taken);
        self.targets.push(u8::from(is_taken));
        is_right
    }

    #[inline]
    fn indirect(&mut self, address: u64, target: u32) -> bool {
        self.targets.execute(address, target).0
    }

    fn size(&self) -> u64 {
        Counters::SIZE
    }
}

/// TAGE, and targets by address and history.
#[derive(Clone, Debug)]
pub(super) struct TageWithTargets<const N: usize> {
    tage: Tage<N>,
    targets: TargetsWithHistory,
}

impl<const N: usize> TageWithTargets<N> {
    fn new(lengths: &[u32; N]) -> TageWithTargets<N> {
        TageWithTargets {
            tage: Tage::new(lengths),
            targets: TargetsWithHistory::new(),
        }
    }
}

impl<const N: usize> Predictor for TageWithTargets<N> {
    #[inline]
    fn condition(&mut self, address: u64, is_taken: bool) -> bool {
        self.targets.push(u8::from(is_taken));
        self.tage.execute(address, is_taken)
    }

    #[inline]
    fn indirect(&mut self, address: u64, target: u32) -> bool {
        let (is_right, bits) = self.targets.execute(address, target);
        bits.into_iter().for_each(|bit| self.tage.push(bit));
        is_right
    }

    fn size(&self) -> u64 {
        self.tage.bits() / 8
    }
}

/// All models, which see the same branches.
#[derive(Clone, Debug)]
pub struct Models {
    pub(super) bimodal: Bimodal,
    pub(super) gshare: Gshare,
    pub(super) tage: TageWithTargets<{ LENGTHS.len() }>,
    pub(super) longer_history: TageWithTargets<{ LONGER_LENGTHS.len() }>,
}

impl Default for Models {
    fn default() -> Models {
        Models {
            bimodal: Bimodal {
                counters: Counters::new(),
                targets: Targets::new(),
            },
            gshare: Gshare {
                counters: Counters::new(),
                targets: TargetsWithHistory::new(),
            },
            tage: TageWithTargets::new(&LENGTHS),
            longer_history: TageWithTargets::new(&LONGER_LENGTHS),
        }
    }
}

impl Models {
    /// Executes a condition.
    pub fn condition(&mut self, address: u64, is_taken: bool) -> Right {
        [
            self.bimodal.condition(address, is_taken),
            self.gshare.condition(address, is_taken),
            self.tage.condition(address, is_taken),
            self.longer_history.condition(address, is_taken),
        ]
    }

    /// Executes a switch or a computed jump, which leads to this block.
    pub fn indirect(&mut self, address: u64, target: u32) -> Right {
        [
            self.bimodal.indirect(address, target),
            self.gshare.indirect(address, target),
            self.tage.indirect(address, target),
            self.longer_history.indirect(address, target),
        ]
    }

    /// By model: the size of its tables for conditions, in bytes.
    pub fn sizes(&self) -> [u64; Model::ALL.len()] {
        [
            self.bimodal.size(),
            self.gshare.size(),
            self.tage.size(),
            self.longer_history.size(),
        ]
    }
}
