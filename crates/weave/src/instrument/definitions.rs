//! What is defined in several places while a function is being woven, and used where not all of
//! them reach: a loop's countdown, where a timed path began. The uses are given their values when
//! all blocks are there (`bursts/join.rs`).

use holloway_llvm::{Block, Instruction, Value};

/// A variable with several definitions.
#[derive(Clone, Debug, Default)]
pub(super) struct SplitVariable<'m> {
    /// What it is at the end of a block; the last one of a block counts.
    pub(super) made: Vec<(Block<'m>, Value<'m>)>,
    /// Operands that are to be what it is at the top of their block.
    pub(super) used: Vec<(Instruction<'m>, u32)>,
}
