//! Converts the answer to each question into a JSON record. The fields of records are keys, which
//! docs/json.md explains.

use holloway_analysis::trace::before::{Order, Runs};
use holloway_analysis::trace::context::Context;
use holloway_analysis::trace::grams::Grams;
use holloway_analysis::trace::stats::Stats;
use holloway_format::Count;
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};

use super::stream::Table;
use crate::trace::answer::{Answer, CountedAs, HotSequences, Verified};
use crate::trace::{Cost, HotQuestion, LabeledStream, Method, Question};

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum AnswerRecord<'a> {
    Stats(StatsRecord),
    Cat {
        from: u64,
        sequence: Events<'a>,
    },
    Verify {
        same: Option<bool>,
        good: bool,
        /// Whether the run recorded only a sample of the events, because the user asked for
        /// `--sample`.
        sample: bool,
        #[serde(flatten)]
        stats: StatsRecord,
    },
    Hot(HotRecord),
    Freq {
        counted: &'static str,
        count: Count,
        first: Option<u64>,
        last: Option<u64>,
    },
    Before(BeforeRecord),
    Context(ContextRecord),
    Loops {
        sequences: Vec<SequenceRecord>,
    },
    Query {
        count: Count,
        first: Option<Span>,
        last_end: Option<u64>,
    },
}

#[derive(Serialize)]
pub(super) struct StatsRecord {
    trace_bytes: u64,
    file_bytes: Option<u64>,
    paths: Count,
    distinct_paths: u64,
    functions: u64,
    instructions: Count,
    enters: Count,
    leaves: Count,
    left: Count,
    gaps: Count,
    rules: u64,
    symbols: u64,
}

#[derive(Serialize)]
pub(super) struct HotRecord {
    method: &'static str,
    cost: &'static str,
    min_len: usize,
    max_len: usize,
    min_cost: u64,
    total: u64,
    found: usize,
    sequences: Vec<HotSequence>,
}

#[derive(Serialize)]
struct HotSequence {
    terminals: Vec<u32>,
    count: Count,
    cost: u64,
    minimal: bool,
}

#[derive(Serialize)]
pub(super) struct BeforeRecord {
    p_is_first: Option<bool>,
    p: RunsRecord,
    q: RunsRecord,
    at_once: Count,
    next: Count,
    later: Count,
    preceded: Count,
    without: RunsRecord,
    unanswered: RunsRecord,
}

#[derive(Serialize)]
struct RunsRecord {
    #[serde(skip_serializing_if = "Option::is_none")]
    counted: Option<&'static str>,
    count: Count,
    first: Option<u64>,
    last: Option<u64>,
}

#[derive(Serialize)]
pub(super) struct ContextRecord {
    counted: &'static str,
    count: Count,
    before: Vec<Neighbor>,
    after: Vec<Neighbor>,
    callers: Vec<Caller>,
}

#[derive(Serialize)]
struct Neighbor {
    terminal: u32,
    count: Count,
}

#[derive(Serialize)]
struct Caller {
    name: Option<String>,
    linkage_name: Option<String>,
    count: Count,
}

#[derive(Serialize)]
pub(super) struct SequenceRecord {
    terminals: Vec<u32>,
    count: Count,
}

#[derive(Serialize)]
pub(super) struct Span {
    from: u64,
    to: u64,
    terminals: Vec<u32>,
}

/// The events of `cat`. They are written one after the other as the grammar generates them, because
/// a list of all events may not fit into memory.
pub(super) struct Events<'a> {
    table: &'a Table<'a>,
    from: u64,
    count: u64,
}

impl Serialize for Events<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut events = serializer.serialize_seq(None)?;
        let count = usize::try_from(self.count).unwrap_or(usize::MAX);
        let terminals = self.table.labeled.stream.terminals_from(self.from);
        for terminal in terminals.take(count) {
            events.serialize_element(&self.table.number(terminal))?;
        }
        events.end()
    }
}

/// Maximum number of events of a first match that are listed.
const MAX_LISTED: u64 = 1000;

impl<'a> AnswerRecord<'a> {
    pub(super) fn new(
        table: &'a Table<'a>,
        question: &Question<'_>,
        answer: &Answer,
        top: Option<usize>,
    ) -> AnswerRecord<'a> {
        let top = top.unwrap_or(usize::MAX);
        let labeled = table.labeled;
        match answer {
            Answer::Stats(answer) => AnswerRecord::Stats(stats(labeled, answer)),
            &Answer::Cat { from, count } => {
                // The events are written after the table of terminals is complete, so all terminals
                // get their numbers now.
                (0..labeled.events.len() as u32).for_each(|terminal| _ = table.number(terminal));
                let sequence = Events { table, from, count };
                AnswerRecord::Cat { from, sequence }
            }
            Answer::Verify(verified) => verify(labeled, verified),
            Answer::Hot(answer) => AnswerRecord::Hot(hot(table, question, answer, top)),
            Answer::Freq(frequency, unit) => AnswerRecord::Freq {
                counted: unit.name(),
                count: frequency.count,
                first: frequency.ends.map(|ends| ends.0),
                last: frequency.ends.map(|ends| ends.1),
            },
            Answer::Before(order, units) => AnswerRecord::Before(before(order, *units)),
            Answer::Context(answer, unit) => {
                AnswerRecord::Context(context(table, answer, *unit, top))
            }
            Answer::Loops(grams) => AnswerRecord::Loops {
                sequences: sequences(table, grams, top),
            },
            Answer::Query(matches) => AnswerRecord::Query {
                count: matches.count,
                first: matches.first.map(|(from, to)| span(table, from, to)),
                last_end: matches.last_end,
            },
        }
    }
}

fn stats(labeled: &LabeledStream<'_>, stats: &Stats) -> StatsRecord {
    StatsRecord {
        trace_bytes: stats.trace_bytes(),
        file_bytes: labeled.stream.file_bytes,
        paths: stats.paths,
        distinct_paths: stats.distinct_paths,
        functions: stats.functions,
        instructions: stats.instructions,
        enters: stats.enters,
        leaves: stats.leaves,
        left: stats.left,
        gaps: stats.gaps,
        rules: stats.rules,
        symbols: stats.symbols,
    }
}

fn verify<'a>(labeled: &LabeledStream<'_>, verified: &Verified) -> AnswerRecord<'a> {
    AnswerRecord::Verify {
        same: verified.is_same,
        good: verified.is_good,
        sample: verified.is_sample,
        stats: stats(labeled, &verified.stats),
    }
}

fn hot(table: &Table<'_>, question: &Question<'_>, answer: &HotSequences, top: usize) -> HotRecord {
    let record = |sequence: &holloway_analysis::trace::hot::HotSubpath| HotSequence {
        terminals: table.numbers(&sequence.terminals),
        count: sequence.count,
        cost: sequence.cost,
        minimal: sequence.minimal,
    };
    HotRecord {
        method: match answer.method {
            Method::Exact => "exact",
            Method::Figure7 => "figure-7",
        },
        cost: match question {
            Question::Hot(HotQuestion {
                cost: Cost::Paths, ..
            }) => "paths",
            _ => "instructions",
        },
        min_len: answer.bounds.min_len,
        max_len: answer.bounds.max_len,
        min_cost: answer.bounds.min_cost,
        total: answer.total,
        found: answer.sequences.len(),
        sequences: answer.sequences.iter().take(top).map(record).collect(),
    }
}

fn runs(runs: &Runs) -> RunsRecord {
    RunsRecord {
        counted: None,
        count: runs.count,
        first: runs.ends.map(|ends| ends.0),
        last: runs.ends.map(|ends| ends.1),
    }
}

fn before(order: &Order, units: [CountedAs; 2]) -> BeforeRecord {
    let with_unit = |pattern_runs: &Runs, unit: CountedAs| RunsRecord {
        counted: Some(unit.name()),
        ..runs(pattern_runs)
    };
    BeforeRecord {
        p_is_first: order.p_is_first(),
        p: with_unit(&order.p, units[0]),
        q: with_unit(&order.q, units[1]),
        at_once: order.at_once,
        next: order.before_next_p,
        later: order.later,
        preceded: order.preceded,
        without: runs(&order.q_without_p),
        unanswered: runs(&order.unanswered),
    }
}

fn context(table: &Table<'_>, context: &Context, unit: CountedAs, top: usize) -> ContextRecord {
    let neighbors = |list: &[(u32, Count)]| {
        let list = list.iter().take(top).map(|&(terminal, count)| Neighbor {
            terminal: table.number(terminal),
            count,
        });
        list.collect()
    };
    let labeled = table.labeled;
    let callers = context.callers.iter().take(top).map(|&(function, count)| {
        let map = function.and_then(|function| labeled.stream.code.function(function));
        Caller {
            name: function.map(|function| labeled.function(function).to_string()),
            linkage_name: map.map(|map| map.linkage_name.to_string()),
            count,
        }
    });
    ContextRecord {
        counted: unit.name(),
        count: context.count,
        before: neighbors(&context.before),
        after: neighbors(&context.after),
        callers: callers.collect(),
    }
}

/// Lists sequences, most frequent first. Among equally frequent sequences, shorter ones come first.
fn sequences(table: &Table<'_>, grams: &Grams, top: usize) -> Vec<SequenceRecord> {
    let mut sequences: Vec<(Count, Vec<u32>)> = grams
        .nodes()
        .map(|(id, node)| (node.count, grams.symbols(id)))
        .collect();
    sequences.sort_by(|a, b| (b.0, a.1.len(), &a.1).cmp(&(a.0, b.1.len(), &b.1)));
    let records = sequences
        .into_iter()
        .take(top)
        .map(|(count, symbols)| SequenceRecord {
            terminals: table.numbers(&symbols),
            count,
        });
    records.collect()
}

fn span(table: &Table<'_>, from: u64, to: u64) -> Span {
    let events = table.labeled.stream.trace.grammar.expand_from(from);
    let listed = events.take((to - from + 1).min(MAX_LISTED) as usize);
    Span {
        from,
        to,
        terminals: listed.map(|terminal| table.number(terminal)).collect(),
    }
}
