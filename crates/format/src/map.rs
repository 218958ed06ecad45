//! The path map of one woven module: each function's graph, numbering, places in the source, counters.
//!
//! The weaver makes one *fragment* ([`ModuleMap::encode`]) a module; the link step puts the fragments of an image
//! together ([`crate::image`]). Readers get the same structures back ([`ModuleMap::decode`]).
//!
//! # A fragment
//! ```text
//! OFFSET SIZE MEANING
//!      0    8  "HLWMODUL"
//!      8    4  format version, 3
//!     12    4  n: number of functions
//!     16    8  bytes of counters a thread
//!     24    4  s: number of strings
//!     28    4  t: bytes of string text
//!     32    4  string: name of the module
//!     36    4  string: producer
//!     40    4  k: number of skipped functions
//!     44    4  g: number of functions gone
//!     48    8  r: bytes of function records
//!     56    4  number of counters that a thread keeps beside its ring (of functions with code 3), else 0
//!     60    4  crc32 of bytes 0..60
//!     64   8s  strings:  0 4 where the string ends in the text   4 4 crc32 of the string
//!      …    t  text, UTF-8; a string starts where the one before it ends
//!      …  12n+4  index of the function records (crate::frames): keys are linkage name and source name
//!      …  16k  skipped functions:  0 4 name  4 4 linkage name  8 4 reason  12 4 crc32 of number and bytes 0..12
//!      …  12g  functions gone:     0 4 name  4 4 linkage name  8 4 crc32 of number and bytes 0..8
//!      …    r  function records (crate::frames)
//! ```
//! All integers are little-endian; *string* means a number in the table of strings.
//!
//! Version 2 is the same, but function records end before the number of selects: readers take what
//! is not there for empty, and say where that hides something ([`ImageMap::leaks_unknown`]).
//!
//! [`ImageMap::leaks_unknown`]: crate::ImageMap::leaks_unknown
//!
//! # A function record's payload
//! `v`: varint, `z`: zigzag varint ([`crate::varint`]), lists: their length as `v`, then the items.
//! ```text
//! v name  v linkage name  v file  v line  8 bytes hash
//! 1 byte counters: 0 array of paths, then v offset, v len, v path count; 1 hash of paths, then v offset, v path count;
//!                  2 array of edges, then v offset, v len; 3 array of paths, some of which are counted beside a ring, then v offset, v len, v path count,
//!                  v offset beside the ring; + 4 if the places are in the order of the source
//! list of scopes: v name  v linkage name  v file  v line  v parent+1 (0: none)  v call line  v call column
//! v number of blocks  v entry  v exit
//! each block: v instructions, list of places
//! list of edges: z from (less the previous edge's)  z to (less from)  1 byte: kind + 4 × outcome + 128 if a place follows
//!                [z case value]  [place]
//! of path counters, list of dag edges: 1 byte: kind + 4 if its ends follow  z edge (less the previous one's + 1) or v block
//!                [v from  v to]  v value
//! of edge counters, lists of counted and of tree edges: z edge (less the previous one's + 1)
//! where any of these has something to say, list of loads ([`loads`]), then
//!                v selects, list of loops ([`loops`]), list of names of cases ([`cases`]),
//!                list of leaks: z block (less the previous one's + 1)
//! place: v scope  z line (less the previous place's in the function)  v column
//! ```
//! The ends of a dag edge follow only where they are not those its kind implies ([`FunctionMap::implied_ends`]).
//!
//! Example: an empty function `f` in `a.c:1`, entry block 0, exit block 1, one return edge, one path, without scopes (strings:
//! 0 "", 1 "f", 2 "a.c"; hash 0):
//! ```text
//! 01 01 02 01  00×8  00 00 01  01  00  02 00 01  00 00  00 00  01 00 02 24  01 00 00 00
//! ```
//! Read: `f`, `f`, `a.c`, line 1; hash; an array at 0 of 1 counter; 1 path; no scope; 2 blocks, entry 0, exit 1; both without
//! instructions and places; one edge: from 0, to 0+1, plain and `Return` (4×9); one dag edge: kind edge, number 0, value 0.
//! With its edge counted instead: `02 00 01` for the counters, `01 00 00` (counted: edge 0; tree: none) for the dag edge.
//!
//! # Paths in streams
//! What a word of a stream (`abi`) says of its activation follows from its path's number:
//! - it *opens* one if the path starts at the entry: its first dag edge is no [`DagKind::Start`];
//! - it *closes* one if its last dag edge is a [`DagKind::Edge`] whose outcome is [`Outcome::Return`], [`Outcome::TailCall`] or
//!   [`Outcome::Resume`]: the function is left by itself. A call that may become a jump stands behind such an end, so what it calls is a
//!   sibling, as on the stack;
//! - after [`Outcome::Noreturn`] the frame is there as long as what was called, until a frame below it is come back to or the thread ends;
//! - after a [`DagKind::Back`] or [`DagKind::Cut`] it goes on. In traces a cut edge of outcome [`Outcome::Split`] stands before a call
//!   (seldom before a terminator whose edges can carry no probe): the block it leads to begins with that.
//!
//! There are no hashed functions in streams, so [`Counters`] is an array everywhere; its offset over 8 is the index
//! of path 0, and its length no memory.
//!
//! Where sequences over iterations are wanted, an activation of one path says nothing by its place. So a path that opens and closes one, of a function whose paths from the
//! entry have the lowest numbers, is counted beside the thread's ring ([`FunctionMap::beside`]) and not appended; of a function without loops all paths are. So is a path
//! that ends with an exit edge ([`EdgeKind::Exit`]), of all functions that have some: its counter says how often the call was reached, whether it came back or not.

mod cases;
mod codes;
mod decode;
mod encode;
mod function;
mod hash;
mod loads;
mod loops;
mod strings;

pub use cases::CaseNames;
pub(crate) use decode::{beside_size, repair};
pub use hash::graph_hash;
pub use loads::{Load, LoadShape};
pub use loops::LoopMap;

use crate::error::FormatError;
use crate::text::Text;

/// Version of the fragment, the image map, the sealed profile and the guide.
pub const MAP_VERSION: u32 = 3;
/// The oldest version of them that is read: recorded runs outlive the build that recorded them.
const OLDEST_VERSION: u32 = 2;
/// The first version that says where frames may be left uncounted.
pub(crate) const FIRST_WITH_LEAKS: u32 = 3;
/// Added to the code of a function's counters where its places are in the order of the source.
const IN_SOURCE_ORDER: u8 = 4;
/// First eight bytes of a fragment.
pub const FRAGMENT_MAGIC: [u8; 8] = *b"HLWMODUL";

/// The path map of one module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuleMap {
    /// Crate or object: `regex_automata`, `a.o`.
    pub name: Text,
    /// What the compiler calls itself.
    pub producer: Text,
    /// Bytes of counters a thread needs for this module.
    pub counters_size: u64,
    /// The instrumented functions. Damaged ones keep their place ([`FunctionMap::is_damaged`]).
    pub functions: Vec<FunctionMap>,
    /// Functions left alone, with the reason.
    pub skipped: Vec<Skipped>,
    /// Functions of the input without code of their own after optimisation.
    pub gone: Vec<Gone>,
}

/// A function that is not instrumented.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Source name, may be empty.
    pub name: Text,
    /// Linkage name.
    pub linkage_name: Text,
    /// Why, in the weaver's words.
    pub reason: Text,
}

impl Skipped {
    /// Whether the entry stands for an input of machine code, whose functions nobody can name.
    ///
    /// Path maps carry the reason as text, so this reads the beginning of that text.
    pub fn is_machine_code(&self) -> bool {
        self.reason.starts_with("machine code")
    }
}

/// A function that was defined in the input and has no code after optimisation: inlined everywhere, or unused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gone {
    /// Source name, may be empty.
    pub name: Text,
    /// Linkage name.
    pub linkage_name: Text,
}

/// An instrumented function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionMap {
    /// Source name from the debug info, may be empty.
    pub name: Text,
    /// Linkage name.
    pub linkage_name: Text,
    /// Source file, may be empty.
    pub file: Text,
    /// Line of the declaration, 0 if unknown.
    pub line: u32,
    /// [`FunctionMap::structure_hash`] when it was woven.
    pub hash: u64,
    /// The compiler did not optimize it: its places are in the order in which the source runs.
    pub in_source_order: bool,
    /// Where its counters are.
    pub counters: Counters,
    /// Those of its paths that are whole activations, or are left in a call, are in no stream but counted beside the ring: where, in bytes from the module's base there, in an image from
    /// the first counter. There are [`counters_beside`](Self::counters_beside) counters.
    pub beside: Option<u64>,
    /// Number of possible paths, at least 1; 0 where edges are counted.
    pub path_count: u64,
    /// Entry block.
    pub entry: u32,
    /// Exit block.
    pub exit: u32,
    /// The blocks, the exit among them.
    pub blocks: Vec<BlockMap>,
    /// The edges of the graph.
    pub edges: Vec<EdgeMap>,
    /// The edges of the acyclic graph, with the values that number its paths; none where edges are counted.
    pub dag: Vec<DagEdgeMap>,
    /// Where edges are counted: the edge of each counter. Otherwise empty.
    pub counted: Vec<u32>,
    /// Where edges are counted: the other edges, whose counts follow from the last to the first. Otherwise empty.
    pub tree: Vec<u32>,
    /// The function itself (0), then the frames inlined into it, callers before callees.
    pub scopes: Vec<Scope>,
    /// Where paths are timed: loads whose next addresses can be told, in order of their blocks. Otherwise empty.
    pub loads: Vec<Load>,
    /// Selects: choices between two values that the code makes without a branch, so that no path tells
    /// them apart.
    pub selects: u32,
    /// What is known of its loops besides the graph, in order of their heads; not all of them are here.
    pub loops: Vec<LoopMap>,
    /// The cases of switches that debug information has names for, in order of their edges.
    pub cases: Vec<CaseNames>,
    /// Blocks in which a frame may be left early without being counted, as nothing measures it (`--exits off`); by number.
    pub leaks: Vec<u32>,
}

/// Where a function's counters are in a thread's block; offsets in bytes from the module's base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counters {
    /// One `u64` for each path number.
    Array {
        /// Offset of path 0's counter, a multiple of 8.
        offset: u64,
        /// Number of counters, at least the number of paths.
        len: u64,
    },
    /// A hash table, reached through one `u64` here.
    Hash {
        /// Offset of the head, a multiple of 8.
        offset: u64,
    },
    /// One `u64` for each of [`FunctionMap::counted`].
    Edges {
        /// Offset of the first one's counter, a multiple of 8.
        offset: u64,
        /// Number of counters.
        len: u64,
    },
}

impl Default for Counters {
    fn default() -> Self {
        Self::Array { offset: 0, len: 0 }
    }
}

impl Counters {
    /// Offset of the first counter, or of the head.
    pub fn offset(self) -> u64 {
        match self {
            Self::Array { offset, .. } | Self::Hash { offset } | Self::Edges { offset, .. } => {
                offset
            }
        }
    }

    /// Bytes in a thread's block; saturates.
    pub fn size(self) -> u64 {
        match self {
            Self::Array { len, .. } | Self::Edges { len, .. } => len.saturating_mul(8),
            Self::Hash { .. } => 8,
        }
    }
}

/// A block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockMap {
    /// Instructions of the woven IR, without probes, phis and debug markers.
    pub instructions: u32,
    /// The source places it runs through, in order, without repeats.
    pub places: Vec<Place>,
}

/// An edge of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeMap {
    /// Source block.
    pub from: u32,
    /// Target block.
    pub to: u32,
    /// What it can carry.
    pub kind: EdgeKind,
    /// What of the branch leads along it.
    pub outcome: Outcome,
    /// Where the branch stands.
    pub place: Option<Place>,
}

/// As in `flow`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EdgeKind {
    /// An edge like any other.
    #[default]
    Plain,
    /// Can't carry a probe.
    Pinned,
    /// A path ends before it and another starts after it.
    Cut,
    /// To the exit, where a call in the source block doesn't come back. Its count is net: entering the block again
    /// behind a call counts against it.
    Exit,
}

/// What leads along an edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// Unconditional.
    #[default]
    Jump,
    /// The condition holds.
    True,
    /// It doesn't.
    False,
    /// This case of a switch.
    Case(i64),
    /// The default of a switch.
    Default,
    /// A call that may unwind returns.
    Normal,
    /// It unwinds.
    Unwind,
    /// A computed goto.
    Indirect,
    /// A label of an `asm goto`.
    AsmGoto,
    /// The function returns.
    Return,
    /// A call that does not return, or unreachable code.
    Noreturn,
    /// Unwinding goes on to the caller.
    Resume,
    /// A `musttail` call.
    TailCall,
    /// On after a call that may return twice.
    Again,
    /// On inside a block that was split; in traces, before a call.
    Split,
    /// A call in the block doesn't come back: unwinding or `longjmp` past the function, the end of the process.
    Left,
    /// A call came back: between the parts of a block that calls end, where the graph has exit edges.
    Returned,
}

/// An edge of the acyclic graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DagEdgeMap {
    /// Source block.
    pub from: u32,
    /// Target block.
    pub to: u32,
    /// What it stands for.
    pub kind: DagKind,
    /// What it adds to the path number.
    pub value: u64,
}

/// What an edge of the acyclic graph stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DagKind {
    /// This edge of the graph.
    Edge(u32),
    /// Paths that start at this block: entry → block.
    Start(u32),
    /// Paths that end with this back edge: its source → exit.
    Back(u32),
    /// Paths that end with this cut edge: its source → exit.
    Cut(u32),
}

/// A place in the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Frame, in [`FunctionMap::scopes`].
    pub scope: u32,
    /// Line, 0 if unknown.
    pub line: u32,
    /// Column, 0 if unknown.
    pub column: u32,
}

/// The function or a frame inlined into it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Source name, may be empty.
    pub name: Text,
    /// Linkage name.
    pub linkage_name: Text,
    /// Source file.
    pub file: Text,
    /// Line of the declaration.
    pub line: u32,
    /// The frame it is inlined into. It always stands earlier in [`FunctionMap::scopes`] (the reader
    /// rejects other maps), so that a walk from parent to parent ends.
    pub parent: Option<u32>,
    /// Line of the call in the parent.
    pub call_line: u32,
    /// Column of the call in the parent.
    pub call_column: u32,
}

/// Refuses fragments, image maps, sealed profiles, and guides of a version that is not read.
pub(crate) fn check_version(found: u32) -> Result<(), FormatError> {
    let reads = OLDEST_VERSION..=MAP_VERSION;
    match reads.contains(&found) {
        true => Ok(()),
        false => Err(FormatError::Version { found, reads }),
    }
}

impl FunctionMap {
    /// Whether its record was damaged: it only keeps its place, and its names where they were readable.
    pub fn is_damaged(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Whether it has exit edges.
    pub fn has_exits(&self) -> bool {
        let mut edges = self.edges.iter();
        edges.any(|edge| edge.kind == EdgeKind::Exit)
    }

    /// How many counters it has beside the ring, where it has [any](Self::beside): one for each path if some may be left in a call, else one for each that may be
    /// alone.
    pub fn counters_beside(&self) -> u64 {
        match self.has_exits() {
            true => self.path_count,
            false => self.paths_before_starts(),
        }
    }

    /// How many paths have smaller numbers than all that start at loop heads.
    pub fn paths_before_starts(&self) -> u64 {
        let starts = self.dag.iter();
        let starts = starts.filter(|edge| matches!(edge.kind, DagKind::Start(_)));
        let values = starts.map(|edge| edge.value);
        values.min().unwrap_or(self.path_count).min(self.path_count)
    }

    /// What its counters count, in words: `path` or `edge counter`.
    pub fn counted_thing(&self) -> &'static str {
        match self.counters {
            Counters::Array { .. } | Counters::Hash { .. } => "path",
            Counters::Edges { .. } => "edge counter",
        }
    }

    /// The numbers of its counts are below this: those of paths, or of edge counters.
    pub fn counter_limit(&self) -> u64 {
        match self.counters {
            Counters::Array { .. } | Counters::Hash { .. } => self.path_count,
            Counters::Edges { len, .. } => len,
        }
    }

    /// The source name, or the linkage name where there is none.
    pub fn display_name(&self) -> &str {
        if self.name.is_empty() {
            &self.linkage_name
        } else {
            &self.name
        }
    }

    /// Source and target that a dag edge of this kind has by its meaning; `None` if it refers to no edge.
    pub fn implied_ends(&self, kind: DagKind) -> Option<(u32, u32)> {
        implied_ends(kind, &self.edges, self.entry, self.exit)
    }
}

fn implied_ends(kind: DagKind, edges: &[EdgeMap], entry: u32, exit: u32) -> Option<(u32, u32)> {
    match kind {
        DagKind::Edge(edge) => edges.get(edge as usize).map(|edge| (edge.from, edge.to)),
        DagKind::Start(block) => Some((entry, block)),
        DagKind::Back(edge) | DagKind::Cut(edge) => {
            edges.get(edge as usize).map(|edge| (edge.from, exit))
        }
    }
}
