//! Writes the changes from one run to another as JSON (section `diff` of docs/json.md, which
//! explains the keys).

use std::io::{self, Write};

use holloway_abi::Unit;
use holloway_analysis::RunProfile;
use holloway_analysis::diff::{FunctionChange, PartChange, Work};
use holloway_analysis::edges::block_number;
use holloway_analysis::overlap::{Both, edge_of};
use holloway_flow::PathId;
use holloway_format::Count;
use serde::Serialize;

use super::cpu_time::CpuTimeRecord;
use super::document::{self, SCHEMA};
use super::fields::{collected, exits};
use super::overlap::places_of_part;
use crate::changes::{Changes, pairing_word, trend_word};
use crate::filter::Filter;
use crate::notes::Sentences;
use crate::options::Options;
use crate::path_names::full_name;
use crate::samples::basis_code;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    compared: &'static str,
    different: bool,
    a: RunRecord<'a>,
    b: RunRecord<'a>,
    ran: u64,
    functions: Vec<FunctionRecord<'a>>,
    parts: Vec<PartRecord<'a>>,
    by_exits: u64,
    cut_elsewhere: u64,
}

#[derive(Serialize)]
struct RunRecord<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_time: Option<CpuTimeRecord>,
    images: Vec<&'a str>,
    collected: &'static str,
    basis: &'static str,
    exits: &'static str,
    #[serde(flatten)]
    work: WorkRecord,
    damage: Sentences<'a>,
}

#[derive(Serialize)]
struct WorkRecord {
    calls: Count,
    executions: Count,
    distinct: u64,
    instructions: Count,
}

#[derive(Serialize)]
struct FunctionRecord<'a> {
    trend: &'static str,
    pairing: &'static str,
    a: Option<SideRecord<'a>>,
    b: Option<SideRecord<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by_calls: Option<f64>,
    differing: u64,
}

#[derive(Serialize)]
struct SideRecord<'a> {
    name: String,
    linkage_name: &'a str,
    file: &'a str,
    line: u32,
    #[serde(flatten)]
    work: WorkRecord,
}

#[derive(Serialize)]
struct PartRecord<'a> {
    name: String,
    linkage_name: &'a str,
    r#in: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    edge: Option<[i64; 2]>,
    a: PartSide,
    b: PartSide,
    places: Vec<String>,
}

#[derive(Serialize)]
struct PartSide {
    executions: Count,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<Count>,
}

/// Writes the changes.
///
/// # Errors
/// If writing to `out` fails.
pub(crate) fn write(
    changes: &Changes<'_>,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let names = Filter::new(options);
    document::write(&document(changes, &names, options.top), out)
}

fn document<'a>(changes: &'a Changes<'_>, names: &Filter<'_>, top: Option<usize>) -> Document<'a> {
    let (runs, diff) = (changes.runs, &changes.diff);
    let run = |side: usize| RunRecord {
        cpu_time: CpuTimeRecord::new(runs[side]),
        images: runs[side].images.iter().map(|image| &*image.name).collect(),
        collected: collected(runs[side].unit()),
        basis: basis_code(runs[side].basis),
        exits: exits(runs[side].exits()),
        work: work_record(&diff.totals[side]),
        damage: Sentences(&runs[side].damage),
    };
    let functions = diff.functions.iter();
    let parts = diff.parts.iter().take(top.unwrap_or(usize::MAX));
    Document {
        schema: SCHEMA,
        compared: collected(diff.unit),
        different: diff.is_different(),
        a: run(0),
        b: run(1),
        ran: diff.ran,
        functions: functions
            .map(|function| function_record(runs, names, function))
            .collect(),
        parts: parts
            .map(|part| part_record(runs, names, diff.unit, part))
            .collect(),
        by_exits: diff.by_exits,
        cut_elsewhere: diff.cut_elsewhere,
    }
}

fn work_record(work: &Work) -> WorkRecord {
    WorkRecord {
        calls: work.calls,
        executions: work.executions,
        distinct: work.distinct,
        instructions: work.instructions,
    }
}

fn function_record<'a>(
    runs: Both<&'a RunProfile>,
    names: &Filter<'_>,
    change: &FunctionChange,
) -> FunctionRecord<'a> {
    let side = |side: usize| {
        let function = runs[side].function(change.functions[side]?);
        Some(SideRecord {
            name: names.name(function).to_string(),
            linkage_name: &function.map.linkage_name,
            file: &function.map.file,
            line: function.map.line,
            work: work_record(&change.work[side]),
        })
    };
    FunctionRecord {
        trend: trend_word(change.trend()),
        pairing: pairing_word(change.pairing),
        a: side(0),
        b: side(1),
        by_calls: change.by_calls(),
        differing: change.parts,
    }
}

fn part_record<'a>(
    runs: Both<&'a RunProfile>,
    names: &Filter<'_>,
    unit: Unit,
    part: &PartChange,
) -> PartRecord<'a> {
    let function = runs[part.side].function(part.function);
    let is_path = unit == Unit::Paths;
    let edge = edge_of(&function.map, part.number).map(|(_, edge)| edge);
    let side = |side: usize| PartSide {
        executions: part.counts[side],
        instructions: is_path.then_some(part.instructions[side]),
    };
    PartRecord {
        name: names.name(function).to_string(),
        linkage_name: &function.map.linkage_name,
        r#in: ["a", "b"][part.side],
        path: is_path.then_some(part.number),
        path_name: is_path.then(|| full_name(function, PathId(part.number))),
        edge: edge
            .filter(|_| !is_path)
            .map(|edge| [edge.from, edge.to].map(|block| block_number(function, block))),
        a: side(0),
        b: side(1),
        places: places_of_part(function, unit, part.number),
    }
}
