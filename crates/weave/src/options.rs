//! The options for weaving one module.

use std::fmt;

use holloway_abi::Kind;
use holloway_format::{Guide, Plan};

use crate::cache::Place;
use crate::filter::Filter;

/// The optimization level of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OptLevel {
    /// `-O0`
    O0,
    /// `-O1`
    O1,
    /// `-O2`
    O2,
    /// `-O3`
    O3,
    /// `-Os`
    Os,
    /// `-Oz`
    Oz,
}

impl fmt::Display for OptLevel {
    /// Writes the level as LLVM's pass pipelines spell it: `O2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// The kind of file that the link makes. It decides how code accesses the thread's slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LinkKind {
    /// A program, position-independent or not. It uses the thread-local model local-exec.
    Executable,
    /// A shared object. It uses the thread-local model initial-exec.
    SharedObject,
}

/// The maximum number of paths of a function whose counters are an array. Such an array takes up to
/// 32 KiB per function and thread. The papers use 4,000 to 6,000 paths.
pub const ARRAY_LIMIT: u64 = 4096;
/// The maximum number of paths of a function. Functions with more paths are cut. This limit keeps
/// increments within 32-bit immediates.
pub const PATH_LIMIT: u64 = (1 << 31) - 1;
/// The maximum number of paths of a function whose paths are appended to a stream. The analysis of
/// a stream has a table of these paths, and an image has 2^28 words: enough for 4,096 functions of
/// this size. A word takes no memory in the program, so the limit is higher than [`ARRAY_LIMIT`].
///
/// The kind loops is an exception: a function with exit edges has a counter next to each thread's
/// ring for each of its paths. That is up to 512 KiB per function and thread.
pub const STREAM_LIMIT: u64 = 1 << 16;

/// The options for weaving one module.
#[derive(Clone, Debug)]
pub struct ModuleOptions {
    /// The name of the module's crate or object, for messages and the map.
    pub name: String,
    /// The build's optimization level. `None` if the link line does not give one. Then the level is
    /// `O0` if all functions are `optnone`, else `O2`.
    pub opt: Option<OptLevel>,
    /// The kind of file that the link makes.
    pub kind: LinkKind,
    /// The kind of collection.
    pub collect: Kind,
    /// Whether exit edges count calls that do not come back (unwinding, `longjmp`, the end of the
    /// process). Ignored by kinds that do [not support it](Kind::counts_exits).
    pub exits: bool,
    /// The counts of an earlier run, used instead of estimates.
    pub guide: Option<Guide>,
    /// The user's selection of functions.
    pub filter: Filter,
    /// Whether functions of the standard library get probes if they are in the module.
    pub std: bool,
    /// Whether this is rustc's single module of `lto="fat"`.
    pub fat: bool,
    /// Whether the module's machine code is available. It is linked if weaving is not safe.
    pub machine_code: bool,
    /// Whether each function gets a separate section.
    pub function_sections: bool,
    /// What is made of the module, if no optimizer has seen its bitcode. `None`: the compiler has
    /// optimized the module, at least in part.
    pub early: Option<EarlyBuild>,
    /// Where a build by a plan keeps its code after the optimizer. `None`: nowhere.
    pub kept: Option<Place>,
    /// Whether the debug locations of instructions are their numbers in the bitcode.
    pub numbers: bool,
    /// Whether functions get probes. Without probes, the module is only compiled.
    pub probes: bool,
    /// The maximum number of paths of a function whose counters are an array.
    pub array_limit: u64,
    /// The maximum number of paths of a function.
    pub path_limit: u64,
}

/// What is made of bitcode that no optimizer has seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EarlyBuild {
    /// The optimizer runs as in a normal build.
    Plain,
    /// Probes go in before the optimizer and any other pass, so that the graph is the one that the
    /// compiler's front end made.
    Source,
    /// Probes go in before the optimizer, so that they count what the source does.
    Training,
    /// The plan's early counts become branch weights before the optimizer, and its late counts
    /// after it. Probes, if wanted, go in after the optimizer.
    Optimized(Plan),
}

impl ModuleOptions {
    /// The default options.
    pub fn new(name: &str, kind: LinkKind, collect: Kind) -> Self {
        Self {
            name: name.into(),
            opt: None,
            kind,
            collect,
            exits: collect.counts_exits(),
            guide: None,
            filter: Filter::default(),
            std: false,
            fat: false,
            machine_code: false,
            function_sections: true,
            early: None,
            kept: None,
            numbers: false,
            probes: true,
            array_limit: ARRAY_LIMIT,
            path_limit: PATH_LIMIT,
        }
    }

    /// The options by which the graphs of a plan's functions are made, whatever this build records:
    /// those of training.
    pub(crate) fn of_plan(&self) -> Self {
        Self {
            collect: Kind::Edges,
            exits: Kind::Edges.counts_exits(),
            filter: Filter::default(),
            guide: None,
            ..self.clone()
        }
    }

    /// Whether graphs have exit edges.
    pub(crate) fn has_exit_edges(&self) -> bool {
        self.exits && self.collect.counts_exits()
    }
}
