//! The trace of a baseline beside a trace of the run: its totals, the instructions of the same
//! functions, and the executions of the same hot sequences.
//!
//! Paths are the same if [`Alphabet`] finds them the same, as in `holloway trace diff`: then their
//! functions have the same graph. The totals of a function are also compared if its graph differs,
//! as in the page's table of functions.

use holloway_analysis::trace::diff::{Alphabet, executions};
use holloway_analysis::trace::stats::counts;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::exact::Exact;
use super::indices::FunctionIndices;
use super::trace_stats::StatsRecord;
use crate::trace::{LabeledStream, Stream};

/// Symbols of a baseline's grammar up to which the hot sequences are counted in it. Each count
/// reads the whole grammar.
const COUNTED_SIZE: usize = 1_000_000;

/// The baseline of a trace.
#[derive(Serialize)]
pub(super) struct BeforeRecord {
    title: String,
    stats: StatsRecord,
    /// By function of the run's trace: its instructions in the baseline.
    instructions: Vec<Exact>,
    /// By listed hot sequence: its executions in the baseline. Absent if the baseline is too large,
    /// or if a function of the sequence has another graph there.
    hot: Vec<Option<Exact>>,
}

/// A trace, and the indices of its functions in the page.
#[derive(Clone, Copy)]
pub(super) struct IndexedTrace<'a> {
    pub(super) labeled: &'a LabeledStream<'a>,
    pub(super) indices: &'a FunctionIndices<'a>,
}

/// A function of two traces: its index in the page, or a number of the [`Alphabet`] if the page
/// does not have it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum SameFunction {
    InPage(i64),
    InTraces(u32),
}

impl IndexedTrace<'_> {
    /// `numbers` has the number of each function in the alphabet.
    fn same(&self, function: u32, numbers: &[u32]) -> SameFunction {
        match self.indices.of_trace(self.labeled.stream, function) {
            -1 => SameFunction::InTraces(numbers[function as usize]),
            index => SameFunction::InPage(index),
        }
    }
}

impl BeforeRecord {
    /// `functions` and `sequences` are those of the run's trace.
    pub(super) fn new<'s>(
        now: IndexedTrace<'_>,
        before: IndexedTrace<'_>,
        functions: &[u32],
        sequences: impl Iterator<Item = &'s [u32]>,
    ) -> BeforeRecord {
        let streams = [now.labeled.stream, before.labeled.stream];
        let alphabet = Alphabet::new(
            streams.map(|stream| stream.code),
            streams.map(|stream| &*stream.trace.terminals),
            &|map| now.labeled.names.name_of(&map.linkage_name, &map.name),
        );
        let grammar = &streams[1].trace.grammar;
        let sums = instructions(before, &alphabet.functions[1]);
        let sum = |function: &u32| {
            let same = now.same(*function, &alphabet.functions[0]);
            sums.get(&same).copied().unwrap_or(0).into()
        };
        let known: HashSet<u32> = alphabet.functions[1].iter().copied().collect();
        let is_changed = |&terminal: &u32| {
            let function = now.labeled.events[terminal as usize].function();
            function.is_some_and(|function| {
                !known.contains(&alphabet.functions[0][function as usize])
                    && sums.contains_key(&now.same(function, &alphabet.functions[0]))
            })
        };
        let is_small = grammar.size() <= COUNTED_SIZE;
        let executions = |sequence: &[u32]| {
            if !is_small || sequence.iter().any(is_changed) {
                return None;
            }
            let numbers = sequence.iter();
            let numbers = numbers.map(|&terminal| alphabet.terminals[0][terminal as usize]);
            let numbers: Vec<u32> = numbers.collect();
            Some(executions(grammar, &alphabet.terminals[1], &numbers).into())
        };
        BeforeRecord {
            title: streams[1].title(),
            stats: StatsRecord::new(before.labeled),
            instructions: functions.iter().map(sum).collect(),
            hot: sequences.map(executions).collect(),
        }
    }
}

/// The instructions of a trace by function. `numbers` has the number of each function.
fn instructions(traced: IndexedTrace<'_>, numbers: &[u32]) -> HashMap<SameFunction, u64> {
    let labeled = traced.labeled;
    let trace = labeled.stream.trace;
    let counts = counts(&trace.grammar, trace.terminals.len());
    let mut sums: HashMap<SameFunction, u64> = HashMap::new();
    for (event, count) in labeled.events.iter().zip(counts) {
        if let Some(function) = event.function() {
            let sum = sums.entry(traced.same(function, numbers)).or_default();
            *sum = sum.saturating_add(count.0.saturating_mul(event.instructions()));
        }
    }
    sums
}

/// By trace of the run: the trace of the baseline that it is compared with. Both are ranked by
/// their length among the traces of their image. If the baseline has no image of this name, they
/// are ranked among all traces.
pub(super) fn counterparts<'s, 'a>(
    now: &[&Stream<'_>],
    before: &'s [Stream<'a>],
) -> Vec<Option<&'s Stream<'a>>> {
    let mut before: Vec<&Stream<'a>> = before.iter().collect();
    before.sort_by_key(|stream| Reverse(stream.events()));
    let ranked = now.iter().enumerate().map(|(rank, stream)| {
        let has_image = |other: &&&Stream<'a>| other.image == stream.image;
        match before.iter().any(|other| has_image(&other)) {
            false => before.get(rank),
            true => {
                let same = now[..rank].iter().filter(|each| each.image == stream.image);
                before.iter().filter(has_image).nth(same.count())
            }
        }
    });
    ranked.map(Option::<&&Stream<'a>>::copied).collect()
}
