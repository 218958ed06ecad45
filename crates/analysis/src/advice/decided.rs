//! A decision that an earlier decision on the path makes already: whenever control comes to the
//! second branch, it has passed the first one on the same path, and each outcome of the first goes
//! with one outcome of the second. The second may come from an inlined callee, or test a variable
//! that the first has set.
//!
//! Both outcomes of the second branch must have at least a hundredth of its executions. A branch
//! that always goes the same way needs no earlier decision to tell.
//!
//! Example: the paths b0 b1 b3 b4 and b0 b2 b3 b5 run 50 times each, and no other path runs. At b3,
//! the outcome of b0 decides: b1 goes with b4, and b2 with b5.
//!
//! Limits: only the last decisions before a branch are compared (`WINDOW`), and functions with
//! more than `MOST_PATHS` paths ran are left out.
//!
//! Bound: [`TEST`](super::cost::TEST) instructions for each execution of the second branch, or all
//! instructions of its block if it has fewer.
//! Cost: the decisions on all paths that ran, times `WINDOW`.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use holloway_flow::Path;
use holloway_format::{Count, FunctionMap, Place};

use super::cost::{LEAST_SHARE, Model, test_cost};
use super::evidence::{Evidence, Found};
use crate::branches::is_branch_outcome;
use crate::run::Function;
use crate::trail::last_place;

/// The number of decisions before a branch that may decide it.
const WINDOW: usize = 16;

/// The most paths of a function that are compared.
const MOST_PATHS: usize = 50_000;

/// The smallest part of the executions that makes an outcome count: one in this number.
const RAREST: u64 = 100;

/// The evidence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decided {
    /// The place of the earlier branch.
    pub by: Option<Place>,
    /// Executions of the later branch.
    pub executions: Count,
    /// Executions of the later branch by outcome, most frequent first.
    pub outcomes: Vec<Count>,
    /// Number of paths with both decisions.
    pub paths: u64,
    /// Whether the later branch belongs to another function than the earlier one, which was
    /// inlined.
    pub in_callee: bool,
}

/// Finds the decisions that are made twice.
pub fn find<'a>(evidence: &Evidence<'a>, model: &Model) -> Vec<Found<'a, Decided>> {
    let functions = evidence.run.functions.iter();
    let hot = functions.filter(|function| {
        function.ran()
            && (1..=MOST_PATHS).contains(&function.counts.len())
            && model.saving(function.flow().instructions).share >= LEAST_SHARE
    });
    let mut pieces = Vec::new();
    for function in hot {
        let pairs = Pairs::new(function);
        for (&later, &executions) in &pairs.executions {
            if let Some(finding) = pairs.decided(function, later) {
                let amount = executions.saturating_mul(test_cost(function, later));
                pieces.push(Found {
                    function,
                    place: place(&function.map, later),
                    finding,
                    saving: model.saving(amount),
                });
            }
        }
    }
    pieces
}

/// The place of the branch at the end of a block.
pub(super) fn place(map: &FunctionMap, block: u32) -> Option<Place> {
    let edges = map.edges.iter().filter(|edge| edge.from == block);
    let places = edges.filter_map(|edge| edge.place);
    places
        .into_iter()
        .find(|place| place.line != 0)
        .or_else(|| last_place(&map.blocks[block as usize].places))
}

/// The decisions on a path, in order: the block of a branch, and the block that it chose.
pub(super) fn decisions(map: &FunctionMap, path: &Path) -> Vec<(u32, u32)> {
    let edges = path.edges.iter().copied().chain([path.end.edge()]);
    let edges = edges.map(|edge| &map.edges[edge.index()]);
    let branches = edges.filter(|edge| is_branch_outcome(edge.outcome));
    branches.map(|edge| (edge.from, edge.to)).collect()
}

/// How often an outcome of the first branch went with an outcome of the second, and on how many
/// paths.
type Table = BTreeMap<(u32, u32), (Count, u64)>;

/// The pairs of decisions on a function's paths.
struct Pairs {
    /// By block of a branch: its executions.
    executions: BTreeMap<u32, Count>,
    /// By the blocks of the later and of the earlier branch.
    tables: HashMap<(u32, u32), Table>,
    /// By block of a later branch: the earlier branches, nearest first.
    earlier: BTreeMap<u32, Vec<u32>>,
}

impl Pairs {
    fn new(function: &Function) -> Pairs {
        let mut pairs = Pairs {
            executions: BTreeMap::new(),
            tables: HashMap::new(),
            earlier: BTreeMap::new(),
        };
        for &(number, count) in &function.counts {
            if let Some(path) = function.graph().and_then(|graph| graph.path(number)) {
                pairs.add(&decisions(&function.map, &path), count);
            }
        }
        pairs
    }

    fn add(&mut self, decisions: &[(u32, u32)], count: Count) {
        for (index, &(later, outcome)) in decisions.iter().enumerate() {
            let sum = self.executions.entry(later).or_default();
            *sum = sum.saturating_add(count);
            let before = decisions[index.saturating_sub(WINDOW)..index].iter().rev();
            for &(earlier, decided) in before {
                let earlier_branches = self.earlier.entry(later).or_default();
                if !earlier_branches.contains(&earlier) {
                    earlier_branches.push(earlier);
                }
                let table = self.tables.entry((later, earlier)).or_default();
                let (sum, paths) = table.entry((decided, outcome)).or_default();
                *sum = sum.saturating_add(count);
                *paths += 1;
            }
        }
    }

    /// The evidence that an earlier branch decides a later one; `None` if there is none.
    fn decided(&self, function: &Function, later: u32) -> Option<Decided> {
        let executions = self.executions[&later];
        let mut earlier = self.earlier.get(&later)?.iter();
        let (by, table) = earlier.find_map(|&earlier| {
            let table = &self.tables[&(later, earlier)];
            decides(table, executions).then_some((earlier, table))
        })?;
        let (by, later) = (place(&function.map, by), place(&function.map, later));
        let scope = |place: Option<Place>| place.map(|place| place.scope);
        let mut outcomes: Vec<Count> = by_outcome(table).into_values().collect();
        outcomes.sort_by_key(|&count| std::cmp::Reverse(count));
        Some(Decided {
            by,
            executions,
            outcomes,
            paths: table.values().map(|(_, paths)| paths).sum(),
            in_callee: scope(by) != scope(later),
        })
    }
}

/// The sums of a table by the outcome of the later branch.
fn by_outcome(table: &Table) -> BTreeMap<u32, Count> {
    let mut sums: BTreeMap<u32, Count> = BTreeMap::new();
    for (&(_, outcome), &(count, _)) in table {
        let sum = sums.entry(outcome).or_default();
        *sum = sum.saturating_add(count);
    }
    sums
}

/// Whether each outcome of the earlier branch goes with one outcome of the later one, all
/// executions of the later branch come after the earlier one, and several outcomes are not rare.
fn decides(table: &Table, executions: Count) -> bool {
    let firsts: BTreeSet<u32> = table.keys().map(|&(first, _)| first).collect();
    let sums = by_outcome(table);
    let all = sums
        .values()
        .copied()
        .fold(Count::ZERO, Count::saturating_add);
    let is_common = |count: &&Count| count.saturating_mul(RAREST) >= executions;
    firsts.len() == table.len() && all == executions && sums.values().filter(is_common).count() >= 2
}
