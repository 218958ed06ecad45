//! Writes what simulated branch predictors find in a thread as JSON (section "Branch predictors" of
//! docs/json.md).

use std::collections::BTreeMap;
use std::io::{self, Write};

use holloway_analysis::predictors::{
    HardBranch, HardPath, Model, Scheme, SchemeResult, THRESHOLDS,
};
use holloway_analysis::trace::Terminal;
use holloway_format::Count;
use serde::{Serialize, Serializer};

use super::document::{self, SCHEMA};
use super::thread::{self, SiteRecord, ThreadRecord};
use crate::options::Options;
use crate::predictors::{Predictions, Remedy, longer_history, selects};
use crate::trace::LabeledStream;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    #[serde(flatten)]
    thread: ThreadRecord<'a>,
    covers: &'static str,
    addresses: &'static str,
    executed_branches: u64,
    instructions: Count,
    models: Vec<ModelRecord>,
    longer_history: RemedyRecord,
    select: RemedyRecord,
    branches: Vec<BranchRecord<'a>>,
    paths: Vec<PathRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schemes: Option<Vec<SchemeRecord>>,
}

#[derive(Serialize)]
struct ModelRecord {
    name: &'static str,
    bytes: u64,
    mispredictions: Count,
    rate: f64,
}

#[derive(Serialize)]
struct RemedyRecord {
    mispredictions: Count,
    branches: u64,
}

impl RemedyRecord {
    fn new(remedy: &Remedy) -> RemedyRecord {
        RemedyRecord {
            mispredictions: remedy.mispredictions,
            branches: remedy.branches,
        }
    }
}

#[derive(Serialize)]
struct BranchRecord<'a> {
    #[serde(flatten)]
    site: SiteRecord<'a>,
    executions: Count,
    mispredictions: BTreeMap<&'static str, Count>,
    #[serde(skip_serializing_if = "Option::is_none")]
    select: Option<u32>,
}

#[derive(Serialize)]
struct PathRecord {
    function: String,
    id: u32,
    executions: Count,
    mispredictions: Count,
}

#[derive(Serialize)]
struct SchemeRecord {
    name: &'static str,
    dump_interval: u64,
    dumps: u64,
    tse: Thresholds,
    arc_weight_error: f64,
    arc_weight_error_by_weight: Vec<WeightRecord>,
}

/// The trace selection errors, by threshold in percent.
struct Thresholds([f64; THRESHOLDS.len()]);

impl Serialize for Thresholds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let percents = THRESHOLDS.map(|threshold| (100.0 * threshold).to_string());
        serializer.collect_map(percents.into_iter().zip(self.0))
    }
}

#[derive(Serialize)]
struct WeightRecord {
    from: f64,
    blocks: u64,
    error: f64,
}

/// Writes what simulated branch predictors find in a thread as one object and a newline.
///
/// # Errors
/// If writing to `out` fails.
pub fn write(
    predictions: &Predictions<'_>,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let labeled = LabeledStream::new(predictions.thread.stream, options);
    let answer = predictions.answer;
    let top = options.top.unwrap_or(usize::MAX);
    let executed_branches = answer.stream.len();
    let models = Model::ALL.map(|model| {
        let mispredictions = answer.mispredictions[model.index()];
        ModelRecord {
            name: model_key(model),
            bytes: answer.sizes[model.index()],
            mispredictions,
            rate: mispredictions.0 as f64 / executed_branches.max(1) as f64,
        }
    });
    let branches = answer.branches.iter().take(top);
    let paths = answer.paths.iter().take(top);
    let schemes = answer.schemes.as_ref();
    let document = Document {
        schema: SCHEMA,
        thread: ThreadRecord::new(predictions.thread),
        covers: "woven",
        addresses: thread::addresses(&answer.stream),
        executed_branches,
        instructions: answer.instructions,
        models: models.into(),
        longer_history: RemedyRecord::new(&longer_history(answer)),
        select: RemedyRecord::new(&selects(answer)),
        branches: branches.map(|hard| branch(&labeled, hard)).collect(),
        paths: paths.filter_map(|hard| path(&labeled, hard)).collect(),
        schemes: schemes.map(|schemes| schemes.iter().map(scheme).collect()),
    };
    document::write(&document, out)
}

fn branch<'a>(labeled: &LabeledStream<'a>, hard: &HardBranch) -> BranchRecord<'a> {
    BranchRecord {
        site: SiteRecord::new(labeled, &hard.branch),
        executions: hard.executions,
        mispredictions: Model::ALL
            .map(|model| (model_key(model), hard.of(model)))
            .into(),
        select: hard.select,
    }
}

fn path(labeled: &LabeledStream<'_>, hard: &HardPath) -> Option<PathRecord> {
    match labeled.stream.trace.terminals[hard.terminal as usize] {
        Terminal::Path { function, path } => Some(PathRecord {
            function: labeled.function(function).to_string(),
            id: path,
            executions: hard.executions,
            mispredictions: hard.mispredictions,
        }),
        Terminal::Left(_) | Terminal::Gap => None,
    }
}

fn scheme(result: &SchemeResult) -> SchemeRecord {
    let classes = result.arc_weight_error.classes.iter();
    SchemeRecord {
        name: match result.scheme {
            Scheme::OneLevel => "one_level",
            Scheme::TwoLevelDirtyBit => "two_level_dirty_bit",
            Scheme::TwoLevelMarkerBit => "two_level_marker_bit",
        },
        dump_interval: result.dump_interval,
        dumps: result.dumps,
        tse: Thresholds(result.trace_selection_errors),
        arc_weight_error: result.arc_weight_error.error,
        arc_weight_error_by_weight: classes
            .map(|class| WeightRecord {
                from: class.from,
                blocks: class.blocks,
                error: class.error,
            })
            .collect(),
    }
}

fn model_key(model: Model) -> &'static str {
    match model {
        Model::Bimodal => "bimodal",
        Model::Gshare => "gshare",
        Model::Tage => "tage",
        Model::LongerHistory => "longer_history",
    }
}
