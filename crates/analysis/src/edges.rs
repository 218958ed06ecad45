//! Returns and ranks the edge counts of functions, no matter whether their paths or their edges
//! were counted.
//!
//! Cost: linear in edges, after each function's [`Flow`](crate::flow::Flow).

use std::cmp::Reverse;
use std::collections::BTreeMap;

use holloway_format::{Count, EdgeKind, EdgeMap, FunctionMap, Outcome};

use crate::bounds::Bound;
use crate::chain::chains;
use crate::glue::is_glue;
use crate::paths::Sort;
use crate::run::{Function, FunctionId, RunProfile};

/// The count of an edge between blocks of a function. Block -1 represents the callers and the exit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EdgeCount {
    /// Block that the edge leaves, or -1.
    pub from: i64,
    /// Block that the edge enters, or -1.
    pub to: i64,
    /// Executions. For an exit edge: the frames left minus the frames entered again.
    pub count: i64,
    /// Whether this is an exit edge.
    pub left: bool,
    /// How the count may differ from the real number of executions.
    pub bound: Bound,
}

/// Returns a block's number, or -1 for the exit.
pub fn block_number(function: &Function, block: u32) -> i64 {
    if block == function.map.exit {
        -1
    } else {
        i64::from(block)
    }
}

/// Returns all edges of a function in the order of (from, to), including edges that were never
/// taken. The edge from -1 to the entry counts the calls. An exit edge is listed only if its count
/// is not 0.
///
/// Several edges between the same two blocks, such as cases of a switch, are added up.
pub fn of_function(function: &Function) -> Vec<EdgeCount> {
    let flow = function.flow();
    let entry = block_number(function, function.map.entry);
    let calls = i64::try_from(flow.calls.0).unwrap_or(i64::MAX);
    let bounds = function.bounds();
    let mut counts = BTreeMap::from([((-1, entry, false), (calls, bounds.calls))]);
    let edges = function.map.edges.iter().zip(&flow.edges);
    for ((edge, count), bound) in edges.zip(&bounds.edges) {
        let left = edge.kind == EdgeKind::Exit;
        if left && *count == 0 {
            continue;
        }
        let (from, to) = (
            block_number(function, edge.from),
            block_number(function, edge.to),
        );
        let sum: &mut (i64, Bound) = counts.entry((from, to, left)).or_default();
        *sum = (sum.0.saturating_add(*count), sum.1.and(*bound));
    }
    counts
        .into_iter()
        .map(|((from, to, left), (count, bound))| EdgeCount {
            from,
            to,
            count,
            left,
            bound,
        })
        .collect()
}

/// An edge that was taken, or an exit edge whose count is not 0.
#[derive(Clone, Copy, Debug)]
pub struct HotEdge<'a> {
    /// The function that contains the edge.
    pub function: FunctionId,
    /// The edge.
    pub edge: &'a EdgeMap,
    /// The number of the edge in the function.
    pub number: u32,
    /// The block that the edge leads to. If the edge enters a block that is only a jump, this is
    /// the target of the jump.
    pub to: u32,
    /// Executions. For an exit edge: the frames left minus the frames entered again.
    pub count: i64,
    /// Instructions of the block `to`, up to its next branch: control runs them because it took the
    /// edge. 0 for the exit.
    pub instructions: u64,
    /// How the count may differ from the real number of executions.
    pub bound: Bound,
}

impl HotEdge<'_> {
    /// Times that the edge was taken: the absolute value of its count.
    pub fn times(&self) -> Count {
        Count(self.count.unsigned_abs())
    }

    /// The weight that ranks the edge.
    pub fn weight(&self, sort: Sort) -> Count {
        match sort {
            Sort::Count => self.times(),
            Sort::Instructions => self.times().saturating_mul(self.instructions),
        }
    }
}

/// The edges taken most often, with the total that their shares refer to.
#[derive(Clone, Debug)]
pub struct Ranking<'a> {
    /// Hottest first, but edges of [glue](crate::glue) after all others. Edges of equal weight are
    /// in the order of functions and numbers.
    pub edges: Vec<HotEdge<'a>>,
    /// Exit edges with a negative count, in the functions that `keep` accepts: frames were entered
    /// again more often than left. The largest absolute count comes first. These edges are not
    /// ranked.
    pub reentered: Vec<HotEdge<'a>>,
    /// Number of edges that were taken, in the functions that `keep` accepts.
    pub ranked: u64,
    /// Weight of all edges of the run, without the exit edges in `reentered`.
    pub total: Count,
    /// Times that exit edges were taken: frames that were left in a call.
    pub left: Count,
}

/// Ranks the edges of the functions that `keep` accepts. Returns at most `top` of them, or all if
/// `top` is `None`.
///
/// An edge into a block that is only a jump and the jump itself count as one edge. If a block is
/// divided after a call, the edge between its parts does not count.
///
/// With [`Sort::Instructions`], an edge weighs the instructions that control runs because of it:
/// those of the block that it leads to. Instructions before a function's first branch belong to no
/// edge.
pub fn hottest<'a>(
    run: &'a RunProfile,
    sort: Sort,
    top: Option<usize>,
    keep: &dyn Fn(FunctionId) -> bool,
) -> Ranking<'a> {
    let (mut total, mut left) = (Count::ZERO, Count::ZERO);
    let mut reentered: Vec<HotEdge<'a>> = Vec::new();
    let mut edges: Vec<HotEdge<'a>> = Vec::new();
    for (id, function) in run.ids().filter(|(_, function)| function.ran()) {
        let is_accepted = keep(id);
        let jumps = jumps(&function.map);
        let targets = jump_targets(&jumps);
        let instructions = instructions_to_branch(&function.map);
        let counted = function.map.edges.iter().zip(&function.flow().edges);
        let bounds = &function.bounds().edges;
        for (((edge, &count), &bound), number) in counted.zip(bounds).zip(0..) {
            if jumps[edge.from as usize].is_some() || edge.outcome == Outcome::Returned {
                continue;
            }
            let to = targets[edge.to as usize];
            let hot = HotEdge {
                function: id,
                edge,
                number,
                to,
                count,
                instructions: instructions[to as usize],
                bound,
            };
            let is_exit = edge.kind == EdgeKind::Exit;
            if is_exit && count < 0 {
                reentered.extend(is_accepted.then_some(hot));
                continue;
            }
            total = total.saturating_add(hot.weight(sort));
            left = left.saturating_add(if is_exit { hot.times() } else { Count::ZERO });
            if is_accepted && count != 0 {
                edges.push(hot);
            }
        }
    }
    let ranked = edges.len() as u64;
    // The sort is stable: edges of equal weight stay in the order of functions and edges.
    edges.sort_by_cached_key(|edge| {
        let is_glue = is_glue(&run.function(edge.function).map);
        (is_glue, Reverse(edge.weight(sort)))
    });
    reentered.sort_by_key(|edge| Reverse(edge.times()));
    edges.truncate(top.unwrap_or(usize::MAX));
    Ranking {
        edges,
        reentered,
        ranked,
        total,
        left,
    }
}

/// By block: its instructions, and those after its calls. A block is divided after a call that may
/// not come back, and the edge between its parts is not ranked.
fn instructions_to_branch(map: &FunctionMap) -> Vec<u64> {
    let mut next = vec![None; map.blocks.len()];
    let returned = map.edges.iter();
    for edge in returned.filter(|edge| edge.outcome == Outcome::Returned) {
        next[edge.from as usize] = Some(edge.to as usize);
    }
    let chains = chains(&next, |block| map.blocks[block].instructions.into());
    chains.into_iter().map(|chain| chain.weight).collect()
}

/// By block: the target of its jump, if the block is only a jump. Such a block has no other
/// instruction, and no place in the source.
pub(crate) fn jumps(map: &FunctionMap) -> Vec<Option<u32>> {
    let mut out: Vec<(u32, Option<u32>)> = vec![(0, None); map.blocks.len()];
    for edge in &map.edges {
        let (count, to) = &mut out[edge.from as usize];
        *count += 1;
        *to = Some(edge.to);
    }
    let blocks = map.blocks.iter().zip(out).zip(0u32..);
    let jumps = blocks.map(|((block, (count, to)), id)| {
        let is_empty = block.instructions == 0 && block.places.is_empty();
        to.filter(|_| is_empty && count == 1 && id != map.entry)
    });
    jumps.collect()
}

/// Returns the block that an edge into `block` leads to: the target of the jump if `block` is only
/// a jump, else `block`.
pub fn target(map: &FunctionMap, block: u32) -> u32 {
    jump_targets(&jumps(map))[block as usize]
}

/// By block: the first block on its way that is not only a jump. If jumps form a cycle, it is one
/// of them.
pub(crate) fn jump_targets(jumps: &[Option<u32>]) -> Vec<u32> {
    let next: Vec<Option<usize>> = jumps.iter().map(|to| to.map(|to| to as usize)).collect();
    let chains = chains(&next, |_| 0).into_iter();
    chains.map(|chain| chain.last as u32).collect()
}
