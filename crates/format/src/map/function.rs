//! An instrumented function: its graph, its numbering, and where its counters are.

use crate::map::cases::CaseNames;
use crate::map::graph::{BlockMap, DagEdgeMap, DagKind, EdgeKind, EdgeMap, implied_ends};
use crate::map::loads::Load;
use crate::map::loops::LoopMap;
use crate::map::place::Scope;
use crate::text::Text;

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
    /// The compiler did not optimize it: its places are in the order of the source.
    pub in_source_order: bool,
    /// Where its counters are.
    pub counters: Counters,
    /// Offset of its ring counters ([`crate::map`], "Ring counters"): bytes from the module's base
    /// in a fragment, from the first ring counter in an image. None if all its paths are appended.
    /// There are [`ring_counter_count`](Self::ring_counter_count) counters.
    pub ring_counters: Option<u64>,
    /// Number of possible paths, at least 1; 0 where edges are counted.
    pub path_count: u64,
    /// Entry block.
    pub entry: u32,
    /// Exit block.
    pub exit: u32,
    /// The blocks, including the exit.
    pub blocks: Vec<BlockMap>,
    /// The edges of the graph.
    pub edges: Vec<EdgeMap>,
    /// The edges of the acyclic graph, with the values that number its paths. Empty if edges are
    /// counted.
    pub dag: Vec<DagEdgeMap>,
    /// The edge of each counter, if edges are counted. Otherwise empty.
    pub counted: Vec<u32>,
    /// The edges without counters, if edges are counted. Their counts are derived from the last to
    /// the first. Otherwise empty.
    pub tree: Vec<u32>,
    /// The function itself (0), then the frames inlined into it, callers before callees.
    pub scopes: Vec<Scope>,
    /// Loads whose next addresses can be predicted, in order of their blocks. Empty unless paths
    /// are timed.
    pub loads: Vec<Load>,
    /// Number of selects: choices between two values that the code makes without a branch, so that
    /// no path tells them apart.
    pub selects: u32,
    /// The compiler's facts about its loops, in order of their heads. Loops without facts are left
    /// out.
    pub loops: Vec<LoopMap>,
    /// Names of switch cases, from debug information, in order of their edges.
    pub cases: Vec<CaseNames>,
    /// Blocks in which a frame may be left without being counted (`--exits off`), by number.
    pub leaks: Vec<u32>,
}

/// The place of a function's counters in a thread's block. Offsets are in bytes from the module's
/// base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counters {
    /// One `u64` for each path number.
    Array {
        /// Offset of path 0's counter, a multiple of 8.
        offset: u64,
        /// Number of counters, at least the number of paths.
        len: u64,
    },
    /// A hash table. One `u64` in the block leads to it.
    Hash {
        /// Offset of the head, a multiple of 8.
        offset: u64,
    },
    /// One `u64` for each of [`FunctionMap::counted`].
    Edges {
        /// Offset of the first edge's counter, a multiple of 8.
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

    /// The noun for the thing that they count: `path` or `edge counter`.
    pub(crate) fn counted_thing(self) -> &'static str {
        match self {
            Self::Array { .. } | Self::Hash { .. } => "path",
            Self::Edges { .. } => "edge counter",
        }
    }

    /// The numbers of the function's paths, or of its edge counters, are below this limit. The
    /// function has `path_count` possible paths.
    pub(crate) fn limit(self, path_count: u64) -> u64 {
        match self {
            Self::Array { .. } | Self::Hash { .. } => path_count,
            Self::Edges { len, .. } => len,
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

impl FunctionMap {
    /// Whether its record was damaged. A damaged function keeps its place, and its names if they
    /// are readable.
    pub fn is_damaged(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Whether it has exit edges.
    pub fn has_exits(&self) -> bool {
        let mut edges = self.edges.iter();
        edges.any(|edge| edge.kind == EdgeKind::Exit)
    }

    /// The number of its ring counters, if it has [any](Self::ring_counters): one for each path if
    /// it has exit edges, else one for each path that may be a whole activation.
    pub fn ring_counter_count(&self) -> u64 {
        match self.has_exits() {
            true => self.path_count,
            false => self.paths_before_starts(),
        }
    }

    /// The number of paths that have smaller numbers than all paths that start at loop heads.
    pub fn paths_before_starts(&self) -> u64 {
        let starts = self.dag.iter();
        let starts = starts.filter(|edge| matches!(edge.kind, DagKind::Start(_)));
        let values = starts.map(|edge| edge.value);
        values.min().unwrap_or(self.path_count).min(self.path_count)
    }

    /// The thing that its counters count: `path` or `edge counter`.
    pub fn counted_thing(&self) -> &'static str {
        self.counters.counted_thing()
    }

    /// The limit that all numbers of its paths, or of its edge counters, are below.
    pub fn counter_limit(&self) -> u64 {
        self.counters.limit(self.path_count)
    }

    /// The source name, or the linkage name if there is none.
    pub fn display_name(&self) -> &str {
        if self.name.is_empty() {
            &self.linkage_name
        } else {
            &self.name
        }
    }

    /// Source and target that the meaning of this kind of dag edge implies; `None` if it refers to
    /// a missing edge.
    pub fn implied_ends(&self, kind: DagKind) -> Option<(u32, u32)> {
        implied_ends(kind, &self.edges, self.entry, self.exit)
    }
}
