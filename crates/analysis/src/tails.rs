//! Finds the paths whose blocks should be copied (*tails*), so that a branch that is decided by the
//! way to it gets a copy for this way. If the way leads around a loop, the copies unroll the loop
//! by the period of its branches.
//!
//! Edge counts cannot tell: they give the branch one weight for all ways. The counts of paths can,
//! with the paths before them.
//!
//! A *window* is a sequence of edges. It begins with an edge into a join, and its last edge leads
//! to a branch. The blocks that its edges lead to are copied. With the window as context, the
//! *minority* of the branch is the executions with another than the most frequent outcome. What a
//! window saves is the minority of the branch alone, minus that of its executions with the window
//! and without it.
//!
//! The rule: of the windows of a branch, the one with the most savings is taken, then again the
//! best one of the remaining executions, and so on. A window must
//! - save at least a 200th of the program's branch executions ([`least_savings`]), and a 64th of
//!   that more for each copied instruction;
//! - have at most `MOST_EDGES` edges;
//! - go the same way in at least four fifths of its executions;
//! - have no computed jump, no unwinding, and no call that returns twice;
//! - enter no loop from outside. That would be peeling, which LLVM does by the counts of edges.
//!
//! A back edge is an edge from within a loop to its head. At least one back edge of each loop keeps
//! leading to the head itself. Otherwise the loop would have two entries, and LLVM does not
//! optimize such loops. So if all back edges begin windows, all these windows are left out.
//!
//! Path cloning in production has similar limits (Propeller: at most 6 blocks, a flow ratio of 0.8,
//! no indirect branches).
//!
//! Example: the paths b0 b1 b3 b4 and b0 b2 b3 b5 run 50 times each. Alone, b3 has a minority of
//! 50. The window b1→b3 saves all of it, with a copy of b3 that always leads to b4.
//!
//! Cost: the edges of the sequences of paths that ran, times `MOST_EDGES`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use holloway_flow::{BlockId, Dominators, EdgeId, Loops, PathId};
use holloway_format::{Count, FunctionMap, Outcome, Text};

use crate::branches::{PreviousPaths, SequenceCounts, hardest, is_branch_outcome};
use crate::flow::uncut_graph_of;
use crate::run::{Function, RunProfile};

/// Branch executions of a program for each execution that a window saves, at most.
///
/// With 1,000, bzip2 gets ten times as many copies, and executes 1.6 % more instructions.
const LEAST_SHARE: u64 = 200;

/// The most edges of a window.
const MOST_EDGES: usize = 8;

/// The most previous paths of a window.
const MOST_PREVIOUS: usize = 3;

/// The most sequences of paths of a function. If there are more, only shorter sequences are used.
const MOST_SEQUENCES: usize = 1 << 15;

/// The most windows of a branch.
const MOST_WINDOWS: usize = 4;

/// A copied instruction must save this share of the least savings of a window: one in so many.
const INSTRUCTION_SHARE: u64 = 64;

/// A path whose blocks are copied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tail {
    /// The linkage name of its function.
    pub function: Text,
    /// The hash of its function's graph.
    pub graph_hash: u64,
    /// Its edges, as plans number them. The blocks between them are copied.
    pub edges: Vec<usize>,
    /// Executions.
    pub count: Count,
}

/// What a window saves at least, in executions.
pub fn least_savings(run: &RunProfile) -> Count {
    let ranking = hardest(run, None, Some(0), &|_| true);
    Count(ranking.executions.0.div_ceil(LEAST_SHARE).max(1))
}

/// The linkage names of the functions with a branch that may be worth a copy: the minority of its
/// outcomes is at least `least`.
pub fn candidates(run: &RunProfile, least: Count) -> BTreeSet<Text> {
    let ranking = hardest(run, None, None, &|_| true);
    let branches = ranking.branches.iter();
    let uncertain = branches.filter(|branch| branch.mispredictions.alone >= least);
    uncertain
        .map(|branch| run.function(branch.function).map.linkage_name.clone())
        .collect()
}

/// The tails of a run that save at least `least` executions each.
pub fn tails(run: &RunProfile, previous_paths: &PreviousPaths, least: Count) -> Vec<Tail> {
    let sequences = previous_paths.of_run(run);
    let none = SequenceCounts::default();
    let mut tails = Vec::new();
    for (id, function) in run.ids().filter(|(_, function)| function.ran()) {
        let sequences = sequences.get(&id).copied().unwrap_or(&none);
        let Some(routes) = Routes::new(function, sequences) else {
            continue;
        };
        let (name, hash) = (&function.map.linkage_name, function.map.graph_hash());
        tails.extend(routes.tails(least).into_iter().map(|(edges, count)| Tail {
            function: name.clone(),
            graph_hash: hash,
            edges,
            count,
        }));
    }
    tails
}

/// An edge of a route.
#[derive(Clone, Copy)]
struct Hop {
    /// The edge, in the order of the map.
    edge: usize,
    /// The instructions from this edge to the next one.
    size: u64,
}

/// What a function executed.
struct Routes<'a> {
    map: &'a FunctionMap,
    /// The number of each edge in a plan. `None` for edges that plans do not number.
    numbers: Vec<Option<usize>>,
    /// By block: whether control came there by several edges.
    is_join: Vec<bool>,
    loops: Loops,
    /// The edges of sequences of paths, where the last path begins, and executions. Each execution
    /// of a path is in one sequence, as its last path.
    routes: Vec<(Vec<Hop>, usize, Count)>,
}

/// Executions of a branch by the number of the edge.
type Outcomes = BTreeMap<usize, Count>;

impl<'a> Routes<'a> {
    /// `None` if the function has no counts of paths.
    fn new(function: &'a Function, sequences: &SequenceCounts) -> Option<Self> {
        let map = &function.map;
        function.graph()?;
        let cfg = uncut_graph_of(map).ok()?;
        let mut next = 0..;
        let number = |edge: &holloway_format::EdgeMap| match edge.is_always_there() {
            true => next.next(),
            false => None,
        };
        let numbers = map.edges.iter().map(number).collect();
        let mut sources = vec![0u32; map.blocks.len() + 1];
        for (edge, &count) in map.edges.iter().zip(&function.flow().edges) {
            if let Some(source) = sources.get_mut(edge.to as usize) {
                *source += u32::from(count > 0);
            }
        }
        let mut routes = Self {
            map,
            numbers,
            is_join: sources.into_iter().map(|sources| sources > 1).collect(),
            loops: Loops::new(&cfg, &Dominators::new(&cfg)),
            routes: Vec::new(),
        };
        routes.add_sequences(function, sequences);
        Some(routes)
    }

    /// Adds each execution of a path once, with as many previous paths as are known.
    fn add_sequences(&mut self, function: &Function, sequences: &SequenceCounts) {
        let paths = function.counts.iter();
        let mut current: BTreeMap<Vec<PathId>, Count> =
            paths.map(|&(path, count)| (vec![path], count)).collect();
        let longer = sequences.by_length().take(MOST_PREVIOUS);
        for longer in longer.take_while(|longer| longer.len() <= MOST_SEQUENCES) {
            for (sequence, count) in longer {
                if let Some(rest) = current.get_mut(&sequence[1..]) {
                    *rest = rest.saturating_sub(*count);
                }
            }
            let beginnings = std::mem::replace(&mut current, longer.clone());
            self.add(function, beginnings);
        }
        self.add(function, current);
    }

    fn add(&mut self, function: &Function, sequences: BTreeMap<Vec<PathId>, Count>) {
        for (sequence, count) in sequences {
            if count > Count::ZERO {
                let mut hops = Vec::new();
                let mut last = 0;
                for path in sequence {
                    last = hops.len();
                    self.add_path(function, path, &mut hops);
                }
                self.routes.push((hops, last, count));
            }
        }
    }

    fn add_path(&self, function: &Function, path: PathId, hops: &mut Vec<Hop>) {
        let Some(path) = function.graph().and_then(|graph| graph.path(path)) else {
            return;
        };
        let mut edges = path.edges.iter().copied().chain([path.end.edge()]);
        for block in path.blocks {
            let instructions = u64::from(self.map.blocks[block.index()].instructions);
            if let Some(hop) = hops.last_mut() {
                hop.size += instructions;
            }
            let edge = edges.next().map(EdgeId::index);
            let numbered = edge.filter(|&edge| self.numbers[edge].is_some());
            hops.extend(numbered.map(|edge| Hop { edge, size: 0 }));
        }
    }

    /// The tails, each with its executions.
    fn tails(&self, least: Count) -> BTreeMap<Vec<usize>, Count> {
        let mut by_branch = self.open_branches(least);
        for (hops, last, count) in &self.routes {
            for (index, hop) in hops.iter().enumerate().skip(*last) {
                let edge = &self.map.edges[hop.edge];
                if is_branch_outcome(edge.outcome)
                    && let Some(branch) = by_branch.get_mut(&edge.from)
                {
                    for window in self.windows(&hops[..index]) {
                        let key = window.iter().map(|hop| hop.edge).collect();
                        let known = branch.windows.entry(key).or_default();
                        known.size = window.iter().map(|hop| hop.size).sum();
                        add(&mut known.outcomes, hop.edge, *count);
                    }
                }
            }
        }
        let branches = by_branch.into_values();
        let mut chosen: Vec<_> = branches.flat_map(|branch| branch.choose(least)).collect();
        self.keep_heads(&mut chosen);
        match chosen.is_empty() {
            true => BTreeMap::new(),
            false => self.tails_of(&chosen),
        }
    }

    /// The branches whose minority is at least `least`, without windows, by block.
    fn open_branches(&self, least: Count) -> BTreeMap<u32, Branch> {
        let mut by_branch: BTreeMap<u32, Branch> = BTreeMap::new();
        for (hops, last, count) in &self.routes {
            for hop in &hops[*last..] {
                let edge = &self.map.edges[hop.edge];
                if is_branch_outcome(edge.outcome) {
                    let branch = by_branch.entry(edge.from).or_default();
                    add(&mut branch.outcomes, hop.edge, *count);
                }
            }
        }
        by_branch.retain(|_, branch| minority_of(&branch.outcomes) >= least.0);
        by_branch
    }

    /// The windows that end with the last one of these hops.
    fn windows<'h>(&self, hops: &'h [Hop]) -> impl Iterator<Item = &'h [Hop]> {
        let copied = hops.iter().rev().take(MOST_EDGES);
        let copied = copied.take_while(|hop| self.is_copyable(hop.edge));
        let windows = (1..=copied.count()).map(move |length| &hops[hops.len() - length..]);
        windows.filter(|window| {
            let first = &self.map.edges[window[0].edge];
            let mut targets = window.iter().map(|hop| self.map.edges[hop.edge].to);
            self.is_join[first.to as usize]
                && targets.all(|target| self.stays_reducible(first.from, target))
        })
    }

    /// Whether an edge may lead to a copy.
    fn is_copyable(&self, edge: usize) -> bool {
        match self.map.edges[edge].outcome {
            Outcome::Jump
            | Outcome::True
            | Outcome::False
            | Outcome::Case(_)
            | Outcome::Default
            | Outcome::Normal
            | Outcome::Split
            | Outcome::Returned => true,
            Outcome::Unwind
            | Outcome::Indirect
            | Outcome::AsmGoto
            | Outcome::Return
            | Outcome::Noreturn
            | Outcome::Resume
            | Outcome::TailCall
            | Outcome::Again
            | Outcome::Left => false,
        }
    }

    /// Whether a block may be copied for a path from another block. The head of a loop may only be
    /// copied for a path from within the loop.
    fn stays_reducible(&self, from: u32, block: u32) -> bool {
        let around = |block| {
            let innermost = self.loops.innermost(BlockId(block));
            std::iter::successors(innermost, |&index| self.loops.all()[index].parent)
        };
        let headed = around(block).filter(|&index| self.loops.all()[index].head.0 == block);
        headed
            .into_iter()
            .all(|index| around(from).any(|other| other == index))
    }

    /// Leaves out the windows that begin with a back edge of a loop, if all back edges of the loop
    /// would lead to copies of its head.
    fn keep_heads(&self, windows: &mut Vec<Vec<usize>>) {
        for natural_loop in self.loops.all() {
            let back_edges = natural_loop.back_edges.iter().map(|edge| edge.index());
            let back_edges: BTreeSet<usize> = back_edges.collect();
            let first: BTreeSet<usize> = windows.iter().map(|window| window[0]).collect();
            if back_edges.is_subset(&first) {
                windows.retain(|window| !back_edges.contains(&window[0]));
            }
        }
    }

    /// The executions of each edge in the copies that these windows make.
    ///
    /// A path comes into copies by the first edge of a window, goes on in copies as long as it is
    /// the beginning of a window, and comes back to the original blocks with the next edge.
    fn tails_of(&self, windows: &[Vec<usize>]) -> BTreeMap<Vec<usize>, Count> {
        let beginnings: BTreeSet<&[usize]> = windows
            .iter()
            .flat_map(|window| (1..=window.len()).map(|length| &window[..length]))
            .collect();
        let mut tails = BTreeMap::new();
        for (hops, last, count) in &self.routes {
            let edges: Vec<usize> = hops.iter().map(|hop| hop.edge).collect();
            let mut start = 0;
            for index in 0..edges.len() {
                let is_in_copy = start < index;
                if is_in_copy && index >= *last {
                    let numbers = edges[start..=index].iter();
                    let numbers = numbers.filter_map(|&edge| self.numbers[edge]);
                    add(&mut tails, numbers.collect(), *count);
                }
                if !beginnings.contains(&edges[start..=index]) {
                    // The edge leaves the copies. An edge out of a copy leads into no window.
                    start = index + 1;
                }
            }
        }
        tails
    }
}

/// A branch, and the windows before it.
#[derive(Default)]
struct Branch {
    outcomes: Outcomes,
    windows: BTreeMap<Vec<usize>, Window>,
}

#[derive(Default)]
struct Window {
    outcomes: Outcomes,
    /// The copied instructions.
    size: u64,
}

impl Branch {
    /// The windows to copy, the best one first.
    fn choose(mut self, least: Count) -> Vec<Vec<usize>> {
        let mut chosen = Vec::new();
        while chosen.len() < MOST_WINDOWS {
            let scores = self.windows.iter().filter_map(|(edges, window)| {
                let score = self.score(window, least)?;
                Some((score, Reverse((edges.len(), edges))))
            });
            let Some((_, Reverse((_, best)))) = scores.max() else {
                break;
            };
            let best = best.clone();
            self.take(&best);
            chosen.push(best);
        }
        chosen
    }

    /// What a window saves beyond what it must save. `None` if it must not be taken.
    fn score(&self, window: &Window, least: Count) -> Option<u64> {
        let rest = without(&self.outcomes, &window.outcomes);
        let (all, minority) = (sum(&window.outcomes), minority_of(&window.outcomes));
        let remaining = minority_of(&self.outcomes);
        let saved = remaining.checked_sub(minority + minority_of(&rest))?;
        let price = least.0 + window.size.saturating_mul(least.0) / INSTRUCTION_SHARE;
        let goes_one_way = minority <= all / 5;
        goes_one_way.then(|| saved.checked_sub(price))?
    }

    /// Takes the executions of a window away.
    fn take(&mut self, edges: &[usize]) {
        let Some(taken) = self.windows.remove(edges) else {
            return;
        };
        self.outcomes = without(&self.outcomes, &taken.outcomes);
        self.windows.retain(|other, _| !other.ends_with(edges));
        for (other, window) in &mut self.windows {
            if edges.ends_with(other) {
                window.outcomes = without(&window.outcomes, &taken.outcomes);
            }
        }
    }
}

fn add<K: Ord>(sums: &mut BTreeMap<K, Count>, key: K, count: Count) {
    let sum = sums.entry(key).or_default();
    *sum = sum.saturating_add(count);
}

fn sum(outcomes: &Outcomes) -> u64 {
    let counts = outcomes.values().map(|count| count.0);
    counts.fold(0, u64::saturating_add)
}

/// The executions with another than the most frequent outcome.
fn minority_of(outcomes: &Outcomes) -> u64 {
    let most = outcomes.values().max().copied().unwrap_or_default();
    sum(outcomes).saturating_sub(most.0)
}

fn without(outcomes: &Outcomes, taken: &Outcomes) -> Outcomes {
    let rest = outcomes.iter().map(|(&edge, &count)| {
        let taken = taken.get(&edge).copied().unwrap_or_default();
        (edge, count.saturating_sub(taken))
    });
    rest.collect()
}
