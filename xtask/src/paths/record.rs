//! Runs a program three times and reads the reports of `holloway`.

use crate::bench::{Shelf, Totals};
use anyhow::{Context, Result};
use holloway_tests::tool::{holloway_command, run_ok, scratch};
use holloway_tests::workload::{Flavor, Scale, Workload};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::process::Command;

/// A program with the counts of its runs.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) workload: &'static Workload,
    pub(super) figures: Figures,
}

impl Program {
    /// Runs a program three times and reads the reports.
    ///
    /// # Errors
    /// If a run or a report fails, or if counts were lost.
    pub(super) fn run(shelf: &Shelf, workload: &'static Workload, scale: Scale) -> Result<Self> {
        let figures = figures(shelf, workload, scale)?;
        Ok(Self { workload, figures })
    }
}

/// The counts of a program's runs.
#[derive(Debug)]
pub(super) struct Figures {
    /// The full run with path counters.
    pub(super) paths: Totals,
    /// The full run with edge counters.
    pub(super) edges: Totals,
    /// The paths that ran, and the paths predicted from edges.
    pub(super) prediction: Prediction,
    /// The comparison of the training run (`a`) with the full run (`b`).
    pub(super) overlap: Overlap,
}

/// The object `prediction` of docs/json.md.
#[derive(Debug, Deserialize)]
pub(super) struct Prediction {
    pub(super) real: Lengths,
    pub(super) right: Lengths,
    pub(super) right_share: Share,
    pub(super) functions: Vec<Function>,
}

/// Shares, 0 to 1.
#[derive(Debug, Deserialize)]
pub(super) struct Share {
    pub(super) paths: f64,
    pub(super) executions: f64,
}

/// A function of [`Prediction`].
#[derive(Debug, Deserialize)]
pub(super) struct Function {
    pub(super) real: Lengths,
}

/// The lengths of a set of paths.
#[derive(Debug, Deserialize)]
pub(super) struct Lengths {
    pub(super) paths: u64,
    pub(super) edges: Length,
    pub(super) instructions: Length,
}

/// The lengths of a set of paths in one unit.
#[derive(Debug, Deserialize)]
pub(super) struct Length {
    pub(super) longest: u64,
    pub(super) mean_run: f64,
}

/// The object `overlap` of docs/json.md.
#[derive(Debug, Deserialize)]
pub(super) struct Overlap {
    pub(super) common: u64,
    pub(super) a: Side,
    pub(super) b: Side,
}

/// A run of [`Overlap`].
#[derive(Debug, Deserialize)]
pub(super) struct Side {
    pub(super) distinct: u64,
    pub(super) executions: u64,
    pub(super) common_executions: u64,
    pub(super) instructions: u64,
    pub(super) common_instructions: u64,
}

impl Overlap {
    /// Number of different paths that either run executed.
    pub(super) fn union(&self) -> u64 {
        self.a.distinct + self.b.distinct - self.common
    }
}

/// The part of a report that is read.
#[derive(Deserialize)]
struct Report {
    prediction: Prediction,
}

fn figures(shelf: &Shelf, workload: &Workload, scale: Scale) -> Result<Figures> {
    let scratch = scratch(&format!("paths-{}", workload.name))?;
    let run = |flavor: Flavor, scale, name| {
        let data = scratch.path().join(name);
        let executable = shelf.executable(workload.source, flavor);
        let input = shelf.input(workload, scale)?;
        workload.run(&executable, &input, scale, Some(&data))?;
        let totals = Totals::of_run(&data)?;
        Ok::<_, anyhow::Error>((data, totals))
    };
    let (full, paths) = run(Flavor::Paths, scale, "full")?;
    let (train, _) = run(Flavor::Paths, Scale::Train, "train")?;
    let (_, edges) = run(Flavor::Edges, scale, "edges")?;
    let mut report = holloway_command(["report", "--view", "paths-from-edges", "--format", "json"]);
    let report: Report = read(report.arg(&full))?;
    let mut overlap = holloway_command(["overlap", "--format", "json", "--top", "1"]);
    let overlap: Overlap = read(overlap.arg(&train).arg(&full))?;
    Ok(Figures {
        paths,
        edges,
        prediction: report.prediction,
        overlap,
    })
}

/// Runs a command and reads the JSON that it prints. Fields that the type lacks are ignored.
fn read<T: DeserializeOwned>(command: &mut Command) -> Result<T> {
    let printed = run_ok(command)?.stdout;
    serde_json::from_slice(&printed).with_context(|| format!("{command:?}"))
}
