//! Makes the graph of a function whose blocks are ordered, from its path map and its counts.
//!
//! A block of the map is not always a piece of code that can be moved by itself:
//!
//! - The parts of a block that was divided at calls become one block.
//! - A block that is only a jump is left out: edges into it lead to its target. The code generator
//!   makes no code for it, except for moves between registers, which the map does not know.
//! - The exit is no block. Edges of calls that unwind are left out, because no jump takes them.
//!
//! The size of a block is 4 bytes for each LLVM instruction. That is roughly the size of x86-64
//! code, and the map knows nothing better.
//!
//! Cost: linear in blocks and edges.

use holloway_format::{Count, EdgeKind, EdgeMap, FunctionMap, Outcome};

use super::graph::{Block, BlockGraph, Edge, JumpKind};
use crate::edges::{jump_targets, jumps};
use crate::flow::Flow;

/// Bytes of an LLVM instruction.
const INSTRUCTION: u64 = 4;

/// The size of a function's code in bytes, estimated from its instructions.
pub fn code_bytes(map: &FunctionMap) -> u64 {
    let blocks = map.blocks.iter();
    blocks
        .map(|block| INSTRUCTION * u64::from(block.instructions))
        .sum()
}

/// The graph of a function, with the entry as block 0 and the other blocks in the order of the map.
/// `None` if the function has no blocks.
pub fn block_graph(map: &FunctionMap, flow: &Flow) -> Option<BlockGraph> {
    let mut jumps = jumps(map);
    // The first part of a divided block may be empty: a call is the block's first instruction.
    for edge in map.edges.iter().filter(|edge| is_inside(edge)) {
        jumps[edge.from as usize] = None;
    }
    let targets = jump_targets(&jumps);
    let firsts = first_parts(map);
    let is_block = |block: &u32| {
        let index = *block as usize;
        *block != map.exit && firsts[index] == *block && jumps[index].is_none()
    };
    let others = (0u32..)
        .take(map.blocks.len())
        .filter(|&block| block != map.entry);
    let kept = std::iter::once(map.entry).chain(others).filter(is_block);
    let kept: Vec<u32> = kept.collect();
    let mut numbers = vec![None; map.blocks.len()];
    for (number, &block) in kept.iter().enumerate() {
        numbers[block as usize] = Some(number);
    }
    let number = |block: u32| numbers[firsts[block as usize] as usize];
    let mut blocks: Vec<Block> = kept.iter().map(|&block| empty_block(flow, block)).collect();
    for (block, info) in (0u32..).zip(&map.blocks) {
        if let Some(number) = number(block) {
            blocks[number].bytes += INSTRUCTION * u64::from(info.instructions);
        }
    }
    let mut edges = Vec::new();
    for (edge, &count) in map.edges.iter().zip(&flow.edges) {
        if !is_jump(edge)
            || firsts[edge.to as usize] == firsts[edge.from as usize] && is_inside(edge)
        {
            continue;
        }
        let (Some(from), Some(to)) = (number(edge.from), number(targets[edge.to as usize])) else {
            continue;
        };
        if matches!(edge.outcome, Outcome::Indirect | Outcome::AsmGoto) {
            blocks[from].jump = JumpKind::Computed;
        }
        let count = Count(u64::try_from(count).unwrap_or(0));
        edges.push(Edge { from, to, count });
    }
    (!blocks.is_empty()).then(|| BlockGraph::new(blocks, edges))
}

fn empty_block(flow: &Flow, block: u32) -> Block {
    Block {
        bytes: 0,
        count: flow.blocks[block as usize],
        jump: JumpKind::Direct,
    }
}

/// Whether control may take the edge by a jump.
fn is_jump(edge: &EdgeMap) -> bool {
    edge.kind != EdgeKind::Exit && edge.outcome != Outcome::Unwind
}

/// Whether the edge leads from one part of a divided block to the next part.
fn is_inside(edge: &EdgeMap) -> bool {
    let outcomes = [Outcome::Returned, Outcome::Split, Outcome::Again];
    outcomes.contains(&edge.outcome)
}

/// By block: the first part of the block that it is a part of. A part has one way in.
fn first_parts(map: &FunctionMap) -> Vec<u32> {
    let mut ways_in = vec![0u32; map.blocks.len()];
    for edge in &map.edges {
        ways_in[edge.to as usize] += 1;
    }
    let mut previous = vec![None; map.blocks.len()];
    let inside = map.edges.iter().filter(|edge| is_inside(edge));
    for edge in inside.filter(|edge| ways_in[edge.to as usize] == 1 && edge.to != map.entry) {
        previous[edge.to as usize] = Some(edge.from as usize);
    }
    let chains = crate::chain::chains(&previous, |_| 0).into_iter();
    chains.map(|chain| chain.last as u32).collect()
}

#[cfg(test)]
mod tests {
    use holloway_format::BlockMap;

    use super::*;

    /// Makes a map of blocks with these numbers of instructions. The last block is the exit.
    fn map(instructions: &[u32], edges: &[(u32, u32, Outcome)]) -> FunctionMap {
        let block = |&instructions| BlockMap {
            instructions,
            places: Vec::new(),
        };
        let edge = |&(from, to, outcome)| EdgeMap {
            from,
            to,
            kind: match outcome {
                Outcome::Left => EdgeKind::Exit,
                _ => EdgeKind::Plain,
            },
            outcome,
            place: None,
        };
        FunctionMap {
            exit: instructions.len() as u32 - 1,
            blocks: instructions.iter().map(block).collect(),
            edges: edges.iter().map(edge).collect(),
            ..FunctionMap::default()
        }
    }

    /// Checks the (bytes, executions) of the blocks, and the edges.
    fn check(
        map: &FunctionMap,
        counts: &[i64],
        blocks: &[(u64, u64)],
        edges: &[(usize, usize, u64)],
    ) {
        let flow = Flow::of_edges(map, counts.to_vec(), Count(10));
        let graph = block_graph(map, &flow).expect("the map has blocks");
        let found = graph.blocks().iter();
        let found: Vec<_> = found.map(|block| (block.bytes, block.count.0)).collect();
        assert_eq!(found, blocks);
        let expect: Vec<Edge> = edges.iter().copied().map(Edge::from).collect();
        assert_eq!(graph.edges(), expect);
    }

    #[test]
    fn a_block_that_is_only_a_jump_is_left_out() {
        // b0 branches to b1, a jump to b3, or to b2.
        let edges = [
            (0, 1, Outcome::True),
            (0, 2, Outcome::False),
            (1, 3, Outcome::Jump),
            (2, 3, Outcome::Jump),
            (3, 4, Outcome::Return),
        ];
        let map = map(&[2, 0, 1, 1, 0], &edges);
        check(
            &map,
            &[7, 3, 7, 3, 10],
            &[(8, 10), (4, 3), (4, 10)],
            &[(0, 1, 3), (0, 2, 7), (1, 2, 3)],
        );
    }

    #[test]
    fn the_parts_of_a_block_are_one_block() {
        // b0 is divided after a call that may not come back, and before another call. The second
        // call may unwind to b3.
        let edges = [
            (0, 4, Outcome::Returned),
            (0, 5, Outcome::Left),
            (4, 1, Outcome::Split),
            (1, 2, Outcome::Normal),
            (1, 3, Outcome::Unwind),
            (2, 5, Outcome::Return),
            (3, 5, Outcome::Resume),
        ];
        let map = map(&[2, 3, 4, 5, 1, 0], &edges);
        check(
            &map,
            &[9, 1, 9, 8, 1, 8, 1],
            &[(24, 10), (16, 8), (20, 1)],
            &[(0, 1, 8)],
        );
    }

    #[test]
    fn a_block_that_begins_with_a_call_is_a_block() {
        // b1 is divided before its first instruction.
        let edges = [
            (0, 1, Outcome::True),
            (0, 3, Outcome::False),
            (1, 2, Outcome::Split),
            (2, 3, Outcome::Jump),
            (3, 4, Outcome::Return),
        ];
        let map = map(&[2, 0, 3, 1, 0], &edges);
        check(
            &map,
            &[7, 3, 7, 7, 10],
            &[(8, 10), (12, 7), (4, 10)],
            &[(0, 1, 7), (0, 2, 3), (1, 2, 7)],
        );
    }

    #[test]
    fn a_computed_goto_is_computed() {
        let edges = [
            (0, 1, Outcome::Indirect),
            (0, 2, Outcome::Indirect),
            (1, 2, Outcome::Jump),
            (2, 3, Outcome::Return),
        ];
        let map = map(&[1, 1, 1, 0], &edges);
        let flow = Flow::of_edges(&map, vec![4, 6, 4, 10], Count(10));
        let graph = block_graph(&map, &flow).expect("the map has blocks");
        let kinds: Vec<JumpKind> = graph.blocks().iter().map(|block| block.jump).collect();
        assert_eq!(
            kinds,
            [JumpKind::Computed, JumpKind::Direct, JumpKind::Direct]
        );
    }

    #[test]
    fn a_damaged_map_has_no_graph() {
        let map = FunctionMap::default();
        assert_eq!(block_graph(&map, &Flow::zero(&map)), None);
    }
}
