//! Divides the flow through new code evenly, where nothing is known about its branches.
//!
//! A cheapest flow takes one of the ways that cost the same. The compiler would take the other ways
//! for cold. So where new blocks are entered from one old block only, and all ways through them
//! lead to one old block, each branch takes its successors equally often. LLVM does the same
//! (`rebalanceUnknownSubgraphs`).
//!
//! ```text
//! a → x → d   100 → 50    x is new, a and d are old: half of the flow takes the new edge a → d
//! a ────→ d     0 → 50
//! ```

use holloway_format::{Count, FunctionCode};

/// Balances the counts of new edges. `blocks` has the counts of old blocks, and `unchanged` those
/// of unchanged edges.
pub(super) fn balance(
    code: &FunctionCode,
    blocks: &[Option<u64>],
    unchanged: &[Option<u64>],
    counts: &mut [Count],
) {
    let mut successors = vec![Vec::new(); blocks.len()];
    let mut predecessors = successors.clone();
    for (edge, &(from, to)) in code.edges.iter().enumerate() {
        successors[from as usize].push(edge);
        predecessors[to as usize].push(edge);
    }
    for start in (0..blocks.len()).filter(|&block| blocks[block].is_some()) {
        let is_new = |edge: &usize| unchanged[*edge].is_none();
        let first: Vec<usize> = successors[start].iter().copied().filter(is_new).collect();
        let graph = Graph {
            code,
            blocks,
            successors: &successors,
            predecessors: &predecessors,
        };
        let Some(order) = graph.region(start, &first) else {
            continue;
        };
        let flow = first
            .iter()
            .fold(0u64, |sum, &edge| sum.saturating_add(counts[edge].0));
        divide(flow, &first, counts);
        for block in order {
            let inward = predecessors[block].iter();
            let flow = inward.fold(0u64, |sum, &edge| sum.saturating_add(counts[edge].0));
            divide(flow, &successors[block], counts);
        }
    }
}

struct Graph<'a> {
    code: &'a FunctionCode,
    blocks: &'a [Option<u64>],
    successors: &'a [Vec<usize>],
    predecessors: &'a [Vec<usize>],
}

impl Graph<'_> {
    /// The new blocks that the edges `first` of `start` lead to, in topological order. `None` if
    /// they have another entry, a cycle, or lead to several old blocks.
    fn region(&self, start: usize, first: &[usize]) -> Option<Vec<usize>> {
        let mut end = None;
        let mut waiting = first.to_vec();
        // By block: the edges into it that were seen.
        let mut seen = vec![0; self.blocks.len()];
        let mut order = Vec::new();
        while let Some(edge) = waiting.pop() {
            let to = self.code.edges[edge].1 as usize;
            if self.blocks[to].is_some() {
                if *end.get_or_insert(to) != to {
                    return None;
                }
                continue;
            }
            seen[to] += 1;
            if seen[to] == self.predecessors[to].len() {
                order.push(to);
                waiting.extend(&self.successors[to]);
            }
        }
        let is_whole = (0..seen.len())
            .all(|block| seen[block] == 0 || seen[block] == self.predecessors[block].len());
        (is_whole && end.is_some_and(|end| end != start)).then_some(order)
    }
}

/// Divides a flow evenly among edges.
fn divide(flow: u64, edges: &[usize], counts: &mut [Count]) {
    let number = edges.len() as u64;
    for (index, &edge) in (0..).zip(edges) {
        counts[edge] = Count(flow / number + u64::from(index < flow % number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(edges: &[(u32, u32)], old: &[bool], before: &[u64], expect: &[u64]) {
        let code = FunctionCode {
            edges: edges.to_vec(),
            ..FunctionCode::default()
        };
        let blocks: Vec<_> = old.iter().map(|old| old.then_some(1)).collect();
        let mut counts: Vec<Count> = before.iter().copied().map(Count).collect();
        balance(&code, &blocks, &vec![None; edges.len()], &mut counts);
        let expect: Vec<Count> = expect.iter().copied().map(Count).collect();
        assert_eq!(counts, expect, "{edges:?}");
    }

    #[test]
    fn a_new_branch_takes_both_sides() {
        check(
            &[(0, 1), (0, 2), (1, 2)],
            &[true, false, true],
            &[100, 0, 100],
            &[50, 50, 50],
        );
        // The branch itself is new.
        check(
            &[(0, 1), (1, 2), (1, 3), (2, 3)],
            &[true, false, false, true],
            &[101, 0, 101, 0],
            &[101, 51, 50, 51],
        );
    }

    #[test]
    fn flows_that_old_blocks_decide_stay() {
        // Two old blocks are reached.
        let edges = [(0, 1), (0, 2), (1, 3), (2, 3)];
        check(&edges, &[true; 4], &[9, 1, 9, 1], &[9, 1, 9, 1]);
        // A new loop.
        let edges = [(0, 1), (1, 1), (1, 2)];
        check(&edges, &[true, false, true], &[5, 0, 5], &[5, 0, 5]);
        // Another entry.
        let edges = [(0, 1), (0, 2), (1, 2), (2, 3)];
        let counts = [5, 0, 5, 5];
        check(&edges, &[true, true, false, true], &counts, &counts);
    }
}
