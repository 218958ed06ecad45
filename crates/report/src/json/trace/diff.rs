//! Writes the comparison of two traces as JSON.

use holloway_analysis::trace::diff::Unit;
use holloway_format::Count;
use serde::Serialize;

use super::stream::{Head, Table, TerminalRecord};
use crate::json::document::SCHEMA;
use crate::trace::compare::{SharedSymbol, StreamDiff};
use crate::trace::{AskError, Comparison, LabeledStream};

#[derive(Serialize)]
pub(super) struct Document<'a> {
    schema: u32,
    question: &'static str,
    unit: &'static str,
    max_len: usize,
    same: bool,
    pairs: Vec<Pair<'a>>,
}

#[derive(Serialize)]
struct Pair<'a> {
    same: bool,
    common: u64,
    a: Side<'a>,
    b: Side<'a>,
}

#[derive(Serialize)]
struct Side<'a> {
    #[serde(flatten)]
    head: Head<'a>,
    functions_alone: u64,
    next: Vec<u32>,
    only: Vec<SequenceRecord>,
    terminals: Vec<TerminalRecord>,
}

#[derive(Serialize)]
struct SequenceRecord {
    #[serde(skip_serializing_if = "Option::is_none")]
    terminals: Option<Vec<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    functions: Option<Vec<String>>,
    count: Count,
    first: Option<u64>,
}

/// Number of events of each trace that are listed from the first difference on.
const EVENTS_AFTER: usize = 5;
/// The positions of first executions are searched for this number of sequences.
const WITH_POSITION: usize = 100;

pub(super) fn document<'a>(
    labeled_streams: &[[LabeledStream<'a>; 2]],
    comparison: &Comparison,
    top: Option<usize>,
) -> Result<Document<'a>, AskError> {
    let pairs = labeled_streams
        .iter()
        .map(|labeled_streams| pair(labeled_streams, comparison, top));
    let pairs = pairs.collect::<Result<Vec<_>, _>>()?;
    Ok(Document {
        schema: SCHEMA,
        question: "diff",
        unit: match comparison.unit {
            Unit::Events => "events",
            Unit::Functions => "functions",
        },
        max_len: comparison.max_len,
        same: pairs.iter().all(|pair| pair.same),
        pairs,
    })
}

fn pair<'a>(
    labeled_streams: &[LabeledStream<'a>; 2],
    comparison: &Comparison,
    top: Option<usize>,
) -> Result<Pair<'a>, AskError> {
    let stream_diff = StreamDiff::new(labeled_streams, comparison)?;
    Ok(Pair {
        same: stream_diff.diff.is_same(),
        common: stream_diff.diff.common,
        a: side(labeled_streams, &stream_diff, 0, top),
        b: side(labeled_streams, &stream_diff, 1, top),
    })
}

fn side<'a>(
    labeled_streams: &[LabeledStream<'a>; 2],
    stream_diff: &StreamDiff,
    side: usize,
    top: Option<usize>,
) -> Side<'a> {
    let labeled = &labeled_streams[side];
    let table = Table::new(labeled);
    let events = labeled
        .stream
        .trace
        .grammar
        .expand_from(stream_diff.diff.common);
    let next = events
        .take(EVENTS_AFTER)
        .map(|terminal| table.number(terminal))
        .collect();
    let sequences = stream_diff.diff.one_sided[side]
        .iter()
        .take(top.unwrap_or(usize::MAX));
    let only = sequences.enumerate().map(|(index, sequence)| {
        let (mut terminals, mut functions) = (Vec::new(), Vec::new());
        for &symbol in &sequence.symbols {
            match stream_diff.symbol_in(side, symbol) {
                Some(SharedSymbol::Terminal(terminal)) => terminals.push(table.number(terminal)),
                Some(SharedSymbol::Function(function)) => {
                    functions.push(labeled.function(function).to_string());
                }
                None => {}
            }
        }
        let first = (index < WITH_POSITION)
            .then(|| stream_diff.first_execution(labeled_streams, side, &sequence.symbols))
            .flatten();
        SequenceRecord {
            terminals: (!terminals.is_empty()).then_some(terminals),
            functions: (!functions.is_empty()).then_some(functions),
            count: sequence.count,
            first: first.map(|span| span.0),
        }
    });
    Side {
        head: Head::new(labeled.stream),
        functions_alone: stream_diff.alphabet.unmatched[side],
        next,
        only: only.collect(),
        terminals: table.records(),
    }
}
