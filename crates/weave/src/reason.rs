//! The reasons why a function has no probes, a module is not woven, or an object's bitcode is not
//! used.
//!
//! Only [`Display`](fmt::Display) words a [`Reason`]. The path map stores this text, and messages
//! print it. The tests at the end list the text of every variant.

use std::fmt;

use holloway_abi::Kind;
use holloway_flow::{CfgError, PinnedIncrement, TooManyPaths};

use crate::input::{EMBEDDED_SECTION, NoBitcode};
use crate::symbols::Change;

/// The reason why a function has no probes, or why a module is not woven.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The function is part of the runtime.
    Runtime,
    /// The function is naked: assembly without a frame.
    Naked,
    /// The source marks the function `noprofile`.
    NoProfile,
    /// The source marks the function `skipprofile`.
    SkipProfile,
    /// The function is a coroutine that LLVM has not split yet.
    UnsplitCoroutine,
    /// The function resolves an ifunc.
    IfuncResolver,
    /// An ifunc's resolver calls the function.
    CalledByIfuncResolver,
    /// The C library runs the function before thread-local storage exists.
    BeforeThreadLocalStorage,
    /// A garbage collector manages the function's frame.
    GarbageCollected,
    /// The calling convention leaves no registers for a call of the runtime.
    CallingConvention,
    /// The function belongs to the standard library, and the user did not use `--std`.
    StandardLibrary,
    /// A pattern of `--skip` selects the function.
    Skipped {
        /// The pattern as the user wrote it.
        pattern: String,
    },
    /// No pattern of `--only` selects the function.
    NotSelected,
    /// The function handles exceptions with funclets, as on Windows.
    Funclets,
    /// A block of the function has no instruction.
    EmptyBlock,
    /// The function has more than 2^32 blocks.
    TooManyBlocks,
    /// Paths cannot be counted on the function's graph.
    Graph(CfgError),
    /// Even with cuts, the number of paths exceeds the limit.
    TooManyPaths(TooManyPaths),
    /// Edges that can carry no probe form a cycle.
    CycleWithoutProbe,
    /// Edges that can carry no probe would need one.
    PinnedIncrement(PinnedIncrement),
    /// No path of the function ends.
    NoPathEnds,
    /// The function is short and calls nothing, so its callers' times contain its time.
    TooShortToTime,
    /// The function's code cannot be copied, which timing in bursts requires.
    NotCopyable(CopyObstacle),
    /// The weaver does not support the module's target.
    UnsupportedTarget {
        /// The target triple.
        triple: String,
    },
    /// The module may keep values in scalable vector registers, which a stream's probes do not
    /// save.
    ScalableVectors {
        /// The kind of collection that appends to a stream.
        kind: Kind,
    },
    /// The module checks types over the whole program.
    WholeProgramTypes,
    /// The module loads from vtables that are checked over the whole program.
    WholeProgramVtables,
    /// The module's assembly includes a file.
    IncludedFile,
}

/// The reason why a function's code cannot be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyObstacle {
    /// `callbr`: assembly jumps to labels of the function.
    AsmGoto,
    /// Token values tie instructions together.
    Tokens,
    /// An invoke calls a function that returns twice.
    InvokeReturnsTwice,
    /// A call carries `noduplicate` or `convergent`.
    SingleCall,
    /// `llvm.localescape`: other functions use this function's frame.
    EscapedFrame,
    /// Inline assembly defines a label or a macro.
    AssemblyLabel,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Runtime => "it belongs to holloway's runtime",
            Self::Naked => "it is naked: its body is assembly without a frame",
            Self::NoProfile => "it is marked noprofile (no_profile_instrument_function)",
            Self::SkipProfile => "it is marked skipprofile",
            Self::UnsplitCoroutine => "it is a coroutine that is not split yet",
            Self::IfuncResolver => "it resolves an ifunc, before the program is relocated",
            Self::CalledByIfuncResolver => {
                "an ifunc's resolver calls it, before the program is relocated"
            }
            Self::BeforeThreadLocalStorage => "it runs before thread-local storage is set up",
            Self::GarbageCollected => "it is managed by a garbage collector",
            Self::CallingConvention => "its calling convention leaves no room for a call",
            Self::StandardLibrary => "it belongs to the standard library (--std instruments it)",
            Self::Skipped { pattern } => return write!(f, "left out by --skip {pattern}"),
            Self::NotSelected => "no pattern of --only selects it",
            Self::Funclets => "it handles exceptions with funclets",
            Self::EmptyBlock => "it has an empty block",
            Self::TooManyBlocks => "too many blocks",
            Self::Graph(error) => return error.fmt(f),
            Self::TooManyPaths(error) => return error.fmt(f),
            Self::CycleWithoutProbe => "it has a loop of edges that can carry no probe",
            Self::PinnedIncrement(error) => return error.fmt(f),
            Self::NoPathEnds => "it has no path that ends (an endless loop without a turn)",
            Self::TooShortToTime => {
                "it is too short to be timed, and calls nothing: its time is its callers'"
            }
            Self::NotCopyable(obstacle) => {
                return write!(f, "{obstacle}, so its code can't stand there twice");
            }
            Self::UnsupportedTarget { triple } => {
                return write!(f, "target {triple} is not supported yet");
            }
            Self::ScalableVectors { kind } => {
                return write!(
                    f,
                    "may use scalable vectors, which Linux forgets in the system calls of {kind}; compile it without SVE and SME, or collect paths or edges"
                );
            }
            Self::WholeProgramTypes => {
                "checks types over the whole program (-fsanitize=cfi); compile it without"
            }
            Self::WholeProgramVtables => {
                "loads from vtables checked over the whole program (-fsanitize=cfi or -fvirtual-function-elimination); compile it without"
            }
            Self::IncludedFile => "its assembly may include a file (.incbin, .include)",
        };
        f.write_str(text)
    }
}

impl fmt::Display for CopyObstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AsmGoto => "it jumps out of assembly (asm goto)",
            Self::Tokens => "parts of it are tied to one place (token values)",
            Self::InvokeReturnsTwice => {
                "it calls a function that returns twice where exceptions are caught"
            }
            Self::SingleCall => "it makes a call that may stand in one place only (noduplicate)",
            Self::EscapedFrame => "it gives its frame to other functions (localescape)",
            Self::AssemblyLabel => "its assembly defines a label or a macro",
        })
    }
}

impl fmt::Display for NoBitcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => write!(f, "machine code without bitcode"),
            Self::Embedded => write!(
                f,
                "its bitcode is not for linking ({EMBEDDED_SECTION}); compile it with holloway cc"
            ),
            Self::SeveralModules(count) => write!(
                f,
                "bitcode of {count} modules in one object (ld -r, -fsplit-lto-unit?)"
            ),
            Self::Optimized => f.write_str(
                "its bitcode is optimized, and --graph source profiles the code before; compile it with --graph source, too",
            ),
            Self::Broken(offset) => write!(
                f,
                "its bitcode is truncated or damaged at offset {offset}; build it again"
            ),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Defined(name) => {
                write!(
                    f,
                    "its machine code and its bitcode define {name} differently"
                )?;
            }
            Self::Twice(name) => write!(f, "its machine code has two symbols {name}")?,
            Self::Renamed(old, new) => {
                write!(f, "its machine code asks for {new}, its bitcode for {old}")?;
            }
            Self::Unreadable => return f.write_str("its symbol table cannot be read"),
        }
        f.write_str(" (edited by objcopy or ld -r?)")
    }
}

#[cfg(test)]
mod tests {
    use holloway_flow::{BlockId, EdgeId};

    use super::*;

    #[test]
    fn every_reason_has_its_text() {
        let table = [
            (Reason::Runtime, "it belongs to holloway's runtime"),
            (
                Reason::Naked,
                "it is naked: its body is assembly without a frame",
            ),
            (
                Reason::NoProfile,
                "it is marked noprofile (no_profile_instrument_function)",
            ),
            (Reason::SkipProfile, "it is marked skipprofile"),
            (
                Reason::UnsplitCoroutine,
                "it is a coroutine that is not split yet",
            ),
            (
                Reason::IfuncResolver,
                "it resolves an ifunc, before the program is relocated",
            ),
            (
                Reason::CalledByIfuncResolver,
                "an ifunc's resolver calls it, before the program is relocated",
            ),
            (
                Reason::BeforeThreadLocalStorage,
                "it runs before thread-local storage is set up",
            ),
            (
                Reason::GarbageCollected,
                "it is managed by a garbage collector",
            ),
            (
                Reason::CallingConvention,
                "its calling convention leaves no room for a call",
            ),
            (
                Reason::StandardLibrary,
                "it belongs to the standard library (--std instruments it)",
            ),
            (
                Reason::Skipped {
                    pattern: "parse.*".into(),
                },
                "left out by --skip parse.*",
            ),
            (Reason::NotSelected, "no pattern of --only selects it"),
            (Reason::Funclets, "it handles exceptions with funclets"),
            (Reason::EmptyBlock, "it has an empty block"),
            (Reason::TooManyBlocks, "too many blocks"),
            (
                Reason::Graph(CfgError::EntryIsExit(BlockId(0))),
                "b0 is both entry and exit; give the exit a block of its own",
            ),
            (
                Reason::TooManyPaths(TooManyPaths {
                    least: 70_000,
                    limit: 65_536,
                }),
                "70000 paths are left after cutting, the limit is 65536",
            ),
            (
                Reason::CycleWithoutProbe,
                "it has a loop of edges that can carry no probe",
            ),
            (
                Reason::PinnedIncrement(PinnedIncrement {
                    edges: vec![EdgeId(3), EdgeId(5)],
                }),
                "edges that can carry no probe cross each other so that paths cannot be told apart: e3, e5",
            ),
            (
                Reason::NoPathEnds,
                "it has no path that ends (an endless loop without a turn)",
            ),
            (
                Reason::TooShortToTime,
                "it is too short to be timed, and calls nothing: its time is its callers'",
            ),
            (
                Reason::NotCopyable(CopyObstacle::AsmGoto),
                "it jumps out of assembly (asm goto), so its code can't stand there twice",
            ),
            (
                Reason::NotCopyable(CopyObstacle::Tokens),
                "parts of it are tied to one place (token values), so its code can't stand there twice",
            ),
            (
                Reason::NotCopyable(CopyObstacle::InvokeReturnsTwice),
                "it calls a function that returns twice where exceptions are caught, so its code can't stand there twice",
            ),
            (
                Reason::NotCopyable(CopyObstacle::SingleCall),
                "it makes a call that may stand in one place only (noduplicate), so its code can't stand there twice",
            ),
            (
                Reason::NotCopyable(CopyObstacle::EscapedFrame),
                "it gives its frame to other functions (localescape), so its code can't stand there twice",
            ),
            (
                Reason::NotCopyable(CopyObstacle::AssemblyLabel),
                "its assembly defines a label or a macro, so its code can't stand there twice",
            ),
            (
                Reason::UnsupportedTarget {
                    triple: "riscv64-linux".into(),
                },
                "target riscv64-linux is not supported yet",
            ),
            (
                Reason::ScalableVectors { kind: Kind::Loops },
                "may use scalable vectors, which Linux forgets in the system calls of loops; compile it without SVE and SME, or collect paths or edges",
            ),
            (
                Reason::WholeProgramTypes,
                "checks types over the whole program (-fsanitize=cfi); compile it without",
            ),
            (
                Reason::WholeProgramVtables,
                "loads from vtables checked over the whole program (-fsanitize=cfi or -fvirtual-function-elimination); compile it without",
            ),
            (
                Reason::IncludedFile,
                "its assembly may include a file (.incbin, .include)",
            ),
        ];
        for (reason, text) in table {
            assert_eq!(reason.to_string(), text, "{reason:?}");
        }
    }

    #[test]
    fn every_reason_against_bitcode_has_its_text() {
        let bitcode = [
            (NoBitcode::None, "machine code without bitcode"),
            (
                NoBitcode::Embedded,
                "its bitcode is not for linking (.llvmbc); compile it with holloway cc",
            ),
            (
                NoBitcode::SeveralModules(2),
                "bitcode of 2 modules in one object (ld -r, -fsplit-lto-unit?)",
            ),
            (
                NoBitcode::Optimized,
                "its bitcode is optimized, and --graph source profiles the code before; compile it with --graph source, too",
            ),
            (
                NoBitcode::Broken(96),
                "its bitcode is truncated or damaged at offset 96; build it again",
            ),
        ];
        for (reason, text) in bitcode {
            assert_eq!(reason.to_string(), text, "{reason:?}");
        }
        let changes = [
            (
                Change::Defined("f".into()),
                "its machine code and its bitcode define f differently (edited by objcopy or ld -r?)",
            ),
            (
                Change::Twice("f".into()),
                "its machine code has two symbols f (edited by objcopy or ld -r?)",
            ),
            (
                Change::Renamed("f".into(), "g".into()),
                "its machine code asks for g, its bitcode for f (edited by objcopy or ld -r?)",
            ),
            (Change::Unreadable, "its symbol table cannot be read"),
        ];
        for (reason, text) in changes {
            assert_eq!(reason.to_string(), text, "{reason:?}");
        }
    }
}
