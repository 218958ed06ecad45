//! The cost model: what an execution costs, in the time of one instruction.
//!
//! The run's cost is the sum of
//! - its executed instructions, one each;
//! - [`MISPREDICTION`] for each expected misprediction;
//! - [`ALLOCATION`] for each call of an allocator that the path map knows.
//!
//! A bound is the part of this sum that goes away if the advice is followed and the change costs
//! nothing. Bounds of different pieces may contain the same instructions, so they do not add up. A
//! real program may wait for memory, which the model does not know. Then the share of a bound is
//! too large.
//!
//! The model's processor executes four instructions per cycle when it does not wait, as processors
//! of the last ten years can. With fewer, a misprediction would cost the time of fewer
//! instructions, and its share would be smaller.

use holloway_format::{Count, FactKind};

use crate::glue::is_glue;
use crate::run::{Function, RunProfile};

/// Instructions in whose time a processor recovers from a misprediction: 20 cycles, at four
/// instructions per cycle.
pub const MISPREDICTION: u64 = 80;

/// Instructions of an allocation and of freeing it, with the allocator of glibc. An allocation of
/// 64 bytes and its `free` execute 60 to 110 instructions there.
pub const ALLOCATION: u64 = 100;

/// Advice with a smaller bound than this share of the run is left out.
pub const LEAST_SHARE: f64 = 0.01;

/// The most instructions of a test that a decision avoids: to load, to mask, to compare, to branch.
pub const TEST: u64 = 4;

/// An upper bound on a saving.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Saving {
    /// The amount.
    pub amount: Count,
    /// The unit of the amount.
    pub unit: Unit,
    /// The amount as a share of the run: of its cost by the model, or of its cycles.
    pub share: f64,
}

/// The unit of a [`Saving`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// The time of an instruction, by the model.
    Instructions,
    /// Measured cycles.
    Cycles,
}

/// The cost of a run by the model.
pub struct Model {
    total: Count,
}

impl Model {
    /// The cost of a run with these expected mispredictions.
    pub fn new(run: &RunProfile, mispredictions: Count) -> Model {
        let functions = run.functions.iter().filter(|function| function.ran());
        let costs = functions.map(|function| {
            let allocations = allocations(function).saturating_mul(ALLOCATION);
            function.flow().instructions.saturating_add(allocations)
        });
        let mispredicted = mispredictions.saturating_mul(MISPREDICTION);
        Model {
            total: costs.fold(mispredicted, Count::saturating_add),
        }
    }

    /// The saving of the time of this many instructions.
    pub fn saving(&self, amount: Count) -> Saving {
        Saving {
            amount,
            unit: Unit::Instructions,
            share: amount.to_f64() / self.total.max(Count(1)).to_f64(),
        }
    }
}

/// The calls of allocators in a function. A wrapper of an allocator counts where it is called.
fn allocations(function: &Function) -> Count {
    if is_glue(&function.map) {
        return Count::ZERO;
    }
    let facts = function.map.facts.iter();
    let calls = facts.filter(|fact| fact.kind == FactKind::Allocates);
    let counts = calls.map(|fact| function.flow().blocks[fact.block as usize]);
    counts.fold(Count::ZERO, Count::saturating_add)
}

/// The most instructions that executing the test at the end of a block costs.
pub(super) fn test_cost(function: &Function, block: u32) -> u64 {
    u64::from(function.map.blocks[block as usize].instructions).min(TEST)
}
