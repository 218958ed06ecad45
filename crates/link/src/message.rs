//! Messages of a link to its user. The link goes on after them.

use std::fmt;
use std::io;
use std::path::PathBuf;

use holloway_weave::input::NoBitcode;
use num_format::{Locale, ToFormattedString as _};

/// How a message is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Code is not woven as asked.
    Warning,
    /// Information without a problem.
    Note,
}

/// A message of a link to its user. The link goes on after it.
#[derive(Debug)]
pub enum Message {
    /// An input has bitcode that cannot be used.
    UnusableBitcode {
        /// The input.
        input: String,
        /// The reason.
        reason: NoBitcode,
    },
    /// A module is linked with its own machine code.
    MachineCode {
        /// The module.
        module: String,
        /// The reason, and that the module is linked as it is.
        reason: String,
    },
    /// A module is linked without probes, or with its own machine code, as the text says.
    Unwoven {
        /// Module and reason.
        reason: String,
    },
    /// The cache cannot be used.
    NoCache {
        /// Its directory.
        directory: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A woven module cannot be put into the cache.
    NotCached {
        /// The reason.
        source: io::Error,
    },
    /// Patterns select nothing that has code.
    Patterns(UnmatchedPatterns),
    /// How many of the woven functions the guide knows.
    Guide(GuideMatch),
    /// musl does not load a shared object of ours by `dlopen`.
    MuslSharedObject {
        /// The shared object.
        output: String,
    },
    /// A failed link leaves out something that the runtime needs.
    Missing(RuntimeNeed),
}

/// Something that the runtime needs and a link can leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuntimeNeed {
    /// `pthread_atfork`.
    CLibrary,
    /// `__dso_handle`.
    StartFiles,
}

/// The functions that a pattern selects in a link. Variants are in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PatternMatch {
    /// No function.
    Nothing,
    /// Only functions that are inlined everywhere or unused.
    NoCode,
    /// A function with code.
    Code,
}

/// The functions that patterns choose from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatternScope {
    /// All links of a cargo call and those before it.
    Build,
    /// One link, by the name of its output.
    Link(String),
}

/// Patterns that select no function with code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmatchedPatterns {
    /// The patterns as the user gave them: `--only x`, `HOLLOWAY_ONLY=x y`.
    pub given: String,
    /// The functions that they select: none, or functions without code.
    pub selected: PatternMatch,
    /// The functions that they were matched against.
    pub scope: PatternScope,
}

/// How many of the woven functions a guide knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GuideMatch {
    /// Functions that ran in the guide and have not changed since.
    pub known: usize,
    /// All woven functions.
    pub all: usize,
}

impl Message {
    /// How the message is shown.
    pub fn severity(&self) -> Severity {
        match self {
            Self::UnusableBitcode { .. }
            | Self::MachineCode { .. }
            | Self::Unwoven { .. }
            | Self::NoCache { .. }
            | Self::NotCached { .. }
            | Self::Patterns(_) => Severity::Warning,
            Self::Guide(guide) if guide.known == 0 => Severity::Warning,
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
        let place = match &self.scope {
            PatternScope::Build => "here (the standard library's only with --std)",
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
                "{given} fits no function that can be woven {place}: give a crate's name, a function's, or a regular expression over demangled names"
            ),
        }
    }
}

impl fmt::Display for GuideMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [known, all] = [self.known, self.all].map(grouped);
        match self.known {
            0 => write!(
                f,
                "the guide has counts for none of the {all} functions: they are woven without it; record a run of this program as it is now"
            ),
            _ if known == all => write!(f, "the guide has counts for {known} of {all} functions"),
            _ => write!(
                f,
                "the guide has counts for {known} of {all} functions that are woven; the others didn't run there or have changed"
            ),
        }
    }
}

/// A number in groups of three digits: `12,340`.
pub(crate) fn grouped(number: usize) -> String {
    number.to_formatted_string(&Locale::en)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guide_tells_how_many_functions_it_knows() {
        let check = |known, all, expected: &str| {
            let shown = GuideMatch { known, all }.to_string();
            assert!(shown.contains(expected), "{shown}");
        };
        check(0, 1234, "for none of the 1,234 functions: ");
        check(1234, 1234, "for 1,234 of 1,234 functions");
        check(1233, 12340, "for 1,233 of 12,340 functions that are woven;");
    }
}
