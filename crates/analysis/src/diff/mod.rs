//! Compares the counts of two runs: which functions and paths ran more often or less often, and
//! what that costs.
//!
//! [`crate::overlap`] compares shares, which are equal if one run does the same work twice as
//! often. This module compares counts. The cost of a function is the number of instructions that it
//! executed. The changes of all functions add up to the change of the run.
//!
//! `matching` finds functions that were moved, renamed, or changed. If a function has another
//! graph, its paths have no counterparts. Only its totals are compared then.
//!
//! Cost: linear in counted paths, plus sorting of functions by name.

mod matching;
pub mod projection;

use std::cmp::Reverse;
use std::rc::Rc;

use holloway_abi::Unit;
use holloway_format::Count;

use crate::functions::summary;
use crate::overlap::exits::Exits;
use crate::overlap::groups::{Counts, Group, PairOfGroups, groups, merge};
use crate::overlap::{Both, cut_elsewhere, unit};
use crate::run::{Function, FunctionId, RunProfile};

use matching::{Matched, match_functions};

pub use matching::Pairing;

/// What a run did, in a function or in all functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Work {
    /// Times that functions were entered.
    pub calls: Count,
    /// Executions of paths, or of edges if edges are compared. Paths of several copies of a
    /// function are added up.
    pub executions: Count,
    /// Different paths or edges that ran.
    pub distinct: u64,
    /// Executed instructions.
    pub instructions: Count,
}

impl Work {
    fn add(&mut self, other: Work) {
        self.calls = self.calls.saturating_add(other.calls);
        self.executions = self.executions.saturating_add(other.executions);
        self.distinct = self.distinct.saturating_add(other.distinct);
        self.instructions = self.instructions.saturating_add(other.instructions);
    }
}

/// How something changed from the first run to the second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Trend {
    /// Only the second run executed it.
    New,
    /// Only the first run executed it.
    Gone,
    /// The second run executed more instructions in it.
    Hotter,
    /// The second run executed fewer instructions in it.
    Colder,
    /// Both runs executed the same number of instructions in it, but on other ways.
    Shifted,
}

/// A function whose counts differ, or that was moved or renamed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionChange {
    /// The function in each run. If copies were added up, this is one of the copies.
    pub functions: Both<Option<FunctionId>>,
    /// How the function was found in the other run.
    pub pairing: Pairing,
    /// What each run did in the function.
    pub work: Both<Work>,
    /// Paths or edges whose counts differ. 0 if the function has no counterpart, or another graph.
    pub parts: u64,
    /// Paths or edges that are left out: see [`Diff::by_exits`].
    pub by_exits: u64,
}

impl FunctionChange {
    /// How the function changed. `None` if its counts are equal, or if frames that only one run
    /// counts may explain all differences.
    pub fn trend(&self) -> Option<Trend> {
        if self.by_exits > 0 && self.parts == 0 {
            return None;
        }
        let [a, b] = self.work;
        let ran = |work: Work| work.executions > Count::ZERO || work.instructions > Count::ZERO;
        match (ran(a), ran(b)) {
            (false, false) => None,
            (false, true) => Some(Trend::New),
            (true, false) => Some(Trend::Gone),
            (true, true) if b.instructions > a.instructions => Some(Trend::Hotter),
            (true, true) if b.instructions < a.instructions => Some(Trend::Colder),
            (true, true) => {
                let differs = self.parts > 0 || a != b || self.pairing == Pairing::Changed;
                differs.then_some(Trend::Shifted)
            }
        }
    }

    /// The instructions of the second run minus those of the first.
    pub fn change(&self) -> i128 {
        change(self.work)
    }

    /// The part of [`change`](Self::change) that comes from the number of calls: the additional
    /// calls, times the mean cost of a call in the first run. The rest comes from what the calls
    /// do. `None` if only one run entered the function.
    pub fn by_calls(&self) -> Option<f64> {
        let [a, b] = self.work;
        let [from, to] = [a.calls, b.calls].map(|calls| calls.0 as f64);
        (from > 0.0 && to > 0.0).then(|| (to - from) * (a.instructions.0 as f64 / from))
    }
}

/// The instructions of the second run minus those of the first.
pub fn change([a, b]: Both<Work>) -> i128 {
    i128::from(b.instructions.0) - i128::from(a.instructions.0)
}

/// A path or an edge whose counts differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartChange {
    /// The run that contains [`function`](Self::function).
    pub side: usize,
    /// The function, or its copy, in which the path or edge has the number `number`.
    pub function: FunctionId,
    /// The path number in that function, or the number among the edges that every build has.
    pub number: u64,
    /// Executions in each run.
    pub counts: Both<Count>,
    /// Executed instructions in each run; 0 for edges.
    pub instructions: Both<Count>,
}

impl PartChange {
    /// The weight by which parts are ranked: the difference of instructions, or of executions for
    /// edges.
    fn weight(&self, unit: Unit) -> u64 {
        let [a, b] = match unit {
            Unit::Paths => self.instructions,
            Unit::Edges => self.counts,
        };
        a.0.abs_diff(b.0)
    }
}

/// The changes from one run to another.
#[derive(Clone, PartialEq, Debug)]
pub struct Diff {
    /// The unit that is compared.
    pub unit: Unit,
    /// What each run did in all functions that are compared.
    pub totals: Both<Work>,
    /// Number of functions that ran in either run.
    pub ran: u64,
    /// The functions that changed, largest change of instructions first.
    pub functions: Vec<FunctionChange>,
    /// The paths or edges of functions with equal graphs whose counts differ, largest change first.
    pub parts: Vec<PartChange>,
    /// Number of differences of paths or edges that are left out, because only one run counts
    /// frames that were left in calls, and such frames may explain the difference.
    pub by_exits: u64,
    /// Number of functions with equal graphs whose paths end at different edges in the two builds.
    /// The same route through such a function consists of different paths.
    pub cut_elsewhere: u64,
}

impl Diff {
    /// Whether the counts of any function differ. Functions that were only moved or renamed do not
    /// differ.
    pub fn is_different(&self) -> bool {
        self.functions
            .iter()
            .any(|function| function.trend().is_some())
    }
}

/// Compares the functions that `keep` accepts in either run. `name` returns the name that the user
/// knows a function by.
pub fn diff(
    runs: Both<&RunProfile>,
    keep: &dyn Fn(&Function) -> bool,
    name: &dyn Fn(&Function) -> Rc<str>,
) -> Diff {
    let unit = unit(runs);
    let mut groups = runs.map(|run| groups(run, unit, &|_| true));
    let (matched, alone) = match_functions(&mut groups, name);
    let keeps = |group: &Group<'_>| keep(group.representative().1);
    let mut comparison = Comparison {
        runs,
        exits_differ: runs[0].exits() != runs[1].exits(),
        diff: Diff {
            unit,
            totals: Default::default(),
            ran: 0,
            functions: Vec::new(),
            parts: Vec::new(),
            by_exits: 0,
            cut_elsewhere: 0,
        },
    };
    for Matched {
        groups: pair,
        pairing,
    } in matched
    {
        let groups = PairOfGroups([&groups[0][pair[0]], &groups[1][pair[1]]]);
        if !groups.0.iter().any(|group| keeps(group)) {
            continue;
        }
        match pairing {
            Pairing::Same | Pairing::Moved | Pairing::Renamed => {
                comparison.add_pair(&groups, pairing);
            }
            Pairing::Changed | Pairing::Absent => comparison.add(groups.0.map(Some), pairing),
        }
    }
    for (side, alone) in alone.into_iter().enumerate() {
        for index in alone
            .into_iter()
            .filter(|&index| keeps(&groups[side][index]))
        {
            let mut sides = [None; 2];
            sides[side] = Some(&groups[side][index]);
            comparison.add(sides, Pairing::Absent);
        }
    }
    comparison.ranked()
}

struct Comparison<'a> {
    runs: Both<&'a RunProfile>,
    /// Whether only one run counts frames that were left in calls.
    exits_differ: bool,
    diff: Diff,
}

impl Comparison<'_> {
    /// Adds a function with the same graph in both runs.
    fn add_pair(&mut self, groups: &PairOfGroups<'_>, pairing: Pairing) {
        let unit = self.diff.unit;
        let [a, b] = groups.counts();
        let exits = Exits::new(self.exits_differ, groups);
        // Edges have no instructions of their own.
        let instructions = match unit {
            Unit::Paths => merge([&a.instructions, &b.instructions]),
            Unit::Edges => Vec::new(),
        };
        let mut instructions = instructions.into_iter().peekable();
        let (mut parts, mut by_exits) = (0, 0);
        for (number, counts) in merge([&a.executions, &b.executions]) {
            let cost = instructions.next_if(|(numbered, _)| *numbered == number);
            if counts[0] == counts[1] {
                continue;
            }
            let (side, (id, function)) = groups.owner(number.0);
            if exits.may_explain(unit, function, number.1, counts) {
                by_exits += 1;
                continue;
            }
            parts += 1;
            self.diff.parts.push(PartChange {
                side,
                function: id,
                number: number.1,
                counts,
                instructions: cost.map_or([Count::ZERO; 2], |(_, cost)| cost),
            });
        }
        let ran = !(a.executions.is_empty() && b.executions.is_empty());
        if unit == Unit::Paths && ran {
            let functions = groups.representatives().map(|(_, function)| function);
            self.diff.cut_elsewhere += u64::from(cut_elsewhere(functions));
        }
        let counts = [Some(a.executions), Some(b.executions)];
        self.add_function(groups.0.map(Some), counts, pairing, [parts, by_exits]);
    }

    /// Adds a function whose paths have no counterparts.
    fn add(&mut self, groups: Both<Option<&Group<'_>>>, pairing: Pairing) {
        let counts = groups.map(|group| {
            let group = group?;
            Some(group.counts(group.representative().1).executions)
        });
        self.add_function(groups, counts, pairing, [0, 0]);
    }

    fn add_function(
        &mut self,
        groups: Both<Option<&Group<'_>>>,
        counts: Both<Option<Counts>>,
        pairing: Pairing,
        [parts, by_exits]: [u64; 2],
    ) {
        let mut work: Both<Work> = Default::default();
        for (side, (group, counts)) in groups.iter().zip(counts).enumerate() {
            if let (Some(group), Some(counts)) = (group, counts) {
                work[side] = work_of(self.runs[side], group, &counts);
            }
            self.diff.totals[side].add(work[side]);
        }
        self.diff.by_exits += by_exits;
        let change = FunctionChange {
            functions: groups.map(|group| group.map(|group| group.representative().0)),
            pairing,
            work,
            parts,
            by_exits,
        };
        let ran = groups.iter().flatten().any(|group| group.ran());
        self.diff.ran += u64::from(ran);
        let is_elsewhere = matches!(pairing, Pairing::Moved | Pairing::Renamed);
        if ran && (is_elsewhere || change.trend().is_some()) {
            self.diff.functions.push(change);
        }
    }

    fn ranked(mut self) -> Diff {
        let unit = self.diff.unit;
        // The sorts are stable: equal changes stay in the order of functions and numbers.
        self.diff.functions.sort_by_key(|function| {
            let counts = function.work.map(|work| work.executions.0);
            Reverse((
                function.change().unsigned_abs(),
                counts[0].abs_diff(counts[1]),
            ))
        });
        self.diff.parts.sort_by_key(|part| {
            Reverse((
                part.weight(unit),
                part.counts[0].0.abs_diff(part.counts[1].0),
            ))
        });
        self.diff
    }
}

/// What a run did in all copies of a function. `counts` are the executions of its paths or edges.
fn work_of(run: &RunProfile, group: &Group<'_>, counts: &Counts) -> Work {
    let mut work = Work {
        distinct: counts.len() as u64,
        ..Work::default()
    };
    for id in group.ids() {
        if let Some(summary) = summary(run, id) {
            work.calls = work.calls.saturating_add(summary.calls);
            work.instructions = work.instructions.saturating_add(summary.instructions);
        }
    }
    for &(_, count) in counts {
        work.executions = work.executions.saturating_add(count);
    }
    work
}
