//! Left paths of forests: paths that end in a call which did not come back.
//!
//! They are in no stream. A process's file has for each of them, as a root, what its counter says:
//! how often the call was *reached* that way, whether it came back or not (`graph`, "left path").
//! What went on is taken off where the processes of a run are joined (`net`), since a fork's
//! child goes on in calls that its parent reached.
//!
//! Where words are missing, what went on isn't known, and every one of them would look like a frame
//! that was left. There calls are taken to have come back each time ([`close`]): no frame counts as
//! left.
//!
//! Cost: linear in the nodes of functions with exit edges. Graphs are made once an image, since
//! processes are sealed beside the program ([`Words`]).

use holloway_flow::PathId;
use holloway_format::{ForestNode, FunctionForest, LoopsProfile};

use super::sealed::path_counts;
use crate::graph::Graph;
use crate::run::Function;
use crate::stream::Words;

/// Counts no frame as left: every call is taken to have come back as often as it was reached. Whether
/// there is a function for which that makes a difference.
pub fn close(profile: &mut LoopsProfile, words: &Words) -> bool {
    let mut has_closed = false;
    for forest in &mut profile.functions {
        let Some(map) = words.image().function(forest.module, forest.function) else {
            continue;
        };
        if let Some(graph) = graph_with_exits(words, forest.module, forest.function) {
            forest.nodes.retain(|node| !is_left(graph, node));
            let closed = graph.left_counters_if_all_returned(map, &path_counts(forest));
            forest.nodes.extend(roots(&closed));
            has_closed |= graph.has_left_paths();
        }
    }
    has_closed
}

/// How many words a function's nodes stand for, of which some are counts of calls that were
/// reached.
pub fn words(words: &Words, forest: &FunctionForest) -> u64 {
    let graph = graph_with_exits(words, forest.module, forest.function);
    let is_word = |node: &&ForestNode| graph.is_none_or(|graph| !is_left(graph, node));
    let nodes = forest.nodes.iter().filter(is_word);
    nodes.fold(0, |sum, node| sum.saturating_add(node.count))
}

/// Makes of what counters say how often a function's paths were left, as the profile of paths has
/// it; `forests` are all of the run.
pub(super) fn net(function: &Function, forests: &mut Vec<FunctionForest>) {
    let Some(graph) = function.graph().filter(|graph| graph.has_left_paths()) else {
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
fn graph_with_exits(words: &Words, module: u32, function: u32) -> Option<&Graph> {
    let graph = words.graph(module, function);
    graph.filter(|graph| graph.has_left_paths())
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use holloway_format::{
        BlockMap, Counters, DagEdgeMap, DagKind, EdgeKind, EdgeMap, ForestNode, FunctionForest,
        FunctionMap, ImageMap, ModuleMap, Outcome, PlacedModule,
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
    fn calls_that_were_reached_are_no_words() {
        let node = |path, count| ForestNode {
            depth: 0,
            path,
            count,
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
        let [one, other] = [words.clone(), words.clone()];
        let [one, other] = [&one, &other].map(|words| super::graph_with_exits(words, 0, 0));
        assert!(std::ptr::eq(
            one.expect("left paths"),
            other.expect("the same")
        ));
    }
}
