//! Runs a program, and reads its phases from `holloway phases`.

use crate::bench::KeptBuilds;
use anyhow::{Context, Result};
use holloway_tests::tool::{holloway_command, run_ok, scratch};
use holloway_tests::workload::{Flavor, Scale, Workload};
use serde::Deserialize;

/// A program with its phases.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) workload: &'static Workload,
    pub(super) phases: Phases,
}

/// The fields of the document "Phases" of docs/json.md that the page needs.
#[derive(Debug, Deserialize)]
pub(super) struct Phases {
    pub(super) branches: u64,
    pub(super) instructions: u64,
    pub(super) executed_size: u64,
    pub(super) hot_size: u64,
    pub(super) phases: Vec<Phase>,
    pub(super) hot_spots: Vec<HotSpot>,
    pub(super) detectors: Vec<Detector>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Phase {
    pub(super) segments: Vec<serde::de::IgnoredAny>,
}

#[derive(Debug, Deserialize)]
pub(super) struct HotSpot {
    pub(super) size: u64,
    pub(super) share: f64,
    pub(super) executed: Executed,
    pub(super) after_detection: Executed,
    pub(super) branches: Vec<HotBranch>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Executed {
    pub(super) instructions: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct HotBranch {
    pub(super) executed: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Detector {
    pub(super) detector: String,
    pub(super) signals: u64,
    pub(super) found: u64,
    pub(super) missed: u64,
    pub(super) false_alarms: u64,
    pub(super) median_latency: Option<u64>,
}

/// Runs a program, and reads its phases.
///
/// # Errors
/// If the run or the report fails.
pub(super) fn phases(
    kept_builds: &KeptBuilds,
    workload: &Workload,
    scale: Scale,
) -> Result<Phases> {
    let scratch = scratch(&format!("watch-{}", workload.name))?;
    let data = scratch.path().join("run");
    let executable = kept_builds.executable(workload.source, Flavor::Trace);
    let input = kept_builds.input(workload, scale)?;
    workload.run(&executable, &input, scale, Some(&data))?;
    let mut command = holloway_command(["phases", "--trigger", "--format", "json"]);
    let printed = run_ok(command.arg(&data))?.stdout;
    serde_json::from_slice(&printed).context("the phases as JSON")
}
