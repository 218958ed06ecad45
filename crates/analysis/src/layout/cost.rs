//! Judges an order of blocks without a processor (Burger, Dybvig 1998, section 4): executed jumps,
//! taken branches, and conditional branches that a static predictor gets wrong. The predictor says
//! that branches backward are taken, and branches forward are not.
//!
//! If no target of a branch follows its block, the block ends with a conditional branch along the
//! hotter edge and a jump along the colder edge. So the preferences between chains
//! ([`preferences`](super::preferences)) gain what they weigh.
//!
//! Jumps to computed addresses and switches with three or more targets are left out: they are taken
//! in any order. Cost: linear.

use std::ops::AddAssign;

use holloway_format::Count;

use super::graph::{BlockGraph, Edge, Transfer};

/// The executions that an order of blocks costs.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct StaticCost {
    /// Unconditional jumps.
    pub jumps: Count,
    /// Unconditional jumps, and conditional branches that were taken.
    pub taken: Count,
    /// Conditional branches that the static predictor gets wrong.
    pub mispredicted: Count,
}

impl AddAssign for StaticCost {
    fn add_assign(&mut self, other: Self) {
        self.jumps = self.jumps.saturating_add(other.jumps);
        self.taken = self.taken.saturating_add(other.taken);
        self.mispredicted = self.mispredicted.saturating_add(other.mispredicted);
    }
}

impl StaticCost {
    /// The cost of an order, which contains each block of the graph once.
    pub fn new(graph: &BlockGraph, order: &[usize]) -> Self {
        let mut positions = vec![0; order.len()];
        for (position, &block) in order.iter().enumerate() {
            positions[block] = position;
        }
        let mut cost = Self::default();
        for (position, &block) in order.iter().enumerate() {
            let follows = |edge: Edge| order.get(position + 1) == Some(&edge.to);
            match graph.transfer(block) {
                Transfer::None | Transfer::Computed => {}
                Transfer::Jump(edge) if follows(edge) => {}
                Transfer::Jump(edge) => cost += Self::jump(edge.count),
                Transfer::Branch { hotter, colder } => {
                    let (branch, other) = match follows(hotter) {
                        true => (colder, hotter),
                        false => (hotter, colder),
                    };
                    if !follows(other) {
                        cost += Self::jump(other.count);
                    }
                    let is_backward = positions[branch.to] <= position;
                    cost += Self {
                        jumps: Count::ZERO,
                        taken: branch.count,
                        mispredicted: match is_backward {
                            true => other.count,
                            false => branch.count,
                        },
                    };
                }
            }
        }
        cost
    }

    fn jump(count: Count) -> Self {
        Self {
            jumps: count,
            taken: count,
            mispredicted: Count::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::graph::{Block, JumpKind};
    use super::super::random_graph::block_graphs;
    use super::*;

    /// Checks `[jumps, taken, mispredicted]` of an order of blocks with these edges.
    fn check(edges: &[(usize, usize, u64)], order: &[usize], expect: [u64; 3]) {
        let edges = edges.iter().copied().map(Edge::from).collect();
        let graph = BlockGraph::new(vec![Block::with_count(1); order.len()], edges);
        let cost = StaticCost::new(&graph, order);
        let numbers = [cost.jumps.0, cost.taken.0, cost.mispredicted.0];
        assert_eq!(numbers, expect, "{order:?}");
    }

    #[test]
    fn a_jump_costs_nothing_if_its_target_follows() {
        check(&[(0, 1, 7)], &[0, 1], [0, 0, 0]);
        check(&[(0, 1, 7)], &[0, 2, 1], [7, 7, 0]);
        check(&[(0, 1, 7), (1, 1, 5)], &[0, 1], [5, 5, 0]);
    }

    #[test]
    fn a_branch_forward_is_predicted_not_taken_and_a_branch_backward_taken() {
        let forward = [(0, 1, 30), (0, 2, 70)];
        check(&forward, &[0, 1, 2], [0, 70, 70]);
        check(&forward, &[0, 2, 1], [0, 30, 30]);
        // b1 branches back to itself or to b0.
        let backward = [(0, 1, 1), (1, 1, 90), (1, 2, 10)];
        check(&backward, &[0, 1, 2], [0, 90, 10]);
        check(&[(0, 1, 9), (1, 0, 8), (1, 2, 1)], &[0, 1, 2], [0, 8, 1]);
    }

    #[test]
    fn a_branch_between_two_distant_blocks_needs_a_jump_along_the_colder_edge() {
        let edges = [(0, 1, 100), (1, 2, 70), (1, 3, 30)];
        // The branch to b2 is forward or backward.
        check(&edges, &[0, 1, 4, 2, 3], [30, 100, 70]);
        check(&edges, &[0, 2, 1, 4, 3], [130, 200, 30]);
    }

    #[test]
    fn computed_jumps_cost_the_same_in_any_order() {
        check(&[(0, 1, 1), (0, 2, 2), (0, 3, 3)], &[0, 2, 3, 1], [0; 3]);
        let computed = Block {
            jump: JumpKind::Computed,
            ..Block::with_count(5)
        };
        let edges = vec![Edge::from((0, 1, 5))];
        let graph = BlockGraph::new(vec![computed; 3], edges);
        assert_eq!(StaticCost::new(&graph, &[0, 2, 1]), StaticCost::default());
    }

    proptest! {
        #[test]
        fn a_cost_is_bounded_by_the_executions_of_branches(
            (graph, order) in block_graphs().prop_flat_map(|graph| {
                let blocks: Vec<usize> = (0..graph.blocks().len()).collect();
                (Just(graph), Just(blocks).prop_shuffle())
            }),
        ) {
            let (mut jumps, mut branches) = (0, 0);
            for block in 0..graph.blocks().len() {
                match graph.transfer(block) {
                    Transfer::Jump(edge) => jumps += edge.count.0,
                    Transfer::Branch { hotter, colder } => branches += hotter.count.0 + colder.count.0,
                    Transfer::None | Transfer::Computed => {}
                }
            }
            let cost = StaticCost::new(&graph, &order);
            prop_assert!(cost.jumps <= cost.taken);
            prop_assert!(cost.taken.0 <= jumps + branches);
            prop_assert!(cost.mispredicted.0 <= branches);
        }
    }
}
