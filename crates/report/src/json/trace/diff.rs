//! Two traces compared, as JSON.

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

/// Events listed of each trace behind the place where they part.
const NEXT: usize = 5;
/// Sequences whose first place is looked for.
const PLACED: usize = 100;

pub(super) fn document<'a>(
    sights: &[[LabeledStream<'a>; 2]],
    how: &Comparison,
    top: Option<usize>,
) -> Result<Document<'a>, AskError> {
    let pairs = sights.iter().map(|sights| pair(sights, how, top));
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
    sights: &[LabeledStream<'a>; 2],
    how: &Comparison,
    top: Option<usize>,
) -> Result<Pair<'a>, AskError> {
    let compared = Compared::new(sights, how)?;
    Ok(Pair {
        same: compared.diff.is_same(),
        common: compared.diff.common,
        a: side(sights, &compared, 0, top),
        b: side(sights, &compared, 1, top),
    })
}

fn side<'a>(
    sights: &[LabeledStream<'a>; 2],
    compared: &Compared,
    side: usize,
    top: Option<usize>,
) -> Side<'a> {
    let sight = &sights[side];
    let table = Table::new(sight);
    let events = sight.stream.trace.grammar.expand_from(compared.diff.common);
    let next = events.take(NEXT).map(|one| table.number(one)).collect();
    let all = compared.diff.only[side]
        .iter()
        .take(top.unwrap_or(usize::MAX));
    let only = all.enumerate().map(|(index, one)| {
        let (mut terminals, mut functions) = (Vec::new(), Vec::new());
        for &symbol in &one.symbols {
            match compared.shown(side, symbol) {
                Some(SharedSymbol::Terminal(terminal)) => terminals.push(table.number(terminal)),
                Some(SharedSymbol::Function(function)) => {
                    functions.push(sight.function(function).to_string());
                }
                None => {}
            }
        }
        let first = (index < PLACED)
            .then(|| compared.first(sights, side, &one.symbols))
            .flatten();
        OnlyRecord {
            terminals: (!terminals.is_empty()).then_some(terminals),
            functions: (!functions.is_empty()).then_some(functions),
            count: one.count,
            first: first.map(|span| span.0),
        }
    });
    Side {
        head: Head::new(sight.stream),
        functions_alone: compared.alphabet.alone[side],
        next,
        only: only.collect(),
        terminals: table.records(),
    }
}
