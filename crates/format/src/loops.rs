//! Sequences of paths over loop iterations: the slab forests of one process and image (`*.hwl`).
//!
//! The head is that of `crate::result_file`: magic "HLWLOOPS", version 1, parameter k (iterations),
//! twelve numbers ([`LoopsStats`], in its order).
//!
//! A function record's payload continues so (`v`: varint):
//! ```text
//! v nodes, and each node, parents before children, a whole subtree before the next sibling:
//!     v levels up (from a child of the node before: 0)  v path  v count
//! v number of paths with dropped counts, then for each of them, in ascending order:
//!     v path (less the previous one's + 1)  v count
//! ```
//!
//! Example, function 2 of module 0 (hash 0) with the roots 5 (counted 3, child 6 counted 2) and 6 (not
//! counted), nothing dropped: `00 02  00×8  03  00 05 03  00 06 02  02 06 00  00`.

use crate::cursor::Cursor;
use crate::damage::Damage;
use crate::error::FormatError;
use crate::frames::FrameWriter;
use crate::function_record::{FunctionIndex, RecordedFunction, path_below, put_function};
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
const NUMBERS: usize = 12;

/// The head of a file of forests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoopsHead {
    /// The process and the image.
    pub process: ProcessImage,
    /// Number of iterations, 2 to 1024.
    pub k: u32,
    /// Totals of the streams.
    pub stats: LoopsStats,
}

/// Totals of the streams that the forests were built from, and the losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoopsStats {
    /// Words that ended a path.
    pub words: u64,
    /// Slabs begun: lookups in the table of roots that the paper's algorithm makes.
    pub slabs: u64,
    /// Nodes of the slab forest.
    pub nodes: u64,
    /// Places of rings that were never written.
    pub holes: u64,
    /// Words that stand for no path.
    pub strangers: u64,
    /// Number of gaps where words are missing.
    pub gaps: u64,
    /// Frames that control returned to by an exception or a `longjmp`.
    pub caught: Count,
    /// Number of times that cold nodes were dropped.
    pub prunings: u64,
    /// Nodes dropped.
    pub dropped_nodes: u64,
    /// Words counted in dropped nodes.
    pub dropped_words: u64,
    /// Streams that could not be read to their ends.
    pub cut_streams: u64,
    /// Words that are known to be lost.
    pub lost_words: u64,
}

/// The slab forests of one process and image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoopsProfile {
    /// The head.
    pub head: LoopsHead,
    /// Functions that ran, ascending by module and function.
    pub functions: Vec<FunctionForest>,
    /// Damage: parts that could not be read.
    pub damage: Vec<Damage>,
}

/// The slab forest of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionForest {
    /// Module in the image's map.
    pub module: u32,
    /// Function in the module's map.
    pub function: u32,
    /// Hash of the function's graph in the map.
    pub hash: u64,
    /// The nodes, in preorder.
    pub nodes: Vec<ForestNode>,
    /// Paths whose counts were dropped, ascending, and the dropped counts.
    pub dropped: Vec<(PathId, Count)>,
}

/// A node of a forest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForestNode {
    /// Its depth; roots have depth 0. At most one more than the depth of the node before.
    pub depth: u32,
    /// Its path.
    pub path: PathId,
    /// Its count.
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
    /// Adds another process's totals. Sums stop at their maximum.
    pub fn add(&mut self, other: &LoopsStats) {
        let mut other_numbers = *other;
        for (sum, number) in self.numbers().into_iter().zip(other_numbers.numbers()) {
            *sum = sum.saturating_add(*number);
        }
    }
}

/// The profile as a file. The same profile always gives the same bytes.
///
/// # Panics
/// If a function's record, or a name, reaches 4 GiB.
pub fn write_loops(profile: &LoopsProfile) -> Vec<u8> {
    let mut functions = FrameWriter::default();
    let mut payload = Vec::new();
    for forest in &profile.functions {
        payload.clear();
        put_forest(&mut payload, forest);
        functions.push([forest.module, forest.function], &payload);
    }
    let LoopsHead { process, k, stats } = profile.head.clone();
    ResultHead::new(process, k, stats).write(&FILE_TYPE, functions)
}

fn put_forest(out: &mut Vec<u8>, forest: &FunctionForest) {
    let index = FunctionIndex {
        module: forest.module,
        function: forest.function,
    };
    put_function(out, index, forest.hash);
    put(out, forest.nodes.len() as u64);
    let mut deepest = 0;
    for node in &forest.nodes {
        put(out, u64::from(deepest - node.depth));
        put(out, node.path.0);
        put(out, node.count.0);
        deepest = node.depth + 1;
    }
    put(out, forest.dropped.len() as u64);
    let mut next = 0;
    for &(path, count) in &forest.dropped {
        put(out, path.0 - next);
        put(out, count.0);
        next = path.0 + 1;
    }
}

/// Reads a file with the map of its image. Damaged functions are left out and listed.
///
/// # Errors
/// If the bytes are no such file, of another version, of another build than the map, or damaged in
/// the head.
pub fn read_loops(bytes: &[u8], map: &ImageMap) -> Result<LoopsProfile, FormatError> {
    let (file, head, size) = read_head(bytes)?;
    let deepest = 2 * head.k - 3;
    let (functions, damage) = file.records(bytes, size, map, |function, cursor| {
        read_function(function, cursor, deepest)
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
    deepest: u32,
) -> Result<FunctionForest, FormatError> {
    let paths = recorded.map.path_count;
    Ok(FunctionForest {
        module: recorded.index.module,
        function: recorded.index.function,
        hash: recorded.hash,
        nodes: read_nodes(cursor, paths, deepest)?,
        dropped: read_dropped(cursor, paths)?,
    })
}

fn read_nodes(
    cursor: &mut Cursor<'_>,
    paths: u64,
    deepest: u32,
) -> Result<Vec<ForestNode>, FormatError> {
    let count = cursor.count(3, "number of nodes")?;
    let mut nodes = Vec::with_capacity(count);
    let mut below = 0;
    for _ in 0..count {
        let up = cursor.index(below as usize + 1, "levels up")?;
        let depth = below - up;
        if depth > deepest {
            return Err(FormatError::Range {
                what: "depth",
                value: depth.into(),
                limit: u64::from(deepest) + 1,
                offset: cursor.offset(),
            });
        }
        nodes.push(ForestNode {
            depth,
            path: path_below(cursor.var()?, paths, cursor)?,
            count: Count(cursor.var()?),
        });
        below = depth + 1;
    }
    Ok(nodes)
}

fn read_dropped(cursor: &mut Cursor<'_>, paths: u64) -> Result<Vec<(PathId, Count)>, FormatError> {
    let count = cursor.count(2, "number of dropped paths")?;
    let mut dropped = Vec::with_capacity(count);
    let mut next = 0u64;
    for _ in 0..count {
        let path = path_below(next.saturating_add(cursor.var()?), paths, cursor)?;
        dropped.push((path, Count(cursor.var()?)));
        next = path.0 + 1;
    }
    Ok(dropped)
}
