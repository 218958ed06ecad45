//! Orders the blocks of a function, and the functions of a program, by exact counts.
//!
//! Four orders of blocks ([`BlockOrder`]):
//!
//! - the order that the blocks have already
//! - [`ext_tsp`]: the extended traveling salesman problem (Newell, Pupyrev 2018), as in LLVM
//! - [`preferences`]: chains, and preferences between them (Burger, Dybvig 1998, section 3.4)
//! - [`alignment`]: greedy branch alignment, with code that never ran at the end (Zhang et al.
//!   1997, section 3.3; Pettis, Hansen 1990)
//!
//! Two orders of functions: [`closest_is_best`] (Pettis, Hansen 1990) and [`c3`] (Ottoni, Maher
//! 2017).
//!
//! [`StaticCost`] judges an order of blocks, and [`CallDistance`] an order of functions. Both need
//! only counts, so they say which order is best before any code is generated. LLVM lays blocks out
//! again when it generates code.
//!
//! All orders are deterministic: ties go to the lower number.
//!
//! Example: b0 leads to b1 (10 times) or b2 (90 times), and both lead to b3. In the order b0 b1 b2
//! b3, the branch is taken 90 times, and b1 jumps over b2 10 times. In the order b0 b2 b3 b1, the
//! branch is taken 10 times, and b1 jumps back 10 times.

pub mod alignment;
pub mod c3;
mod call_graph;
mod chains;
pub mod closest_is_best;
mod cost;
pub mod ext_tsp;
mod function;
mod graph;
pub mod preferences;
mod program;
#[cfg(test)]
mod random_graph;

pub use call_graph::{Call, CallDistance, CallGraph, CalledFunction};
pub use cost::StaticCost;
pub use function::{block_graph, code_bytes};
pub use graph::{Block, BlockGraph, Edge, JumpKind, Transfer};
pub use program::{program_order, random_orders};

/// A way to order the blocks of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockOrder {
    /// The order that the blocks have already.
    Original,
    /// [`ext_tsp`].
    ExtTsp,
    /// [`preferences`].
    Preferences,
    /// [`alignment`].
    Alignment,
}

impl BlockOrder {
    /// All orders.
    pub const ALL: [Self; 4] = [
        Self::Original,
        Self::ExtTsp,
        Self::Preferences,
        Self::Alignment,
    ];

    /// Orders the blocks of a graph. Each block is in the order once, and the entry is first.
    pub fn order(self, graph: &BlockGraph) -> Vec<usize> {
        match self {
            Self::Original => (0..graph.blocks().len()).collect(),
            Self::ExtTsp => ext_tsp::order(graph),
            Self::Preferences => preferences::order(graph),
            Self::Alignment => alignment::order(graph),
        }
    }
}

/// A way to order the functions of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FunctionOrder {
    /// The order that the functions have already.
    Original,
    /// [`closest_is_best`].
    ClosestIsBest,
    /// [`c3`].
    C3,
}

impl FunctionOrder {
    /// All orders.
    pub const ALL: [Self; 3] = [Self::Original, Self::ClosestIsBest, Self::C3];

    /// Orders the functions of a call graph. Each function is in the order once.
    pub fn order(self, graph: &CallGraph) -> Vec<usize> {
        match self {
            Self::Original => (0..graph.functions().len()).collect(),
            Self::ClosestIsBest => closest_is_best::order(graph),
            Self::C3 => c3::order(graph),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::random_graph::{block_graphs, call_graphs};
    use super::{Block, BlockGraph, BlockOrder, Edge, FunctionOrder, StaticCost};

    fn is_permutation(order: &[usize], len: usize) -> bool {
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        sorted.into_iter().eq(0..len)
    }

    #[test]
    fn the_example_of_the_module() {
        let counts = [100, 10, 90, 100].map(Block::with_count);
        let edges = [(0, 1, 10), (0, 2, 90), (1, 3, 10), (2, 3, 90)].map(Edge::from);
        let graph = BlockGraph::new(counts.into(), edges.into());
        let cost = |order: BlockOrder| {
            let order = order.order(&graph);
            let cost = StaticCost::new(&graph, &order);
            let numbers = [cost.jumps.0, cost.taken.0, cost.mispredicted.0];
            (order, numbers)
        };
        assert_eq!(
            cost(BlockOrder::Original),
            (vec![0, 1, 2, 3], [10, 100, 90])
        );
        for order in &BlockOrder::ALL[1..] {
            assert_eq!(cost(*order), (vec![0, 2, 3, 1], [10, 20, 10]), "{order:?}");
        }
    }

    proptest! {
        #[test]
        fn an_order_of_blocks_is_a_permutation_with_the_entry_first(graph in block_graphs()) {
            for order in BlockOrder::ALL {
                let blocks = order.order(&graph);
                prop_assert!(is_permutation(&blocks, graph.blocks().len()), "{:?}", order);
                prop_assert_eq!(blocks[0], 0, "{:?}", order);
            }
        }

        #[test]
        fn preferences_and_alignment_join_the_same_hot_blocks(graph in block_graphs()) {
            let cost = |order: BlockOrder| {
                let cost = StaticCost::new(&graph, &order.order(&graph));
                (cost.jumps, cost.taken)
            };
            prop_assert_eq!(cost(BlockOrder::Preferences), cost(BlockOrder::Alignment));
        }

        #[test]
        fn an_order_of_functions_is_a_permutation(graph in call_graphs()) {
            for order in FunctionOrder::ALL {
                let functions = order.order(&graph);
                prop_assert!(is_permutation(&functions, graph.functions().len()), "{:?}", order);
            }
        }
    }
}
