//! Writes the branches as JSON, the hardest to predict first.

use holloway_analysis::branches::{Branch, BranchOutcome, hardest};
use holloway_analysis::edges::block_number;
use holloway_analysis::trail::first_place;
use holloway_format::{Count, FunctionMap, Place};
use serde::Serialize;

use super::context::RunContext;
use super::fields::bound;
use crate::places::inlined_at;

/// The record that section `branches` of docs/json.md explains.
#[derive(Serialize)]
pub(super) struct BranchRecord<'a> {
    function: String,
    linkage_name: &'a str,
    module: &'a str,
    block: u32,
    file: &'a str,
    line: u32,
    column: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    inlined_at: Option<LineRecord<'a>>,
    executions: Count,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<&'static str>,
    taken: Count,
    taken_share: f64,
    entropy: f64,
    mispredictions: Count,
    context: &'static str,
    mispredictions_alone: Count,
    #[serde(skip_serializing_if = "Option::is_none")]
    mispredictions_path: Option<Count>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    mispredictions_previous: Vec<Count>,
    outcomes: Vec<OutcomeRecord<'a>>,
}

/// A line of the user's code.
#[derive(Serialize)]
struct LineRecord<'a> {
    file: &'a str,
    line: u32,
}

#[derive(Serialize)]
struct OutcomeRecord<'a> {
    block: i64,
    file: &'a str,
    line: u32,
    count: Count,
}

/// The branches of the functions that the filter keeps. `--top` limits their number.
pub(super) fn branches<'a>(document: &RunContext<'a>) -> Vec<BranchRecord<'a>> {
    let keep = |id| document.names.keeps(document.run, id);
    let ranking = hardest(
        document.run,
        document.options.previous_paths,
        document.options.top,
        &keep,
    );
    let records = ranking.branches.iter();
    records.map(|branch| record(document, branch)).collect()
}

fn record<'a>(document: &RunContext<'a>, branch: &Branch) -> BranchRecord<'a> {
    let run = document.run;
    let function = run.function(branch.function);
    let map = &function.map;
    let place = branch.place.unwrap_or_default();
    let mispredictions = &branch.mispredictions;
    let outcome = |outcome: &BranchOutcome| {
        let places = &map.blocks[outcome.to as usize].places;
        let first = first_place(places).unwrap_or_default();
        OutcomeRecord {
            block: block_number(function, outcome.to),
            file: file(map, first),
            line: first.line,
            count: outcome.count,
        }
    };
    BranchRecord {
        function: document.names.name(function).to_string(),
        linkage_name: &map.linkage_name,
        module: &run.module_of(function).name,
        block: branch.block,
        file: file(map, place),
        line: place.line,
        column: place.column,
        inlined_at: inlined_at(map, place).map(|user| LineRecord {
            file: file(map, user),
            line: user.line,
        }),
        executions: branch.executions,
        bound: bound(branch.bound),
        taken: branch.taken,
        taken_share: branch.taken.0 as f64 / branch.executions.0 as f64,
        entropy: branch.entropy(),
        mispredictions: mispredictions.expected(),
        context: match (mispredictions.path, mispredictions.previous.last()) {
            (_, Some(_)) => "previous_paths",
            (Some(_), None) => "path",
            (None, None) => "none",
        },
        mispredictions_alone: mispredictions.alone,
        mispredictions_path: mispredictions.path,
        mispredictions_previous: mispredictions.previous.clone(),
        outcomes: branch.outcomes.iter().map(outcome).collect(),
    }
}

/// The file of a place; empty if the place is unknown.
fn file(map: &FunctionMap, place: Place) -> &str {
    let scope = map.scopes.get(place.scope as usize);
    let scope = scope.filter(|_| place.line != 0);
    scope.map_or("", |scope| &scope.file)
}
