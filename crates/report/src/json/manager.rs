//! The programs in a store of profiles, as JSON (`manager` of docs/json.md).

use std::io::{self, Write};

use holloway_analysis::block_times::{Advice, KeptProgram, StoreUpdate};
use holloway_format::Count;
use serde::Serialize;

use super::document::{self, SCHEMA};
use crate::notes::sentence;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    basis: &'static str,
    added_runs: u64,
    added_samples: Count,
    unfinished_runs: u64,
    programs: Vec<ProgramRecord<'a>>,
    forgotten: &'a [String],
    damage: Vec<String>,
}

#[derive(Serialize)]
struct ProgramRecord<'a> {
    path: &'a str,
    samples: Count,
    runs: u64,
    age_seconds: u64,
    stored_bytes: u64,
    code_bytes: Option<u64>,
    moved: Option<f64>,
    advice: &'static str,
    carried_over: Option<CarriedOverRecord>,
}

#[derive(Serialize)]
struct CarriedOverRecord {
    kept: usize,
    dropped: usize,
    dropped_share: f64,
}

/// Writes one object and a newline.
///
/// # Errors
/// If writing to `out` fails.
pub fn write(update: &StoreUpdate, out: &mut dyn Write) -> io::Result<()> {
    let document = Document {
        schema: SCHEMA,
        basis: "time",
        added_runs: update.runs,
        added_samples: update.samples,
        unfinished_runs: update.unfinished,
        programs: update.programs.iter().map(program).collect(),
        forgotten: &update.forgotten,
        damage: update.damage.iter().map(sentence).collect(),
    };
    document::write(&document, out)
}

fn program(program: &KeptProgram) -> ProgramRecord<'_> {
    let carried_over = program.carried_over.as_ref();
    ProgramRecord {
        path: &program.path,
        samples: program.samples,
        runs: program.runs,
        age_seconds: program.age.as_secs(),
        stored_bytes: program.stored_bytes,
        code_bytes: program.code_bytes,
        moved: program.moved,
        advice: match program.advice() {
            Advice::Wait => "wait",
            Advice::Optimize => "optimize",
            Advice::Keep => "keep",
        },
        carried_over: carried_over.map(|over| CarriedOverRecord {
            kept: over.kept,
            dropped: over.dropped,
            dropped_share: over.dropped_share,
        }),
    }
}
