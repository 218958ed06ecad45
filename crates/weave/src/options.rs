//! What the link step asks for when it has a module woven.

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

/// What the link makes: it decides how the thread's slot is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LinkKind {
    /// A program, position-independent or not: local-exec.
    Executable,
    /// A shared object: initial-exec.
    SharedObject,
}

/// Most paths whose counters are an array: 32 KiB a function and thread. The papers use 4,000 to
/// 6,000.
pub const ARRAY_LIMIT: u64 = 4096;
/// Most paths a function is numbered with; more are cut. Increments stay 32-bit immediates.
pub const PATH_LIMIT: u64 = (1 << 31) - 1;
/// Most paths of a function whose paths go to a stream. Readers hold a table of them, and an image
/// has 2^28 words: so it has room for 4,096 functions of this size. A word takes no memory in the
/// program, so it is more than [`ARRAY_LIMIT`]. But where sequences over iterations are collected,
/// a function with exit edges has a counter beside each thread's ring for each of its paths: up to
/// 512 KiB a function and thread, reserved with the ring.
pub const STREAM_LIMIT: u64 = 1 << 16;

/// How to weave one module.
#[derive(Clone, Debug)]
pub struct ModuleOptions {
    /// Crate or object, for messages and the map.
    pub name: String,
    /// The build's level; `None` where the link line doesn't say: `O0` if all its functions are
    /// `optnone`, else `O2`.
    pub opt: Option<OptLevel>,
    /// What the link makes.
    pub kind: LinkKind,
    /// What is collected.
    pub collect: Kind,
    /// Whether calls that don't come back (unwinding, `longjmp`, the end of the process) are
    /// counted, by exit edges, in kinds that [can](Kind::counts_exits).
    pub exits: bool,
    /// What an earlier run measured, in place of estimates.
    pub guide: Option<Guide>,
    /// Which functions.
    pub filter: Filter,
    /// Whether the standard library's own functions are instrumented, where they are in the module.
    pub std: bool,
    /// Whether this is rustc's single module of `lto="fat"`.
    pub fat: bool,
    /// Whether its machine code is at hand, to be linked where weaving isn't safe.
    pub machine_code: bool,
    /// Whether each function gets a section of its own.
    pub function_sections: bool,
    /// Whether probes are put in; without, the module is only compiled.
    pub probes: bool,
    /// Most paths counted in an array.
    pub array_limit: u64,
    /// Most paths of a function.
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
