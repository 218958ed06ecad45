//! A taken branch of a stack.

/// A place in the address space, as an entry of a stack names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// An address of the file, as its symbols name it.
    Inside(u64),
    /// Code of another file, or of none.
    Elsewhere,
    /// The kernel.
    Kernel,
}

/// The instruction that branched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Jump {
    /// A jump, conditional or not.
    Jump,
    /// A call.
    Call,
    /// A return.
    Return,
    /// Not known: the target tells.
    #[default]
    Unknown,
}

/// A taken branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakenBranch {
    /// The address of the branch.
    pub from: Place,
    /// The address of its target.
    pub to: Place,
    /// The instruction.
    pub jump: Jump,
    /// Whether the processor mispredicted the branch.
    pub mispredicted: bool,
}
