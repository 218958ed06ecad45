//! Counts how often control went around cycles within a set of blocks.
//!
//! The flow among the blocks is decomposed into cycles. Each cycle takes the smallest count on it
//! from all of its edges, until no cycle remains. The number of rounds is the sum of these counts.
//! In a reducible graph every cycle has one back edge, so the sum does not depend on the order of
//! the cycles.
//!
//! Example: b0→b1 60 times, b0→b2 40 times, b1→b2 60 times, b2→b0 99 times (the hundredth time,
//! control leaves the blocks). The cycle b0 b1 b2 takes 60, and the cycle b0 b2 takes the remaining
//! 39. The result is 99 rounds.
//!
//! Cost: the number of edges times the length of the cycles; linear if the cycles share no edge.

use crate::bounds::Bound;
use holloway_format::Count;

/// An edge between two blocks with its count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arc {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) count: Count,
    /// How the count may differ from the real number of executions.
    pub(super) bound: Bound,
}

/// Edges with their remaining counts.
#[derive(Debug)]
pub(super) struct Cycles<'a> {
    arcs: &'a [Arc],
    /// By block: the edges out of it.
    out: &'a [Vec<usize>],
    /// By edge: the remaining count.
    remaining: Vec<Count>,
    /// By block: its state in the search.
    state: Vec<State>,
}

/// The state of a block in the search for cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// The block is not in the set.
    #[default]
    Outside,
    /// The search may continue from the block. Its edges before this index in `out` are no longer
    /// on any cycle.
    Open(usize),
    /// The block is on the current route.
    OnRoute {
        /// The number of route edges before the block.
        depth: usize,
        /// The block's edges before this index in `out` are no longer on any cycle.
        edge: usize,
    },
    /// The block is no longer on any cycle.
    Done,
}

impl<'a> Cycles<'a> {
    pub(super) fn new(arcs: &'a [Arc], out: &'a [Vec<usize>]) -> Cycles<'a> {
        Cycles {
            arcs,
            out,
            remaining: vec![Count::ZERO; arcs.len()],
            state: vec![State::Outside; out.len()],
        }
    }

    /// The number of rounds within `set`. Rounds within one of the `inner` sets, which are subsets
    /// of `set`, do not count.
    pub(super) fn rounds(&mut self, set: &[usize], inner: &[Vec<usize>]) -> Count {
        for &block in set {
            for &arc in &self.out[block] {
                self.remaining[arc] = self.arcs[arc].count;
            }
        }
        for subset in inner {
            self.take_cycles(subset);
        }
        self.take_cycles(set)
    }

    /// Removes the cycles within a set. Returns the number of rounds on them.
    fn take_cycles(&mut self, set: &[usize]) -> Count {
        for &block in set {
            self.state[block] = State::Open(0);
        }
        let mut sum = Count::ZERO;
        for &block in set {
            sum = sum.saturating_add(self.take_cycles_from(block));
        }
        for &block in set {
            self.state[block] = State::Outside;
        }
        sum
    }

    /// Removes the cycles that can be reached from a block. Returns the number of rounds on them.
    fn take_cycles_from(&mut self, start: usize) -> Count {
        let State::Open(edge) = self.state[start] else {
            return Count::ZERO;
        };
        let mut sum = Count::ZERO;
        let mut route: Vec<usize> = Vec::new();
        let mut block = start;
        self.state[block] = State::OnRoute { depth: 0, edge };
        loop {
            let Some(arc) = self.next_edge(block) else {
                self.state[block] = State::Done;
                let Some(last) = route.pop() else {
                    return sum;
                };
                block = self.arcs[last].from;
                continue;
            };
            let to = self.arcs[arc].to;
            route.push(arc);
            match self.state[to] {
                State::Open(edge) => {
                    self.state[to] = State::OnRoute {
                        depth: route.len(),
                        edge,
                    };
                    block = to;
                }
                State::OnRoute { depth, .. } => {
                    let smallest = route[depth..].iter().map(|&arc| self.remaining[arc]).min();
                    let smallest = smallest.unwrap_or(Count::ZERO);
                    sum = sum.saturating_add(smallest);
                    for &arc in &route[depth..] {
                        self.remaining[arc] -= smallest;
                    }
                    block = self.shorten_route(&mut route, depth);
                }
                State::Outside | State::Done => {
                    unreachable!("next_edge skips edges to such blocks")
                }
            }
        }
    }

    /// Shortens the route after a cycle was removed: the first edge of the cycle without a
    /// remaining count, and all edges after it, leave the route. Returns the last block of the
    /// route.
    fn shorten_route(&mut self, route: &mut Vec<usize>, depth: usize) -> usize {
        let used_up = route[depth..]
            .iter()
            .position(|&arc| self.remaining[arc] == Count::ZERO);
        let kept_edges = depth + used_up.expect("the smallest count is used up");
        // The last edge leads to an earlier block of the route, which stays on it.
        let last = route.pop().expect("a cycle has edges");
        let mut block = self.arcs[last].from;
        while route.len() > kept_edges {
            if let State::OnRoute { edge, .. } = self.state[block] {
                self.state[block] = State::Open(edge);
            }
            let arc = route.pop().expect("the route is longer than its kept part");
            block = self.arcs[arc].from;
        }
        block
    }

    /// The next edge out of a block of the route that may be on a cycle.
    fn next_edge(&mut self, block: usize) -> Option<usize> {
        let State::OnRoute { depth, mut edge } = self.state[block] else {
            return None;
        };
        let arcs = &self.out[block];
        let is_used_up = |arc: usize| {
            let to = self.state[self.arcs[arc].to];
            self.remaining[arc] == Count::ZERO || matches!(to, State::Outside | State::Done)
        };
        while arcs.get(edge).is_some_and(|&arc| is_used_up(arc)) {
            edge += 1;
        }
        self.state[block] = State::OnRoute { depth, edge };
        arcs.get(edge).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(blocks: usize, arcs: &[(usize, usize, u64)], inner: &[Vec<usize>]) -> Count {
        let arcs: Vec<Arc> = arcs
            .iter()
            .map(|&(from, to, count)| Arc {
                from,
                to,
                count: Count(count),
                bound: Bound::Exact,
            })
            .collect();
        let mut out = vec![Vec::new(); blocks];
        for (index, arc) in arcs.iter().enumerate() {
            out[arc.from].push(index);
        }
        let set: Vec<usize> = (0..blocks).collect();
        Cycles::new(&arcs, &out).rounds(&set, inner)
    }

    #[test]
    fn two_cycles_share_a_back_edge() {
        let arcs = [(0, 1, 60), (0, 2, 40), (1, 2, 60), (2, 0, 99)];
        assert_eq!(rounds(3, &arcs, &[]), Count(99));
    }

    #[test]
    fn inner_rounds_do_not_count() {
        // In each of 10 rounds of b0 b1, control goes around b1 30 times.
        let arcs = [(0, 1, 10), (1, 1, 300), (1, 0, 9)];
        assert_eq!(rounds(2, &arcs, &[]), Count(309));
        assert_eq!(rounds(2, &arcs, &[vec![1]]), Count(9));
    }

    #[test]
    fn no_rounds_without_a_cycle() {
        assert_eq!(
            rounds(3, &[(0, 1, 5), (0, 2, 7), (1, 2, 5)], &[]),
            Count::ZERO
        );
        assert_eq!(rounds(2, &[(0, 1, 5), (1, 0, 0)], &[]), Count::ZERO);
        assert_eq!(rounds(0, &[], &[]), Count::ZERO);
    }
}
