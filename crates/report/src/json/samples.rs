//! The report of a watched run in JSON: `"basis": "time"`.

use std::io::{self, Write};

use holloway_analysis::samples::{
    Basis, SampledRun, SourceLine, TimeProfile, TimedFunction, time_profile,
};
use holloway_format::Count;
use holloway_format::samples::{KnownBlocks, MonitorState};
use serde::Serialize;

use super::document::{self, SCHEMA};
use crate::notes::sentence;
use crate::options::Options;
use crate::samples::{blocks_code, clock_code, kept};

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
    programs: Vec<ProgramRecord<'a>>,
    files: Vec<FileRecord<'a>>,
    functions: Vec<FunctionRecord<'a>>,
    lines: Vec<LineRecord<'a>>,
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
        basis: "time",
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
