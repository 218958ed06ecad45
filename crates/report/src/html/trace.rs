//! A line of a document with the traces of a run: what each thread did, in order.

use holloway_analysis::trace::code::Event;
use holloway_analysis::trace::stats::counts;
use holloway_analysis::trace::{Grammar, Part, Terminal};
use holloway_format::Count;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::HashMap;

use super::exact::Exact;
use super::grammar::{GrammarRecord, Rows};
use super::indices::FunctionIndices;
use super::subject::Subject;
use super::trace_before::{BeforeRecord, IndexedTrace, counterparts};
use super::trace_stats::StatsRecord;
use crate::notes::sentence;
use crate::options::Options;
use crate::phases::{Phases, phase_name};
use crate::trace::answer::{HotSequences, hot_sequences};
use crate::trace::{Cost, HotQuestion, LabeledStream, Method, MinCost, Stream, longest};

/// Symbols of all grammars of a page. They take about a megabyte.
const ROOM: usize = 400_000;
/// Number of traces.
const TRACES: usize = 20;
/// Rows of the timeline that show a function. The last row shows all other functions.
const ROWS: usize = 12;
/// Number of hot sequences of a trace.
const SEQUENCES: usize = 100;
/// Symbols of a grammar up to which the hot sequences are counted exactly, except for those of the
/// longest trace, which are always.
const EXACT_SIZE: usize = 100_000;
/// The page shows the same hot sequences as `holloway report`.
pub(super) const HOT: HotQuestion = HotQuestion {
    min_len: 2,
    max_len: 10,
    min_cost: MinCost::Percent(1.0),
    cost: Cost::Instructions,
    method: Method::Exact,
    all: false,
};

/// The traces of a run, the longest first.
#[derive(Serialize)]
pub(super) struct Traces {
    traces: Vec<TraceRecord>,
    /// Number of traces that the page does not have.
    left_out: usize,
}

/// The trace of a thread.
#[derive(Serialize)]
struct TraceRecord {
    image: String,
    title: String,
    damage: Vec<String>,
    stats: StatsRecord,
    /// By function of the trace: its index in the page, or -1.
    functions: Vec<i64>,
    /// By function of the trace: its name, if the page does not have it.
    names: Vec<String>,
    /// By terminal: a function of the trace, its path, its instructions, and the sum of 1 for a
    /// path from the entry and 2 for a path to the exit. For frames that were left: -1 and their
    /// number. For missing events: -2. For a terminal that the page does not have: -3.
    terminals: Vec<i64>,
    /// By row of the timeline: a function of the trace.
    rows: Vec<usize>,
    grammar: GrammarRecord,
    hot: HotRecord,
    /// By segment of the exact phases: the phase's name, and the position of its first event.
    phases: Vec<(char, u64)>,
    /// By function of the trace: its instructions.
    instructions: Vec<Exact>,
    /// The trace of the baseline. Absent without one.
    before: Option<BeforeRecord>,
}

/// The hot sequences of a trace.
#[derive(Serialize)]
struct HotRecord {
    method: &'static str,
    min_cost: Exact,
    total: Exact,
    found: usize,
    /// By sequence: its terminals.
    terminals: Vec<Vec<u32>>,
    counts: Vec<Exact>,
    costs: Vec<Exact>,
}

impl Traces {
    /// The traces of a page. Those that do not fit are counted.
    pub(super) fn new(
        subject: &Subject<'_>,
        indices: &FunctionIndices<'_>,
        before_indices: Option<&FunctionIndices<'_>>,
        options: &Options<'_>,
    ) -> Traces {
        let mut room = ROOM;
        let chosen = longest(subject.traces, TRACES).into_iter();
        let mut chosen: Vec<&Stream<'_>> = chosen.map(|index| &subject.traces[index]).collect();
        chosen.sort_by_key(|stream| Reverse(stream.events()));
        let before = subject.baseline.map_or(&[][..], |baseline| baseline.traces);
        let pairs = chosen.iter().zip(counterparts(&chosen, before));
        let records = pairs.enumerate().map(|(number, (stream, before))| {
            let labeled = LabeledStream::new(stream, options);
            let before = before.map(|before| LabeledStream::new(before, options));
            let is_exact = number == 0 || stream.trace.grammar.size() <= EXACT_SIZE;
            let method = match is_exact {
                true => Method::Exact,
                false => Method::Figure7,
            };
            let question = HotQuestion { method, ..HOT };
            let before = before.as_ref().zip(before_indices);
            let before = before.map(|(labeled, indices)| IndexedTrace { labeled, indices });
            let now = IndexedTrace {
                labeled: &labeled,
                indices,
            };
            TraceRecord::new(now, before, question, &mut room)
        });
        let mut traces: Vec<TraceRecord> = records.collect();
        if let (Some(longest), Some(phases)) = (traces.first_mut(), &subject.phases) {
            longest.phases = segments(phases);
        }
        Traces {
            left_out: subject.traces.len() - traces.len(),
            traces,
        }
    }
}

impl TraceRecord {
    fn new(
        now: IndexedTrace<'_>,
        before: Option<IndexedTrace<'_>>,
        question: HotQuestion,
        room: &mut usize,
    ) -> TraceRecord {
        let IndexedTrace { labeled, indices } = now;
        let stream = labeled.stream;
        let (terminals, grammar) = (&stream.trace.terminals, &stream.trace.grammar);
        let counts = counts(grammar, terminals.len());
        let functions = TraceFunctions::new(labeled, &counts);
        let weights: Vec<u64> = labeled
            .events
            .iter()
            .map(|event| event.instructions())
            .collect();
        let rows = Rows {
            row_of: &functions.rows_of_terminals(&labeled.events),
            weights: &weights,
            count: functions.rows() + 1,
        };
        let record = GrammarRecord::new(grammar, &rows, room);
        let hot = hot_sequences(labeled, &question);
        let mut has_terminal = record.terminals(terminals.len());
        let listed = hot.sequences.iter().take(SEQUENCES);
        for &terminal in listed.flat_map(|sequence| &sequence.terminals) {
            has_terminal[terminal as usize] = true;
        }
        let fields = (0usize..)
            .zip(&has_terminal)
            .flat_map(|(terminal, &has)| match has {
                true => functions.terminal(&terminals[terminal], labeled.events[terminal]),
                false => vec![-3],
            });
        TraceRecord {
            image: stream.image.to_owned(),
            title: stream.title(),
            damage: stream.damage.iter().map(sentence).collect(),
            stats: StatsRecord::new(labeled),
            terminals: fields.collect(),
            rows: (0..functions.rows()).collect(),
            functions: functions.indices(labeled, indices),
            names: functions.names(labeled, indices),
            grammar: record,
            hot: HotRecord::new(&hot),
            phases: Vec::new(),
            instructions: functions
                .instructions
                .iter()
                .map(|&sum| sum.into())
                .collect(),
            before: before.map(|before| {
                let listed = hot.sequences.iter().take(SEQUENCES);
                let sequences = listed.map(|sequence| &*sequence.terminals);
                BeforeRecord::new(now, before, &functions.functions, sequences)
            }),
        }
    }
}

impl HotRecord {
    fn new(hot: &HotSequences) -> HotRecord {
        let listed = || hot.sequences.iter().take(SEQUENCES);
        HotRecord {
            method: method_code(hot.method),
            min_cost: hot.bounds.min_cost.into(),
            total: hot.total.into(),
            found: hot.sequences.len(),
            terminals: listed()
                .map(|sequence| sequence.terminals.clone())
                .collect(),
            counts: listed().map(|sequence| sequence.count.into()).collect(),
            costs: listed().map(|sequence| sequence.cost.into()).collect(),
        }
    }
}

/// The functions of a trace, those with the most instructions first. The first of them have rows.
struct TraceFunctions {
    functions: Vec<u32>,
    /// By function: its instructions.
    instructions: Vec<u64>,
    numbers: HashMap<u32, usize>,
}

impl TraceFunctions {
    fn new(labeled: &LabeledStream<'_>, counts: &[Count]) -> TraceFunctions {
        let mut sums: HashMap<u32, u64> = HashMap::new();
        for (event, count) in labeled.events.iter().zip(counts) {
            if let Some(function) = event.function() {
                let sum = sums.entry(function).or_default();
                *sum = sum.saturating_add(count.0.saturating_mul(event.instructions()));
            }
        }
        let mut functions: Vec<u32> = sums.keys().copied().collect();
        functions.sort_by_key(|function| (Reverse(sums[function]), *function));
        let numbers = functions.iter().copied().zip(0..).collect();
        let instructions = functions.iter().map(|function| sums[function]).collect();
        TraceFunctions {
            functions,
            instructions,
            numbers,
        }
    }

    /// Number of functions with rows.
    fn rows(&self) -> usize {
        self.functions.len().min(ROWS)
    }

    /// By terminal: its row. Events that are no paths are in the last row.
    fn rows_of_terminals(&self, events: &[Event]) -> Vec<usize> {
        let row = |event: &Event| {
            let number = event
                .function()
                .and_then(|function| self.numbers.get(&function));
            number.map_or(self.rows(), |&number| number.min(self.rows()))
        };
        events.iter().map(row).collect()
    }

    /// The fields of a terminal.
    fn terminal(&self, terminal: &Terminal, event: Event) -> Vec<i64> {
        match (*terminal, event) {
            (Terminal::Path { function, path }, Event::Path { .. }) => vec![
                self.numbers[&function] as i64,
                path.into(),
                event.instructions() as i64,
                i64::from(event.enters()) + 2 * i64::from(event.leaves()),
            ],
            (Terminal::Left(frames), _) => vec![-1, frames.into()],
            (Terminal::Path { .. } | Terminal::Gap, _) => vec![-2],
        }
    }

    /// By function: its index in the page, or -1.
    fn indices(&self, labeled: &LabeledStream<'_>, indices: &FunctionIndices<'_>) -> Vec<i64> {
        let index = |&function: &u32| indices.of_trace(labeled.stream, function);
        self.functions.iter().map(index).collect()
    }

    /// By function: its name, if the page does not have it.
    fn names(&self, labeled: &LabeledStream<'_>, indices: &FunctionIndices<'_>) -> Vec<String> {
        let name = |&function: &u32| match indices.of_trace(labeled.stream, function) {
            -1 => labeled.function(function).to_string(),
            _ => String::new(),
        };
        self.functions.iter().map(name).collect()
    }
}

/// The word for a method, as in docs/json.md.
fn method_code(method: Method) -> &'static str {
    match method {
        Method::Exact => "exact",
        Method::Figure7 => "figure-7",
    }
}

/// By segment of the exact phases: the phase's name, and the position of its first event.
fn segments(phases: &Phases<'_>) -> Vec<(char, u64)> {
    let trace = phases.thread.stream.trace;
    let terminals = 0..trace.terminals.len() as u32;
    let branches =
        terminals.map(|terminal| phases.answer.stream.of_terminal(terminal).len() as u64);
    let positions = Positions::new(&trace.grammar, branches.collect());
    let segments = phases.answer.exact.segments.iter();
    segments
        .map(|segment| {
            (
                phase_name(segment.phase),
                positions.event_after(segment.start.0),
            )
        })
        .collect()
}

/// Finds events by the branches before them.
struct Positions<'a> {
    grammar: &'a Grammar,
    /// By terminal: its branches.
    terminals: Vec<u64>,
    /// By rule: the branches of its expansion.
    rules: Vec<u64>,
}

impl<'a> Positions<'a> {
    fn new(grammar: &'a Grammar, terminals: Vec<u64>) -> Positions<'a> {
        let rules = vec![0; grammar.rules() as usize];
        let mut positions = Positions {
            grammar,
            terminals,
            rules,
        };
        for rule in (0..grammar.rules()).rev() {
            let branches = grammar.rule(rule).iter();
            let branches = branches.map(|symbol| positions.branches(symbol.part()));
            positions.rules[rule as usize] = branches.fold(0, u64::saturating_add);
        }
        positions
    }

    fn branches(&self, part: Part) -> u64 {
        match part {
            Part::Terminal(terminal) => self.terminals[terminal as usize],
            Part::Rule(rule) => self.rules[rule as usize],
        }
    }

    /// The position of the first event after `before` branches.
    fn event_after(&self, mut before: u64) -> u64 {
        let mut position = 0;
        let mut right_side = self.grammar.rule(0).iter();
        while before > 0 {
            let Some(symbol) = right_side.next() else {
                break;
            };
            let branches = self.branches(symbol.part());
            match symbol.part() {
                Part::Rule(rule) if branches > before => {
                    right_side = self.grammar.rule(rule).iter();
                }
                Part::Rule(_) | Part::Terminal(_) => {
                    position += self.grammar.length_of(*symbol);
                    before = before.saturating_sub(branches);
                }
            }
        }
        position
    }
}
