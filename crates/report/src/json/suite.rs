//! Writes the tables of several runs as JSON (section `suite` of docs/json.md, which explains the
//! keys).

use std::io::{self, Write};

use holloway_analysis::overlap::Overlap;
use holloway_format::Count;
use serde::Serialize;

use super::document::{self, SCHEMA};
use crate::notes::Sentences;
use crate::suite_runs::{Suite, SuiteRun};

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    runs: Vec<RunRecord<'a>>,
    mean: MeanRecord,
}

#[derive(Serialize)]
struct RunRecord<'a> {
    run: &'a str,
    functions: u64,
    functions_hottest_right: u64,
    paths: u64,
    paths_right: u64,
    executions: Count,
    executions_right: Count,
    #[serde(skip_serializing_if = "Option::is_none")]
    train: Option<TrainRecord>,
    damage: Sentences<'a>,
}

#[derive(Serialize)]
struct TrainRecord {
    paths: u64,
    executions: Count,
    common_paths: u64,
    common_paths_share: f64,
    train_paths_share: f64,
    common_executions_share: f64,
    common_instructions_share: f64,
    overlap: f64,
}

/// Arithmetic means over the runs.
#[derive(Serialize)]
struct MeanRecord {
    paths_right: f64,
    executions_right: f64,
    hottest_right: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    train: Option<TrainMeanRecord>,
}

/// Arithmetic means over the training runs.
#[derive(Serialize)]
struct TrainMeanRecord {
    common_paths_share: f64,
    train_paths_share: f64,
    common_executions_share: f64,
    common_instructions_share: f64,
    overlap: f64,
}

/// Writes the tables.
///
/// # Errors
/// If writing to `out` fails.
pub(crate) fn write(suite: &Suite, out: &mut dyn Write) -> io::Result<()> {
    let document = Document {
        schema: SCHEMA,
        runs: suite.runs.iter().map(run_record).collect(),
        mean: MeanRecord {
            paths_right: suite.mean(SuiteRun::paths_right),
            executions_right: suite.mean(SuiteRun::executions_right),
            hottest_right: suite.mean(SuiteRun::hottest_right),
            train: train_means(suite),
        },
    };
    document::write(&document, out)
}

fn run_record(run: &SuiteRun) -> RunRecord<'_> {
    let prediction = &run.prediction;
    RunRecord {
        run: &run.name,
        functions: prediction.functions.len() as u64,
        functions_hottest_right: prediction.hottest_right,
        paths: prediction.real.paths,
        paths_right: prediction.right.paths,
        executions: prediction.real.executions,
        executions_right: prediction.right.executions,
        train: run.train.as_ref().map(train_record),
        damage: Sentences(&run.damage),
    }
}

fn train_means(suite: &Suite) -> Option<TrainMeanRecord> {
    Some(TrainMeanRecord {
        common_paths_share: suite.mean_of_trained(SuiteRun::paths_common)?,
        train_paths_share: suite.mean_of_trained(SuiteRun::train_paths_common)?,
        common_executions_share: suite.mean_of_trained(SuiteRun::executions_common)?,
        common_instructions_share: suite.mean_of_trained(SuiteRun::instructions_common)?,
        overlap: suite.mean_of_trained(|overlap| overlap.overlap)?,
    })
}

fn train_record(overlap: &Overlap) -> TrainRecord {
    TrainRecord {
        paths: overlap.sides[0].distinct,
        executions: overlap.sides[0].executions,
        common_paths: overlap.common,
        common_paths_share: SuiteRun::paths_common(overlap),
        train_paths_share: SuiteRun::train_paths_common(overlap),
        common_executions_share: SuiteRun::executions_common(overlap),
        common_instructions_share: SuiteRun::instructions_common(overlap),
        overlap: overlap.overlap,
    }
}
