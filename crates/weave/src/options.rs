//! How to weave one module: the link step's options.

use std::fmt;

use holloway_abi::Kind;
use holloway_format::Guide;

use crate::filter::Filter;

/// Optimisation level of a build.
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
    /// As in a pass pipeline: `O2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// The product of the link step. It decides how code reaches the thread's slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LinkKind {
    /// A program, position-independent or not: local-exec.
    Executable,
    /// A shared object: initial-exec.
    SharedObject,
}

/// The most paths whose counters are an array: 32 KiB per function and thread. The papers use 4,000
/// to 6,000.
pub const ARRAY_LIMIT: u64 = 4096;
/// The most paths that a function is numbered with. Functions with more are cut. Increments stay
/// 32-bit immediates.
pub const PATH_LIMIT: u64 = (1 << 31) - 1;
/// The most paths of a function whose paths go to a stream. Readers hold a table of them, and an
/// image has 2^28 words: room for 4,096 functions of this size. A word takes no memory in the
/// program, so the limit is higher than [`ARRAY_LIMIT`]. But for sequences over iterations, a
/// function with exit edges has a counter next to each thread's ring for each of its paths: up to
/// 512 KiB per function and thread, reserved with the ring.
pub const STREAM_LIMIT: u64 = 1 << 16;

/// How to weave one module.
#[derive(Clone, Debug)]
pub struct ModuleOptions {
    /// The crate or object, for messages and the map.
    pub name: String,
    /// The build's level. `None` if the link line doesn't say: then `O0` if all functions are
    /// `optnone`, else `O2`.
    pub opt: Option<OptLevel>,
    /// The product of the link step.
    pub kind: LinkKind,
    /// The kind of collection.
    pub collect: Kind,
    /// Whether exit edges count calls that don't come back (unwinding, `longjmp`, the end of the
    /// process), in kinds that [can](Kind::counts_exits).
    pub exits: bool,
    /// The counts of an earlier run, used instead of estimates.
    pub guide: Option<Guide>,
    /// Which functions the user wants.
    pub filter: Filter,
    /// Whether the standard library's own functions get probes, if they are in the module.
    pub std: bool,
    /// Whether this is rustc's single module of `lto="fat"`.
    pub fat: bool,
    /// Whether the module's machine code is available, to be linked where weaving isn't safe.
    pub machine_code: bool,
    /// Whether each function gets a section of its own.
    pub function_sections: bool,
    /// Whether functions get probes. Without them, the module is only compiled.
    pub probes: bool,
    /// The most paths that an array counts.
    pub array_limit: u64,
    /// The most paths of a function.
    pub path_limit: u64,
}

impl ModuleOptions {
    /// The usual options.
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
            probes: true,
            array_limit: ARRAY_LIMIT,
            path_limit: PATH_LIMIT,
        }
    }

    /// Whether graphs have exit edges.
    pub(crate) fn has_exit_edges(&self) -> bool {
        self.exits && self.collect.counts_exits()
    }
}
