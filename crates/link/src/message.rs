//! Warnings and notes of a link to its user.

use std::fmt;
use std::io;
use std::path::PathBuf;

use holloway_weave::input::NoBitcode;
use num_format::{Locale, ToFormattedString as _};

/// How a message is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The message reports that code is not woven as the user asked, or that the cache cannot be
    /// used.
    Warning,
    /// The message informs: about the guide, `dlopen`, or the reason of a failed link.
    Note,
}

/// A message of a link to its user. The link continues after it, except after
/// [`Missing`](Self::Missing).
#[derive(Debug)]
pub enum Message {
    /// An input has bitcode that cannot be used.
    UnusableBitcode {
        /// The input.
        input: String,
        /// The reason.
        reason: NoBitcode,
    },
    /// The machine code that a module's object already contains is linked, because compiling the
    /// module's bitcode would give another program.
    MachineCode {
        /// The module.
        module: String,
        /// The reason, followed by `: linked as it is`.
        reason: String,
    },
    /// Weaving a module failed. The module is compiled without probes. If that fails too, the
    /// machine code of its object is linked.
    Unwoven {
        /// The module, the reason, and which code is linked.
        reason: String,
    },
    /// The cache of woven modules cannot be used.
    NoCache {
        /// The cache's directory.
        directory: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A woven module cannot be put into the cache.
    NotCached {
        /// The reason.
        source: io::Error,
    },
    /// Patterns select no function with code.
    Patterns(UnmatchedPatterns),
    /// For how many woven functions the guide has counts.
    Guide(GuideMatch),
    /// musl cannot load a woven shared object by `dlopen`.
    MuslSharedObject {
        /// The shared object.
        output: String,
    },
    /// A failed link leaves out a library or an object that the runtime needs.
    Missing(RuntimeNeed),
}

/// A part of a program that the runtime needs and that a link can leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuntimeNeed {
    /// The C library, which defines `pthread_atfork`.
    CLibrary,
    /// The compiler's start files, which define `__dso_handle`.
    StartFiles,
}

/// The functions that a pattern selects in a link. The best match is the largest variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PatternMatch {
    /// No function.
    Nothing,
    /// Only functions that are inlined everywhere or unused.
    NoCode,
    /// A function with code.
    Code,
}

/// The links whose functions patterns choose from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatternScope {
    /// All links of a cargo build, including links of earlier calls of cargo.
    Build,
    /// The link with this output.
    Link(String),
}

/// Patterns that select no function with code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmatchedPatterns {
    /// The patterns as the user gave them: `--only x`, `HOLLOWAY_ONLY=x y`.
    pub given: String,
    /// The functions that the patterns select: none, or functions without code.
    pub selected: PatternMatch,
    /// The links whose functions the patterns were matched against.
    pub scope: PatternScope,
}

/// For how many woven functions a guide has counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GuideMatch {
    /// The number of functions that ran in the guide and have not changed since.
    pub guided_functions: usize,
    /// The number of all woven functions.
    pub woven_functions: usize,
}

impl Message {
    /// Returns how the message is shown.
    pub fn severity(&self) -> Severity {
        match self {
            Self::UnusableBitcode { .. }
            | Self::MachineCode { .. }
            | Self::Unwoven { .. }
            | Self::NoCache { .. }
            | Self::NotCached { .. }
            | Self::Patterns(_) => Severity::Warning,
            Self::Guide(guide) if guide.guided_functions == 0 => Severity::Warning,
            Self::Guide(_) | Self::MuslSharedObject { .. } | Self::Missing(_) => Severity::Note,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnusableBitcode { input, reason } => {
                write!(f, "{input}: {reason}: linked as it is")
            }
            Self::MachineCode { module, reason } => write!(f, "{module}: {reason}"),
            Self::Unwoven { reason } => f.write_str(reason),
            Self::NoCache { directory, source } => write!(
                f,
                "cannot write the cache {}: {source}; weaving without it (set HOLLOWAY_CACHE)",
                directory.display()
            ),
            Self::NotCached { source } => write!(
                f,
                "cannot write to the cache: {source}; woven modules are not kept"
            ),
            Self::Patterns(patterns) => patterns.fmt(f),
            Self::Guide(guide) => guide.fmt(f),
            Self::MuslSharedObject { output } => write!(
                f,
                "{output}: musl loads a woven shared object with the program, not by dlopen: link the program with it, or name it in LD_PRELOAD"
            ),
            Self::Missing(need) => need.fmt(f),
        }
    }
}

impl fmt::Display for RuntimeNeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (part, symbol, remedy) = match self {
            Self::CLibrary => ("the C library", "pthread_atfork", "link it (-lc)"),
            Self::StartFiles => (
                "the start files",
                "__dso_handle",
                "link crtbegin.o or crtbeginS.o",
            ),
        };
        write!(
            f,
            "this link leaves out {part}, and the runtime needs {symbol} from there; {remedy}, or link this image without holloway"
        )
    }
}

impl fmt::Display for UnmatchedPatterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scope = match &self.scope {
            PatternScope::Build => "here (functions of the standard library only with --std)",
            PatternScope::Link(output) => {
                write!(f, "{output}: ")?;
                "in this program"
            }
        };
        let given = &self.given;
        match self.selected {
            PatternMatch::NoCode | PatternMatch::Code => write!(
                f,
                "{given} fits only functions that are inlined everywhere, or unused: name those that they are inlined into"
            ),
            PatternMatch::Nothing => write!(
                f,
                "{given} fits no function that can be woven {scope}: give a crate's name, a function's, or a regular expression over demangled names"
            ),
        }
    }
}

impl fmt::Display for GuideMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [guided, woven] = [self.guided_functions, self.woven_functions].map(grouped);
        match self.guided_functions {
            0 => write!(
                f,
                "the guide has counts for none of the {woven} functions: they are woven without it; record a run of this program as it is now"
            ),
            _ if guided == woven => {
                write!(f, "the guide has counts for {guided} of {woven} functions")
            }
            _ => write!(
                f,
                "the guide has counts for {guided} of {woven} functions that are woven; the others didn't run there or have changed"
            ),
        }
    }
}

/// Formats a number in groups of three digits: `12,340`.
pub(crate) fn grouped(number: usize) -> String {
    number.to_formatted_string(&Locale::en)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guide_match_prints_both_numbers_of_functions() {
        let check = |guided_functions, woven_functions, expected: &str| {
            let guide_match = GuideMatch {
                guided_functions,
                woven_functions,
            };
            let text = guide_match.to_string();
            assert!(text.contains(expected), "{text}");
        };
        check(0, 1234, "for none of the 1,234 functions: ");
        check(1234, 1234, "for 1,234 of 1,234 functions");
        check(1233, 12340, "for 1,233 of 12,340 functions that are woven;");
    }
}
