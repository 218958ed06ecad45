//! The blocks of a function as a weighted graph, as far as their order matters.
//!
//! Blocks are numbered from 0, in their original order. Block 0 is the entry. Control leaves a
//! block along its edges. The exit is no block: a block that returns has no edge for it.

use std::collections::BTreeMap;

use holloway_format::Count;

/// A block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// The size of its code. 0 counts as 1, so that different blocks have different addresses.
    pub bytes: u64,
    /// Executions.
    pub count: Count,
    /// How control leaves the block.
    pub jump: JumpKind,
}

/// How control leaves a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JumpKind {
    /// By jumps whose targets are part of the instruction.
    Direct,
    /// By a jump to a computed address.
    Computed,
}

/// An edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    /// The block that the edge leaves.
    pub from: usize,
    /// The block that the edge enters.
    pub to: usize,
    /// Executions.
    pub count: Count,
}

/// The end of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transfer {
    /// Control does not leave the block along an edge.
    None,
    /// An unconditional jump, unless the target follows the block.
    Jump(Edge),
    /// A conditional branch along one edge. If the target of the other edge does not follow the
    /// block, an unconditional jump comes after the branch.
    Branch {
        /// The edge with more executions; of two equal edges, the edge to the lower block.
        hotter: Edge,
        /// The other edge.
        colder: Edge,
    },
    /// A jump to a computed address, or a switch with three or more targets. No order saves it.
    Computed,
}

/// The blocks and edges of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlockGraph {
    blocks: Vec<Block>,
    /// By (from, to), without repetitions.
    edges: Vec<Edge>,
    /// By block: the index of its first edge. One more element ends the last block's edges.
    starts: Vec<usize>,
}

impl From<(usize, usize, u64)> for Edge {
    fn from((from, to, count): (usize, usize, u64)) -> Self {
        let count = Count(count);
        Self { from, to, count }
    }
}

impl Block {
    /// A block of 16 bytes that ends with direct jumps.
    #[cfg(test)]
    pub(super) fn with_count(count: u64) -> Self {
        Self {
            bytes: 16,
            count: Count(count),
            jump: JumpKind::Direct,
        }
    }
}

impl BlockGraph {
    /// Makes a graph. Edges between the same two blocks are added up.
    ///
    /// # Panics
    /// If there is no block, or an edge has an end that is no block.
    pub fn new(mut blocks: Vec<Block>, edges: Vec<Edge>) -> Self {
        assert!(!blocks.is_empty(), "a function has an entry");
        let mut sums: BTreeMap<(usize, usize), Count> = BTreeMap::new();
        for Edge { from, to, count } in edges {
            assert!(
                from.max(to) < blocks.len(),
                "b{from} → b{to} joins no blocks"
            );
            let sum = sums.entry((from, to)).or_default();
            *sum = sum.saturating_add(count);
        }
        for block in &mut blocks {
            block.bytes = block.bytes.max(1);
        }
        let edges = sums.into_iter();
        let edges = edges.map(|((from, to), count)| Edge { from, to, count });
        let edges: Vec<Edge> = edges.collect();
        let starts =
            (0..=blocks.len()).map(|block| edges.partition_point(|edge| edge.from < block));
        Self {
            starts: starts.collect(),
            blocks,
            edges,
        }
    }

    /// The blocks, in their original order.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The edges, by source and target.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// How control leaves a block.
    pub fn transfer(&self, block: usize) -> Transfer {
        let edges = &self.edges[self.starts[block]..self.starts[block + 1]];
        match (edges, self.blocks[block].jump) {
            ([], _) => Transfer::None,
            (&[edge], JumpKind::Direct) => Transfer::Jump(edge),
            (&[first, second], JumpKind::Direct) if first.count >= second.count => {
                Transfer::Branch {
                    hotter: first,
                    colder: second,
                }
            }
            (&[first, second], JumpKind::Direct) => Transfer::Branch {
                hotter: second,
                colder: first,
            },
            (_, JumpKind::Direct | JumpKind::Computed) => Transfer::Computed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_edges_are_added_up_and_decide_how_a_block_ends() {
        let mut blocks = vec![Block::with_count(1); 4];
        blocks[3].jump = JumpKind::Computed;
        let edges = [
            (0, 2, 3),
            (0, 1, 2),
            (0, 2, 4),
            (1, 0, 1),
            (1, 2, 1),
            (1, 3, 1),
            (2, 2, 5),
            (3, 1, 1),
        ];
        let graph = BlockGraph::new(blocks, edges.map(Edge::from).into());
        let (hotter, colder) = (Edge::from((0, 2, 7)), Edge::from((0, 1, 2)));
        assert_eq!(graph.transfer(0), Transfer::Branch { hotter, colder });
        assert_eq!(graph.transfer(1), Transfer::Computed);
        assert_eq!(graph.transfer(2), Transfer::Jump(Edge::from((2, 2, 5))));
        assert_eq!(graph.transfer(3), Transfer::Computed);
    }

    #[test]
    fn of_two_equal_edges_the_edge_to_the_lower_block_is_hotter() {
        let edges = [(0, 2, 3), (0, 1, 3)].map(Edge::from);
        let graph = BlockGraph::new(vec![Block::with_count(6); 3], edges.into());
        let (hotter, colder) = (edges[1], edges[0]);
        assert_eq!(graph.transfer(0), Transfer::Branch { hotter, colder });
    }
}
