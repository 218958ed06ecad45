//! Values with several definitions: a loop's countdown, the start of a timed path. They are defined
//! in several blocks while a function is being woven, and some uses are reached by more than one
//! definition. The uses get their values when all blocks exist (`bursts/ssa_repair.rs`).

use holloway_llvm::{Block, Instruction, Value};

/// A variable with several definitions.
#[derive(Clone, Debug, Default)]
pub(super) struct SplitVariable<'m> {
    /// Its value at the end of a block. The last value of a block counts.
    pub(super) definitions: Vec<(Block<'m>, Value<'m>)>,
    /// Operands that get its value at the top of their block.
    pub(super) uses: Vec<(Instruction<'m>, u32)>,
}
