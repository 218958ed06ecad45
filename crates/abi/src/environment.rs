//! The table of environment variables: the name, type, default, and effect of each variable.
//!
//! `holloway show-env`, `holloway help environment`, and docs/environment.md print [`VARIABLES`].
//! Code that reads a variable takes its name from here, and parses its value with
//! [`Variable::parse`]. An empty variable counts as unset, except where its description gives it
//! another meaning.

use core::marker::PhantomData;

pub use value::{
    Collection, Directory, File, Flag, GraphStage, InvalidBurst, InvalidCollection,
    InvalidGraphStage, InvalidNumber, InvalidSwitch, Number, Parse, Patterns, Program, Run, Switch,
    ValueType,
};

use crate::burst::BurstRate;

mod value;

/// An environment variable that Holloway or a woven program reads. The type of its value is `T`.
#[derive(Clone, Copy, Debug)]
pub struct Variable<T> {
    /// The name of the variable.
    pub name: &'static str,
    /// The type of the variable's value.
    pub value_type: PhantomData<T>,
    /// The default while the variable is unset.
    pub default: &'static str,
    /// The effect of the variable.
    pub help: &'static str,
}

impl<T: ValueType> Variable<T> {
    /// The description of the variable for help texts.
    #[inline]
    #[must_use]
    pub const fn description(&self) -> Description {
        Description {
            name: self.name,
            value: T::PLACEHOLDER,
            default: self.default,
            help: self.help,
        }
    }
}

impl<T: Parse> Variable<T> {
    /// Parses a value of the variable.
    ///
    /// # Errors
    /// If the text is no value of the variable's type.
    #[inline]
    pub fn parse(&self, text: &[u8]) -> Result<T, T::Error> {
        T::parse(text)
    }
}

/// The description of an environment variable for help texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Description {
    /// The name of the variable.
    pub name: &'static str,
    /// The placeholder for the value.
    pub value: &'static str,
    /// The default while the variable is unset.
    pub default: &'static str,
    /// The effect of the variable.
    pub help: &'static str,
}

/// The kind of collection that builds use.
pub const COLLECT: Variable<Collection> = Variable {
    name: "HOLLOWAY_COLLECT",
    value_type: PhantomData,
    default: "paths",
    help: "what builds collect, as --collect",
};

/// Whether exit edges count frames that are left early.
pub const EXITS: Variable<Switch> = Variable {
    name: "HOLLOWAY_EXITS",
    value_type: PhantomData,
    default: "frames that are left early are counted with paths, edges, and loops",
    help: "whether builds count frames that are left early, as --exits",
};

/// The code whose graph builds profile.
pub const GRAPH: Variable<GraphStage> = Variable {
    name: "HOLLOWAY_GRAPH",
    value_type: PhantomData,
    default: "optimized",
    help: "whether builds profile the code before or after the optimizer, as --graph",
};

/// The run whose counts guide the placement of probes.
pub const GUIDE: Variable<Run> = Variable {
    name: "HOLLOWAY_GUIDE",
    value_type: PhantomData,
    default: "probes are placed by estimates",
    help: "the earlier run that guides the placing of probes, as --guide",
};

/// The rate at which a running program times paths.
pub const BURST: Variable<BurstRate> = Variable {
    name: "HOLLOWAY_BURST",
    value_type: PhantomData,
    default: "one path is timed after about every 10000 (programs that collect variation)",
    help: "how often a running program times paths, as --burst",
};

/// The name of the variable with the rate of timed paths, `N:M`: N untimed paths begin before a
/// burst, and a burst times M paths.
///
/// Both numbers are at most [`BURST_MOST`](crate::BURST_MOST). `0:1` times all paths. Programs use
/// [`DEFAULT_BURST_RATE`](crate::DEFAULT_BURST_RATE) if the variable is unset.
pub const BURST_VARIABLE: &str = BURST.name;

/// The name of the variable with the process id of the collector that reads the rings of this run,
/// a space, and the directory in which the collector looks for them.
///
/// Threads spool if the variable is unset, or if HOLLOWAY_DATA names another directory.
pub const COLLECTOR_VARIABLE: &str = internal::COLLECTOR;

/// The directory into which programs write their profiles.
pub const DATA: Variable<Directory> = Variable {
    name: "HOLLOWAY_DATA",
    value_type: PhantomData,
    default: "runs go to target/holloway/runs/TIME-NAME; a program without a directory of runs that is started by hand writes to ~/.local/state/holloway/runs/BUILD",
    help: "the directory of the run, for programs and reports",
};

/// The directory of runs. The link step writes the name of this directory into the program.
pub const RUNS: Variable<Directory> = Variable {
    name: "HOLLOWAY_RUNS",
    value_type: PhantomData,
    default: "target/holloway/runs of cargo projects; programs of other builds write to ~/.local/state/holloway/runs/BUILD",
    help: "the directory of runs that a build writes into the program",
};

/// Whether programs carry their unoptimized bitcode, for `holloway optimize`.
pub const EMBED: Variable<Flag> = Variable {
    name: "HOLLOWAY_EMBED",
    value_type: PhantomData,
    default: "programs get probes",
    help: "build plain programs that carry their bitcode, as --embed",
};

/// Whether the standard library is woven.
pub const STD: Variable<Flag> = Variable {
    name: "HOLLOWAY_STD",
    value_type: PhantomData,
    default: "the standard library is not woven",
    help: "weave the Rust standard library too, as --std",
};

/// Functions to weave.
pub const ONLY: Variable<Patterns> = Variable {
    name: "HOLLOWAY_ONLY",
    value_type: PhantomData,
    default: "everything is woven",
    help: "weave these crates and functions only, as --only",
};

/// Functions to leave out.
pub const SKIP: Variable<Patterns> = Variable {
    name: "HOLLOWAY_SKIP",
    value_type: PhantomData,
    default: "nothing is left out",
    help: "leave these crates and functions out, as --skip",
};

/// The libLLVM that the weaver uses.
pub const LLVM: Variable<File> = Variable {
    name: "HOLLOWAY_LLVM",
    value_type: PhantomData,
    default: "the libLLVM of the sysroot, else the system's",
    help: "the libLLVM that weaves",
};

/// The Rust toolchain whose libLLVM the weaver uses.
pub const SYSROOT: Variable<Directory> = Variable {
    name: "HOLLOWAY_SYSROOT",
    value_type: PhantomData,
    default: "what `rustc --print sysroot` says",
    help: "the Rust toolchain whose libLLVM weaves",
};

/// The clang that `holloway cc` calls.
pub const CLANG: Variable<Program> = Variable {
    name: "HOLLOWAY_CLANG",
    value_type: PhantomData,
    default: "the newest clang-N in PATH that fits the libLLVM, else clang",
    help: "the clang behind `holloway cc`",
};

/// The linker that rustc's link steps call.
pub const LINKER: Variable<Program> = Variable {
    name: "HOLLOWAY_LINKER",
    value_type: PhantomData,
    default: "rustc's links go on to cc",
    help: "the linker behind rustc's links",
};

/// The linker that clang's link steps call.
pub const LD: Variable<Program> = Variable {
    name: "HOLLOWAY_LD",
    value_type: PhantomData,
    default: "clang's links go on to ld",
    help: "the linker behind clang's links",
};

/// The cache of woven modules.
pub const CACHE: Variable<Directory> = Variable {
    name: "HOLLOWAY_CACHE",
    value_type: PhantomData,
    default: "holloway's directory in the user's cache directory",
    help: "the cache of woven modules; empty: no cache",
};

/// The number of worker processes of a link step.
pub const JOBS: Variable<Number> = Variable {
    name: "HOLLOWAY_JOBS",
    value_type: PhantomData,
    default: "a worker for each processor, where cargo or make lets it",
    help: "how many modules a link weaves at the same time, at most",
};

/// The program that shows reports that are longer than the screen of a terminal.
pub const PAGER: Variable<Program> = Variable {
    name: "HOLLOWAY_PAGER",
    value_type: PhantomData,
    default: "PAGER, else less",
    help: "the command that shows reports longer than the terminal's screen; empty or cat: none",
};

/// All variables that users set, in the order of the help texts.
pub const VARIABLES: [Description; 19] = [
    COLLECT.description(),
    EXITS.description(),
    GRAPH.description(),
    GUIDE.description(),
    BURST.description(),
    DATA.description(),
    RUNS.description(),
    EMBED.description(),
    STD.description(),
    ONLY.description(),
    SKIP.description(),
    LLVM.description(),
    SYSROOT.description(),
    CLANG.description(),
    LINKER.description(),
    LD.description(),
    CACHE.description(),
    JOBS.description(),
    PAGER.description(),
];

/// The names of variables that Holloway's processes set for each other. Users do not set them.
pub mod internal {
    /// The process id of the collector and the directory of the run, for the runtime of a program
    /// that `holloway run` started.
    pub const COLLECTOR: &str = "HOLLOWAY_COLLECTOR";
    /// The rustc wrapper that cargo would call without Holloway.
    pub const INNER_WRAPPER: &str = "HOLLOWAY_INNER_WRAPPER";
    /// The runner that cargo would call without Holloway (`target.TRIPLE.runner`), for
    /// `holloway-runner`: the program and its arguments, separated by the byte 0x1f.
    pub const INNER_RUNNER: &str = "HOLLOWAY_INNER_RUNNER";
    /// The user's value of cargo's variable `CARGO_TARGET_TRIPLE_RUNNER`, which Holloway replaces.
    pub const USERS_RUNNER: &str = "HOLLOWAY_USERS_RUNNER";
    /// Set: `holloway-runner` runs each test of a test program in a process of its own.
    pub const PER_TEST: &str = "HOLLOWAY_PER_TEST";
    /// The file to which link steps append their reports.
    pub const LINKED: &str = "HOLLOWAY_LINKED";
    /// The optimization level of a link step, from `holloway cc`.
    pub const OPT: &str = "HOLLOWAY_OPT";
}

/// The names of variables in which `holloway show-env` prints the compilers, each as one word.
/// Users do not set these variables, and Holloway does not read them.
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
