//! Compares the paths of two runs (Ball, Larus 1996, the table "ref versus train").
//!
//! If either run counted the edges of any function, the edges of all functions are compared.
//! Otherwise paths are compared.
//!
//! Two functions match if they have the same name and the same graph, ignoring exit edges. They are
//! matched first by linkage name, then by the name that the user knows, because the mangled names
//! of two builds may differ in a hash. The builds may number the paths of a function differently;
//! `same` finds the same path in both. The counts of copies of a function in several modules are
//! added up. A function that ran and has no counterpart is listed. None of its paths counts as
//! common.
//!
//! There are three measures:
//!
//! - *static*: the number of different paths (or edges) that both runs executed, divided by the
//!   number that one run executed
//! - *dynamic*: the share of one run's executions on paths that the other run executed too, and the
//!   share of one run's instructions on these paths
//! - *overlap*: the sum over paths of the smaller share of executions, and the sum over paths (or
//!   blocks) of the smaller share of instructions. It is 1 if each path has the same share in both
//!   runs. Profiles above 0.9 are usually called similar.
//!
//! Cost: linear in functions and counted paths, plus sorting.

pub(crate) mod exits;
pub(crate) mod groups;
pub(crate) mod number;
pub(crate) mod same;
mod sides;

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::rc::Rc;

use exits::Exits;
use groups::{Counts, Group, GroupCounts, PairOfGroups, groups, match_up, merge};
use holloway_abi::Unit;
use holloway_format::{Count, DagKind, EdgeMap, FunctionMap};
use number::common_edges;

use crate::flow::add;
use crate::run::{Function, FunctionId, RunProfile};

pub use sides::{Both, Why};

/// The counts of one run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Side {
    /// Different paths or edges that the run executed.
    pub distinct: u64,
    /// Executions of all paths or edges.
    pub executions: Count,
    /// Executions of paths or edges that the other run executed too.
    pub common_executions: Count,
    /// Executed instructions.
    pub instructions: Count,
    /// Instructions executed on paths that the other run executed too. If edges are compared, the
    /// instructions executed in blocks that the other run executed too.
    pub common_instructions: Count,
}

impl Side {
    fn merge(&mut self, other: &Side) {
        self.distinct = self.distinct.saturating_add(other.distinct);
        add(&mut self.executions, other.executions);
        add(&mut self.common_executions, other.common_executions);
        add(&mut self.instructions, other.instructions);
        add(&mut self.common_instructions, other.common_instructions);
    }
}

/// A function that both runs have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pair {
    /// The function in each run. If copies were added up, this is one of the copies.
    pub functions: Both<FunctionId>,
    /// The counts of each run in the function.
    pub sides: Both<Side>,
    /// Different paths or edges that both runs executed.
    pub common: u64,
}

/// A path or an edge whose shares of executions differ between the runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The function: an index in [`Overlap::pairs`].
    pub pair: usize,
    /// The run that contains [`function`](Self::function).
    pub side: usize,
    /// The function, or its copy, in which the path or edge has the number `number`.
    pub function: FunctionId,
    /// The path number in that function, or the number among the edges that every build has.
    pub number: u64,
    /// Executions in each run.
    pub counts: Both<Count>,
}

/// A function that ran in one run and has no counterpart in the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Alone {
    /// The function in its run. If copies were added up, this is one of the copies.
    pub function: FunctionId,
    /// Executions of its paths or edges.
    pub executions: Count,
    /// Why there is no counterpart.
    pub why: Why,
}

/// The comparison of two runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Overlap {
    /// The unit that is compared.
    pub unit: Unit,
    /// The counts of each run, including functions without counterpart.
    pub sides: Both<Side>,
    /// Different paths or edges that both runs executed.
    pub common: u64,
    /// The sum over paths or edges of the smaller share of executions, 0 to 1.
    pub overlap: f64,
    /// The sum over paths, or over blocks if edges are compared, of the smaller share of
    /// instructions, 0 to 1.
    pub overlap_of_instructions: f64,
    /// Functions that both runs have and at least one run executed. The largest difference comes
    /// first.
    pub pairs: Vec<Pair>,
    /// Paths or edges whose shares differ. The largest difference comes first.
    pub differences: Vec<Difference>,
    /// Number of paths or edges that are left out of the differences, because only one run counts
    /// frames that were left in calls, and such frames may explain the difference.
    pub by_exits: u64,
    /// Number of functions that both runs have and whose paths end at different edges in the two
    /// builds. The builds may collect different kinds of profiles, or differ in their guide or
    /// their exit edges. The same route through such a function consists of different paths. The
    /// number is 0 if edges are compared, because edges are the same no matter where paths end.
    pub cut_elsewhere: u64,
    /// The run whose paths end at calls (a trace), if only one run's paths do. The functions with
    /// calls then have different graphs in the two runs, so they have no counterparts.
    pub ends_at_calls: Option<usize>,
    /// By run: functions without counterpart, most executions first.
    pub alone: Both<Vec<Alone>>,
}

impl Overlap {
    /// Returns the share of executions in the first run minus the share in the second run.
    pub fn difference(&self, counts: Both<Count>) -> f64 {
        share(counts[0], self.sides[0].executions) - share(counts[1], self.sides[1].executions)
    }
}

/// `part` as a share of `total`; 0 if `total` is 0.
pub fn share(part: impl Into<u64>, total: impl Into<u64>) -> f64 {
    let (part, total) = (part.into(), total.into());
    if total == 0 {
        return 0.0;
    }
    part as f64 / total as f64
}

/// Returns the edge of a [`Difference`] and its number in the map, if edges are compared.
pub fn edge_of(map: &FunctionMap, common_number: u64) -> Option<(u32, &EdgeMap)> {
    let (edge, number) = common_edges(map).nth(common_number as usize)?;
    Some((u32::try_from(number).ok()?, edge))
}

/// The edges at which paths end inside a function, by their numbers among the edges that every
/// build has.
fn cuts(map: &FunctionMap) -> BTreeSet<usize> {
    let mut ends = vec![false; map.edges.len()];
    for dag in &map.dag {
        match dag.kind {
            DagKind::Back(edge) | DagKind::Cut(edge) => ends[edge as usize] = true,
            DagKind::Edge(_) | DagKind::Start(_) => {}
        }
    }
    let edges = common_edges(map).enumerate();
    let ends = edges.filter(|(_, (_, index))| ends[*index]);
    ends.map(|(number, _)| number).collect()
}

/// Whether the paths of a function end at other edges in the other build.
pub(crate) fn cut_elsewhere(functions: Both<&Function>) -> bool {
    let [a, b] = functions.map(|function| cuts(&function.map));
    a != b
}

/// Compares the functions that `keep` accepts. `name` returns the name that the user knows a
/// function by.
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
        overlap_of_instructions: 0.0,
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
    let mut instructions = Vec::new();
    let exits_differ = runs[0].exits() != runs[1].exits();
    for pair in matched {
        let groups = PairOfGroups([&groups[0][pair[0]], &groups[1][pair[1]]]);
        let exits = Exits::new(exits_differ, &groups);
        overlap.add_pair(&groups, exits, &mut by_exits, &mut instructions);
    }
    for (side, alone) in alone.into_iter().enumerate() {
        for (index, why) in alone {
            overlap.add_alone(side, &groups[side][index], why);
        }
        overlap.alone[side].sort_by_key(|alone| Reverse(alone.executions));
    }
    let totals = [0, 1].map(|side: usize| overlap.sides[side].instructions);
    overlap.overlap_of_instructions = sum_of_smaller_shares(instructions, totals);
    overlap.rank(&by_exits);
    overlap
}

impl Pair {
    /// Adds the instructions of both runs.
    fn add_instructions(&mut self, instructions: impl Iterator<Item = Both<Count>>) {
        for counts in instructions {
            let common = counts.iter().all(|&count| count > Count::ZERO);
            for (side, &count) in self.sides.iter_mut().zip(&counts) {
                let common_count = if common { count } else { Count::ZERO };
                add(&mut side.instructions, count);
                add(&mut side.common_instructions, common_count);
            }
        }
    }
}

impl Overlap {
    /// Adds a function that both runs have. `by_exits` gets an entry for each new difference:
    /// whether frames that only one run counts may explain the difference. `instructions` gets the
    /// instructions of each path or block.
    fn add_pair(
        &mut self,
        groups: &PairOfGroups<'_>,
        exits: Exits,
        by_exits: &mut Vec<bool>,
        instructions: &mut Vec<Both<Count>>,
    ) {
        let [a, b] = groups.counts();
        if a.executions.is_empty() && b.executions.is_empty() {
            return;
        }
        let copies = groups.representatives();
        let mut pair = Pair {
            functions: copies.map(|copy| copy.0),
            sides: Default::default(),
            common: 0,
        };
        let index = self.pairs.len();
        if self.unit == Unit::Paths {
            self.cut_elsewhere += u64::from(cut_elsewhere(copies.map(|copy| copy.1)));
        }
        for (number, counts) in merge([&a.executions, &b.executions]) {
            let common = counts.iter().all(|&count| count > Count::ZERO);
            pair.common += u64::from(common);
            for (side, &count) in pair.sides.iter_mut().zip(&counts) {
                side.distinct += u64::from(count > Count::ZERO);
                add(&mut side.executions, count);
                add(
                    &mut side.common_executions,
                    if common { count } else { Count::ZERO },
                );
            }
            let (side, (id, function)) = groups.owner(number.0);
            let difference = Difference {
                pair: index,
                side,
                function: id,
                number: number.1,
                counts,
            };
            by_exits.push(exits.may_explain(self.unit, function, number.1, counts));
            self.differences.push(difference);
        }
        let instructions_of_pair = merge([&a.instructions, &b.instructions]);
        let counts = instructions_of_pair.into_iter().map(|(_, counts)| counts);
        pair.add_instructions(counts.clone());
        instructions.extend(counts);
        self.common += pair.common;
        for (sum, side) in self.sides.iter_mut().zip(&pair.sides) {
            sum.merge(side);
        }
        self.pairs.push(pair);
    }

    /// Adds a function without counterpart.
    fn add_alone(&mut self, side: usize, group: &Group<'_>, why: Why) {
        let (function, representative) = group.representative();
        let GroupCounts {
            executions,
            instructions,
        } = group.counts(representative);
        if executions.is_empty() {
            return;
        }
        let sum = |counts: &Counts| {
            counts
                .iter()
                .fold(Count::ZERO, |sum, &(_, count)| sum.saturating_add(count))
        };
        let distinct = executions.len() as u64;
        let executions = sum(&executions);
        self.sides[side].merge(&Side {
            distinct,
            executions,
            instructions: sum(&instructions),
            ..Side::default()
        });
        self.alone[side].push(Alone {
            function,
            executions,
            why,
        });
    }

    /// Computes the overlap and ranks the differences, after all functions have been added.
    fn rank(&mut self, by_exits: &[bool]) {
        let totals = [self.sides[0].executions, self.sides[1].executions];
        let shares =
            |counts: Both<Count>| [share(counts[0], totals[0]), share(counts[1], totals[1])];
        let distance = |counts: Both<Count>| {
            let [a, b] = shares(counts);
            (a - b).abs()
        };
        let mut pair_distances = vec![0.0; self.pairs.len()];
        for (difference, &by_exits) in self.differences.iter().zip(by_exits) {
            if by_exits {
                self.by_exits += u64::from(distance(difference.counts) > 0.0);
            } else {
                pair_distances[difference.pair] += distance(difference.counts);
            }
        }
        let counts = self.differences.iter().map(|difference| difference.counts);
        self.overlap = sum_of_smaller_shares(counts, totals);
        let mut is_ranked = by_exits.iter().map(|&by_exits| !by_exits);
        self.differences.retain(|difference| {
            is_ranked.next() == Some(true) && distance(difference.counts) > 0.0
        });
        // The sort is stable: equal differences stay in the order of functions and numbers.
        self.differences
            .sort_by(|a, b| distance(b.counts).total_cmp(&distance(a.counts)));
        let mut order: Vec<usize> = (0..self.pairs.len()).collect();
        order.sort_by(|&a, &b| pair_distances[b].total_cmp(&pair_distances[a]));
        let mut ranks = vec![0; order.len()];
        for (rank, &pair) in order.iter().enumerate() {
            ranks[pair] = rank;
        }
        for difference in &mut self.differences {
            difference.pair = ranks[difference.pair];
        }
        self.pairs = order.iter().map(|&pair| self.pairs[pair].clone()).collect();
    }
}

/// The sum of the smaller share of each element, 0 to 1. 0 if a total is 0.
fn sum_of_smaller_shares(
    counts: impl IntoIterator<Item = Both<Count>>,
    totals: Both<Count>,
) -> f64 {
    // Shares are exact fractions of the product of both totals, because rounded shares of equal
    // counts do not add up to 1.
    let [total_a, total_b] = totals.map(u128::from);
    if total_a == 0 || total_b == 0 {
        return 0.0;
    }
    let smaller = counts.into_iter().map(|counts| {
        let [a, b] = counts.map(u128::from);
        (a * total_b).min(b * total_a)
    });
    let sum = smaller.fold(0, u128::saturating_add);
    // Saturated totals may give more than 1.
    (sum as f64 / (total_a * total_b) as f64).min(1.0)
}

/// The unit to compare: edges, if any function that ran has only edge counts.
pub(crate) fn unit(runs: Both<&RunProfile>) -> Unit {
    let functions = runs.iter().flat_map(|run| &run.functions);
    let ran = functions.filter(|function| function.ran());
    ran.map(Function::unit).max().unwrap_or(Unit::Paths)
}
