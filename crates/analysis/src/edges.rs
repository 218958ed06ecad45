//! Edge counts, derived from path counts.
//!
//! Cost: linear in edges, after each function's [`Flow`](crate::graph::Flow).

use std::cmp::Reverse;
use std::collections::BTreeMap;

use holloway_format::EdgeMap;

use crate::run::{Function, FunctionId, RunProfile};

/// An edge between blocks of a function; the world outside (callers, and the exit) is block -1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EdgeCount {
    /// Block it leaves, or -1.
    pub from: i64,
    /// Block it enters, or -1.
    pub to: i64,
    /// Times it was taken.
    pub count: u64,
}

/// A block's number, -1 for the exit.
pub fn block_number(function: &Function, block: u32) -> i64 {
    if block == function.map.exit {
        -1
    } else {
        i64::from(block)
    }
}

/// All edges of a function by (from, to), those never taken too; the calls are the edge from -1 to the entry.
///
/// Several edges between the same two blocks (cases of a switch) are one here.
pub fn of_function(function: &Function) -> Vec<EdgeCount> {
    let flow = function.flow();
    let mut counts =
        BTreeMap::from([((-1, block_number(function, function.map.entry)), flow.calls)]);
    for (edge, count) in function.map.edges.iter().zip(&flow.edges) {
        let ends = (
            block_number(function, edge.from),
            block_number(function, edge.to),
        );
        let sum: &mut u64 = counts.entry(ends).or_default();
        *sum = sum.saturating_add(*count);
    }
    counts
        .into_iter()
        .map(|((from, to), count)| EdgeCount { from, to, count })
        .collect()
}

/// An edge that was taken.
#[derive(Clone, Copy, Debug)]
pub struct HotEdge<'a> {
    /// The function it is in.
    pub function: FunctionId,
    /// The edge.
    pub edge: &'a EdgeMap,
    /// Times it was taken.
    pub count: u64,
}

/// The edges taken most, and what they are a share of.
#[derive(Clone, Debug)]
pub struct Ranking<'a> {
    /// Hottest first; equal ones by function and number.
    pub edges: Vec<HotEdge<'a>>,
    /// Edges that were taken, of the functions kept.
    pub ranked: u64,
    /// Times any edge of the run was taken.
    pub total: u64,
}

/// Ranks the edges of the functions that `keep` holds for; at most `top`, all without.
pub fn hottest<'a>(
    run: &'a RunProfile,
    top: Option<usize>,
    keep: &dyn Fn(FunctionId) -> bool,
) -> Ranking<'a> {
    let mut total = 0u64;
    let mut edges: Vec<HotEdge<'a>> = Vec::new();
    for (id, function) in run.ids().filter(|(_, function)| function.ran()) {
        let kept = keep(id);
        for (edge, &count) in function.map.edges.iter().zip(&function.flow().edges) {
            total = total.saturating_add(count);
            if kept && count > 0 {
                edges.push(HotEdge {
                    function: id,
                    edge,
                    count,
                });
            }
        }
    }
    let ranked = edges.len() as u64;
    // Stable: equal counts stay by function and edge.
    edges.sort_by_key(|edge| Reverse(edge.count));
    edges.truncate(top.unwrap_or(usize::MAX));
    Ranking {
        edges,
        ranked,
        total,
    }
}
