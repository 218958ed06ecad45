//! Two runs against each other: the paths they have in common (Ball, Larus 1996, their table "ref versus train").
//!
//! Where a function's edges were counted in either run, edges are compared in all functions, else paths.
//!
//! Functions are the same if they have the same name and the same graph but for exit edges: first by linkage name, then, for
//! builds whose mangled names differ in a hash, by the name a reader knows. Their paths may be numbered in other ways: `same`
//! says which are the same. Copies of a function in several modules are added up. A function that ran and has no
//! counterpart is listed: nothing in it is common.
//!
//! - *static*: different paths (or edges) that both ran, among those that one ran;
//! - *dynamic*: the share of one run's executions that went along paths that the other ran too, and of its instructions;
//! - *overlap*: the sum over paths of the smaller share of executions, 1 where both distribute alike (above 0.9 profiles
//!   are usually called similar).
//!
//! Cost: linear in functions and counted paths, plus sorting.

mod groups;
mod number;
pub(crate) mod same;
mod sides;

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::rc::Rc;

use groups::{Counted, Counts, Group, groups, match_up};
use holloway_abi::Unit;
use holloway_flow::PathId;
use holloway_format::{DagKind, EdgeKind, EdgeMap, FunctionMap};
use number::{Number, Numbered, lasting};

use crate::flow::add;
use crate::run::{Function, FunctionId, RunProfile};

pub use sides::{Both, Why};

/// Counts of one run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Side {
    /// Different paths, or edges, that it ran.
    pub distinct: u64,
    /// Times it ran any.
    pub executions: u64,
    /// Of them, times it ran one that the other ran too.
    pub common_executions: u64,
    /// Instructions it ran.
    pub instructions: u64,
    /// Of them, on paths that the other ran too; where edges are compared, in blocks that the other ran too.
    pub common_instructions: u64,
}

impl Side {
    fn join(&mut self, other: &Side) {
        add(&mut self.distinct, other.distinct);
        add(&mut self.executions, other.executions);
        add(&mut self.common_executions, other.common_executions);
        add(&mut self.instructions, other.instructions);
        add(&mut self.common_instructions, other.common_instructions);
    }
}

/// A function of both runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pair {
    /// In either run; where copies were added up, one of them.
    pub functions: Both<FunctionId>,
    /// What either run counted in it.
    pub sides: Both<Side>,
    /// Different paths, or edges, that both ran.
    pub common: u64,
}

/// A path or an edge that the runs share unequally.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Its function, in [`Overlap::pairs`].
    pub pair: usize,
    /// The run that has [`function`](Self::function).
    pub side: usize,
    /// The function, or the copy of it, that has it by this number.
    pub function: FunctionId,
    /// Its path number there, or its number among the edges that are there whatever is collected.
    pub unit: u64,
    /// Times either run took it.
    pub counts: Both<u64>,
}

/// A function that ran in one run and has no counterpart in the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Alone {
    /// The function, in its run; where copies were added up, one of them.
    pub function: FunctionId,
    /// Times its paths, or edges, were taken.
    pub executions: u64,
    /// Why.
    pub why: Why,
}

/// Two runs compared.
#[derive(Clone, PartialEq, Debug)]
pub struct Overlap {
    /// What is compared.
    pub unit: Unit,
    /// What either run counted, in functions without counterpart too.
    pub sides: Both<Side>,
    /// Different paths, or edges, that both ran.
    pub common: u64,
    /// Sum of the smaller shares, 0 to 1.
    pub overlap: f64,
    /// Functions that both have and at least one ran, those that differ most first.
    pub pairs: Vec<Pair>,
    /// Paths, or edges, whose shares differ, most first.
    pub differences: Vec<Difference>,
    /// Paths, or edges, left out of the differences: what one run has of them more may be frames left in calls, which only
    /// that run counts.
    pub by_exits: u64,
    /// Functions that both ran whose paths end elsewhere in either (other cuts, made for another kind, with a guide, or with exit edges): the same way through them is
    /// other paths there. None where edges are compared, which are the same wherever paths end.
    pub cut_elsewhere: u64,
    /// The run whose paths end at calls (a trace), where only one's do: functions that call have other graphs, so no counterpart.
    pub ends_at_calls: Option<usize>,
    /// Functions of either run without counterpart, most executions first.
    pub alone: Both<Vec<Alone>>,
}

impl Overlap {
    /// By how much the shares of executions differ, of counts in either run: the first less the second.
    pub fn difference(&self, counts: Both<u64>) -> f64 {
        share(counts[0], self.sides[0].executions) - share(counts[1], self.sides[1].executions)
    }
}

/// Part of a whole, 0 of nothing.
pub fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    part as f64 / whole as f64
}

/// The edge of a function that a [`Difference`] is about, where edges are compared, and its number.
pub fn edge_of(map: &FunctionMap, unit: u64) -> Option<(u32, &EdgeMap)> {
    let (edge, number) = lasting(map).nth(unit as usize)?;
    Some((u32::try_from(number).ok()?, edge))
}

/// Where paths end inside a function, by numbers of edges that are there whatever is collected.
fn cuts(map: &FunctionMap) -> BTreeSet<usize> {
    let mut ends = vec![false; map.edges.len()];
    for dag in &map.dag {
        match dag.kind {
            DagKind::Back(edge) | DagKind::Cut(edge) => ends[edge as usize] = true,
            DagKind::Edge(_) | DagKind::Start(_) => {}
        }
    }
    let lasting = lasting(map).enumerate();
    let ends = lasting.filter(|(_, (_, index))| ends[*index]);
    ends.map(|(number, _)| number).collect()
}

/// Compares the functions that `keep` holds for; `name` is the name a reader knows a function by.
pub fn overlap(
    runs: Both<&RunProfile>,
    keep: &dyn Fn(&Function) -> bool,
    name: &dyn Fn(&Function) -> Rc<str>,
) -> Overlap {
    let unit = unit(runs);
    let groups = runs.map(|run| groups(run, unit, keep));
    let (matched, alone) = match_up(&groups, name);
    let mut overlap = Overlap {
        unit,
        sides: Default::default(),
        common: 0,
        overlap: 0.0,
        pairs: Vec::new(),
        differences: Vec::new(),
        by_exits: 0,
        cut_elsewhere: 0,
        ends_at_calls: None,
        alone: Default::default(),
    };
    let ends_at_calls = runs.map(|run| {
        run.images
            .iter()
            .any(crate::run::Image::ends_paths_at_calls)
    });
    if ends_at_calls[0] != ends_at_calls[1] {
        overlap.ends_at_calls = ends_at_calls.iter().position(|has| *has);
    }
    let mut by_exits = Vec::new();
    let apart = runs[0].exits() != runs[1].exits();
    for pair in matched {
        let groups = [&groups[0][pair[0]], &groups[1][pair[1]]];
        overlap.pair(groups, apart, &mut by_exits);
    }
    for (side, alone) in alone.into_iter().enumerate() {
        for (index, why) in alone {
            overlap.alone(side, &groups[side][index], why);
        }
        overlap.alone[side].sort_by_key(|one| Reverse(one.executions));
    }
    overlap.rank(&by_exits);
    overlap
}

impl Pair {
    /// Adds the instructions that both ran.
    fn work(&mut self, work: Both<&Counts>) {
        for (_, counts) in zip(work) {
            let common = counts.iter().all(|&count| count > 0);
            for (side, &count) in self.sides.iter_mut().zip(&counts) {
                let shared = if common { count } else { 0 };
                add(&mut side.instructions, count);
                add(&mut side.common_instructions, shared);
            }
        }
    }
}

impl Overlap {
    /// `by_exits` says of each difference whether it may be due to what only one run counts.
    fn pair(&mut self, groups: Both<&Group<'_>>, exits_apart: bool, by_exits: &mut Vec<bool>) {
        let chosen = groups.map(Group::chosen);
        let known = chosen.iter().position(|one| one.1.graph().is_some());
        let known = known.unwrap_or(0);
        let [a, b] = groups.map(|group| group.counted(chosen[known].1));
        if a.taken.is_empty() && b.taken.is_empty() {
            return;
        }
        let mut pair = Pair {
            functions: chosen.map(|one| one.0),
            sides: Default::default(),
            common: 0,
        };
        let index = self.pairs.len();
        if self.unit == Unit::Paths {
            let [a, b] = chosen.map(|(_, function)| cuts(&function.map));
            self.cut_elsewhere += u64::from(a != b);
        }
        let exits = groups.map(Group::has_exits);
        // A frame left is missing with one path at most, which runs an edge once.
        let left = if exits[0] == exits[1] {
            exits_apart.then_some(0)
        } else {
            Some(groups[0].left().saturating_add(groups[1].left()))
        };
        for ((numbered, unit), counts) in zip([&a.taken, &b.taken]) {
            let common = counts.iter().all(|&count| count > 0);
            pair.common += u64::from(common);
            for (side, &count) in pair.sides.iter_mut().zip(&counts) {
                side.distinct += u64::from(count > 0);
                add(&mut side.executions, count);
                add(&mut side.common_executions, if common { count } else { 0 });
            }
            let own = match numbered {
                Numbered::Common => None,
                Numbered::Own { structure } => {
                    (0..2).find_map(|side| groups[side].numbered(structure).map(|one| (side, one)))
                }
            };
            let (side, (id, function)) = own.unwrap_or((known, chosen[known]));
            let difference = Difference {
                pair: index,
                side,
                function: id,
                unit,
                counts,
            };
            by_exits.push(left.is_some_and(|left| match self.unit {
                Unit::Edges => counts[0].abs_diff(counts[1]) <= left,
                Unit::Paths => counts[0] == counts[1] || !common && is_left(function, PathId(unit)),
            }));
            self.differences.push(difference);
        }
        pair.work([&a.work, &b.work]);
        self.common += pair.common;
        for (sum, side) in self.sides.iter_mut().zip(&pair.sides) {
            sum.join(side);
        }
        self.pairs.push(pair);
    }

    fn alone(&mut self, side: usize, group: &Group<'_>, why: Why) {
        let (function, chosen) = group.chosen();
        let Counted { taken, work } = group.counted(chosen);
        if taken.is_empty() {
            return;
        }
        let sum = |counts: &Counts| {
            counts
                .iter()
                .fold(0, |sum: u64, one| sum.saturating_add(one.1))
        };
        let executions = sum(&taken);
        self.sides[side].join(&Side {
            distinct: taken.len() as u64,
            executions,
            instructions: sum(&work),
            ..Side::default()
        });
        self.alone[side].push(Alone {
            function,
            executions,
            why,
        });
    }

    /// With all counts known: the overlap, and what differs most.
    fn rank(&mut self, by_exits: &[bool]) {
        let wholes = [self.sides[0].executions, self.sides[1].executions];
        let shares = |counts: Both<u64>| [share(counts[0], wholes[0]), share(counts[1], wholes[1])];
        let apart = |counts: Both<u64>| {
            let [a, b] = shares(counts);
            (a - b).abs()
        };
        let mut differs = vec![0.0; self.pairs.len()];
        // Exact, as fractions of the product of both wholes: rounded shares of equal counts don't add up to 1.
        let [whole_a, whole_b] = wholes.map(u128::from);
        let mut smaller = 0u128;
        for (one, &by_exits) in self.differences.iter().zip(by_exits) {
            let [a, b] = one.counts.map(u128::from);
            smaller = smaller.saturating_add((a * whole_b).min(b * whole_a));
            if by_exits {
                self.by_exits += u64::from(apart(one.counts) > 0.0);
            } else {
                differs[one.pair] += apart(one.counts);
            }
        }
        if whole_a > 0 && whole_b > 0 {
            // Sums that do not fit are too low.
            self.overlap = (smaller as f64 / (whole_a * whole_b) as f64).min(1.0);
        }
        let mut kept = by_exits.iter().map(|&by_exits| !by_exits);
        self.differences
            .retain(|one| kept.next() == Some(true) && apart(one.counts) > 0.0);
        // Stable: equal ones stay by function and unit.
        self.differences
            .sort_by(|a, b| apart(b.counts).total_cmp(&apart(a.counts)));
        let mut order: Vec<usize> = (0..self.pairs.len()).collect();
        order.sort_by(|&a, &b| differs[b].total_cmp(&differs[a]));
        let mut places = vec![0; order.len()];
        for (place, &pair) in order.iter().enumerate() {
            places[pair] = place;
        }
        for one in &mut self.differences {
            one.pair = places[one.pair];
        }
        self.pairs = order.iter().map(|&pair| self.pairs[pair].clone()).collect();
    }
}

/// Whether a path ends with an exit edge.
fn is_left(function: &Function, path: PathId) -> bool {
    let path = function.graph().and_then(|graph| graph.path(path));
    let end = path.map(|path| path.end.edge().index());
    end.is_some_and(|edge| function.map.edges[edge].kind == EdgeKind::Exit)
}

/// Edges, where any function that ran has nothing else.
fn unit(runs: Both<&RunProfile>) -> Unit {
    let functions = runs.iter().flat_map(|run| &run.functions);
    let ran = functions.filter(|function| function.ran());
    ran.map(Function::unit).max().unwrap_or(Unit::Paths)
}

/// Numbers of either list, ascending, with the counts in both.
fn zip([a, b]: Both<&Counts>) -> Vec<(Number, Both<u64>)> {
    let mut all = Vec::with_capacity(a.len().max(b.len()));
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    loop {
        let next = [a.peek(), b.peek()].into_iter().flatten();
        let Some(number) = next.map(|one| one.0).min() else {
            return all;
        };
        let count = |one: Option<&(Number, u64)>| one.map_or(0, |one| one.1);
        let counts = [
            count(a.next_if(|one| one.0 == number)),
            count(b.next_if(|one| one.0 == number)),
        ];
        all.push((number, counts));
    }
}
