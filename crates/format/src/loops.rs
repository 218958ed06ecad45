//! The slab forests of one process and image (`*.hwl`): sequences of paths over loop iterations.
//!
//! The head has the form of `crate::result_file`: magic "HLWLOOPS", version 1, parameter k
//! (iterations), and the twelve numbers of [`LoopsStats`] in the order of its fields.
//!
//! After the function (`crate::function_record`), a record's payload has (`v`: varint):
//! ```text
//! v number of nodes, then each node in preorder:
//!     v (depth of the previous node + 1 - depth of this node)  v path  v count
//! v number of paths with dropped counts, then for each of them, in ascending order:
//!     v (path - (previous path + 1))  v count
//! ```
//!
//! Example: function 2 of module 0 (hash 0). The root of path 5 has count 3 and a child of path 6
//! with count 2. The root of path 6 has count 0. Nothing was dropped:
//! `00 02  00×8  03  00 05 03  00 06 02 02 06 00  00`.

use crate::cursor::Cursor;
use crate::damage::Damage;
use crate::error::FormatError;
use crate::frames::FrameWriter;
use crate::function_index::FunctionIndex;
use crate::function_record::{RecordedFunction, path_below, put_function};
use crate::image::ImageMap;
use crate::result_file::{FileType, Numbers, ProcessImage, ResultHead};
use crate::units::Count;
use crate::varint::put;
use holloway_flow::PathId;

/// First eight bytes of the file.
pub const LOOPS_MAGIC: [u8; 8] = *b"HLWLOOPS";
/// Version of the file.
pub const LOOPS_VERSION: u32 = 1;

const FILE_TYPE: FileType = FileType {
    magic: LOOPS_MAGIC,
    version: LOOPS_VERSION,
    mismatch: FormatError::NotLoops,
};
/// Number of numbers in the head.
const NUMBERS: usize = 12;

/// The head of a file of slab forests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoopsHead {
    /// The process and the image.
    pub process: ProcessImage,
    /// Maximum number of paths in a sequence, 2 to 1024.
    pub k: u32,
    /// Totals of the streams.
    pub stats: LoopsStats,
}

/// Totals of the streams that the forests were built from, and the losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoopsStats {
    /// Number of words that stand for a path.
    pub words: u64,
    /// Number of slabs that began. For each slab, the paper's algorithm looks up a root in a table.
    pub slabs: u64,
    /// Number of nodes in the slab forests.
    pub nodes: u64,
    /// Number of holes: words of rings that were reserved but never written.
    pub holes: u64,
    /// Number of words that stand for no path of the map.
    pub strangers: u64,
    /// Number of gaps where words are missing.
    pub gaps: u64,
    /// Number of frames to which control returned by an exception or a `longjmp`.
    pub caught: Count,
    /// Number of times that cold nodes were dropped to save memory.
    pub prunings: u64,
    /// Number of dropped nodes.
    pub dropped_nodes: u64,
    /// Number of words that dropped nodes had counted.
    pub dropped_words: u64,
    /// Number of streams that could not be read to their ends.
    pub cut_streams: u64,
    /// Number of words that are known to be lost.
    pub lost_words: u64,
}

/// The slab forests of one process and image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoopsProfile {
    /// The head.
    pub head: LoopsHead,
    /// Functions that ran, ascending by module and function.
    pub functions: Vec<FunctionForest>,
    /// Damage: the parts that could not be read.
    pub damage: Vec<Damage>,
}

/// The slab forest of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionForest {
    /// The function.
    pub index: FunctionIndex,
    /// Hash of the function's graph in the map.
    pub hash: u64,
    /// The nodes, in preorder.
    pub nodes: Vec<ForestNode>,
    /// Paths whose counts were dropped, in ascending order, with the dropped counts.
    pub dropped: Vec<(PathId, Count)>,
}

/// A node of a forest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForestNode {
    /// Depth of the node. Roots have depth 0. The depth is at most one more than the depth of the
    /// previous node.
    pub depth: u32,
    /// Path number.
    pub path: PathId,
    /// Number of path executions that the node counted.
    pub count: Count,
}

impl Numbers<NUMBERS> for LoopsStats {
    fn numbers(&mut self) -> [&mut u64; NUMBERS] {
        [
            &mut self.words,
            &mut self.slabs,
            &mut self.nodes,
            &mut self.holes,
            &mut self.strangers,
            &mut self.gaps,
            &mut self.caught.0,
            &mut self.prunings,
            &mut self.dropped_nodes,
            &mut self.dropped_words,
            &mut self.cut_streams,
            &mut self.lost_words,
        ]
    }
}

impl LoopsStats {
    /// Adds another process's totals. Sums saturate.
    pub fn add(&mut self, other: &LoopsStats) {
        let mut other_numbers = *other;
        for (sum, number) in self.numbers().into_iter().zip(other_numbers.numbers()) {
            *sum = sum.saturating_add(*number);
        }
    }
}

/// Encodes the profile as a file. Equal profiles have equal bytes.
///
/// # Panics
/// If a function's record or a name has 4 GiB or more.
pub fn write_loops(profile: &LoopsProfile) -> Vec<u8> {
    let mut functions = FrameWriter::default();
    let mut payload = Vec::new();
    for forest in &profile.functions {
        payload.clear();
        put_forest(&mut payload, forest);
        functions.push(forest.index.keys(), &payload);
    }
    let LoopsHead { process, k, stats } = profile.head.clone();
    ResultHead::new(process, k, stats).write(&FILE_TYPE, functions)
}

fn put_forest(out: &mut Vec<u8>, forest: &FunctionForest) {
    put_function(out, forest.index, forest.hash);
    put(out, forest.nodes.len() as u64);
    let mut max_depth = 0;
    for node in &forest.nodes {
        put(out, u64::from(max_depth - node.depth));
        put(out, node.path.0);
        put(out, node.count.0);
        max_depth = node.depth + 1;
    }
    put(out, forest.dropped.len() as u64);
    let mut min_path = 0;
    for &(path, count) in &forest.dropped {
        put(out, path.0 - min_path);
        put(out, count.0);
        min_path = path.0 + 1;
    }
}

/// Decodes a file with the map of its image. Damaged functions are left out, and the profile lists
/// them as damage.
///
/// # Errors
/// If the bytes are not slab forests, have another version or another build than the map, or if the
/// head is damaged.
pub fn read_loops(bytes: &[u8], map: &ImageMap) -> Result<LoopsProfile, FormatError> {
    let (file, head, size) = read_head(bytes)?;
    // A route from a root holds at most two slabs of k - 1 paths, so it has 2(k - 1) levels.
    let max_depth = 2 * head.k - 3;
    let (functions, damage) = file.records(bytes, size, map, |function, cursor| {
        read_function(function, cursor, max_depth)
    })?;
    Ok(LoopsProfile {
        head,
        functions,
        damage,
    })
}

fn read_head(bytes: &[u8]) -> Result<(ResultHead<NUMBERS>, LoopsHead, usize), FormatError> {
    let (file, size) = ResultHead::read(bytes, &FILE_TYPE)?;
    if !(2..=1024).contains(&file.parameter) {
        return Err(FormatError::Head { offset: 0 });
    }
    let head = LoopsHead {
        process: file.process(),
        k: file.parameter,
        stats: file.stats(),
    };
    Ok((file, head, size))
}

fn read_function(
    recorded: RecordedFunction<'_>,
    cursor: &mut Cursor<'_>,
    max_depth: u32,
) -> Result<FunctionForest, FormatError> {
    let paths = recorded.map.path_count;
    Ok(FunctionForest {
        index: recorded.index,
        hash: recorded.hash,
        nodes: read_nodes(cursor, paths, max_depth)?,
        dropped: read_dropped(cursor, paths)?,
    })
}

fn read_nodes(
    cursor: &mut Cursor<'_>,
    paths: u64,
    forest_max_depth: u32,
) -> Result<Vec<ForestNode>, FormatError> {
    let count = cursor.count(3, "number of nodes")?;
    let mut nodes = Vec::with_capacity(count);
    let mut max_depth = 0;
    for _ in 0..count {
        let levels_up = cursor.index(max_depth as usize + 1, "levels up")?;
        let depth = max_depth - levels_up;
        if depth > forest_max_depth {
            return Err(FormatError::Range {
                what: "depth",
                value: depth.into(),
                limit: u64::from(forest_max_depth) + 1,
                offset: cursor.offset(),
            });
        }
        nodes.push(ForestNode {
            depth,
            path: path_below(cursor.var()?, paths, cursor)?,
            count: Count(cursor.var()?),
        });
        max_depth = depth + 1;
    }
    Ok(nodes)
}

fn read_dropped(cursor: &mut Cursor<'_>, paths: u64) -> Result<Vec<(PathId, Count)>, FormatError> {
    let count = cursor.count(2, "number of dropped paths")?;
    let mut dropped = Vec::with_capacity(count);
    let mut min_path = 0u64;
    for _ in 0..count {
        let path = path_below(min_path.saturating_add(cursor.var()?), paths, cursor)?;
        dropped.push((path, Count(cursor.var()?)));
        min_path = path.0 + 1;
    }
    Ok(dropped)
}
