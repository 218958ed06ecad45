//! How the code generator selects instructions, as far as probes depend on it.

/// How carefully the code generator selects instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InstructionSelector {
    /// At `-O0` and in `optnone` functions. This selector does not fold a load, an addition and a
    /// store into one instruction, so probes use inline assembly.
    Fast,
    Optimizing,
}
