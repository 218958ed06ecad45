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
    /// The compiler did not optimize it: its places are in the order in which the source runs.
    pub in_source_order: bool,
    /// Where its counters are.
    pub counters: Counters,
    /// Those of its paths that are whole activations, or are left in a call, are in no stream but counted beside the ring: where, in bytes from the module's base there, in an image from
    /// the first counter. There are [`ring_counter_count`](Self::ring_counter_count) counters.
    pub ring_counters: Option<u64>,
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

    /// How many counters it has beside the ring, where it has [any](Self::ring_counters): one for each path if some may be left in a call, else one for each that may be
    /// alone.
    pub fn ring_counter_count(&self) -> u64 {
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
