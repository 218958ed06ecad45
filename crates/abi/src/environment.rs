//! The environment variables. This file describes each variable once.
//!
//! `holloway show-env`, `holloway help environment`, and docs/environment.md print [`VARIABLES`].
//! Code that reads a variable takes its name from here. An empty variable counts as unset, unless
//! its description says otherwise.

use core::fmt;

/// An environment variable that Holloway or a woven program reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The name of the variable.
    pub name: &'static str,
    /// The type of the variable's value.
    pub value: ValueType,
    /// The default while the variable is unset.
    pub default: &'static str,
    /// The effect of the variable.
    pub help: &'static str,
}

/// The type of a variable's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// A kind of collection; for loops optionally with K: `loops=8`.
    Collection,
    /// `on` or `off`.
    Switch,
    /// `1`.
    Flag,
    /// A number, at least 1.
    Number,
    /// The burst sizes of timing: `N:M`.
    Burst,
    /// The directory of a run, one profile of a run, or `latest`.
    Run,
    /// A directory.
    Directory,
    /// A file.
    File,
    /// The name or path of a program.
    Program,
    /// Patterns, one per line.
    Patterns,
}

impl fmt::Display for ValueType {
    /// The placeholder for the value in help texts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Collection => "KIND",
            Self::Switch => "on|off",
            Self::Flag => "1",
            Self::Number => "N",
            Self::Burst => "N:M",
            Self::Run => "RUN",
            Self::Directory => "DIR",
            Self::File => "FILE",
            Self::Program => "PROGRAM",
            Self::Patterns => "PATTERNS",
        })
    }
}

/// The kind of collection that builds use.
pub const COLLECT: Variable = Variable {
    name: "HOLLOWAY_COLLECT",
    value: ValueType::Collection,
    default: "paths",
    help: "what builds collect, as --collect",
};

/// Whether exit edges count frames that are left early.
pub const EXITS: Variable = Variable {
    name: "HOLLOWAY_EXITS",
    value: ValueType::Switch,
    default: "frames that are left early are counted with paths, edges, and loops",
    help: "whether builds count frames that are left early, as --exits",
};

/// The run that guides the placement of probes.
pub const GUIDE: Variable = Variable {
    name: "HOLLOWAY_GUIDE",
    value: ValueType::Run,
    default: "probes are placed by estimates",
    help: "the earlier run that guides the placing of probes, as --guide",
};

/// How often paths are timed.
pub const BURST: Variable = Variable {
    name: "HOLLOWAY_BURST",
    value: ValueType::Burst,
    default: "one path is timed after about every 10000 (programs that collect variation)",
    help: "how often a running program times paths, as --burst",
};

/// The directory into which programs write their profiles.
pub const DATA: Variable = Variable {
    name: "HOLLOWAY_DATA",
    value: ValueType::Directory,
    default: "runs go to target/holloway/runs/TIME-NAME",
    help: "the directory of the run, for programs and reports",
};

/// The directory of runs that the link step writes into the program.
pub const RUNS: Variable = Variable {
    name: "HOLLOWAY_RUNS",
    value: ValueType::Directory,
    default: "target/holloway/runs below the program's current directory",
    help: "the directory of runs that a build writes into the program",
};

/// Whether the standard library is woven.
pub const STD: Variable = Variable {
    name: "HOLLOWAY_STD",
    value: ValueType::Flag,
    default: "the standard library is not woven",
    help: "weave the Rust standard library too, as --std",
};

/// Functions to weave.
pub const ONLY: Variable = Variable {
    name: "HOLLOWAY_ONLY",
    value: ValueType::Patterns,
    default: "everything is woven",
    help: "weave these crates and functions only, as --only",
};

/// Functions to leave out.
pub const SKIP: Variable = Variable {
    name: "HOLLOWAY_SKIP",
    value: ValueType::Patterns,
    default: "nothing is left out",
    help: "leave these crates and functions out, as --skip",
};

/// The libLLVM that the weaver uses.
pub const LLVM: Variable = Variable {
    name: "HOLLOWAY_LLVM",
    value: ValueType::File,
    default: "the libLLVM of the sysroot, else the system's",
    help: "the libLLVM that weaves",
};

/// The Rust toolchain whose libLLVM the weaver uses.
pub const SYSROOT: Variable = Variable {
    name: "HOLLOWAY_SYSROOT",
    value: ValueType::Directory,
    default: "what `rustc --print sysroot` says",
    help: "the Rust toolchain whose libLLVM weaves",
};

/// The clang that `holloway cc` calls.
pub const CLANG: Variable = Variable {
    name: "HOLLOWAY_CLANG",
    value: ValueType::Program,
    default: "the newest clang-N in PATH that fits the libLLVM, else clang",
    help: "the clang behind `holloway cc`",
};

/// The linker that rustc's link steps call.
pub const LINKER: Variable = Variable {
    name: "HOLLOWAY_LINKER",
    value: ValueType::Program,
    default: "rustc's links go on to cc",
    help: "the linker behind rustc's links",
};

/// The linker that clang's link steps call.
pub const LD: Variable = Variable {
    name: "HOLLOWAY_LD",
    value: ValueType::Program,
    default: "clang's links go on to ld",
    help: "the linker behind clang's links",
};

/// The cache of woven modules.
pub const CACHE: Variable = Variable {
    name: "HOLLOWAY_CACHE",
    value: ValueType::Directory,
    default: "holloway's directory in the user's cache directory",
    help: "the cache of woven modules; empty: no cache",
};

/// The number of worker processes of a link step.
pub const JOBS: Variable = Variable {
    name: "HOLLOWAY_JOBS",
    value: ValueType::Number,
    default: "a worker for each processor, where cargo or make lets it",
    help: "how many modules a link weaves at the same time, at most",
};

/// All variables that users set, in the order of the help texts.
pub const VARIABLES: [Variable; 16] = [
    COLLECT, EXITS, GUIDE, BURST, DATA, RUNS, STD, ONLY, SKIP, LLVM, SYSROOT, CLANG, LINKER, LD,
    CACHE, JOBS,
];

/// Names of variables that Holloway's processes use among themselves. Users do not set them.
pub mod internal {
    /// The process id and start time of the collector, for the runtime of a program that `holloway
    /// run` started.
    pub const COLLECTOR: &str = "HOLLOWAY_COLLECTOR";
    /// The rustc wrapper that cargo would call without Holloway.
    pub const INNER_WRAPPER: &str = "HOLLOWAY_INNER_WRAPPER";
    /// The file to which link steps append their reports.
    pub const LINKED: &str = "HOLLOWAY_LINKED";
    /// The optimization level of a link step, from `holloway cc`.
    pub const OPT: &str = "HOLLOWAY_OPT";
}

/// Names under which `holloway show-env` gives the compilers, each as one word. Users do not set
/// them, and Holloway does not read them.
pub mod compilers {
    /// The C compiler.
    pub const CC: &str = "HOLLOWAY_CC";
    /// The C++ compiler.
    pub const CXX: &str = "HOLLOWAY_CXX";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_and_share_a_prefix() {
        for (index, variable) in VARIABLES.iter().enumerate() {
            assert!(variable.name.starts_with("HOLLOWAY_"));
            let others = &VARIABLES[index + 1..];
            assert!(
                others.iter().all(|other| other.name != variable.name),
                "{}",
                variable.name
            );
        }
    }
}
