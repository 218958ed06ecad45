//! The errors of this crate. Each variant has a message of one sentence, which contains LLVM's
//! message.

use std::fmt;
use std::path::PathBuf;

/// An error of this crate.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LlvmError {
    /// None of the searched directories contains a libLLVM.
    NoLibrary {
        /// The searched directories.
        searched: Vec<String>,
    },
    /// The library cannot be loaded.
    CannotOpen {
        /// The path of the library.
        path: PathBuf,
        /// The loader's message.
        why: String,
    },
    /// The library lacks a required function.
    MissingFunction {
        /// The path of the library.
        path: PathBuf,
        /// The version of the library, if it reports one.
        version: Option<(u32, u32, u32)>,
        /// The name of the function.
        function: String,
    },
    /// The library is older than the oldest supported version.
    TooOld {
        /// The path of the library.
        path: PathBuf,
        /// The version of the library.
        version: (u32, u32, u32),
    },
    /// The bytes are not bitcode.
    NotBitcode {
        /// The name of the input.
        name: String,
    },
    /// The bitcode was written by a newer LLVM than the one loaded.
    NewerBitcode {
        /// The name of the input.
        name: String,
        /// LLVM's message, which names producer and reader.
        text: String,
        /// The library that read the bitcode.
        library: PathBuf,
    },
    /// The file contains several modules (a split LTO unit).
    SeveralModules {
        /// The name of the input.
        name: String,
    },
    /// The bitcode is damaged or truncated.
    BadBitcode {
        /// The name of the input.
        name: String,
        /// LLVM's message.
        text: String,
    },
    /// The library has no code generator for the module's target.
    NoTarget {
        /// The target triple.
        triple: String,
        /// LLVM's message.
        text: String,
    },
    /// An operation on a module failed.
    Failed {
        /// The name of the input.
        name: String,
        /// The operation.
        doing: String,
        /// LLVM's message.
        text: String,
    },
}

impl LlvmError {
    /// Returns the name of the input that the error is about, if any.
    fn input(&self) -> Option<&str> {
        match self {
            Self::NotBitcode { name }
            | Self::NewerBitcode { name, .. }
            | Self::SeveralModules { name }
            | Self::BadBitcode { name, .. }
            | Self::Failed { name, .. } => Some(name),
            Self::NoLibrary { .. }
            | Self::CannotOpen { .. }
            | Self::MissingFunction { .. }
            | Self::TooOld { .. }
            | Self::NoTarget { .. } => None,
        }
    }

    /// Formats the error without the input's name, for messages that begin with a better name.
    pub fn reason(&self) -> impl fmt::Display {
        struct Reason<'a>(&'a LlvmError);
        impl fmt::Display for Reason<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.write_reason(f)
            }
        }
        Reason(self)
    }

    fn write_reason(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLibrary { searched } => write!(
                f,
                "no libLLVM found (looked in {}); install rustup's toolchain or llvm, or set HOLLOWAY_LLVM to a libLLVM.so",
                searched.join(", ")
            ),
            Self::CannotOpen { path, why } => write!(f, "cannot load {}: {why}", path.display()),
            Self::MissingFunction {
                path,
                version,
                function,
            } => {
                let version = version.map_or_else(
                    || "of unknown version".into(),
                    |(a, b, c)| format!("LLVM {a}.{b}.{c}"),
                );
                write!(
                    f,
                    "{} ({version}) lacks the function {function}; set HOLLOWAY_LLVM to a libLLVM of version 19 to 22",
                    path.display()
                )
            }
            Self::TooOld {
                path,
                version: (a, b, c),
            } => write!(
                f,
                "{} is LLVM {a}.{b}.{c}, holloway needs 19 or newer; set HOLLOWAY_LLVM to a newer libLLVM",
                path.display()
            ),
            Self::NotBitcode { .. } => f.write_str("not LLVM bitcode"),
            Self::NewerBitcode { text, library, .. } => write!(
                f,
                "written by a newer LLVM than {}: {text}; compile it with an older compiler or set HOLLOWAY_LLVM to a newer libLLVM",
                library.display()
            ),
            Self::SeveralModules { .. } => write!(
                f,
                "holds several bitcode modules (a split LTO unit); compile it with -fno-split-lto-unit -fno-whole-program-vtables"
            ),
            Self::BadBitcode { text, .. } => {
                write!(f, "damaged or truncated bitcode: {text}; compile it again")
            }
            Self::NoTarget { triple, text } => write!(f, "no code generator for {triple}: {text}"),
            Self::Failed { doing, text, .. } => write!(f, "{doing}: {text}"),
        }
    }
}

impl fmt::Display for LlvmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = self.input() {
            write!(f, "{name}: ")?;
        }
        self.write_reason(f)
    }
}

impl std::error::Error for LlvmError {}
