//! The report of a watched run in JSON: `"basis": "time"`.

use std::io::{self, Write};

use holloway_analysis::samples::{
    Basis, RecordedBranches, SampledRun, SourceLine, TimeProfile, TimedFunction, time_profile,
};
use holloway_format::Count;
use holloway_format::samples::{KnownBlocks, MonitorState};
use serde::Serialize;

use super::document::{self, SCHEMA};
use crate::names;
use crate::notes::sentence;
use crate::options::Options;
use crate::samples::{blocks_code, clock_basis_code, clock_code, kept, source_code};

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    basis: &'static str,
    clock: &'static str,
    frequency: u64,
    duration_ns: u64,
    state: &'static str,
    samples: Count,
    lost: u64,
    without_file: Count,
    damage: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<Records<'a>>,
    programs: Vec<ProgramRecord<'a>>,
    files: Vec<FileRecord<'a>>,
    functions: Vec<FunctionRecord<'a>>,
    lines: Vec<LineRecord<'a>>,
}

#[derive(Serialize)]
struct Records<'a> {
    source: &'static str,
    name: &'a str,
    event: &'a str,
    depth: u64,
    stacks: u64,
    branches: u64,
    runs: u64,
    impossible_runs: u64,
    transitions: u64,
    unmatched: u64,
    ambiguous: u64,
    paths: u64,
    kernel: u64,
    other_events: u64,
    damaged: u64,
    functions: Vec<BranchFunction<'a>>,
}

#[derive(Serialize)]
struct BranchFunction<'a> {
    name: String,
    linkage_name: &'a str,
    calls: Count,
    edges: Vec<EdgeRecord>,
    paths: Vec<PathRecord>,
}

#[derive(Serialize)]
struct EdgeRecord {
    edge: u32,
    from: u32,
    to: u32,
    count: Count,
    mispredicted: Count,
}

#[derive(Serialize)]
struct PathRecord {
    path: u64,
    count: Count,
}

#[derive(Serialize)]
struct ProgramRecord<'a> {
    path: &'a str,
    samples: Count,
}

#[derive(Serialize)]
struct FileRecord<'a> {
    path: &'a str,
    blocks: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<u64>,
    samples: Count,
    without_function: Count,
}

#[derive(Serialize)]
struct FunctionRecord<'a> {
    name: String,
    linkage_name: &'a str,
    image: &'a str,
    #[serde(flatten)]
    place: PlaceRecord<'a>,
    found_by: &'static str,
    samples: Count,
    blocks: Vec<BlockRecord<'a>>,
}

#[derive(Serialize)]
struct BlockRecord<'a> {
    block: u32,
    #[serde(flatten)]
    place: PlaceRecord<'a>,
    instructions: u32,
    samples: Count,
    weight: f64,
}

#[derive(Serialize)]
struct LineRecord<'a> {
    #[serde(flatten)]
    place: PlaceRecord<'a>,
    function: String,
    samples: Count,
}

#[derive(Serialize)]
struct PlaceRecord<'a> {
    file: &'a str,
    line: u32,
}

impl<'a> From<&'a SourceLine> for PlaceRecord<'a> {
    fn from(place: &'a SourceLine) -> Self {
        Self {
            file: &place.file,
            line: place.line,
        }
    }
}

/// Writes the samples as one object and a newline. [`Options::function`] and the options for code
/// select functions and their lines. [`Options::top`] limits functions, and lines.
///
/// # Errors
/// If writing to `out` fails.
pub fn write(run: &SampledRun, options: &Options<'_>, out: &mut dyn Write) -> io::Result<()> {
    let profile = time_profile(run);
    let top = options.top.unwrap_or(usize::MAX);
    let functions = kept(run, &profile, options);
    let lines = profile.lines.iter().filter_map(|line| {
        let (_, name, _) = functions
            .iter()
            .find(|(index, ..)| *index == line.function)?;
        Some(LineRecord {
            place: (&line.place).into(),
            function: name.clone(),
            samples: line.samples,
        })
    });
    let document = Document {
        schema: SCHEMA,
        basis: clock_basis_code(run.clock),
        clock: clock_code(run.clock),
        frequency: run.frequency,
        duration_ns: run.duration_ns,
        state: match run.state {
            MonitorState::Watching => "watching",
            MonitorState::Ended => "ended",
        },
        samples: profile.samples,
        lost: run.lost,
        without_file: run.without_file,
        damage: run.damage.iter().map(sentence).collect(),
        records: run
            .records
            .as_ref()
            .map(|records| records_of(records, options)),
        programs: run
            .programs
            .iter()
            .map(|program| ProgramRecord {
                path: &program.path,
                samples: program.samples,
            })
            .collect(),
        files: files(run, &profile),
        lines: lines.take(top).collect(),
        functions: functions
            .iter()
            .take(top)
            .map(|(_, name, function)| function_record(run, name, function))
            .collect(),
    };
    document::write(&document, out)
}

fn records_of<'a>(records: &'a RecordedBranches, options: &Options<'_>) -> Records<'a> {
    let (facts, quality) = (&records.facts, &records.facts.quality);
    let functions = records.files.iter().flat_map(|(map, functions)| {
        let functions = functions.iter();
        functions.filter_map(|function| Some((map.function(function.index)?, function)))
    });
    let functions = functions.map(|(map, function)| {
        let edges = function.edges.iter().filter_map(|edge| {
            let ends = map.edges.get(edge.edge as usize)?;
            Some(EdgeRecord {
                edge: edge.edge,
                from: ends.from,
                to: ends.to,
                count: edge.count,
                mispredicted: edge.mispredicted,
            })
        });
        let paths = function.paths.iter();
        BranchFunction {
            name: names::display(&map.linkage_name, &map.name),
            linkage_name: &map.linkage_name,
            calls: function.calls,
            edges: edges.collect(),
            paths: paths
                .map(|&(path, count)| PathRecord { path, count })
                .collect(),
        }
    });
    let matches = options.function.as_ref();
    let keeps = |name: &str| matches.is_none_or(|regex| regex.is_match(name));
    let mut functions: Vec<BranchFunction<'_>> =
        functions.filter(|function| keeps(&function.name)).collect();
    let weight = |function: &BranchFunction<'_>| {
        let counts = function.edges.iter().map(|edge| edge.count);
        counts.fold(Count::ZERO, Count::saturating_add)
    };
    functions.sort_by_key(|function| std::cmp::Reverse(weight(function)));
    functions.truncate(options.top.unwrap_or(usize::MAX));
    Records {
        source: source_code(facts.source),
        name: &facts.name,
        event: &facts.event,
        depth: facts.depth,
        stacks: quality.stacks,
        branches: quality.branches,
        runs: quality.runs,
        impossible_runs: quality.impossible_runs,
        transitions: quality.transitions,
        unmatched: quality.unmatched,
        ambiguous: quality.ambiguous,
        paths: quality.paths,
        kernel: facts.kernel,
        other_events: facts.other_events,
        damaged: facts.damaged,
        functions,
    }
}

fn files<'a>(run: &'a SampledRun, profile: &TimeProfile) -> Vec<FileRecord<'a>> {
    let files = run.files.iter().zip(&profile.without_function);
    let record = |(file, &without_function): (&'a _, _)| {
        let file: &'a holloway_analysis::samples::SampledFile = file;
        let samples = file.code.iter().map(|code| code.samples);
        FileRecord {
            path: &file.path,
            blocks: blocks_code(file.blocks),
            left_out: match file.blocks {
                KnownBlocks::Known { left_out, .. } => Some(left_out),
                KnownBlocks::NotWoven
                | KnownBlocks::NoProbes
                | KnownBlocks::NoSymbols
                | KnownBlocks::Damaged
                | KnownBlocks::Unread
                | KnownBlocks::Copied { .. } => None,
            },
            samples: samples.fold(Count::ZERO, Count::saturating_add),
            without_function,
        }
    };
    files.map(record).collect()
}

fn function_record<'a>(
    run: &'a SampledRun,
    name: &str,
    function: &'a TimedFunction,
) -> FunctionRecord<'a> {
    let blocks = function.blocks.iter().map(|block| BlockRecord {
        block: block.block,
        place: (&block.place).into(),
        instructions: block.instructions,
        samples: block.samples,
        weight: block.weight(),
    });
    FunctionRecord {
        name: name.to_owned(),
        linkage_name: &function.linkage_name,
        image: &run.files[function.file].path,
        place: (&function.place).into(),
        found_by: match function.basis {
            Basis::Blocks => "blocks",
            Basis::Symbols => "symbols",
        },
        samples: function.samples,
        blocks: blocks.collect(),
    }
}
