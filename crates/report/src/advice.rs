//! Words advice for people. The terminal and JSON reports write it.

use holloway_analysis::advice::allocation::RepeatedBy;
use holloway_analysis::advice::cost::Unit;
use holloway_analysis::advice::unpredictable::Context;
use holloway_analysis::advice::{Advice, Advised, Finding, Kind, Need};
use holloway_analysis::{Function, RunProfile};
use holloway_format::{Count, PathId, Place};

use crate::filter::Filter;
use crate::numbers::{grouped, mean, plural, share};
use crate::options::Options;
use crate::path_names::short_name;
use crate::places::{file_and_line, user_place};
use crate::terminal::branches::Branches;
use crate::terminal::decisions::decisions_of;

pub use crate::places::is_library;

/// The advice for a run.
pub struct AdviceReport<'a> {
    /// The counts of the run.
    pub run: &'a RunProfile,
    /// The advice.
    pub advised: &'a Advised<'a>,
}

impl<'a> AdviceReport<'a> {
    /// The pieces for functions that the user selected, largest bound first.
    pub(crate) fn selected(&self, names: &Filter<'_>) -> Vec<&'a Advice<'a>> {
        let pieces = self.advised.pieces.iter();
        let selected = pieces.filter(|piece| {
            let map = &piece.function.map;
            names.matches(&map.linkage_name, &map.name)
        });
        selected.collect()
    }
}

/// The name of a kind in JSON.
pub(crate) fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::BusyWait => "busy_wait",
        Kind::SameOutcome => "same_outcome",
        Kind::Decided => "decided",
        Kind::Period => "period",
        Kind::Allocation => "allocation",
        Kind::Bytes => "bytes",
        Kind::Unpredictable => "unpredictable",
        Kind::WaitingLoads => "waiting_loads",
    }
}

/// The heading of a piece.
pub(crate) fn title(kind: Kind) -> &'static str {
    match kind {
        Kind::BusyWait => "busy wait",
        Kind::SameOutcome => "same outcome in every iteration",
        Kind::Decided => "decided before",
        Kind::Period => "periodic sequence",
        Kind::Allocation => "repeated allocation",
        Kind::Bytes => "byte by byte",
        Kind::Unpredictable => "unpredictable branch",
        Kind::WaitingLoads => "loads that wait",
    }
}

/// Why a kind of advice is missing.
pub(crate) fn missing(kind: Kind) -> String {
    let subject = match kind {
        Kind::BusyWait => "busy waits need",
        Kind::SameOutcome => "decisions with the same outcome in every iteration need",
        Kind::Decided => "decisions that are made twice need",
        Kind::Period => "periodic sequences need",
        Kind::Allocation => "repeated allocations need",
        Kind::Bytes => "loops over bytes need",
        Kind::Unpredictable => "unpredictable branches need",
        Kind::WaitingLoads => "loads that wait need",
    };
    let need = match kind.need() {
        Need::Counts => "counts: build with --collect paths",
        Need::Paths => "counts of paths: build with --collect paths",
        Need::Sequences => "sequences of paths: build with --collect loops",
        Need::Loops => "a profile of loops: build with --collect loops",
        Need::Times => "times of paths: build with --collect variation",
    };
    format!("{subject} {need}")
}

/// The bound, in words.
pub(crate) fn bound(advice: &Advice<'_>) -> String {
    let saving = advice.saving;
    let percent = (saving.share.clamp(0.0, 1.0) * 100_000.0).round() as u64;
    let amount = grouped(saving.amount);
    let unit = match saving.unit {
        Unit::Instructions => format!("the time of {amount} instructions"),
        Unit::Cycles => format!("{amount} cycles"),
    };
    format!("at most {} of the run ({unit})", share(percent, 100_000u64))
}

/// The evidence, in words.
pub(crate) fn evidence(advice: &Advice<'_>, options: &Options<'_>) -> String {
    let function = advice.function;
    match &advice.finding {
        Finding::BusyWait(found) => format!(
            "the loop only waits: {} in {}, {} each on average",
            plural(found.turns, "turn"),
            plural(found.waits, "wait"),
            mean(u128::from(found.turns), found.waits)
        ),
        Finding::SameOutcome(found) => format!(
            "in each of {} of the loop, the decision was always the same ({} repeat the one before), but it differs between executions: {}",
            plural(found.executions, "execution"),
            plural(found.turns, "turn"),
            shares(&found.outcomes)
        ),
        Finding::Decided(found) => {
            let by = found
                .by
                .and_then(|place| place_of(function, &place, options));
            let whose = match found.in_callee {
                true => "of another function that was inlined ",
                false => "",
            };
            format!(
                "all {} of this test {whose}have the outcome that the decision at {} implies, on {}: {}",
                plural(found.executions, "execution"),
                by.unwrap_or_else(|| "an earlier line".to_owned()),
                plural(found.paths, "path"),
                shares(&found.outcomes)
            )
        }
        Finding::Period(found) => {
            let paths = found.paths.iter();
            let names = paths.map(|&path| named_with_decisions(function, path, options));
            format!(
                "{} of {} repeat the sequence of {}: {}",
                grouped(found.turns),
                plural(found.all_turns, "turn"),
                plural(found.paths.len() as u64, "path"),
                names.collect::<Vec<_>>().join(" ")
            )
        }
        Finding::Allocation(found) => {
            let repeated = match found.repeated_by {
                RepeatedBy::Loop { turns } => format!("{} of the loop", plural(turns, "turn")),
                RepeatedBy::Calls { calls } => {
                    format!("{} of the function", plural(calls, "call"))
                }
            };
            format!("{} in {repeated}", plural(found.count, "allocation"))
        }
        Finding::Bytes(found) => format!(
            "{} in {} of the loop: {} in a row on average",
            plural(found.turns, "turn"),
            plural(found.executions, "execution"),
            mean(u128::from(found.turns), found.executions)
        ),
        Finding::Unpredictable(found) => {
            let context = match found.context {
                Context::None => "without context, as only edges were counted".to_owned(),
                Context::Path => "given the path so far (a run of --collect loops also knows the iterations before)".to_owned(),
                Context::PreviousPaths(paths) => format!(
                    "given the path so far and up to {} before it",
                    plural(paths as u64, "path")
                ),
            };
            let copies = match found.copies {
                1 => String::new(),
                copies => format!(" of the {copies} copies of the branch"),
            };
            format!(
                "{} of {}{copies} are expected to be mispredicted, {context}; the usual outcome has {}",
                grouped(found.mispredictions),
                plural(found.executions, "execution"),
                share(found.usual, found.executions)
            )
        }
        Finding::WaitingLoads(found) => {
            let loads = found.loads.iter();
            let places = loads.filter_map(|load| place_of(function, &load.place, options));
            let mut places: Vec<String> = places.collect();
            places.dedup();
            format!(
                "the path {} runs about {} times; its {} take {} cycles at the median; its loads at {} have addresses that are known a turn before",
                named_with_decisions(function, found.path, options),
                grouped(found.executions),
                plural(found.instructions, "instruction"),
                grouped(found.median),
                places.join(", ")
            )
        }
    }
}

/// The short name of a path, with the decisions on it: `#3fa2 (7 → line 10)`.
fn named_with_decisions(function: &Function, path: PathId, options: &Options<'_>) -> String {
    let branches = Branches::new(&function.map, options.cwd.as_deref());
    let name = short_name(function, path);
    match decisions_of(&branches, function, path) {
        decided if decided.is_empty() => name,
        decided => format!("{name} ({decided})"),
    }
}

/// What to do.
pub(crate) fn action(advice: &Advice<'_>) -> &'static str {
    match &advice.finding {
        Finding::BusyWait(_) => {
            "let the thread sleep until it is woken: a futex, a condition variable, a channel, or a blocking call; or give it work to do meanwhile"
        }
        Finding::SameOutcome(_) => {
            "test once, before the loop: copy the condition into a local variable if the compiler cannot see that it is constant, or write a loop for each outcome"
        }
        Finding::Decided(found) if found.in_callee => {
            "split the callee into a version for each outcome, and call the right one where the first decision is made"
        }
        Finding::Decided(_) => {
            "move the second test's code to where the first decision is made, if the one implies the other in every run"
        }
        Finding::Period(_) => {
            "unroll the loop by the length of the sequence: then the tests that tell its paths apart are not needed, if the order holds in every run"
        }
        Finding::Allocation(_) => {
            "allocate once and use the memory again, or keep small objects on the stack or in an arena"
        }
        Finding::Bytes(_) => {
            "handle eight or more bytes at a time: memcpy, memcmp, memchr, a vector of bytes, or whole words"
        }
        Finding::Unpredictable(_) => {
            "avoid the branch: compute both results and select one, use a table, or order the data so that equal outcomes come together"
        }
        Finding::WaitingLoads(_) => {
            "keep what is used together in one cache line, or use an array for the list; or prefetch a turn ahead (`holloway optimize` tries that)"
        }
    }
}

/// The short place of a piece: `a.c:7`.
pub(crate) fn place_of(
    function: &Function,
    place: &Place,
    options: &Options<'_>,
) -> Option<String> {
    let (file, line) = user_place(&function.map, place)?;
    Some(file_and_line(file, line, options.cwd.as_deref()))
}

/// The shares of outcomes in their sum: `60.0 % and 40.0 %`. After three outcomes: their number.
fn shares(outcomes: &[Count]) -> String {
    let sum = outcomes
        .iter()
        .copied()
        .fold(Count::ZERO, Count::saturating_add);
    let mut words: Vec<String> = outcomes
        .iter()
        .take(MOST_OUTCOMES)
        .map(|&count| share(count, sum))
        .collect();
    if outcomes.len() > MOST_OUTCOMES {
        words.push(format!("{} more", outcomes.len() - MOST_OUTCOMES));
    }
    match words.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => words.concat(),
    }
}

/// The most outcomes whose shares are shown.
const MOST_OUTCOMES: usize = 3;
