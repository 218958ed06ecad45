//! Why a module could not be woven.

use holloway_flow::EdgeId;
use holloway_llvm::LlvmError;
use thiserror::Error;

use crate::patch::PatchError;
use crate::reason::Reason;

/// An error that prevents the weaving of one module.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WeaveError {
    /// LLVM failed.
    #[error("{0}")]
    Llvm(#[from] LlvmError),
    /// The module is sound, but weaving it would change what the program does.
    #[error("{module}: {reason}")]
    Refused {
        /// The name of the module.
        module: String,
        /// Why the weaver refuses the module.
        reason: Reason,
        /// The code that may be linked in place of the woven module.
        replacement: Replacement,
    },
    /// The weaver violated one of its invariants in one function: a bug.
    #[error("function {function}: {defect}; leave it out with --skip and report this")]
    Internal {
        /// The linkage name of the function.
        function: String,
        /// The violated invariant.
        defect: Defect,
    },
    /// The weaver violated one of its invariants, and the function is unknown: a bug.
    #[error("{0}; please report this")]
    InternalModule(Defect),
}

/// The code that may be linked in place of a module that is not woven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// The unchanged module: its machine code, or its bitcode if the linker reads bitcode. The
    /// module must not be compiled alone, because it would then behave differently.
    AsItIs,
    /// The module compiled without probes.
    Compiled,
}

/// An invariant that the weaver violated: a bug.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Defect {
    /// The plan has a probe on an edge that can carry no probe.
    #[error("a probe was planned on {0}, which has no place for one")]
    ProbeWithoutPlace(EdgeId),
    /// A block's probes are not sorted by instruction.
    #[error("the probes of a block are out of order")]
    UnsortedProbes,
    /// The plan has edge counters where the kind needs paths.
    #[error("edge counters were planned, but this kind needs paths")]
    EdgesInsteadOfPaths,
    /// A function refers to its counters by a relocation that the link step cannot resolve, even
    /// after the module was woven again with the base in a register (`module.rs`).
    #[error("its counters are referred to by relocation type {kind}")]
    Relocation {
        /// The ELF relocation type.
        kind: u32,
    },
    /// The woven object cannot be read.
    #[error("{0}")]
    Object(PatchError),
}

impl WeaveError {
    /// Whether the module is sound, so that it may be linked without probes. [`Replacement`] tells
    /// in which form. Bitcode with several modules cannot be woven, but a linker that reads bitcode
    /// can link it as it is.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Refused { .. } | Self::Llvm(LlvmError::SeveralModules { .. })
        )
    }
}
