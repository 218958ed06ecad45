//! The loops of a function, by what their sequences of paths say.
//!
//! A loop is a block that back edges lead to. Its *turns* are the paths that start at it, and the first ones of its executions, whose paths
//! come from before the loop; a path that only runs the test which ends the loop is none (`condition.rs`). What its sequences suggest is told with the share of the turns that it holds for, never more than counts say.
//!
//! Periods are in `period.rs`.

use std::collections::{BTreeMap, BTreeSet};

use holloway_flow::{Path, PathEnd, PathId, PathStart};
use holloway_format::{LoopMap, Place};

use super::condition::Loops;
use super::kipf::{Kipf, KipfNode};
use super::period::period;
use super::run::Sequences;
use crate::bounds::Bound;
use crate::flow::add;
use crate::run::Function;
use crate::trail::first_place;

/// Shares are in thousandths.
pub type Thousandths = u64;

/// A path that holds for so many turns is all there is to know of a loop.
const ALL: Thousandths = 950;
/// What holds for most turns.
const MOST: Thousandths = 800;
/// A period worth a word.
pub(super) const OFTEN: Thousandths = 250;
/// Executions from which on it is no accident how most of them begin, or end.
const ENOUGH: u64 = 16;

/// How often a loop ran.
#[derive(Clone, Debug)]
pub struct LoopCount {
    /// The block that back edges lead to.
    pub head: u32,
    /// The first place of that block.
    pub place: Option<Place>,
    /// What the compiler says of it.
    pub described: Option<LoopMap>,
    /// Times that it was entered and its body ran: not those in which its condition failed at once, where one path says so.
    pub executions: u64,
    /// Times that its body was begun: without the tests that ended it.
    pub iterations: u64,
    /// Paths that start at the head and run the body, most frequent first, with their counts.
    pub turns: Vec<(u64, u64)>,
    /// Paths that come to the head from before the loop and go round, most frequent first.
    pub entering: Vec<(u64, u64)>,
    /// Blocks from which a back edge to the head is reached before the head itself.
    pub(super) blocks: BTreeSet<u32>,
    /// The blocks between the head and the body.
    pub(super) condition: BTreeSet<u32>,
}

/// What stands out in a loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Finding {
    /// One path is nearly all turns.
    OnePath {
        /// The path.
        path: u64,
        /// Share of turns.
        share: Thousandths,
    },
    /// A sequence follows itself.
    Period {
        /// The sequence.
        paths: Vec<u64>,
        /// Share of turns that begin with it, or a rotation that starts at this loop, twice.
        share: Thousandths,
    },
    /// The first turns go another way than most.
    FirstTurns {
        /// How many.
        turns: u32,
        /// Share of executions that begin like that.
        share: Thousandths,
    },
    /// The loop ends after the same number of turns.
    Trips {
        /// How many.
        turns: u32,
        /// Share of executions.
        share: Thousandths,
    },
    /// Several paths, each of which mostly follows itself.
    Steady {
        /// The paths.
        paths: Vec<u64>,
        /// Share of turns.
        share: Thousandths,
    },
}

/// Rounded down.
pub fn share(part: u64, of: u64) -> Thousandths {
    (u128::from(part) * 1000)
        .checked_div(u128::from(of))
        .map_or(0, |share| share as u64)
}

/// The loops of a function, by head.
pub fn count(function: &Function) -> Vec<LoopCount> {
    let natural = Loops::new(&function.map);
    let all = natural.all().iter();
    let mut loops: BTreeMap<u32, LoopCount> = all
        .map(|(head, blocks)| {
            let condition = natural.condition(*head);
            (*head, LoopCount::new(function, *head, blocks, condition))
        })
        .collect();
    let mut deciding: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for one in loops.values() {
        for &block in &one.condition {
            deciding.entry(block).or_default().push(one.head);
        }
    }
    let mut passed: BTreeMap<u32, Passed> = BTreeMap::new();
    for &(number, count) in &function.counts {
        let Some(path) = path_of(function, number) else {
            continue;
        };
        let starts_at = |head: u32| matches!(path.start, PathStart::Loop(block) if block.0 == head);
        let back = back_to(function, &path);
        let failed = failed(function, &path, &loops, &deciding);
        for block in &path.blocks {
            let Some(one) = loops.get_mut(&block.0) else {
                continue;
            };
            let passed = passed.entry(block.0).or_default();
            let is_final = failed.contains(&block.0);
            if starts_at(block.0) {
                add(&mut passed.starts, count);
                if !is_final {
                    one.turns.push((number, count));
                }
            } else {
                add(&mut passed.entered, count);
                if is_final {
                    add(&mut passed.empty, count);
                } else if back == Some(block.0) {
                    one.entering.push((number, count));
                }
            }
        }
        for head in failed {
            add(&mut passed.entry(head).or_default().failed, count);
        }
        if let Some(head) = back {
            add(&mut passed.entry(head).or_default().back, count);
        }
    }
    let mut loops: Vec<LoopCount> = loops.into_values().collect();
    for one in &mut loops {
        let passed = passed.remove(&one.head).unwrap_or_default();
        // Paths that start here without a back edge come over a cut edge.
        let from_cuts = passed.starts.saturating_sub(passed.back);
        let entered = passed.entered.saturating_add(from_cuts);
        one.executions = entered.saturating_sub(passed.empty);
        one.iterations = entered
            .saturating_add(passed.back)
            .saturating_sub(passed.failed);
        for list in [&mut one.turns, &mut one.entering] {
            list.sort_by_key(|&(path, count)| (std::cmp::Reverse(count), path));
        }
    }
    loops.retain(|one| one.iterations > 0);
    loops
}

/// Counts come from files: a sum that doesn't fit stays at the largest.
fn sum(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

/// How often paths came by a loop's head.
#[derive(Default)]
struct Passed {
    /// From before the loop.
    entered: u64,
    /// Of these, times that the condition failed at once.
    empty: u64,
    /// Starting there.
    starts: u64,
    /// Over a back edge.
    back: u64,
    /// Times that the loop was left out of its condition.
    failed: u64,
}

/// The heads of the loops that a path leaves out of their conditions; `deciding` has the loops by the blocks of these.
fn failed(
    function: &Function,
    path: &Path,
    loops: &BTreeMap<u32, LoopCount>,
    deciding: &BTreeMap<u32, Vec<u32>>,
) -> Vec<u32> {
    let last = match path.end {
        PathEnd::Back(edge) | PathEnd::Cut(edge) | PathEnd::Exit(edge) => {
            function.map.edges[edge.index()].to
        }
    };
    let behind = path.blocks.iter().skip(1).map(|block| block.0);
    let steps = path.blocks.iter().zip(behind.chain([last]));
    let failed = steps.flat_map(|(block, next)| {
        let heads = deciding.get(&block.0).into_iter().flatten().copied();
        heads.filter(move |head| !loops[head].blocks.contains(&next))
    });
    failed.collect()
}

impl LoopCount {
    fn new(
        function: &Function,
        head: u32,
        blocks: &BTreeSet<u32>,
        condition: BTreeSet<u32>,
    ) -> LoopCount {
        let map = &function.map;
        LoopCount {
            head,
            place: first_place(&map.blocks[head as usize].places),
            described: map.loops.iter().find(|one| one.head == head).copied(),
            executions: 0,
            iterations: 0,
            turns: Vec::new(),
            entering: Vec::new(),
            blocks: blocks.clone(),
            condition,
        }
    }

    /// How the executions may differ from what ran.
    pub fn executions_bound(&self, function: &Function) -> Bound {
        function.bounds().blocks[self.head as usize]
    }

    /// How the iterations may differ from what ran. A missing path that leaves the loop out of its
    /// condition is a test that seems to have begun an iteration: one too many.
    pub fn iterations_bound(&self, function: &Function) -> Bound {
        let edges = function.map.edges.iter().zip(&function.bounds().edges);
        let failed = edges.filter(|(edge, _)| {
            self.condition.contains(&edge.from) && !self.blocks.contains(&edge.to)
        });
        let failed = Bound::of_all(failed.map(|(_, bound)| *bound));
        self.executions_bound(function).and(failed.opposite())
    }

    /// Turns: paths that start at the head and run the body.
    pub fn starts(&self) -> u64 {
        sum(self.turns.iter().map(|turn| turn.1))
    }

    /// The least count that a sequence must have to be looked at, where children of less than `least` of their root aren't and
    /// sequences have up to `k` paths.
    pub fn least(&self, k: u32, least: Thousandths) -> u64 {
        let part = |of: u64, share: Thousandths| (u128::from(of) * u128::from(share) / 1000) as u64;
        let root = part(self.starts(), least);
        let shown = part(root, least);
        // Only of executions that are short are first and last turns worth a look.
        let entering = self.entering.first().map_or(0, |one| one.1);
        let entering = if share(entering, self.starts()) > 0 {
            part(entering, MOST)
        } else {
            u64::MAX
        };
        // Of a period of k paths, each of which comes once.
        let period = part(self.starts(), OFTEN) / u64::from(k);
        shown.min(entering).min(period).max(1)
    }

    /// What stands out.
    pub fn findings(&self, function: &Function, kipf: &Kipf) -> Vec<Finding> {
        let starts = self.starts();
        let mut found = Vec::new();
        let one = self
            .turns
            .first()
            .filter(|turn| share(turn.1, starts) >= ALL);
        if let Some(&(path, count)) = one {
            let share = share(count, starts);
            found.push(Finding::OnePath { path, share });
        } else {
            let period = period(self, kipf);
            let steady = self.steady(kipf);
            let by_itself =
                matches!(&period, Some(Finding::Period { paths, .. }) if paths.len() == 1);
            if !(by_itself && steady.is_some()) {
                found.extend(period);
            }
            found.extend(steady);
        }
        if self.executions >= ENOUGH {
            found.extend(self.first_turns(function, kipf));
            if let Some(trips) = self.trips(function, kipf) {
                // Where one turn is left beside the first, its path says nothing that this doesn't.
                found.retain(|one| !(self.has_two_turns() && is_one_path(one)));
                found.push(trips);
            }
        }
        found
    }

    /// Whether there is one turn beside the first in each execution.
    fn has_two_turns(&self) -> bool {
        self.starts() <= self.executions
    }

    /// Whether a path starts at the head and leaves the loop out of its condition.
    fn fails(&self, function: &Function, path: u32) -> bool {
        let Some(path) = path_of(function, path.into()) else {
            return false;
        };
        let starts = matches!(path.start, PathStart::Loop(block) if block.0 == self.head);
        starts
            && path
                .blocks
                .iter()
                .all(|block| !self.blocks.contains(&block.0) || self.condition.contains(&block.0))
    }

    pub(super) fn is_turn(&self, path: u32) -> bool {
        self.turns.iter().any(|turn| turn.0 == u64::from(path))
    }

    /// Paths that mostly follow themselves, where they are several and most turns.
    fn steady(&self, kipf: &Kipf) -> Option<Finding> {
        let starts = self.starts();
        let again = |path: u64| kipf.find(&[path as u32; 2]).map_or(0, |node| node.count);
        let steady = self
            .turns
            .iter()
            .filter(|&&(path, count)| share(again(path), count) >= MOST + 100);
        let (paths, counts): (Vec<u64>, Vec<u64>) = steady
            .filter(|one| share(one.1, starts) >= 100)
            .copied()
            .unzip();
        let share = share(sum(counts), starts);
        (paths.len() > 1 && share >= MOST).then_some(Finding::Steady { paths, share })
    }

    /// Whether the first turns of most executions go another way than most turns.
    fn first_turns(&self, function: &Function, kipf: &Kipf) -> Option<Finding> {
        let (usual, count) = *self.turns.first()?;
        let again = kipf.find(&[usual as u32; 2]).map_or(0, |node| node.count);
        if share(count, self.starts()) < 500 || share(again, count) < MOST {
            return None;
        }
        let usual_path = path_of(function, usual)?;
        let chain = self.chain(kipf)?;
        let entering = path_of(function, chain.first()?.label.into())?;
        let at = entering
            .blocks
            .iter()
            .position(|block| block.0 == self.head)?;
        let mut turns = u32::from(entering.blocks[at..] != usual_path.blocks[..]);
        let mut last = chain[0];
        let others = chain[1..]
            .iter()
            .take_while(|node| u64::from(node.label) != usual && self.is_turn(node.label));
        for (turn, node) in (2..).zip(others) {
            (turns, last) = (turn, node);
        }
        // What comes next must be the usual way, or the chain says nothing of it.
        let next = chain.get(last.level as usize);
        let goes_on = next.is_some_and(|node| u64::from(node.label) == usual);
        let entered = sum(self.entering.iter().map(|one| one.1));
        (turns > 0 && goes_on).then(|| Finding::FirstTurns {
            turns,
            share: share(next.map_or(0, |node| node.count), entered),
        })
    }

    /// Whether most executions end after the same number of turns.
    fn trips(&self, function: &Function, kipf: &Kipf) -> Option<Finding> {
        let chain = self.chain(kipf)?;
        // A path that goes round an inner loop is still in this one.
        let leaves = |node: &KipfNode| {
            let path = path_of(function, node.label.into());
            path.is_some_and(|path| {
                back_to(function, &path).is_none_or(|head| !self.blocks.contains(&head))
            })
        };
        let end = chain.iter().position(|node| leaves(node))?;
        // The last path is a turn, or the test that ends the loop.
        let turns = match chain[end] {
            last if self.is_turn(last.label) => end + 1,
            last if self.fails(function, last.label) => end,
            _ => return None,
        };
        let inside = chain[1..end].iter().all(|node| self.is_turn(node.label));
        let share = share(chain[end].count, self.executions);
        (end > 0 && inside && share >= MOST).then_some(Finding::Trips {
            turns: turns as u32,
            share,
        })
    }

    /// From the path that most executions begin with, on with what mostly follows.
    fn chain<'a>(&self, kipf: &'a Kipf) -> Option<Vec<&'a KipfNode>> {
        let entered = sum(self.entering.iter().map(|one| one.1));
        let &(path, count) = self.entering.first()?;
        if share(count, entered) < MOST {
            return None;
        }
        let root = kipf.roots().iter().copied();
        let mut place = root
            .into_iter()
            .find(|&root| u64::from(kipf.nodes()[root as usize].label) == path)?;
        let mut chain = vec![&kipf.nodes()[place as usize]];
        while let Some(&next) = kipf.children(place).first() {
            let node = &kipf.nodes()[next as usize];
            if share(node.count, count) < MOST {
                break;
            }
            chain.push(node);
            place = next;
        }
        Some(chain)
    }
}

impl Sequences {
    /// The sequences that matter for some of its loops.
    pub fn for_loops(&self, loops: &[&LoopCount], least: Thousandths) -> Kipf {
        let least = loops.iter().map(|one| one.least(self.k, least)).min();
        self.kipf(self.k, least.unwrap_or(u64::MAX))
    }
}

/// The path of a number.
pub fn path_of(function: &Function, number: u64) -> Option<Path> {
    function.graph()?.path(PathId(number))
}

/// The head of the loop that a path goes round.
fn back_to(function: &Function, path: &Path) -> Option<u32> {
    match path.end {
        PathEnd::Back(edge) => Some(function.map.edges[edge.index()].to),
        PathEnd::Exit(_) | PathEnd::Cut(_) => None,
    }
}

fn is_one_path(finding: &Finding) -> bool {
    matches!(finding, Finding::OnePath { .. })
}

#[cfg(test)]
mod tests {
    use super::{share, sum};

    #[test]
    fn sums_stay_at_the_largest() {
        assert_eq!(sum([u64::MAX, 1]), u64::MAX);
        assert_eq!(sum([]), 0);
    }

    #[test]
    fn shares_are_rounded_down() {
        assert_eq!(share(1, 3), 333);
        assert_eq!(share(1, 0), 0);
    }
}
