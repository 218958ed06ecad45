//! A variable with several definitions, for example a loop's countdown or the start of a timed
//! path.
//!
//! While a function is being woven, several blocks define the variable, and more than one
//! definition may reach a use. SSA repair gives the uses their values after all blocks exist
//! (`ssa_repair.rs`).

use holloway_llvm::{Block, Instruction, Value};

/// A variable with several definitions.
#[derive(Clone, Debug, Default)]
pub(super) struct SplitVariable<'m> {
    /// Blocks that define the variable, each with the variable's value at its end. If a block is
    /// listed twice, the later value holds.
    pub(super) definitions: Vec<(Block<'m>, Value<'m>)>,
    /// Operands (instruction, operand number) that need the variable's value at the top of the
    /// instruction's block.
    pub(super) uses: Vec<(Instruction<'m>, u32)>,
}
