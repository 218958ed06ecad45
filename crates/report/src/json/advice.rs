//! Writes advice for people as JSON (section `advise` of docs/json.md).

use std::io::{self, Write};

use holloway_analysis::advice::allocation::RepeatedBy;
use holloway_analysis::advice::cost::Unit;
use holloway_analysis::advice::{Advice, Finding};
use holloway_format::Count;
use serde::Serialize;

use super::document::{self, SCHEMA};
use crate::advice::{AdviceReport, action, evidence, missing, name, place_of};
use crate::filter::Filter;
use crate::options::Options;
use crate::path_names::full_name;
use crate::places::user_place;

/// Writes the advice for a run, as one object and a newline.
///
/// # Errors
/// If writing to `out` fails.
pub fn write(
    report: &AdviceReport<'_>,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let names = Filter::new(options);
    let selected = report.selected(&names);
    let top = options.top.unwrap_or(usize::MAX);
    let pieces = selected.into_iter().take(top);
    let missing_kinds = report.advised.missing.iter();
    let document = Document {
        schema: SCHEMA,
        advice: pieces.map(|piece| record(piece, &names, options)).collect(),
        missing: missing_kinds
            .map(|&kind| MissingRecord {
                kind: name(kind),
                reason: missing(kind),
            })
            .collect(),
    };
    document::write(&document, out)
}

fn record(piece: &Advice<'_>, names: &Filter<'_>, options: &Options<'_>) -> AdviceRecord {
    let place = piece
        .place
        .and_then(|place| user_place(&piece.function.map, &place));
    AdviceRecord {
        kind: name(piece.finding.kind()),
        function: names.name(piece.function).to_string(),
        file: place.map_or_else(String::new, |(file, _)| file.to_owned()),
        line: place.map(|(_, line)| line),
        bound: BoundRecord {
            share: piece.saving.share,
            amount: piece.saving.amount.0,
            unit: match piece.saving.unit {
                Unit::Instructions => "instructions",
                Unit::Cycles => "cycles",
            },
        },
        counts: counts(piece, options),
        evidence: evidence(piece, options),
        action: action(piece),
    }
}

/// The numbers of the evidence.
fn counts(piece: &Advice<'_>, options: &Options<'_>) -> CountsRecord {
    let none = CountsRecord::default();
    let numbers = |counts: &[Count]| counts.iter().map(|count| count.0).collect();
    match &piece.finding {
        Finding::BusyWait(found) => CountsRecord {
            turns: Some(found.turns.0),
            executions: Some(found.waits.0),
            ..none
        },
        Finding::SameOutcome(found) => CountsRecord {
            turns: Some(found.turns.0),
            executions: Some(found.executions.0),
            outcomes: numbers(&found.outcomes),
            ..none
        },
        Finding::Decided(found) => CountsRecord {
            executions: Some(found.executions.0),
            outcomes: numbers(&found.outcomes),
            decided_at: found
                .by
                .and_then(|place| place_of(piece.function, &place, options)),
            ..none
        },
        Finding::Period(found) => CountsRecord {
            turns: Some(found.turns.0),
            paths: found
                .paths
                .iter()
                .map(|&path| full_name(piece.function, path))
                .collect(),
            ..none
        },
        Finding::Allocation(found) => {
            let (turns, calls) = match found.repeated_by {
                RepeatedBy::Loop { turns } => (Some(turns.0), None),
                RepeatedBy::Calls { calls } => (None, Some(calls.0)),
            };
            CountsRecord {
                executions: Some(found.count.0),
                turns,
                calls,
                ..none
            }
        }
        Finding::Bytes(found) => CountsRecord {
            turns: Some(found.turns.0),
            executions: Some(found.executions.0),
            ..none
        },
        Finding::Unpredictable(found) => CountsRecord {
            executions: Some(found.executions.0),
            mispredictions: Some(found.mispredictions.0),
            copies: Some(found.copies),
            ..none
        },
        Finding::WaitingLoads(found) => CountsRecord {
            executions: Some(found.executions.0),
            median_cycles: Some(found.median.0),
            path_instructions: Some(found.instructions),
            paths: vec![full_name(piece.function, found.path)],
            ..none
        },
    }
}

#[derive(Serialize)]
struct Document {
    schema: u32,
    advice: Vec<AdviceRecord>,
    missing: Vec<MissingRecord>,
}

#[derive(Serialize)]
struct MissingRecord {
    kind: &'static str,
    reason: String,
}

#[derive(Serialize)]
struct AdviceRecord {
    kind: &'static str,
    function: String,
    file: String,
    line: Option<u32>,
    bound: BoundRecord,
    counts: CountsRecord,
    evidence: String,
    action: &'static str,
}

#[derive(Serialize)]
struct BoundRecord {
    share: f64,
    amount: u64,
    unit: &'static str,
}

/// The numbers of the evidence. Those that the kind does not have are left out.
#[derive(Default, Serialize)]
struct CountsRecord {
    #[serde(skip_serializing_if = "Option::is_none")]
    executions: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calls: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    outcomes: Vec<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mispredictions: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    copies: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_at: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    paths: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    median_cycles: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_instructions: Option<u64>,
}
