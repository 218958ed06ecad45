//! The report in JSON, for other programs. docs/json.md documents schema 1.
//!
//! Each record is written as soon as it is made. The implementation of `Serialize` for `RunContext`
//! determines the order of the document's fields.
//!
//! Cost: each listed path is regenerated once. The memory in use does not grow with the number of
//! paths.

pub mod advice;
mod branches;
mod context;
pub mod covered;
mod cpu_time;
pub(crate) mod diff;
mod document;
mod fields;
mod functions;
mod left_out;
mod lines;
pub mod live_phases;
pub mod loops;
pub mod manager;
pub(crate) mod overlap;
pub mod phases;
mod prediction;
pub mod predictors;
pub mod samples;
pub(crate) mod stability;
pub(crate) mod suite;
mod sums;
pub mod test_coverage;
mod thread;
pub mod trace;
mod uncovered;
pub mod variation;

use holloway_format::Count;
use std::io::{self, Write};

use holloway_abi::Unit;
use holloway_analysis::RunProfile;
use holloway_analysis::coverage::{coverage, left_out};
use holloway_analysis::functions::Weight;
use holloway_analysis::paths::Ranked;
use holloway_analysis::predict::prediction;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::filter::Filter;
use crate::notes::Sentences;
use crate::options::{Options, View};
use branches::branches;
use context::RunContext;
use cpu_time::CpuTimeRecord;
pub use document::SCHEMA;
pub(crate) use document::write as write_document;
use fields::{collected, exits};
use functions::Functions;
use lines::lines;
use prediction::PredictionRecord;
use sums::SumsRecord;

/// Writes the run as one object and a newline. [`Options::function`], [`Options::code`], and
/// [`Options::top`] limit the lists; totals refer to the whole run. The document has the prediction
/// only for [`View::PathsFromEdges`], sums only for [`View::Functions`], branches only for
/// [`View::Branches`], and lines only for [`View::Lines`]. [`View::Uncovered`] has a separate
/// document.
///
/// # Errors
/// If writing to `out` fails.
pub fn write(run: &RunProfile, options: &Options<'_>, out: &mut dyn Write) -> io::Result<()> {
    if options.view == Some(View::Uncovered) {
        return uncovered::write(run, options, out);
    }
    let document = RunContext {
        run,
        names: Filter::new(options),
        options,
    };
    document::write(&document, out)
}

impl Serialize for RunContext<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut document = serializer.serialize_struct("Document", 8)?;
        document.serialize_field("schema", &SCHEMA)?;
        if let Some(cpu_time) = CpuTimeRecord::new(self.run) {
            document.serialize_field("cpu_time", &cpu_time)?;
        }
        document.serialize_field("images", &self.images())?;
        document.serialize_field("totals", &self.totals())?;
        document.serialize_field("damage", &Sentences(&self.run.damage))?;
        if let Some(interrupt) = self.run.interrupt {
            document.serialize_field("interrupted", interrupt.name())?;
        }
        if self.options.function.is_some() {
            document.serialize_field("found", &self.found())?;
        }
        document.serialize_field("functions", &Functions(self))?;
        if self.options.view == Some(View::Functions) {
            let weight = Weight::of(self.run, self.options.sort);
            document.serialize_field("sums", &SumsRecord::new(self.run, &self.names, weight))?;
        }
        let left_out = left_out(self.run);
        document.serialize_field("skipped", &self.skipped(&left_out))?;
        document.serialize_field("gone", &self.gone(&left_out))?;
        if self.options.view == Some(View::PathsFromEdges) {
            let prediction = prediction(self.run, &|id| self.names.keeps(self.run, id));
            let prediction = (!prediction.functions.is_empty()).then_some(prediction);
            let record = prediction.map(|prediction| PredictionRecord::new(self, &prediction));
            document.serialize_field("prediction", &record)?;
        }
        if self.options.view == Some(View::Branches) {
            document.serialize_field("branches", &branches(self))?;
        }
        if self.options.view == Some(View::Lines) {
            document.serialize_field("lines", &lines(self.run, &self.names, self.options.top))?;
        }
        if let Some(reason) = self.without_paths() {
            document.serialize_field("reason", reason)?;
        }
        document.end()
    }
}

#[derive(Serialize)]
struct ImageRecord<'a> {
    name: &'a str,
    build_id: String,
    collected: &'static str,
    processes: Vec<ProcessRecord<'a>>,
}

#[derive(Serialize)]
struct ProcessRecord<'a> {
    pid: u32,
    ppid: u32,
    path: &'a str,
    threads: u32,
    forked: bool,
    lost: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lost_reason: Option<String>,
}

#[derive(Serialize)]
struct Totals {
    exits: &'static str,
    path_executions: Count,
    hashed_executions: Count,
    increments: Count,
    distinct_paths: u64,
    possible_paths: u64,
    edges_taken: Count,
    distinct_edges: u64,
    possible_edges: u64,
    left: Count,
    entered_again: Count,
    instructions: Count,
    calls: Count,
    functions: u64,
    functions_run: u64,
    functions_skipped: u64,
    functions_inlined: u64,
    functions_gone: u64,
    processes: u64,
    threads: u64,
    lost: u64,
}

impl<'a> RunContext<'a> {
    fn images(&self) -> Vec<ImageRecord<'a>> {
        let process = |process: &'a holloway_analysis::Process| ProcessRecord {
            pid: process.pid,
            ppid: process.ppid,
            path: &process.image_path,
            threads: process.threads,
            forked: process.forked,
            lost: process.lost,
            lost_reason: process.failure.map(|failure| failure.to_string()),
        };
        let image = |image: &'a holloway_analysis::Image| ImageRecord {
            name: &image.name,
            build_id: image
                .build_id
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect(),
            collected: collected(image.kind.traits().unit),
            processes: image.processes.iter().map(process).collect(),
        };
        self.run.images.iter().map(image).collect()
    }

    fn totals(&self) -> Totals {
        let coverage = coverage(self.run);
        Totals {
            exits: exits(self.run.exits()),
            path_executions: coverage.path_executions,
            hashed_executions: coverage.hashed_executions,
            increments: coverage.increments,
            distinct_paths: coverage.distinct_paths,
            possible_paths: coverage.possible_paths,
            edges_taken: coverage.edges_taken,
            distinct_edges: coverage.distinct_edges,
            possible_edges: coverage.possible_edges,
            left: coverage.left,
            entered_again: coverage.entered_again,
            instructions: coverage.instructions,
            calls: coverage.calls,
            functions: coverage.instrumented,
            functions_run: coverage.run,
            functions_skipped: coverage.skipped_total(),
            functions_inlined: coverage.inlined,
            functions_gone: coverage.gone,
            processes: coverage.processes,
            threads: coverage.threads,
            lost: coverage.lost,
        }
    }

    /// Returns the reason why a view of paths is empty. Returns `None` if paths ran, or for other
    /// views.
    fn without_paths(&self) -> Option<&'static str> {
        if !matches!(self.options.view, Some(View::Paths | View::PathsFromEdges)) {
            return None;
        }
        let selected = self
            .run
            .ids()
            .filter(|&(id, _)| self.names.paths(self.run, id) != Ranked::None);
        let ran = selected.filter(|(_, function)| function.ran());
        match ran.map(|(_, function)| function.unit()).min() {
            Some(Unit::Paths) => None,
            Some(Unit::Edges) => Some("edges were recorded, not paths"),
            None => Some("no such function ran"),
        }
    }
}
