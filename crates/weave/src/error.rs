//! Why a module could not be woven.

use holloway_flow::EdgeId;
use holloway_llvm::LlvmError;
use thiserror::Error;

use crate::patch::PatchError;
use crate::reason::Reason;

/// An error of weaving one module.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WeaveError {
    /// LLVM failed.
    #[error("{0}")]
    Llvm(#[from] LlvmError),
    /// The module is sound, but weaving it would change what the program does.
    #[error("{module}: {reason}")]
    Refused {
        /// Name of the module.
        module: String,
        /// Why the weaver refuses it.
        reason: Reason,
        /// What may be linked.
        instead: Instead,
    },
    /// The weaver broke a rule of its own in one function: a bug.
    #[error("function {function}: {defect}; leave it out with --skip and report this")]
    Internal {
        /// Linkage name of the function.
        function: String,
        /// The broken rule.
        defect: Defect,
    },
    /// The weaver broke a rule of its own, and no function is known to blame: a bug.
    #[error("{0}; please report this")]
    InternalModule(Defect),
}

/// What may be linked in place of a module that is not woven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instead {
    /// The module as it is: its own machine code, or its bitcode by a linker that reads bitcode.
    /// Compiled alone it would do something else.
    AsItIs,
    /// The module compiled without probes.
    Compiled,
}

/// A rule of the weaver's own that is broken: a bug.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Defect {
    /// The plan has a probe on an edge without a place for one.
    #[error("a probe was planned on {0}, which has no place for one")]
    ProbeWithoutPlace(EdgeId),
    /// A block's probes are not sorted by instruction.
    #[error("the probes of a block are out of order")]
    UnsortedProbes,
    /// The plan has edge counters where the kind needs paths.
    #[error("edges are not counted beside a ring")]
    EdgesNextToRing,
    /// Woven twice, a function still refers to its counters by a relocation that the link step
    /// cannot resolve.
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
    /// Whether the module is sound and may be linked unwoven by a linker that reads bitcode.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Refused { .. } | Self::Llvm(LlvmError::SeveralModules { .. })
        )
    }
}
