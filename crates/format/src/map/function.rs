//! An instrumented function: its graph, its numbering, and the offset of its counters.

use crate::map::cases::CaseNames;
use crate::map::contents::BlockContent;
use crate::map::facts::BlockFact;
use crate::map::graph::{BlockMap, DagEdgeMap, DagKind, EdgeKind, EdgeMap, implied_ends};
use crate::map::loads::Load;
use crate::map::loops::LoopMap;
use crate::map::place::Scope;
use crate::text::Text;

/// An instrumented function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionMap {
    /// Source name from the debug information. It may be empty.
    pub name: Text,
    /// Linkage name.
    pub linkage_name: Text,
    /// Source file. The name may be empty.
    pub file: Text,
    /// Line of the declaration, 0 if unknown.
    pub line: u32,
    /// [`FunctionMap::structure_hash`] of the woven function.
    pub hash: u64,
    /// Whether the places are in the order of the source, because the compiler did not optimize the
    /// function.
    pub in_source_order: bool,
    /// Whether the probes were inserted before the optimizer. Then the graph is that of the source,
    /// as the compiler's front end made it.
    pub is_source_graph: bool,
    /// The function's counters in a thread's block.
    pub counters: Counters,
    /// Offset in bytes of the function's ring counters ([`crate::map`], "Ring counters"). In a
    /// fragment, the offset is relative to the module's first ring counter. In an image, it is
    /// relative to the image's first ring counter. `None` if all paths of the function are appended
    /// to streams. There are [`ring_counter_count`](Self::ring_counter_count) counters.
    pub ring_counters: Option<u64>,
    /// Number of possible paths, at least 1; 0 if edges are counted.
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
    /// The numbers of the dag edges off the spanning tree, in order. Only these edges change the
    /// path register. Empty if edges are counted, or if an earlier version wrote the map.
    pub chords: Vec<u32>,
    /// The edge of each counter. Empty if paths are counted.
    pub counted: Vec<u32>,
    /// The edges without counters. Propagation derives their counts from the last edge of this list
    /// to the first. Empty if paths are counted.
    pub tree: Vec<u32>,
    /// The function (scope 0), then the functions inlined into it, callers before callees.
    pub scopes: Vec<Scope>,
    /// Loads whose next addresses can be predicted, in order of their blocks. Empty unless paths
    /// are timed.
    pub loads: Vec<Load>,
    /// Number of selects: choices between two values that the code makes without a branch. The
    /// paths of the function do not distinguish these choices.
    pub selects: u32,
    /// The compiler's facts about the function's loops, in order of their heads. Loops without
    /// facts are left out.
    pub loops: Vec<LoopMap>,
    /// Names of switch cases, from debug information, in order of their edges.
    pub cases: Vec<CaseNames>,
    /// Blocks in which a frame may be left without being counted (`--exits off`), by number.
    pub leaks: Vec<u32>,
    /// What the code of blocks does, in order of the blocks.
    pub facts: Vec<BlockFact>,
    /// The content of each block, in builds for training. Empty in other builds.
    pub contents: Vec<BlockContent>,
}

/// The position of a function's counters in a thread's block. Offsets are in bytes from the counter
/// base of the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counters {
    /// One `u64` for each path number.
    Array {
        /// Offset of path 0's counter, a multiple of 8.
        offset: u64,
        /// Number of counters. It is at least the number of paths.
        len: u64,
    },
    /// A hash table of counters. A `u64` in the block, the *head*, points to the table.
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
        /// Whether a head follows the counters: that of the hash table that counts values, by
        /// [`SiteValue::key`](crate::SiteValue::key).
        has_values: bool,
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

    /// Offset of the head of the hash table that counts values.
    pub fn values(self) -> Option<u64> {
        match self {
            Self::Edges {
                offset,
                len,
                has_values: true,
            } => Some(offset.saturating_add(len.saturating_mul(8))),
            Self::Array { .. } | Self::Hash { .. } | Self::Edges { .. } => None,
        }
    }

    /// Bytes in a thread's block. Saturates.
    pub fn size(self) -> u64 {
        match self {
            Self::Array { len, .. } => len.saturating_mul(8),
            Self::Edges {
                len, has_values, ..
            } => len.saturating_add(has_values.into()).saturating_mul(8),
            Self::Hash { .. } => 8,
        }
    }
}

impl FunctionMap {
    /// Whether the function's record was damaged. An empty map then replaces the function's map,
    /// with its names if they are readable.
    pub fn is_damaged(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Whether the function has exit edges.
    pub fn has_exits(&self) -> bool {
        let mut edges = self.edges.iter();
        edges.any(|edge| edge.kind == EdgeKind::Exit)
    }

    /// The number of ring counters, if the function has [ring counters](Self::ring_counters). A
    /// function with exit edges has a ring counter for each path. Another function has a ring
    /// counter for each path that may be the only path of an activation.
    pub fn ring_counter_count(&self) -> u64 {
        match self.has_exits() {
            true => self.path_count,
            false => self.paths_from_entry(),
        }
    }

    /// The number of paths that have smaller numbers than all paths that start at loop heads.
    pub fn paths_from_entry(&self) -> u64 {
        let starts = self.dag.iter();
        let starts = starts.filter(|edge| matches!(edge.kind, DagKind::Start(_)));
        let values = starts.map(|edge| edge.value);
        values.min().unwrap_or(self.path_count).min(self.path_count)
    }

    /// The noun for the numbers of the function's counts: `path` or `edge counter`.
    pub fn counted_thing(&self) -> &'static str {
        self.counters.counted_thing()
    }

    /// The number of paths, or of edge counters. All numbers of the function's counts are below it.
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

    /// The source and target that a dag edge of this kind usually has. Returns `None` if the kind
    /// refers to a missing edge.
    pub fn implied_ends(&self, kind: DagKind) -> Option<(u32, u32)> {
        implied_ends(kind, &self.edges, self.entry, self.exit)
    }
}
