//! The answer to each question, as JSON.

use holloway_analysis::trace::before::{Order, Runs};
use holloway_analysis::trace::context::Context;
use holloway_analysis::trace::grams::Grams;
use holloway_analysis::trace::stats::Stats;
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};

use super::stream::Table;
use crate::trace::answer::{Answer, CountedAs, HotSequences, Verified};
use crate::trace::{Cost, Hot, LabeledStream, Method, Question};

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
        /// Whether the run recorded only a sample of the events, as asked.
        sample: bool,
        #[serde(flatten)]
        stats: StatsRecord,
    },
    Hot(HotRecord),
    Freq {
        counted: &'static str,
        count: u64,
        first: Option<u64>,
        last: Option<u64>,
    },
    Before(BeforeRecord),
    Context(ContextRecord),
    Loops {
        sequences: Vec<SequenceRecord>,
    },
    Query {
        count: u64,
        first: Option<Span>,
        last_end: Option<u64>,
    },
}

#[derive(Serialize)]
pub(super) struct StatsRecord {
    trace_bytes: u64,
    file_bytes: Option<u64>,
    paths: u64,
    distinct_paths: u64,
    functions: u64,
    instructions: u64,
    enters: u64,
    leaves: u64,
    left: u64,
    gaps: u64,
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
    count: u64,
    cost: u64,
    minimal: bool,
}

#[derive(Serialize)]
pub(super) struct BeforeRecord {
    p_is_first: Option<bool>,
    p: RunsRecord,
    q: RunsRecord,
    at_once: u64,
    next: u64,
    later: u64,
    preceded: u64,
    without: RunsRecord,
    unanswered: RunsRecord,
}

#[derive(Serialize)]
struct RunsRecord {
    #[serde(skip_serializing_if = "Option::is_none")]
    counted: Option<&'static str>,
    count: u64,
    first: Option<u64>,
    last: Option<u64>,
}

#[derive(Serialize)]
pub(super) struct ContextRecord {
    counted: &'static str,
    count: u64,
    before: Vec<Neighbour>,
    after: Vec<Neighbour>,
    callers: Vec<Caller>,
}

#[derive(Serialize)]
struct Neighbour {
    terminal: u32,
    count: u64,
}

#[derive(Serialize)]
struct Caller {
    name: Option<String>,
    linkage_name: Option<String>,
    count: u64,
}

#[derive(Serialize)]
pub(super) struct SequenceRecord {
    terminals: Vec<u32>,
    count: u64,
}

#[derive(Serialize)]
pub(super) struct Span {
    from: u64,
    to: u64,
    terminals: Vec<u32>,
}

/// Events, written to the document one after the other as the grammar generates them.
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

/// Most events of a first match that are listed.
const LISTED: u64 = 1000;

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
            Answer::Stats(found) => AnswerRecord::Stats(stats(labeled, found)),
            &Answer::Cat { from, count } => {
                // The table of terminals is made before the events are written, so all terminals
                // get their numbers now.
                (0..labeled.events.len() as u32).for_each(|terminal| _ = table.number(terminal));
                let sequence = Events { table, from, count };
                AnswerRecord::Cat { from, sequence }
            }
            Answer::Verify(found) => verify(labeled, found),
            Answer::Hot(found) => AnswerRecord::Hot(hot(table, question, found, top)),
            Answer::Freq(found, unit) => AnswerRecord::Freq {
                counted: unit.name(),
                count: found.count,
                first: found.ends.map(|ends| ends.0),
                last: found.ends.map(|ends| ends.1),
            },
            Answer::Before(order, units) => AnswerRecord::Before(before(order, *units)),
            Answer::Context(found, unit) => {
                AnswerRecord::Context(context(table, found, *unit, top))
            }
            Answer::Loops(grams) => AnswerRecord::Loops {
                sequences: sequences(table, grams, top),
            },
            Answer::Query(found) => AnswerRecord::Query {
                count: found.count,
                first: found.first.map(|(from, to)| span(table, from, to)),
                last_end: found.last_end,
            },
        }
    }
}

fn stats(labeled: &LabeledStream<'_>, found: &Stats) -> StatsRecord {
    StatsRecord {
        trace_bytes: found.trace_bytes(),
        file_bytes: labeled.stream.file_bytes,
        paths: found.paths,
        distinct_paths: found.distinct_paths,
        functions: found.functions,
        instructions: found.instructions,
        enters: found.enters,
        leaves: found.leaves,
        left: found.left,
        gaps: found.gaps,
        rules: found.rules,
        symbols: found.symbols,
    }
}

fn verify<'a>(labeled: &LabeledStream<'_>, found: &Verified) -> AnswerRecord<'a> {
    AnswerRecord::Verify {
        same: found.is_same,
        good: found.is_good,
        sample: found.is_sample,
        stats: stats(labeled, &found.stats),
    }
}

fn hot(table: &Table<'_>, question: &Question<'_>, found: &HotSequences, top: usize) -> HotRecord {
    let record = |sequence: &holloway_analysis::trace::hot::HotSubpath| HotSequence {
        terminals: table.numbers(&sequence.terminals),
        count: sequence.count,
        cost: sequence.cost,
        minimal: sequence.minimal,
    };
    HotRecord {
        method: match found.method {
            Method::Exact => "exact",
            Method::Figure7 => "figure-7",
        },
        cost: match question {
            Question::Hot(Hot {
                cost: Cost::Paths, ..
            }) => "paths",
            _ => "instructions",
        },
        min_len: found.bounds.min_len,
        max_len: found.bounds.max_len,
        min_cost: found.bounds.min_cost,
        total: found.total,
        found: found.hot.len(),
        sequences: found.hot.iter().take(top).map(record).collect(),
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
    let counted = |found: &Runs, unit: CountedAs| RunsRecord {
        counted: Some(unit.name()),
        ..runs(found)
    };
    BeforeRecord {
        p_is_first: order.p_is_first(),
        p: counted(&order.p, units[0]),
        q: counted(&order.q, units[1]),
        at_once: order.at_once,
        next: order.next,
        later: order.later,
        preceded: order.preceded,
        without: runs(&order.without),
        unanswered: runs(&order.unanswered),
    }
}

fn context(table: &Table<'_>, found: &Context, unit: CountedAs, top: usize) -> ContextRecord {
    let neighbors = |list: &[(u32, u64)]| {
        let list = list.iter().take(top).map(|&(terminal, count)| Neighbour {
            terminal: table.number(terminal),
            count,
        });
        list.collect()
    };
    let labeled = table.labeled;
    let callers = found.callers.iter().take(top).map(|&(function, count)| {
        let map = function.and_then(|function| labeled.stream.code.function(function));
        Caller {
            name: function.map(|function| labeled.function(function).to_string()),
            linkage_name: map.map(|map| map.linkage_name.to_string()),
            count,
        }
    });
    ContextRecord {
        counted: unit.name(),
        count: found.count,
        before: neighbors(&found.before),
        after: neighbors(&found.after),
        callers: callers.collect(),
    }
}

/// Sequences, most frequent first. Among equally frequent sequences, shorter ones come first.
fn sequences(table: &Table<'_>, grams: &Grams, top: usize) -> Vec<SequenceRecord> {
    let mut all: Vec<(u64, Vec<u32>)> = grams
        .nodes()
        .map(|(id, node)| (node.count, grams.symbols(id)))
        .collect();
    all.sort_by(|a, b| (b.0, a.1.len(), &a.1).cmp(&(a.0, b.1.len(), &b.1)));
    let all = all
        .into_iter()
        .take(top)
        .map(|(count, symbols)| SequenceRecord {
            terminals: table.numbers(&symbols),
            count,
        });
    all.collect()
}

fn span(table: &Table<'_>, from: u64, to: u64) -> Span {
    let events = table.labeled.stream.trace.grammar.expand_from(from);
    let listed = events.take((to - from + 1).min(LISTED) as usize);
    Span {
        from,
        to,
        terminals: listed.map(|terminal| table.number(terminal)).collect(),
    }
}
