//! Random graphs for property tests.

use holloway_format::Count;
use proptest::prelude::*;

use super::call_graph::{Call, CallGraph, CalledFunction};
use super::graph::{Block, BlockGraph, Edge, JumpKind};

/// Graphs of 1 to 9 blocks. Many edges never ran. A block ran as often as its edges say.
pub(super) fn block_graphs() -> impl Strategy<Value = BlockGraph> {
    (1usize..10).prop_flat_map(|len| {
        let sizes = prop::collection::vec(0u64..900, len);
        let count = prop_oneof![Just(0u64), 1u64..4, 1u64..1000];
        let edges = prop::collection::vec((0..len, 0..len, count), 0..3 * len);
        (sizes, edges).prop_map(|(sizes, edges)| {
            let edges: Vec<Edge> = edges.into_iter().map(Edge::from).collect();
            let sum = |block: usize, end: fn(&Edge) -> usize| -> u64 {
                let edges = edges.iter().filter(|edge| end(edge) == block);
                edges.map(|edge| edge.count.0).sum()
            };
            let blocks = sizes.into_iter().enumerate().map(|(block, bytes)| Block {
                bytes,
                count: Count(sum(block, |edge| edge.from).max(sum(block, |edge| edge.to))),
                jump: match bytes % 8 {
                    0 => JumpKind::Computed,
                    _ => JumpKind::Direct,
                },
            });
            BlockGraph::new(blocks.collect(), edges)
        })
    })
}

/// Call graphs of 1 to 9 functions. Some functions never ran.
pub(super) fn call_graphs() -> impl Strategy<Value = CallGraph> {
    (1usize..10).prop_flat_map(|len| {
        let functions = (0u64..9000, prop_oneof![Just(0u64), 1u64..1000]);
        let functions = prop::collection::vec(functions, len);
        let calls = prop::collection::vec((0..len, 0..len, 0u64..100), 0..3 * len);
        (functions, calls).prop_map(|(functions, calls)| {
            let function = |(bytes, instructions)| CalledFunction {
                bytes,
                instructions: Count(instructions),
            };
            let functions = functions.into_iter().map(function).collect();
            CallGraph::new(functions, calls.into_iter().map(Call::from).collect())
        })
    })
}
