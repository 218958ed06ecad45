//! Writes the code that never ran as JSON (`--uncovered`), as a document of its own.

use std::io::{self, Write};

use holloway_analysis::uncovered::Uncovered;
use holloway_analysis::{Interrupt, RunProfile};
use holloway_format::Count;
use serde::Serialize;

use super::cpu_time::CpuTimeRecord;
use super::document::{self, SCHEMA};
use crate::filter::Filter;
use crate::notes::Sentences;
use crate::options::Options;
use crate::path_names::full_name;
use crate::uncovered::of_run;

/// Maximum number of paths that are listed for a function.
const MAX_PATHS: usize = 10;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_time: Option<CpuTimeRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interrupted: Option<&'static str>,
    damage: Sentences<'a>,
    uncovered: UncoveredRecord<'a>,
}

#[derive(Serialize)]
struct UncoveredRecord<'a> {
    totals: Totals,
    functions: Vec<FunctionRecord<'a>>,
    lines: Vec<LineRecord<'a>>,
    branches: Vec<WayRecord<'a>>,
    paths: Vec<PathsRecord<'a>>,
}

#[derive(Serialize)]
struct Totals {
    functions: TotalRecord,
    lines: TotalRecord,
    branches: TotalRecord,
    paths: TotalRecord,
}

#[derive(Serialize)]
struct TotalRecord {
    never_ran: u64,
    all: u64,
}

#[derive(Serialize)]
struct FunctionRecord<'a> {
    name: String,
    linkage_name: &'a str,
    file: &'a str,
    line: u32,
    lines: u64,
}

#[derive(Serialize)]
struct LineRecord<'a> {
    file: &'a str,
    line: u32,
}

#[derive(Serialize)]
struct WayRecord<'a> {
    function: String,
    file: &'a str,
    line: u32,
    column: u32,
    executions: Count,
    from_block: u32,
    to_block: u32,
}

#[derive(Serialize)]
struct PathsRecord<'a> {
    function: String,
    linkage_name: &'a str,
    file: &'a str,
    line: u32,
    ran: u64,
    possible: u64,
    versions: u64,
    never_ran: Vec<u64>,
    never_ran_names: Vec<String>,
}

/// Writes the document. `--top` limits each list.
pub(super) fn write(
    run: &RunProfile,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let names = Filter::new(options);
    let uncovered = of_run(run, &names, options, MAX_PATHS);
    let top = options.top.unwrap_or(usize::MAX);
    let record = UncoveredRecord {
        totals: totals(&uncovered),
        functions: functions(&uncovered, &names, top),
        lines: lines(&uncovered, top),
        branches: branches(run, &uncovered, &names, top),
        paths: paths(run, &uncovered, &names, top),
    };
    let document = Document {
        schema: SCHEMA,
        cpu_time: CpuTimeRecord::new(run),
        interrupted: run.interrupt.map(Interrupt::name),
        damage: Sentences(&run.damage),
        uncovered: record,
    };
    document::write(&document, out)
}

fn totals(uncovered: &Uncovered<'_>) -> Totals {
    let total = |never_ran: u64, all: u64| TotalRecord { never_ran, all };
    Totals {
        functions: total(uncovered.functions.len() as u64, uncovered.function_count),
        lines: total(uncovered.uncovered_line_count, uncovered.line_count),
        branches: total(uncovered.ways.len() as u64, uncovered.way_count),
        paths: total(
            uncovered.path_count.saturating_sub(uncovered.paths_run),
            uncovered.path_count,
        ),
    }
}

fn functions<'a>(
    uncovered: &Uncovered<'a>,
    names: &Filter<'_>,
    top: usize,
) -> Vec<FunctionRecord<'a>> {
    let functions = uncovered.functions.iter().take(top);
    let record = functions.map(|function| FunctionRecord {
        name: names
            .name_of(&function.scope.linkage_name, &function.scope.name)
            .to_string(),
        linkage_name: &function.scope.linkage_name,
        file: function.file,
        line: function.line,
        lines: function.lines,
    });
    record.collect()
}

fn lines<'a>(uncovered: &'a Uncovered<'_>, top: usize) -> Vec<LineRecord<'a>> {
    let lines = uncovered.lines.iter();
    let lines =
        lines.flat_map(|(file, lines)| lines.iter().map(move |&line| LineRecord { file, line }));
    lines.take(top).collect()
}

fn branches<'a>(
    run: &RunProfile,
    uncovered: &Uncovered<'a>,
    names: &Filter<'_>,
    top: usize,
) -> Vec<WayRecord<'a>> {
    let record = |way: &holloway_analysis::uncovered::UncoveredWay<'a>| {
        let function = run.function(way.function);
        let edge = &function.map.edges[way.edge as usize];
        WayRecord {
            function: names.name(function).to_string(),
            file: way.file,
            line: way.line,
            column: way.column,
            executions: way.executions,
            from_block: edge.from,
            to_block: edge.to,
        }
    };
    uncovered.ways.iter().take(top).map(record).collect()
}

fn paths<'a>(
    run: &'a RunProfile,
    uncovered: &Uncovered<'_>,
    names: &Filter<'_>,
    top: usize,
) -> Vec<PathsRecord<'a>> {
    let functions = uncovered.paths.iter().take(top);
    let records = functions.map(|paths| {
        let function = run.function(paths.function);
        PathsRecord {
            function: names.name(function).to_string(),
            linkage_name: &function.map.linkage_name,
            file: &function.map.file,
            line: function.map.line,
            ran: paths.ran,
            possible: paths.possible,
            versions: paths.versions,
            never_ran: paths.never.iter().map(|path| path.0).collect(),
            never_ran_names: paths
                .never
                .iter()
                .map(|&path| full_name(function, path))
                .collect(),
        }
    });
    records.collect()
}
