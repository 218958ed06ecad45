//! Writes the paths that an edge profile would predict as JSON, compared with the paths that ran.

use holloway_analysis::overlap::share;
use holloway_analysis::predict::{Length, Lengths, Prediction};
use holloway_format::Count;
use serde::Serialize;

use super::context::RunContext;

/// The record that section `prediction` of docs/json.md explains.
#[derive(Serialize)]
pub(super) struct PredictionRecord<'a> {
    hottest_right: u64,
    real: LengthsRecord,
    predicted: LengthsRecord,
    right: LengthsRecord,
    right_share: ShareRecord,
    functions: Vec<FunctionRecord<'a>>,
}

#[derive(Serialize)]
struct FunctionRecord<'a> {
    name: String,
    linkage_name: &'a str,
    module: &'a str,
    hottest_right: bool,
    real: LengthsRecord,
    predicted: LengthsRecord,
    right: LengthsRecord,
    right_share: ShareRecord,
}

/// Shares of the different paths that ran, and of their executions.
#[derive(Serialize)]
struct ShareRecord {
    paths: f64,
    executions: f64,
}

#[derive(Serialize)]
struct LengthsRecord {
    paths: u64,
    executions: Count,
    edges: LengthRecord,
    instructions: LengthRecord,
}

/// The longest length, the mean over different paths, and the mean over executions.
#[derive(Serialize)]
struct LengthRecord {
    longest: u64,
    mean: f64,
    mean_run: f64,
}

impl<'a> PredictionRecord<'a> {
    pub(super) fn new(document: &RunContext<'a>, prediction: &Prediction) -> PredictionRecord<'a> {
        let run = document.run;
        let functions = prediction.functions.iter().map(|comparison| {
            let function = run.function(comparison.function);
            FunctionRecord {
                name: document.names.name(function).to_string(),
                linkage_name: &function.map.linkage_name,
                module: &run.module_of(function).name,
                hottest_right: comparison.hottest_right,
                real: lengths(&comparison.real),
                predicted: lengths(&comparison.predicted),
                right: lengths(&comparison.right),
                right_share: right_share(&comparison.right, &comparison.real),
            }
        });
        PredictionRecord {
            hottest_right: prediction.hottest_right,
            real: lengths(&prediction.real),
            predicted: lengths(&prediction.predicted),
            right: lengths(&prediction.right),
            right_share: right_share(&prediction.right, &prediction.real),
            functions: functions.collect(),
        }
    }
}

fn right_share(right: &Lengths, real: &Lengths) -> ShareRecord {
    ShareRecord {
        paths: share(right.paths, real.paths),
        executions: share(right.executions, real.executions),
    }
}

fn lengths(lengths: &Lengths) -> LengthsRecord {
    let record = |length: Length| LengthRecord {
        longest: length.longest,
        mean: mean(length.sum, lengths.paths),
        mean_run: mean(length.executed, lengths.executions),
    };
    LengthsRecord {
        paths: lengths.paths,
        executions: lengths.executions,
        edges: record(lengths.edges),
        instructions: record(lengths.instructions),
    }
}

/// `sum / count`, or 0 if `count` is 0.
fn mean(sum: u128, count: impl Into<u64>) -> f64 {
    let count = count.into();
    if count == 0 {
        return 0.0;
    }
    sum as f64 / count as f64
}
