//! The order in which people read the blocks of a function: each block comes after the blocks that
//! lead to it, except along back edges, and the blocks of a loop stay together.
//!
//! Of several blocks that may come next, the one with the smallest number comes first, which is
//! usually the order of the source. The exit comes last. Loops are natural loops. The blocks of
//! irreducible cycles are not kept together.
//!
//! Example: b1 is the head of a loop with b3, and leads to b2, which returns. The order is b0, b1,
//! b3, b2, and then the exit, although b2 has a smaller number than b3.
//!
//! Cost: a sort of the blocks, whose keys have the depth of the loops.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use holloway_flow::{BlockId, Cfg, Dominators, Loops, reverse_postorder};
use holloway_format::FunctionMap;

use crate::flow::uncut_graph_of;

/// A block in the outline of its function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutlineBlock {
    /// The block.
    pub block: u32,
    /// The heads of the loops that contain the block, the outermost loop first.
    pub loops: Vec<u32>,
}

/// The blocks of a function in reading order. If the map has no valid graph, they are in the order
/// of their numbers.
pub fn outline(map: &FunctionMap) -> Vec<OutlineBlock> {
    let blocks = 0..map.blocks.len() as u32;
    let Ok(cfg) = uncut_graph_of(map) else {
        let without_loops = |block| OutlineBlock {
            block,
            loops: Vec::new(),
        };
        return blocks.map(without_loops).collect();
    };
    let loops = Loops::new(&cfg, &Dominators::new(&cfg));
    let positions = positions(&cfg);
    let mut outline: Vec<OutlineBlock> = blocks
        .map(|block| OutlineBlock {
            block,
            loops: heads(&loops, BlockId(block)),
        })
        .collect();
    // A loop has the position of its head, which comes before all other blocks of the loop.
    outline.sort_by_cached_key(|entry| {
        let path = entry.loops.iter().chain([&entry.block]);
        path.map(|&block| positions[block as usize])
            .collect::<Vec<_>>()
    });
    outline
}

/// The heads of the loops that contain a block, the outermost loop first.
fn heads(loops: &Loops, block: BlockId) -> Vec<u32> {
    let mut heads = Vec::new();
    let mut enclosing = loops.innermost(block);
    while let Some(index) = enclosing {
        let natural_loop = &loops.all()[index];
        heads.push(natural_loop.head.0);
        enclosing = natural_loop.parent;
    }
    heads.reverse();
    heads
}

/// By block: its position in an order in which each block comes after the blocks that lead to it,
/// except along retreating edges.
fn positions(cfg: &Cfg) -> Vec<usize> {
    let count = cfg.block_count() as usize;
    let mut depth_first = vec![usize::MAX; count];
    for (position, block) in reverse_postorder(cfg).into_iter().enumerate() {
        depth_first[block.index()] = position;
    }
    let advances = |from: BlockId, to: BlockId| depth_first[from.index()] < depth_first[to.index()];
    let mut waiting_for = vec![0usize; count];
    for edge in cfg.edges() {
        waiting_for[edge.to.index()] += usize::from(advances(edge.from, edge.to));
    }
    let key = |block: BlockId| Reverse((block == cfg.exit(), block));
    let ready = cfg.blocks().filter(|block| waiting_for[block.index()] == 0);
    // Blocks that no path reaches come after all others.
    let is_reached = |block: &BlockId| depth_first[block.index()] != usize::MAX;
    let mut ready: BinaryHeap<_> = ready.filter(is_reached).map(key).collect();
    let mut positions = vec![usize::MAX; count];
    let mut next = 0;
    while let Some(Reverse((_, block))) = ready.pop() {
        positions[block.index()] = next;
        next += 1;
        for &edge in cfg.successors(block) {
            let to = cfg.edge(edge).to;
            if advances(block, to) {
                waiting_for[to.index()] -= 1;
                if waiting_for[to.index()] == 0 {
                    ready.push(key(to));
                }
            }
        }
    }
    for (block, position) in positions.iter_mut().enumerate() {
        if *position == usize::MAX {
            *position = count + block;
        }
    }
    positions
}

#[cfg(test)]
mod tests {
    use holloway_format::{BlockMap, EdgeMap};

    use super::*;

    /// The outline of a graph: `b0 b1(b1) b3(b1) b2`. A block's loops are in parentheses.
    fn check(blocks: usize, edges: &[(u32, u32)], expect: &str) {
        let edges = edges.iter().map(|&(from, to)| EdgeMap {
            from,
            to,
            kind: holloway_format::EdgeKind::Plain,
            outcome: holloway_format::Outcome::Jump,
            place: None,
        });
        let map = FunctionMap {
            blocks: vec![BlockMap::default(); blocks],
            edges: edges.collect(),
            exit: blocks as u32 - 1,
            ..FunctionMap::default()
        };
        let shown = outline(&map).into_iter().map(|entry| {
            let loops: String = entry
                .loops
                .iter()
                .map(|head| format!("(b{head})"))
                .collect();
            format!("b{}{loops}", entry.block)
        });
        assert_eq!(shown.collect::<Vec<_>>().join(" "), expect);
    }

    #[test]
    fn blocks_without_loops_are_in_topological_order() {
        check(
            5,
            &[(0, 2), (0, 3), (2, 1), (3, 1), (1, 4)],
            "b0 b2 b3 b1 b4",
        );
    }

    #[test]
    fn the_blocks_of_a_loop_stay_together() {
        check(
            5,
            &[(0, 1), (1, 3), (1, 2), (3, 1), (2, 4)],
            "b0 b1(b1) b3(b1) b2 b4",
        );
    }

    #[test]
    fn an_inner_loop_is_in_its_outer_loop() {
        // b1 heads the outer loop with b2, b4, b5; b4 heads the inner loop with b5.
        check(
            7,
            &[
                (0, 1),
                (1, 2),
                (1, 3),
                (2, 4),
                (4, 5),
                (5, 4),
                (4, 1),
                (3, 6),
            ],
            "b0 b1(b1) b2(b1) b4(b1)(b4) b5(b1)(b4) b3 b6",
        );
    }

    #[test]
    fn the_exit_is_last_and_unreachable_blocks_follow() {
        check(4, &[(0, 3), (1, 3)], "b0 b3 b1 b2");
        check(4, &[(0, 3), (0, 2), (0, 1), (1, 3), (2, 3)], "b0 b1 b2 b3");
    }
}
