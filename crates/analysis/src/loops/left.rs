//! Left paths in slab forests: paths that end in a call that did not return.
//!
//! No stream contains left paths. The file of a process has a root for each left path. The root's
//! count is the value of the path's counter: how often the call was *reached* on this path, whether
//! it returned or not (`graph`, "left path"). When the processes of a run are joined, `net`
//! subtracts the calls that returned. This is impossible for a single process, because the child of
//! a fork returns from calls that its parent reached.
//!
//! If words are missing, the number of returned calls is unknown, and each missing word would look
//! like a frame that was left. In this case, [`close`] assumes that all calls returned, so no frame
//! counts as left.
//!
//! Cost: linear in the nodes of functions with exit edges. Processes are sealed while the program
//! runs, so each image's graphs are made only once ([`Words`]).

use holloway_flow::PathId;
use holloway_format::{Count, ForestNode, FunctionForest, FunctionIndex, LoopsProfile};

use super::sealed::path_counts;
use crate::graph::Graph;
use crate::run::Function;
use crate::stream::Words;

/// Assumes that each call returned as often as it was reached, so that no frame counts as left.
/// Returns whether the profile has a function with left paths.
pub fn close(profile: &mut LoopsProfile, words: &Words) -> bool {
    let mut has_left_paths = false;
    for forest in &mut profile.functions {
        let Some(map) = words.image().function(forest.index) else {
            continue;
        };
        if let Some(graph) = graph_with_exits(words, forest.index) {
            forest.nodes.retain(|node| !is_left(graph, node));
            let closed = graph.left_counters_if_all_returned(map, &path_counts(forest));
            forest.nodes.extend(roots(&closed));
            has_left_paths |= graph.has_left_paths();
        }
    }
    has_left_paths
}

/// Number of words that a function's nodes count. Nodes of left paths count calls that were
/// reached, not words.
pub fn words(words: &Words, forest: &FunctionForest) -> u64 {
    let graph = graph_with_exits(words, forest.index);
    let is_word = |node: &&ForestNode| graph.is_none_or(|graph| !is_left(graph, node));
    let nodes = forest.nodes.iter().filter(is_word);
    nodes.fold(0, |sum, node| sum.saturating_add(node.count.0))
}

/// Replaces the counts of reached calls by the counts of left paths in the function's path profile.
/// `forests` must be all forests of this function in the run.
pub(super) fn net(function: &Function, forests: &mut Vec<FunctionForest>) {
    let Some(graph) = function.graph().filter(|graph| graph.has_left_paths()) else {
        return;
    };
    for forest in &mut *forests {
        forest.nodes.retain(|node| !is_left(graph, node));
    }
    let counts = function.counts.iter().copied();
    let left_counts: Vec<(PathId, Count)> =
        counts.filter(|&(path, _)| graph.is_left(path)).collect();
    if let Some(first) = forests.first_mut() {
        first.nodes.extend(roots(&left_counts));
    }
}

/// The graph of a function, if it has left paths.
fn graph_with_exits(words: &Words, index: FunctionIndex) -> Option<&Graph> {
    let graph = words.graph(index);
    graph.filter(|graph| graph.has_left_paths())
}

fn is_left(graph: &Graph, node: &ForestNode) -> bool {
    node.depth == 0 && graph.is_left(node.path)
}

fn roots(counts: &[(PathId, Count)]) -> impl Iterator<Item = ForestNode> {
    counts.iter().map(|&(path, count)| ForestNode {
        depth: 0,
        path,
        count,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use holloway_format::{
        BlockMap, Count, Counters, DagEdgeMap, DagKind, EdgeKind, EdgeMap, ForestNode,
        FunctionForest, FunctionIndex, FunctionMap, ImageMap, ModuleMap, Outcome, PathId,
        PlacedModule,
    };

    use crate::stream::Words;

    /// A function that returns (path 0), or is left in its call (path 1).
    fn image() -> Arc<ImageMap> {
        let edge = |kind, outcome| EdgeMap {
            from: 0,
            to: 1,
            kind,
            outcome,
            place: None,
        };
        let dag = |number: u32| DagEdgeMap {
            from: 0,
            to: 1,
            kind: DagKind::Edge(number),
            value: number.into(),
        };
        let function = FunctionMap {
            counters: Counters::Array { offset: 0, len: 2 },
            path_count: 2,
            exit: 1,
            blocks: vec![BlockMap::default(); 2],
            edges: vec![
                edge(EdgeKind::Plain, Outcome::Return),
                edge(EdgeKind::Exit, Outcome::Left),
            ],
            dag: vec![dag(0), dag(1)],
            ..FunctionMap::default()
        };
        let module = ModuleMap {
            functions: vec![function],
            ..ModuleMap::default()
        };
        let module = PlacedModule {
            module,
            ..PlacedModule::default()
        };
        Arc::new(ImageMap {
            modules: vec![module],
            ..ImageMap::default()
        })
    }

    #[test]
    fn reached_calls_are_not_counted_as_words() {
        let node = |path, count| ForestNode {
            depth: 0,
            path: PathId(path),
            count: Count(count),
        };
        let forest = FunctionForest {
            nodes: vec![node(0, 5), node(1, 7)],
            ..FunctionForest::default()
        };
        assert_eq!(super::words(&Words::new(&image()), &forest), 5);
    }

    #[test]
    fn the_processes_of_an_image_share_its_graphs() {
        let words = Words::new(&image());
        let [first, second] = [words.clone(), words.clone()];
        let [first, second] =
            [&first, &second].map(|words| super::graph_with_exits(words, FunctionIndex::default()));
        assert!(std::ptr::eq(
            first.expect("the function has left paths"),
            second.expect("the function has left paths")
        ));
    }
}
