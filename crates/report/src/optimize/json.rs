//! Writes what an optimization gained as JSON.

use std::io::{self, Write};

use holloway_analysis::old_plans::Summary;
use holloway_analysis::paired::{Gain, is_noisy};
use holloway_format::Count;
use serde::Serialize;

use super::optimization::{BlamedFunction, Optimization, PlanSource};
use crate::json::{SCHEMA, write_document};
use crate::names::display;

/// Writes the optimization as JSON, one object and a newline. Section `optimize` of docs/json.md
/// explains the keys.
///
/// # Errors
/// If writing to `out` fails.
pub fn json(optimization: &Optimization, out: &mut dyn Write) -> io::Result<()> {
    let (kept, dropped): (Vec<_>, Vec<_>) = optimization.steps().partition(|(_, is_kept)| *is_kept);
    let [kept, dropped] =
        [kept, dropped].map(|steps| steps.into_iter().map(|(step, _)| step.name()).collect());
    let document = Document {
        schema: SCHEMA,
        gain: optimization.kept.unwrap_or(optimization.early.gain).into(),
        kept,
        dropped,
        blamed: optimization.blamed.iter().map(BlamedRecord::from).collect(),
        noise_percent: optimization.noise.median * 100.0,
        too_noisy: is_noisy(optimization.noise),
        pairs: optimization.pairs,
        instructions: optimization.instructions.map(|counted| InstructionsRecord {
            plain: counted.plain,
            optimized: counted.other,
            late: optimization.late_instructions.map(|late| late.other),
        }),
        functions: optimization.functions,
        functions_that_ran: optimization.functions_that_ran,
        planned_functions: optimization.planned_functions,
        matched: match optimization.source {
            PlanSource::Training | PlanSource::Given { plans: 0, .. } => None,
            PlanSource::Given { summary, .. } => Some(summary.into()),
        },
        recipe_bytes: optimization.recipe_size,
        unpredictable_branches: optimization.unpredictable_branches,
        late_functions: optimization.late_functions,
        early: optimization.early.gain.into(),
        selects: optimization.selects.map(|step| step.gain.into()),
        late: optimization.late.map(|step| step.gain.into()),
        tails: optimization.tails,
        paths: optimization
            .paths
            .measurement()
            .map(|step| step.gain.into()),
        prefetches: optimization.prefetches,
        prefetch: optimization
            .prefetch
            .measurement()
            .map(|step| step.gain.into()),
        order: optimization
            .order
            .measurement()
            .map(|step| step.gain.into()),
    };
    write_document(&document, out)
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    #[serde(flatten)]
    gain: GainRecord,
    kept: Vec<&'static str>,
    dropped: Vec<&'static str>,
    blamed: Vec<BlamedRecord<'a>>,
    noise_percent: f64,
    too_noisy: bool,
    pairs: usize,
    instructions: Option<InstructionsRecord>,
    functions: usize,
    functions_that_ran: usize,
    planned_functions: u64,
    matched: Option<MatchedRecord>,
    recipe_bytes: usize,
    unpredictable_branches: usize,
    late_functions: usize,
    early: GainRecord,
    selects: Option<GainRecord>,
    late: Option<GainRecord>,
    tails: usize,
    paths: Option<GainRecord>,
    prefetches: usize,
    prefetch: Option<GainRecord>,
    order: Option<GainRecord>,
}

#[derive(Serialize)]
struct MatchedRecord {
    unchanged: usize,
    changed: usize,
    gone: usize,
    changed_executions: Count,
    changed_matched: Count,
    executions: Count,
    matched: Count,
}

impl From<Summary> for MatchedRecord {
    fn from(summary: Summary) -> Self {
        Self {
            unchanged: summary.unchanged,
            changed: summary.changed,
            gone: summary.gone,
            changed_executions: summary.changed_executions,
            changed_matched: summary.changed_matched,
            executions: summary.executions,
            matched: summary.matched,
        }
    }
}

#[derive(Serialize)]
struct BlamedRecord<'a> {
    step: &'static str,
    function: String,
    linkage_name: &'a str,
    #[serde(flatten)]
    gain: GainRecord,
}

impl<'a> From<&'a BlamedFunction> for BlamedRecord<'a> {
    fn from(blamed: &'a BlamedFunction) -> Self {
        Self {
            step: blamed.step.name(),
            function: display(&blamed.function, ""),
            linkage_name: &blamed.function,
            gain: blamed.gain.into(),
        }
    }
}

#[derive(Serialize)]
struct GainRecord {
    gain_percent: f64,
    low: f64,
    high: f64,
}

impl From<Gain> for GainRecord {
    fn from(Gain { median, low, high }: Gain) -> Self {
        Self {
            gain_percent: median * 100.0,
            low: low * 100.0,
            high: high * 100.0,
        }
    }
}

#[derive(Serialize)]
struct InstructionsRecord {
    plain: u64,
    optimized: u64,
    late: Option<u64>,
}
