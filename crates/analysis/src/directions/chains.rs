//! Follows the edges of a branch: their chains, and whether they leave a loop of the source.

use std::collections::{HashMap, HashSet};

use holloway_flow::BlockId;
use holloway_format::Place;

use super::code::Code;

/// The chain of an edge, with its places.
pub(super) struct Chain {
    pub(super) edge: u32,
    /// The blocks of the chain.
    pub(super) blocks: Vec<u32>,
    /// The known places in these blocks, each with its block.
    pub(super) places: Vec<(u32, Place)>,
    pub(super) end: ChainEnd,
    /// `Some` if the edge leaves a loop of the source.
    pub(super) loop_exit: Option<LoopExit>,
}

/// An edge's exit from a loop of the source.
#[derive(Clone, Copy)]
pub(super) struct LoopExit {
    /// The first known place outside the loop, with its block.
    pub(super) outside: Option<(u32, Place)>,
}

/// The chains of a branch.
pub(super) struct Branch {
    pub(super) chains: Vec<Chain>,
    /// By block: the number of chains that begin with it.
    pub(super) targets: HashMap<u32, usize>,
    /// The number of the branch's edges that leave a loop.
    pub(super) leaving: usize,
}

/// Where a chain ends.
#[derive(Clone, Copy)]
pub(super) enum ChainEnd {
    /// The chain ends with this edge to a loop head.
    Back(u32),
    /// The chain ends with this edge to the exit.
    Exit(u32),
    /// The chain ends in this block, which has several edges out or was visited before.
    Block(u32),
}

impl Code<'_> {
    /// The chains of a branch.
    pub(super) fn branch(&self, siblings: &[u32]) -> Branch {
        let chains: Vec<Chain> = siblings
            .iter()
            .map(|&sibling| self.chain_of(sibling))
            .collect();
        let mut targets: HashMap<u32, usize> = HashMap::new();
        for chain in &chains {
            *targets.entry(self.edge(chain.edge).to).or_default() += 1;
        }
        Branch {
            leaving: chains
                .iter()
                .filter(|chain| chain.loop_exit.is_some())
                .count(),
            targets,
            chains,
        }
    }

    /// Follows an edge as long as each block has one edge out. Returns the edge's chain.
    fn chain_of(&self, first: u32) -> Chain {
        let (mut blocks, mut places) = (Vec::new(), Vec::new());
        let (mut edge, mut seen) = (first, HashSet::new());
        let end = loop {
            if self.is_back(edge) {
                break ChainEnd::Back(edge);
            }
            let block = self.edge(edge).to;
            if block == self.map.exit {
                break ChainEnd::Exit(edge);
            }
            if !seen.insert(block) {
                break ChainEnd::Block(block);
            }
            blocks.push(block);
            let known_places = self.map.blocks[block as usize].places.iter();
            let known_places = known_places.filter(|place| place.line != 0);
            places.extend(known_places.map(|place| (block, *place)));
            match self.out[block as usize][..] {
                [next] => edge = next,
                _ => break ChainEnd::Block(block),
            }
        };
        let mut chain = Chain {
            edge: first,
            blocks,
            places,
            end,
            loop_exit: None,
        };
        chain.loop_exit = self.loop_exit(&chain);
        chain
    }

    /// Returns the exit from a loop of the source, if the chain's edge leaves one.
    fn loop_exit(&self, chain: &Chain) -> Option<LoopExit> {
        let edge = self.edge(chain.edge);
        let graph = self.graph()?;
        if !self.leaves_graph_loop(edge) || !self.can_continue(edge.to) {
            return None;
        }
        let loops = graph.loops.all();
        // The outermost loop that the edge leaves.
        let mut left_loop = graph.loops.innermost(BlockId(edge.from))?;
        while let Some(parent) = loops[left_loop]
            .parent
            .filter(|&index| !graph.contains(index, edge.to))
        {
            left_loop = parent;
        }
        let loop_places = &self.code_of(graph, left_loop).places;
        let enclosing_head = loops[left_loop].parent.map(|parent| loops[parent].head.0);
        if let Some(head) = enclosing_head
            && self
                .opening_place(head)
                .is_none_or(|place| loop_places.contains(&place))
        {
            return None;
        }
        let mut places = chain.places.iter();
        if let Some(outside) = places.find(|(_, place)| !loop_places.contains(place)) {
            return Some(LoopExit {
                outside: Some(*outside),
            });
        }
        let is_outside = match chain.end {
            ChainEnd::Back(_) | ChainEnd::Exit(_) => true,
            ChainEnd::Block(block) => !self.may_reach(block, enclosing_head, loop_places),
        };
        is_outside.then_some(LoopExit { outside: None })
    }

    /// Whether control can reach one of these places from a block, before it reaches the head of
    /// the enclosing loop.
    fn may_reach(&self, block: u32, enclosing_head: Option<u32>, places: &HashSet<Place>) -> bool {
        let mut seen = HashSet::from([block]);
        let mut worklist = vec![block];
        while let Some(block) = worklist.pop() {
            for &edge in &self.out[block as usize] {
                let to = self.edge(edge).to;
                if Some(to) != enclosing_head && seen.insert(to) {
                    worklist.push(to);
                }
            }
            if self.all_places(block).any(|place| places.contains(&place)) {
                return true;
            }
        }
        false
    }
}
