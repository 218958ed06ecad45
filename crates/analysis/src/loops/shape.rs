//! Finds the patterns that describe a loop, for example "95 % of turns take one path" or "most
//! executions end after 3 turns".
//!
//! The patterns follow from the counts of path sequences ([`Kipf`]). Each pattern comes with the
//! share of turns or executions for which it holds. The share is a lower bound: it is never more
//! than the counts prove. `period.rs` finds periods.

use holloway_flow::{PathId, PathStart};
use holloway_format::Count;

use super::counts::{back_to, sum};
use super::finding::{HALF, MIN_EXECUTIONS, MIN_STEADY_TURNS, MOST, NEARLY_ALL, STEADY};
use super::kipf::{Kipf, KipfNode};
use super::period::period;
use super::run::Sequences;
use crate::run::Function;

pub use super::counts::{LoopCount, count, path_of};
pub use super::finding::{Finding, Thousandths, share};

impl LoopCount {
    /// Returns the patterns of this loop.
    pub fn findings(&self, function: &Function, kipf: &Kipf) -> Vec<Finding> {
        let starts = self.starts();
        let mut findings = Vec::new();
        let dominant = self
            .turns
            .first()
            .filter(|turn| share(turn.1, starts) >= NEARLY_ALL);
        if let Some(&(path, count)) = dominant {
            let share = share(count, starts);
            findings.push(Finding::OnePath { path, share });
        } else {
            let period = period(self, kipf);
            let steady = self.steady(kipf);
            let repeats_one_path =
                matches!(&period, Some(Finding::Period { paths, .. }) if paths.len() == 1);
            if !(repeats_one_path && steady.is_some()) {
                findings.extend(period);
            }
            findings.extend(steady);
        }
        if self.executions >= MIN_EXECUTIONS {
            findings.extend(self.first_turns(function, kipf));
            if let Some(trips) = self.trips(function, kipf) {
                // If executions have one turn after the first, the path of this turn adds nothing
                // to the trip count.
                findings.retain(|finding| !(self.has_at_most_two_turns() && is_one_path(finding)));
                findings.push(trips);
            }
        }
        findings
    }

    /// Whether executions have at most two turns on average: the first, and one that starts at the
    /// head.
    fn has_at_most_two_turns(&self) -> bool {
        self.starts() <= self.executions
    }

    /// Whether a path starts at the head and leaves the loop from its condition.
    fn is_final_test(&self, function: &Function, path: u32) -> bool {
        let Some(path) = path_of(function, PathId(path.into())) else {
            return false;
        };
        let starts_at_head = matches!(path.start, PathStart::Loop(block) if block.0 == self.head);
        starts_at_head
            && path
                .blocks
                .iter()
                .all(|block| !self.blocks.contains(&block.0) || self.condition.contains(&block.0))
    }

    /// Whether a path starts at the head and runs the body.
    fn is_turn(&self, path: u32) -> bool {
        self.turns.iter().any(|turn| turn.0 == PathId(path.into()))
    }

    /// Finds *steady* paths: after at least [`STEADY`] of its turns, the path is also the next
    /// turn. Paths with less than [`MIN_STEADY_TURNS`] of the turns are left out. Returns the paths
    /// if there are several and they make up most turns.
    fn steady(&self, kipf: &Kipf) -> Option<Finding> {
        let starts = self.starts();
        let repeats = |path: PathId| {
            let node = kipf.find(&[path.0 as u32; 2]);
            node.map_or(Count::ZERO, |node| node.count)
        };
        let steady = self
            .turns
            .iter()
            .filter(|&&(path, count)| share(repeats(path), count) >= STEADY);
        let (paths, counts): (Vec<PathId>, Vec<Count>) = steady
            .filter(|&&(_, count)| share(count, starts) >= MIN_STEADY_TURNS)
            .copied()
            .unzip();
        let share = share(sum(counts), starts);
        (paths.len() > 1 && share >= MOST).then_some(Finding::Steady { paths, share })
    }

    /// Finds how many turns at the beginning of most executions pass before the usual path is
    /// taken.
    fn first_turns(&self, function: &Function, kipf: &Kipf) -> Option<Finding> {
        let (usual, count) = *self.turns.first()?;
        let repeats = kipf
            .find(&[usual.0 as u32; 2])
            .map_or(Count::ZERO, |node| node.count);
        if share(count, self.starts()) < HALF || share(repeats, count) < MOST {
            return None;
        }
        let usual_path = path_of(function, usual)?;
        let chain = self.usual_beginning(kipf)?;
        let entering = path_of(function, PathId(chain.first()?.label.into()))?;
        let head = entering
            .blocks
            .iter()
            .position(|block| block.0 == self.head)?;
        let mut turns = u32::from(entering.blocks[head..] != usual_path.blocks[..]);
        let mut last = chain[0];
        let unusual_turns = chain[1..]
            .iter()
            .take_while(|node| PathId(node.label.into()) != usual && self.is_turn(node.label));
        for (turn, node) in (2..).zip(unusual_turns) {
            (turns, last) = (turn, node);
        }
        // The next path must be the usual path. If it is not, the chain does not show where the
        // first turns end.
        let next = chain.get(last.level as usize);
        let is_usual_next = next.is_some_and(|node| PathId(node.label.into()) == usual);
        let entered = sum(self.entering.iter().map(|path| path.1));
        (turns > 0 && is_usual_next).then(|| Finding::FirstTurns {
            turns,
            share: share(next.map_or(Count::ZERO, |node| node.count), entered),
        })
    }

    /// Finds the number of turns after which most executions end.
    fn trips(&self, function: &Function, kipf: &Kipf) -> Option<Finding> {
        let chain = self.usual_beginning(kipf)?;
        // A path that goes around an inner loop does not leave this loop.
        let leaves_loop = |node: &KipfNode| {
            let path = path_of(function, PathId(node.label.into()));
            path.is_some_and(|path| {
                back_to(function, &path).is_none_or(|head| !self.blocks.contains(&head))
            })
        };
        let end = chain.iter().position(|node| leaves_loop(node))?;
        // The last path is a turn, or the test that ends the loop.
        let turns = match chain[end] {
            last if self.is_turn(last.label) => end + 1,
            last if self.is_final_test(function, last.label) => end,
            _ => return None,
        };
        let has_only_turns = chain[1..end].iter().all(|node| self.is_turn(node.label));
        let share = share(chain[end].count, self.executions);
        (end > 0 && has_only_turns && share >= MOST).then_some(Finding::Trips {
            turns: turns as u32,
            share,
        })
    }

    /// The sequence of paths with which most executions begin: its prefixes, shortest first.
    fn usual_beginning<'a>(&self, kipf: &'a Kipf) -> Option<Vec<&'a KipfNode>> {
        let entered = sum(self.entering.iter().map(|path| path.1));
        let &(path, count) = self.entering.first()?;
        if share(count, entered) < MOST {
            return None;
        }
        let mut index = *kipf
            .roots()
            .iter()
            .find(|&&root| PathId(kipf.nodes()[root as usize].label.into()) == path)?;
        let mut chain = vec![&kipf.nodes()[index as usize]];
        while let Some(&most_frequent_child) = kipf.children(index).first() {
            let node = &kipf.nodes()[most_frequent_child as usize];
            if share(node.count, count) < MOST {
                break;
            }
            chain.push(node);
            index = most_frequent_child;
        }
        Some(chain)
    }
}

impl Sequences {
    /// Returns the sequences that are frequent enough to matter for at least one of these loops.
    /// `min_share` is the smallest share that reports show ([`LoopCount::min_sequence_count`]).
    pub fn for_loops(&self, loops: &[&LoopCount], min_share: Thousandths) -> Kipf {
        let min_counts = loops
            .iter()
            .map(|loop_count| loop_count.min_sequence_count(self.k, min_share));
        self.kipf(self.k, min_counts.min().unwrap_or(Count(u64::MAX)))
    }
}

fn is_one_path(finding: &Finding) -> bool {
    matches!(finding, Finding::OnePath { .. })
}
