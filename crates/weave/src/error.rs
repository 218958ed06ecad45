//! Why a module could not be woven.

use std::fmt;

use holloway_llvm::LlvmError;

/// An error of weaving one module.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WeaveError {
    /// LLVM's words.
    Llvm(LlvmError),
    /// The module is sound, but weaving it would change what the program does.
    Refused {
        /// The module.
        module: String,
        /// Why, and what to do.
        reason: String,
        /// What may be linked.
        instead: Instead,
    },
    /// The graph of a function broke a rule of ours: a bug.
    Internal {
        /// The function; empty where it is the module as a whole.
        function: String,
        /// What was wrong.
        what: String,
    },
}

/// What may be linked in place of a module that is not woven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instead {
    /// The module as it is: its own machine code, or its bitcode by a linker that reads it. Compiled alone it would do
    /// something else.
    AsItIs,
    /// The module compiled without probes.
    Compiled,
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

impl fmt::Display for WeaveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Llvm(error) => error.fmt(f),
            Self::Refused { module, reason, .. } => write!(f, "{module}: {reason}"),
            Self::Internal { function, what } if function.is_empty() => {
                write!(f, "{what}; please report this")
            }
            Self::Internal { function, what } => {
                write!(
                    f,
                    "function {function}: {what}; leave it out with --skip and report this"
                )
            }
        }
    }
}

impl std::error::Error for WeaveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Llvm(error) => Some(error),
            _ => None,
        }
    }
}

impl From<LlvmError> for WeaveError {
    fn from(error: LlvmError) -> Self {
        Self::Llvm(error)
    }
}
