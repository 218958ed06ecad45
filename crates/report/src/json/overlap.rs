//! Writes the comparison of two runs as JSON (section `overlap` of docs/json.md, which explains the
//! keys).

use holloway_format::Count;
use std::io::{self, Write};

use holloway_abi::Unit;
use holloway_analysis::edges::block_number;
use holloway_analysis::overlap::{
    Alone, Both, Difference, Overlap, Pair, Side, Why, edge_of, overlap,
};
use holloway_analysis::paths::regenerate;
use holloway_analysis::{Function, RunProfile};
use holloway_flow::PathId;
use serde::Serialize;

use super::cpu_time::CpuTimeRecord;
use super::document::{self, SCHEMA};
use super::fields::{collected, exits, places_of};
use crate::filter::Filter;
use crate::notes::Sentences;
use crate::options::Options;
use crate::path_names::{full_name, keep_chosen_path};
use crate::samples::basis_code;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    compared: &'static str,
    overlap: f64,
    overlap_of_instructions: f64,
    common: u64,
    a: RunRecord<'a>,
    b: RunRecord<'a>,
    functions: Vec<PairRecord<'a>>,
    differences: Vec<DifferenceRecord<'a>>,
    #[serde(skip_serializing_if = "is_zero")]
    by_exits: u64,
    #[serde(skip_serializing_if = "is_zero")]
    cut_elsewhere: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ends_at_calls: Option<&'static str>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde requires a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
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
    counts: SideRecord,
    alone: Vec<AloneRecord<'a>>,
    damage: Sentences<'a>,
}

#[derive(Serialize)]
struct SideRecord {
    distinct: u64,
    executions: Count,
    common_executions: Count,
    instructions: Count,
    common_instructions: Count,
}

#[derive(Serialize)]
struct AloneRecord<'a> {
    name: String,
    linkage_name: &'a str,
    executions: Count,
    why: &'static str,
}

#[derive(Serialize)]
struct PairRecord<'a> {
    name: String,
    linkage_name: &'a str,
    common: u64,
    a: SideRecord,
    b: SideRecord,
}

#[derive(Serialize)]
struct DifferenceRecord<'a> {
    name: String,
    linkage_name: &'a str,
    r#in: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    edge: Option<[i64; 2]>,
    a: Count,
    b: Count,
    difference: f64,
    places: Vec<String>,
}

/// Writes the comparison of two runs.
///
/// # Errors
/// If writing to `out` fails.
pub(crate) fn write(
    runs: Both<&RunProfile>,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let names = Filter::new(options);
    let keep = |function: &Function| names.keeps_name(function);
    let mut overlap = overlap(runs, &keep, &|function| names.name(function));
    keep_chosen_path(&mut overlap, runs, &names);
    document::write(&document(runs, &names, &overlap, options.top), out)
}

fn document<'a>(
    runs: Both<&'a RunProfile>,
    names: &Filter<'_>,
    overlap: &Overlap,
    top: Option<usize>,
) -> Document<'a> {
    let run = |side: usize| RunRecord {
        cpu_time: CpuTimeRecord::new(runs[side]),
        images: runs[side].images.iter().map(|image| &*image.name).collect(),
        collected: collected(runs[side].unit()),
        basis: basis_code(runs[side].basis),
        exits: exits(runs[side].exits()),
        counts: counts(&overlap.sides[side]),
        alone: overlap.alone[side]
            .iter()
            .map(|function| alone_record(runs[side], names, function))
            .collect(),
        damage: Sentences(&runs[side].damage),
    };
    let differences = overlap.differences.iter();
    Document {
        schema: SCHEMA,
        compared: collected(overlap.unit),
        overlap: overlap.overlap,
        overlap_of_instructions: overlap.overlap_of_instructions,
        common: overlap.common,
        a: run(0),
        b: run(1),
        functions: overlap
            .pairs
            .iter()
            .map(|pair| pair_record(runs, names, pair))
            .collect(),
        differences: differences
            .take(top.unwrap_or(usize::MAX))
            .map(|difference| difference_record(runs, names, overlap, difference))
            .collect(),
        by_exits: overlap.by_exits,
        cut_elsewhere: overlap.cut_elsewhere,
        ends_at_calls: overlap.ends_at_calls.map(|side| ["a", "b"][side]),
    }
}

fn counts(side: &Side) -> SideRecord {
    SideRecord {
        distinct: side.distinct,
        executions: side.executions,
        common_executions: side.common_executions,
        instructions: side.instructions,
        common_instructions: side.common_instructions,
    }
}

fn alone_record<'a>(run: &'a RunProfile, names: &Filter<'_>, alone: &Alone) -> AloneRecord<'a> {
    let function = run.function(alone.function);
    AloneRecord {
        name: names.name(function).to_string(),
        linkage_name: &function.map.linkage_name,
        executions: alone.executions,
        why: match alone.why {
            Why::Changed => "changed",
            Why::Missing => "missing",
        },
    }
}

fn pair_record<'a>(runs: Both<&'a RunProfile>, names: &Filter<'_>, pair: &Pair) -> PairRecord<'a> {
    let function = runs[0].function(pair.functions[0]);
    PairRecord {
        name: names.name(function).to_string(),
        linkage_name: &function.map.linkage_name,
        common: pair.common,
        a: counts(&pair.sides[0]),
        b: counts(&pair.sides[1]),
    }
}

fn difference_record<'a>(
    runs: Both<&'a RunProfile>,
    names: &Filter<'_>,
    overlap: &Overlap,
    difference: &Difference,
) -> DifferenceRecord<'a> {
    let function = runs[difference.side].function(difference.function);
    let passed = places_of_part(function, overlap.unit, difference.number);
    let edge = edge_of(&function.map, difference.number)
        .map(|(_, edge)| [edge.from, edge.to].map(|block| block_number(function, block)));
    let by_edges = overlap.unit == Unit::Edges;
    DifferenceRecord {
        name: names.name(function).to_string(),
        linkage_name: &function.map.linkage_name,
        r#in: ["a", "b"][difference.side],
        path: (!by_edges).then_some(difference.number),
        path_name: (!by_edges).then(|| full_name(function, PathId(difference.number))),
        edge: edge.filter(|_| by_edges),
        a: difference.counts[0],
        b: difference.counts[1],
        difference: overlap.difference(difference.counts),
        places: passed,
    }
}

/// The places of a path or an edge that has this number, without repetitions in a row.
pub(super) fn places_of_part(function: &Function, unit: Unit, number: u64) -> Vec<String> {
    let blocks: Vec<u32> = match unit {
        Unit::Paths => {
            let path = regenerate(function, PathId(number));
            let blocks = path.map(|path| path.blocks).unwrap_or_default();
            blocks.iter().map(|block| block.0).collect()
        }
        Unit::Edges => {
            let edge = edge_of(&function.map, number).map(|(_, edge)| edge);
            edge.map_or_else(Vec::new, |edge| vec![edge.from, edge.to])
        }
    };
    let mut places: Vec<String> = blocks
        .iter()
        .flat_map(|&block| places_of(function, &function.map.blocks[block as usize].places))
        .collect();
    places.dedup();
    places
}
