//! Cycles of a flow: how often control went round without leaving a set of blocks.
//!
//! A flow among blocks is taken apart, cycle by cycle: each takes the least count on it from all of
//! its edges, until no cycle is left. The sum of what was taken is the number of rounds. In a
//! reducible graph every cycle has one back edge, so the sum does not depend on the order.
//!
//! Example: b0 → b1 60, b0 → b2 40, b1 → b2 60, b2 → b0 99 (the hundredth time control went
//! elsewhere): the cycle b0 b1 b2 takes 60, b0 b2 takes the remaining 39, and 99 rounds are found.
//!
//! Cost: edges times the length of the cycles; linear where these share no edge.

use crate::bounds::Bound;

/// An edge between two blocks with its count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arc {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) count: u64,
    /// How the count may differ from what ran.
    pub(super) bound: Bound,
}

/// Edges by block, with what is left of their counts.
#[derive(Debug)]
pub(super) struct Cycles<'a> {
    arcs: &'a [Arc],
    /// By block: the edges out of it.
    out: &'a [Vec<usize>],
    /// By edge.
    rest: Vec<u64>,
    /// By block.
    state: Vec<State>,
}

/// What is known of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Not of the set.
    #[default]
    Outside,
    /// Its edges before the one with this place in its list lie on no cycle any more.
    Open(usize),
    /// On the way that is being followed, behind so many edges; the same of its edges.
    On(usize, usize),
    /// On no cycle.
    Done,
}

impl<'a> Cycles<'a> {
    pub(super) fn new(arcs: &'a [Arc], out: &'a [Vec<usize>]) -> Cycles<'a> {
        Cycles {
            arcs,
            out,
            rest: vec![0; arcs.len()],
            state: vec![State::Outside; out.len()],
        }
    }

    /// The rounds within `set`, but for those within one of the `inner` sets, which are parts of
    /// it.
    pub(super) fn rounds(&mut self, set: &[usize], inner: &[Vec<usize>]) -> u64 {
        for &block in set {
            for &arc in &self.out[block] {
                self.rest[arc] = self.arcs[arc].count;
            }
        }
        for part in inner {
            self.take(part);
        }
        self.take(set)
    }

    /// Takes the cycles within a set away; how many there were.
    fn take(&mut self, set: &[usize]) -> u64 {
        for &block in set {
            self.state[block] = State::Open(0);
        }
        let mut sum = 0u64;
        for &block in set {
            sum = sum.saturating_add(self.take_from(block));
        }
        for &block in set {
            self.state[block] = State::Outside;
        }
        sum
    }

    /// Takes the cycles that can be reached from a block away.
    fn take_from(&mut self, start: usize) -> u64 {
        let State::Open(edge) = self.state[start] else {
            return 0;
        };
        let mut sum = 0u64;
        let mut way: Vec<usize> = Vec::new();
        let mut at = start;
        self.state[at] = State::On(0, edge);
        loop {
            let Some(arc) = self.next(at) else {
                self.state[at] = State::Done;
                let Some(last) = way.pop() else {
                    return sum;
                };
                at = self.arcs[last].from;
                continue;
            };
            let to = self.arcs[arc].to;
            way.push(arc);
            match self.state[to] {
                State::Open(edge) => {
                    self.state[to] = State::On(way.len(), edge);
                    at = to;
                }
                State::On(behind, _) => {
                    let least = way[behind..].iter().map(|&arc| self.rest[arc]).min();
                    let least = least.unwrap_or(0);
                    sum = sum.saturating_add(least);
                    for &arc in &way[behind..] {
                        self.rest[arc] -= least;
                    }
                    at = self.go_back(&mut way, behind);
                }
                State::Outside | State::Done => unreachable!("such blocks are not gone to"),
            }
        }
    }

    /// Goes back to where the first edge of a cycle leaves that has nothing left.
    fn go_back(&mut self, way: &mut Vec<usize>, behind: usize) -> usize {
        let used_up = way[behind..].iter().position(|&arc| self.rest[arc] == 0);
        let keep = behind + used_up.expect("the least of them is used up");
        // The last edge leads to a block further up, which stays on the way.
        let last = way.pop().expect("a cycle has edges");
        let mut at = self.arcs[last].from;
        while way.len() > keep {
            if let State::On(_, edge) = self.state[at] {
                self.state[at] = State::Open(edge);
            }
            let arc = way.pop().expect("it is longer than what is kept");
            at = self.arcs[arc].from;
        }
        at
    }

    /// The next edge out of a block on the way that may lie on a cycle.
    fn next(&mut self, at: usize) -> Option<usize> {
        let State::On(behind, mut edge) = self.state[at] else {
            return None;
        };
        let arcs = &self.out[at];
        let dead = |arc: usize| {
            let to = self.state[self.arcs[arc].to];
            self.rest[arc] == 0 || matches!(to, State::Outside | State::Done)
        };
        while arcs.get(edge).is_some_and(|&arc| dead(arc)) {
            edge += 1;
        }
        self.state[at] = State::On(behind, edge);
        arcs.get(edge).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(blocks: usize, arcs: &[(usize, usize, u64)], inner: &[Vec<usize>]) -> u64 {
        let arcs: Vec<Arc> = arcs
            .iter()
            .map(|&(from, to, count)| Arc {
                from,
                to,
                count,
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
    fn a_loop_with_two_ways_through_it() {
        let arcs = [(0, 1, 60), (0, 2, 40), (1, 2, 60), (2, 0, 99)];
        assert_eq!(rounds(3, &arcs, &[]), 99);
    }

    #[test]
    fn a_loop_in_a_loop() {
        // b1 turns 30 times in each of 10 rounds of b0 b1.
        let arcs = [(0, 1, 10), (1, 1, 300), (1, 0, 9)];
        assert_eq!(rounds(2, &arcs, &[]), 309);
        assert_eq!(rounds(2, &arcs, &[vec![1]]), 9);
    }

    #[test]
    fn nothing_goes_round_without_a_cycle() {
        assert_eq!(rounds(3, &[(0, 1, 5), (0, 2, 7), (1, 2, 5)], &[]), 0);
        assert_eq!(rounds(2, &[(0, 1, 5), (1, 0, 0)], &[]), 0);
        assert_eq!(rounds(0, &[], &[]), 0);
    }
}
