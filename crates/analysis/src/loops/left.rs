//! Left paths of forests: paths that end in a call which did not come back.
//!
//! They are in no stream. A process's file has for each of them, as a root, what its counter says: how often the call was *reached* that way, whether it came
//! back or not (`graph`, "left path"). What went on is taken off where the processes of a run are joined (`net`), since a fork's child goes on
//! in calls that its parent reached.
//!
//! Where words are missing, what went on isn't known, and every one of them would look like a frame that was left. There calls are taken to have come
//! back each time ([`close`]): no frame counts as left.
//!
//! Cost: linear in the nodes of functions with exit edges.

use holloway_flow::PathId;
use holloway_format::{ForestNode, FunctionForest, FunctionMap, ImageMap, LoopsProfile};

use super::sealed::path_counts;
use crate::graph::{Graph, check_indices};
use crate::run::Function;

/// Counts no frame as left: every call is taken to have come back as often as it was reached.
pub fn close(profile: &mut LoopsProfile, map: &ImageMap) {
    for forest in &mut profile.functions {
        let Some(map) = map.function(forest.module, forest.function) else {
            continue;
        };
        if let Some(graph) = graph_with_exits(map) {
            forest.nodes.retain(|node| !is_left(&graph, node));
            let closed = graph.closed(map, &path_counts(forest));
            forest.nodes.extend(roots(&closed));
        }
    }
}

/// How many words a function's nodes stand for, of which some are counts of calls that were reached.
pub fn words(map: &FunctionMap, counts: &[(u64, u64)]) -> u64 {
    let graph = graph_with_exits(map);
    let is_word = |path: u64| {
        graph
            .as_ref()
            .is_none_or(|graph| !graph.is_left(PathId(path)))
    };
    let words = counts.iter().filter(|one| is_word(one.0));
    words.fold(0, |sum, one| sum.saturating_add(one.1))
}

/// Makes of what counters say how often a function's paths were left, as the profile of paths has it; `forests` are all of the run.
pub(super) fn net(function: &Function, forests: &mut Vec<FunctionForest>) {
    let Some(graph) = function.graph().filter(|graph| graph.can_be_left()) else {
        return;
    };
    for forest in &mut *forests {
        forest.nodes.retain(|node| !is_left(graph, node));
    }
    let left = function.counts.iter().copied();
    let left: Vec<(u64, u64)> = left.filter(|one| graph.is_left(PathId(one.0))).collect();
    if let Some(first) = forests.first_mut() {
        first.nodes.extend(roots(&left));
    }
}

/// The graph of a function of which paths can be left.
fn graph_with_exits(map: &FunctionMap) -> Option<Graph> {
    if !map.has_exits() {
        return None;
    }
    check_indices(map).ok()?;
    Graph::new(map).ok()
}

fn is_left(graph: &Graph, node: &ForestNode) -> bool {
    node.depth == 0 && graph.is_left(PathId(node.path))
}

fn roots(counts: &[(u64, u64)]) -> impl Iterator<Item = ForestNode> {
    counts.iter().map(|&(path, count)| ForestNode {
        depth: 0,
        path,
        count,
    })
}
