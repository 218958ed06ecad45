//! The instruction selector of the code generator, on which the code of probes depends.

/// LLVM's instruction selector for a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InstructionSelector {
    /// The selector for `-O0` and `optnone` functions. It does not fold a load, an addition, and a
    /// store into one instruction, so probes use inline assembly.
    Fast,
    /// The selector for all other functions.
    Optimizing,
}
