//! How often control goes from one LLVM block to another, measured or estimated.

use std::collections::HashMap;

use crate::lower::{BlockIndex, LoweredFunction};

/// The frequency of each transition from one block to another.
pub(crate) struct TransitionFrequencies(pub(crate) HashMap<(BlockIndex, BlockIndex), u64>);

impl TransitionFrequencies {
    /// Sums the weights of the edges between each two blocks. `weights` is indexed by the graph's
    /// edges.
    pub(crate) fn new(lowered: &LoweredFunction<'_>, weights: &[u64]) -> Self {
        let mut frequencies: HashMap<(BlockIndex, BlockIndex), u64> = HashMap::new();
        let nodes = &lowered.nodes;
        for (edge, &weight) in lowered.cfg.edges().iter().zip(weights) {
            let (from, to) = (nodes.get(edge.from.index()), nodes.get(edge.to.index()));
            if let (Some(from), Some(to)) = (from, to)
                && to.cuts_before == 0
            {
                let sum = frequencies.entry((from.block, to.block)).or_default();
                *sum = sum.saturating_add(weight);
            }
        }
        Self(frequencies)
    }

    /// How often control goes from block `from` to block `to`.
    pub(crate) fn between(&self, from: BlockIndex, to: BlockIndex) -> u64 {
        self.0.get(&(from, to)).copied().unwrap_or(0)
    }
}
