//! A decision in a loop that has the same outcome in every iteration of an execution, but not in
//! all executions. The test can move before the loop (*unswitching*), or the loop can have a
//! version for each outcome.
//!
//! Evidence: the pairs of consecutive turns in one activation ([`PreviousPaths`]). In every pair
//! whose second turn comes to the branch, the first turn came to it too, and both had the same
//! outcome. Several outcomes have at least a hundredth of these pairs. And the loop has at least
//! `LEAST_TURNS` turns on average, and was executed at least twice.
//!
//! If a turn goes around an inner loop, its path ends there. The rest of the turn is another path,
//! and nothing tells which outcome the turn before had. Such a branch gets no advice for the outer
//! loop.
//!
//! [`PreviousPaths`]: crate::branches::PreviousPaths
//!
//! Bound: [`TEST`](super::cost::TEST) instructions for each pair, or all instructions of the
//! branch's block if it has fewer.

use std::collections::BTreeMap;

use holloway_flow::{Path, PathEnd, PathStart};
use holloway_format::Count;

use super::cost::{Model, test_cost};
use super::decided::{decisions, place};
use super::evidence::{Evidence, Found};
use super::natural_loop::NaturalLoops;
use crate::branches::SequenceCounts;
use crate::run::Function;

/// The fewest turns of a loop for which it is worth to move a test before it.
const LEAST_TURNS: u64 = 4;

/// The smallest part of the pairs that makes an outcome count: one in this number.
const RAREST: u64 = 100;

/// The evidence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SameOutcome {
    /// Turns that repeated the outcome of the turn before.
    pub turns: Count,
    /// These turns by outcome, most frequent first.
    pub outcomes: Vec<Count>,
    /// Executions of the loop.
    pub executions: Count,
}

/// Finds the decisions that do not change in a loop.
pub fn find<'a>(evidence: &Evidence<'a>, model: &Model) -> Vec<Found<'a, SameOutcome>> {
    let Some(previous_paths) = evidence.previous_paths else {
        return Vec::new();
    };
    let sequences = previous_paths.of_run(evidence.run);
    let mut pieces = Vec::new();
    for (id, function) in evidence.run.ids() {
        let (Some(sequences), Some(loops)) = (sequences.get(&id), NaturalLoops::new(function))
        else {
            continue;
        };
        for ((head, block), pairs) in tally(function, sequences, &loops) {
            let Some(finding) = pairs.finding(&loops, head) else {
                continue;
            };
            let amount = finding.turns.saturating_mul(test_cost(function, block));
            pieces.push(Found {
                function,
                place: place(&function.map, block),
                finding,
                saving: model.saving(amount),
            });
        }
    }
    pieces
}

/// The pairs of turns whose second turn comes to a branch.
#[derive(Default)]
struct TurnPairs {
    /// By outcome: the pairs in which both turns had it.
    same: BTreeMap<u32, Count>,
    /// The other pairs.
    different: Count,
}

/// The pairs of turns of all loops, by head and by block of the branch.
fn tally(
    function: &Function,
    sequences: &SequenceCounts,
    loops: &NaturalLoops<'_>,
) -> BTreeMap<(u32, u32), TurnPairs> {
    let mut tally: BTreeMap<(u32, u32), TurnPairs> = BTreeMap::new();
    let path = |number| function.graph().and_then(|graph| graph.path(number));
    for (sequence, &count) in sequences.pairs() {
        let &[first, second] = sequence.as_slice() else {
            continue;
        };
        let (Some(first), Some(second)) = (path(first), path(second)) else {
            continue;
        };
        let repeated = repeated_head(function, &first, &second);
        let before: BTreeMap<u32, u32> = decisions(&function.map, &first).into_iter().collect();
        for (block, outcome) in decisions(&function.map, &second) {
            for head in loops.heads_around(block) {
                let is_turn = repeated == Some(head);
                // A path from before the loop is the first turn, which has no turn before it.
                if !is_turn && start(&second).is_none_or(|start| !loops.contains(head, start)) {
                    continue;
                }
                let pairs = tally.entry((head, block)).or_default();
                let sum = match is_turn && before.get(&block) == Some(&outcome) {
                    true => pairs.same.entry(outcome).or_default(),
                    false => &mut pairs.different,
                };
                *sum = sum.saturating_add(count);
            }
        }
    }
    tally
}

/// The block inside of the function that a path starts at. `None` if it starts at the entry.
fn start(path: &Path) -> Option<u32> {
    match path.start {
        PathStart::Entry => None,
        PathStart::Loop(block) => Some(block.0),
    }
}

/// If both paths are turns of one loop, the second right after the first: the head of the loop.
fn repeated_head(function: &Function, first: &Path, second: &Path) -> Option<u32> {
    let (PathEnd::Back(edge), PathStart::Loop(head)) = (first.end, second.start) else {
        return None;
    };
    (function.map.edges[edge.index()].to == head.0).then_some(head.0)
}

impl TurnPairs {
    fn finding(&self, loops: &NaturalLoops<'_>, head: u32) -> Option<SameOutcome> {
        let sum = self.same.values().copied();
        let turns = sum.fold(Count::ZERO, Count::saturating_add);
        let is_common = |count: &&Count| count.saturating_mul(RAREST) >= turns;
        let counts = loops.counts(loops.around(head)?);
        let is_steady = self.different == Count::ZERO
            && self.same.values().filter(is_common).count() >= 2
            && counts.executions >= Count(2)
            && counts.turns >= counts.executions.saturating_mul(LEAST_TURNS);
        let mut outcomes: Vec<Count> = self.same.values().copied().collect();
        outcomes.sort_by_key(|&count| std::cmp::Reverse(count));
        is_steady.then_some(SameOutcome {
            turns,
            outcomes,
            executions: counts.executions,
        })
    }
}
