//! Runs a program, and reads its phases from `holloway phases`, and what predictors find from
//! `holloway predict`.

use crate::bench::KeptBuilds;
use anyhow::{Context, Result};
use holloway_tests::tool::{holloway, holloway_command, run_ok, scratch};
use holloway_tests::workload::{Flavor, Scale, Workload};
use serde::Deserialize;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// A program with its phases, and what predictors find.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) workload: &'static Workload,
    pub(super) phases: Phases,
    pub(super) predictions: Predictions,
}

/// The fields of the document "Phases" of docs/json.md that the page needs.
#[derive(Debug, Deserialize)]
pub(super) struct Phases {
    pub(super) addresses: String,
    pub(super) branches: u64,
    pub(super) instructions: u64,
    pub(super) executed_size: u64,
    pub(super) hot_size: u64,
    pub(super) phases: Vec<Phase>,
    pub(super) hot_spots: Vec<HotSpot>,
    pub(super) detectors: Vec<Detector>,
    pub(super) timeline: Timeline,
}

#[derive(Debug, Deserialize)]
pub(super) struct Timeline {
    pub(super) period: u64,
    pub(super) branches: Vec<Site>,
    pub(super) samples: Vec<Sample>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Site {
    pub(super) function: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Sample {
    /// The marked branches, as indices of [`Timeline::branches`].
    pub(super) branches: Vec<usize>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Phase {
    pub(super) segments: Vec<Segment>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Segment {
    pub(super) from: u64,
    pub(super) to: u64,
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

/// The fields of the document "Branch predictors" of docs/json.md that the page needs.
#[derive(Debug, Deserialize)]
pub(super) struct Predictions {
    pub(super) instructions: u64,
    pub(super) models: Vec<Model>,
    pub(super) longer_history: Remedy,
    pub(super) select: Remedy,
    pub(super) schemes: Vec<Scheme>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Model {
    pub(super) name: String,
    pub(super) mispredictions: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Remedy {
    pub(super) mispredictions: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Scheme {
    pub(super) name: String,
    pub(super) tse: TraceSelectionErrors,
    pub(super) arc_weight_error: f64,
}

/// The trace selection errors, by threshold in percent.
#[derive(Debug, Deserialize)]
pub(super) struct TraceSelectionErrors {
    #[serde(rename = "0.1")]
    tenth: f64,
    #[serde(rename = "1")]
    one: f64,
    #[serde(rename = "3")]
    three: f64,
    #[serde(rename = "5")]
    five: f64,
}

impl TraceSelectionErrors {
    /// The errors in percent, smallest threshold first.
    pub(super) fn percents(&self) -> [f64; 4] {
        [self.tenth, self.one, self.three, self.five].map(|error| 100.0 * error)
    }
}

/// Runs a program, and reads its phases, and what predictors find. The answers are kept next to the
/// program, and read again if neither the program nor Holloway nor the input's size changed.
///
/// # Errors
/// If the run or a report fails.
pub(super) fn watch(
    kept_builds: &KeptBuilds,
    workload: &'static Workload,
    scale: Scale,
) -> Result<Program> {
    let executable = kept_builds.executable(workload.source, Flavor::Trace);
    let answers = Answers {
        folder: executable.with_file_name(format!("watch-{}", workload.name)),
        stamp: stamp(&executable, workload.size(scale))?,
    };
    if !answers.are_kept() {
        let scratch = scratch(&format!("watch-{}", workload.name))?;
        let data = scratch.path().join("run");
        let input = kept_builds.input(workload, scale)?;
        workload.run(&executable, &input, scale, Some(&data))?;
        let mut phases = holloway_command(["phases", "--trigger", "--format", "json"]);
        let phases = run_ok(phases.arg(&data))?.stdout;
        let words = ["predict", "--estimates", "--sweep", "--format", "json"];
        let mut predict = holloway_command(words);
        let predictions = run_ok(predict.arg(&data))?.stdout;
        answers.keep(&phases, &predictions)?;
    }
    let [phases, predictions] = answers.read()?;
    Ok(Program {
        workload,
        phases: serde_json::from_slice(&phases).context("the phases as JSON")?,
        predictions: serde_json::from_slice(&predictions).context("the predictions as JSON")?,
    })
}

/// The kept answers about a program.
struct Answers {
    folder: PathBuf,
    stamp: String,
}

/// The files of the answers, and of their stamp, which is written last.
const FILES: [&str; 2] = ["phases.json", "predictions.json"];
const STAMP: &str = "stamp";

impl Answers {
    fn are_kept(&self) -> bool {
        std::fs::read_to_string(self.folder.join(STAMP)).is_ok_and(|stamp| stamp == self.stamp)
    }

    fn keep(&self, phases: &[u8], predictions: &[u8]) -> Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        for (file, bytes) in FILES.into_iter().zip([phases, predictions]) {
            std::fs::write(self.folder.join(file), bytes)?;
        }
        Ok(std::fs::write(self.folder.join(STAMP), &self.stamp)?)
    }

    fn read(&self) -> Result<[Vec<u8>; 2]> {
        let read = |file| std::fs::read(self.folder.join(file));
        Ok([read(FILES[0])?, read(FILES[1])?])
    }
}

/// A hash of the program, of Holloway, and of the size of the input.
fn stamp(executable: &Path, size: usize) -> Result<String> {
    let mut hash = DefaultHasher::new();
    for file in [executable, holloway()] {
        let bytes =
            std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        bytes.hash(&mut hash);
    }
    size.hash(&mut hash);
    Ok(format!("{:016x}\n", hash.finish()))
}
