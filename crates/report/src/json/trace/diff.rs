//! Comparison of two traces, as JSON.

use holloway_analysis::trace::diff::Unit;
use serde::Serialize;

use super::stream::{Head, Table, TerminalRecord};
use crate::json::document::SCHEMA;
use crate::trace::compare::{Compared, SharedSymbol};
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
    only: Vec<OnlyRecord>,
    terminals: Vec<TerminalRecord>,
}

#[derive(Serialize)]
struct OnlyRecord {
    #[serde(skip_serializing_if = "Option::is_none")]
    terminals: Option<Vec<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    functions: Option<Vec<String>>,
    count: u64,
    first: Option<u64>,
}

/// Events listed of each trace after their common beginning.
const NEXT: usize = 5;
/// Sequences whose first position is searched for.
const PLACED: usize = 100;

pub(super) fn document<'a>(
    labeled_streams: &[[LabeledStream<'a>; 2]],
    how: &Comparison,
    top: Option<usize>,
) -> Result<Document<'a>, AskError> {
    let pairs = labeled_streams
        .iter()
        .map(|labeled_streams| pair(labeled_streams, how, top));
    let pairs = pairs.collect::<Result<Vec<_>, _>>()?;
    Ok(Document {
        schema: SCHEMA,
        question: "diff",
        unit: match how.unit {
            Unit::Events => "events",
            Unit::Functions => "functions",
        },
        max_len: how.max_len,
        same: pairs.iter().all(|pair| pair.same),
        pairs,
    })
}

fn pair<'a>(
    labeled_streams: &[LabeledStream<'a>; 2],
    how: &Comparison,
    top: Option<usize>,
) -> Result<Pair<'a>, AskError> {
    let compared = Compared::new(labeled_streams, how)?;
    Ok(Pair {
        same: compared.diff.is_same(),
        common: compared.diff.common,
        a: side(labeled_streams, &compared, 0, top),
        b: side(labeled_streams, &compared, 1, top),
    })
}

fn side<'a>(
    labeled_streams: &[LabeledStream<'a>; 2],
    compared: &Compared,
    side: usize,
    top: Option<usize>,
) -> Side<'a> {
    let labeled = &labeled_streams[side];
    let table = Table::new(labeled);
    let events = labeled
        .stream
        .trace
        .grammar
        .expand_from(compared.diff.common);
    let next = events
        .take(NEXT)
        .map(|terminal| table.number(terminal))
        .collect();
    let all = compared.diff.one_sided[side]
        .iter()
        .take(top.unwrap_or(usize::MAX));
    let only = all.enumerate().map(|(index, sequence)| {
        let (mut terminals, mut functions) = (Vec::new(), Vec::new());
        for &symbol in &sequence.symbols {
            match compared.shown(side, symbol) {
                Some(SharedSymbol::Terminal(terminal)) => terminals.push(table.number(terminal)),
                Some(SharedSymbol::Function(function)) => {
                    functions.push(labeled.function(function).to_string());
                }
                None => {}
            }
        }
        let first = (index < PLACED)
            .then(|| compared.first(labeled_streams, side, &sequence.symbols))
            .flatten();
        OnlyRecord {
            terminals: (!terminals.is_empty()).then_some(terminals),
            functions: (!functions.is_empty()).then_some(functions),
            count: sequence.count,
            first: first.map(|span| span.0),
        }
    });
    Side {
        head: Head::new(labeled.stream),
        functions_alone: compared.alphabet.unmatched[side],
        next,
        only: only.collect(),
        terminals: table.records(),
    }
}
