//! Edge counts, whatever was counted.
//!
//! Cost: linear in edges, after each function's [`Flow`](crate::flow::Flow).

use std::cmp::Reverse;
use std::collections::BTreeMap;

use holloway_format::{EdgeKind, EdgeMap, FunctionMap, Outcome};

use crate::bounds::Bound;
use crate::run::{Function, FunctionId, RunProfile};

/// An edge between blocks of a function; the world outside (callers, and the exit) is block -1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EdgeCount {
    /// Block it leaves, or -1.
    pub from: i64,
    /// Block it enters, or -1.
    pub to: i64,
    /// Times it was taken; of an exit edge, times left less times entered again.
    pub count: i64,
    /// Whether it is an exit edge.
    pub left: bool,
    /// How the count may differ from what ran.
    pub bound: Bound,
}

/// A block's number, -1 for the exit.
pub fn block_number(function: &Function, block: u32) -> i64 {
    if block == function.map.exit {
        -1
    } else {
        i64::from(block)
    }
}

/// All edges of a function by (from, to), those never taken too; the calls are the edge from -1 to the entry. Exit
/// edges are listed where their count isn't 0.
///
/// Several edges between the same two blocks (cases of a switch) are one here.
pub fn of_function(function: &Function) -> Vec<EdgeCount> {
    let flow = function.flow();
    let entry = block_number(function, function.map.entry);
    let calls = i64::try_from(flow.calls).unwrap_or(i64::MAX);
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

/// An edge that was taken, or an exit edge whose count isn't 0.
#[derive(Clone, Copy, Debug)]
pub struct HotEdge<'a> {
    /// The function it is in.
    pub function: FunctionId,
    /// The edge.
    pub edge: &'a EdgeMap,
    /// Its number in the function.
    pub number: u32,
    /// The block it leads to in the end: where it enters one of a jump alone, that jump's target.
    pub to: u32,
    /// Times it was taken; of an exit edge, times left less times entered again.
    pub count: i64,
    /// How that may differ from what ran.
    pub bound: Bound,
}

impl HotEdge<'_> {
    /// What it is ranked by: its count, whatever its sign.
    pub fn weight(&self) -> u64 {
        self.count.unsigned_abs()
    }
}

/// The edges taken most, and what they are a share of.
#[derive(Clone, Debug)]
pub struct Ranking<'a> {
    /// Hottest first; equal ones by function and number.
    pub edges: Vec<HotEdge<'a>>,
    /// Exit edges that were entered again, net, of the functions kept: those most often first. They are not ranked.
    pub again: Vec<HotEdge<'a>>,
    /// Edges that were taken, of the functions kept.
    pub ranked: u64,
    /// Weight of all edges of the run, those entered again apart.
    pub total: u64,
    /// Of it, the times that functions were left in a call.
    pub left: u64,
}

/// Ranks the edges of the functions that `keep` holds for; at most `top`, all without. An edge through a block of a jump
/// alone is one with that jump; where a block is divided behind a call, its parts are one.
pub fn hottest<'a>(
    run: &'a RunProfile,
    top: Option<usize>,
    keep: &dyn Fn(FunctionId) -> bool,
) -> Ranking<'a> {
    let (mut total, mut left) = (0u64, 0u64);
    let mut again: Vec<HotEdge<'a>> = Vec::new();
    let mut edges: Vec<HotEdge<'a>> = Vec::new();
    for (id, function) in run.ids().filter(|(_, function)| function.ran()) {
        let kept = keep(id);
        let jumps = jumps(&function.map);
        let counted = function.map.edges.iter().zip(&function.flow().edges);
        let bounds = &function.bounds().edges;
        for (((edge, &count), &bound), number) in counted.zip(bounds).zip(0..) {
            if jumps[edge.from as usize].is_some() || edge.outcome == Outcome::Returned {
                continue;
            }
            let hot = HotEdge {
                function: id,
                edge,
                number,
                to: behind(&jumps, edge.to),
                count,
                bound,
            };
            let exits = edge.kind == EdgeKind::Exit;
            if exits && count < 0 {
                again.extend(kept.then_some(hot));
                continue;
            }
            total = total.saturating_add(hot.weight());
            left = left.saturating_add(if exits { hot.weight() } else { 0 });
            if kept && count != 0 {
                edges.push(hot);
            }
        }
    }
    let ranked = edges.len() as u64;
    // Stable: equal counts stay by function and edge.
    edges.sort_by_key(|edge| Reverse(edge.weight()));
    again.sort_by_key(|edge| Reverse(edge.weight()));
    edges.truncate(top.unwrap_or(usize::MAX));
    Ranking {
        edges,
        again,
        ranked,
        total,
        left,
    }
}

/// Blocks that are a jump alone and have nothing of the source, and where they jump to.
pub(crate) fn jumps(map: &FunctionMap) -> Vec<Option<u32>> {
    let mut out: Vec<(u32, Option<u32>)> = vec![(0, None); map.blocks.len()];
    for edge in &map.edges {
        let (count, to) = &mut out[edge.from as usize];
        *count += 1;
        *to = Some(edge.to);
    }
    let blocks = map.blocks.iter().zip(out).zip(0u32..);
    let jumps = blocks.map(|((block, (count, to)), id)| {
        let bare = block.instructions == 0 && block.places.is_empty();
        to.filter(|_| bare && count == 1 && id != map.entry)
    });
    jumps.collect()
}

/// The block that an edge into `block` leads to in the end: where it is a jump alone, that jump's target.
pub fn target(map: &FunctionMap, block: u32) -> u32 {
    behind(&jumps(map), block)
}

/// Where jumps lead from a block; as many as blocks at most, since they may lead round.
fn behind(jumps: &[Option<u32>], from: u32) -> u32 {
    let mut at = from;
    for _ in 0..jumps.len() {
        match jumps[at as usize] {
            Some(to) => at = to,
            None => break,
        }
    }
    at
}
