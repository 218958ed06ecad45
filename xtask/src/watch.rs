//! `cargo xtask study watch`: the hot spots and the phases of the suite's programs, beside the figures
//! of Merten et al. (1999).
//!
//! 1. Each program runs once, woven for traces. `holloway phases` evaluates its longest trace.
//! 2. `page` writes docs/studies/watch.md.
//!
//! Nothing is timed, so the machine may be busy.

mod page;

use crate::bench::KeptBuilds;
use crate::suite;
use crate::workspace::root;
use anyhow::{Context, Result};
use holloway_tests::tool::{holloway_command, run_ok, scratch};
use holloway_tests::workload::{Flavor, Scale, Workload};
use serde::Deserialize;

/// The options of `cargo xtask study watch`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Use smaller inputs
    #[arg(long)]
    quick: bool,
    /// Run only these programs
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = suite::parse_name)]
    only: Vec<String>,
}

impl Options {
    fn scale(&self) -> Scale {
        match self.quick {
            true => Scale::Quick,
            false => Scale::Full,
        }
    }

    /// Whether the whole suite runs at its full size, so that the result is worth keeping.
    fn is_all(&self) -> bool {
        self.only.is_empty() && !self.quick
    }
}

/// A program with its phases.
#[derive(Debug)]
struct Program {
    workload: &'static Workload,
    phases: Phases,
}

/// The fields of the document "Phases" of docs/json.md that the page needs.
#[derive(Debug, Deserialize)]
struct Phases {
    branches: u64,
    instructions: u64,
    executed_size: u64,
    hot_size: u64,
    phases: Vec<Phase>,
    hot_spots: Vec<HotSpot>,
    detectors: Vec<Detector>,
}

#[derive(Debug, Deserialize)]
struct Phase {
    segments: Vec<serde::de::IgnoredAny>,
}

#[derive(Debug, Deserialize)]
struct HotSpot {
    size: u64,
    share: f64,
    executed: Executed,
    after_detection: Executed,
    branches: Vec<HotBranch>,
}

#[derive(Debug, Deserialize)]
struct Executed {
    instructions: u64,
}

#[derive(Debug, Deserialize)]
struct HotBranch {
    executed: u64,
}

#[derive(Debug, Deserialize)]
struct Detector {
    detector: String,
    signals: u64,
    found: u64,
    missed: u64,
    false_alarms: u64,
    median_latency: Option<u64>,
}

/// Runs the study, prints it, and writes the page if nothing was left out.
///
/// # Errors
/// If a build or a run fails.
pub(crate) fn run(options: &Options) -> Result<()> {
    let kept_builds = KeptBuilds::open()?;
    let chosen = suite::chosen(&options.only);
    kept_builds.build(chosen.iter().copied(), &[Flavor::Trace], options.scale())?;
    let mut programs = Vec::new();
    for workload in chosen {
        let phases = phases(&kept_builds, workload, options.scale());
        let phases = phases.with_context(|| workload.name)?;
        eprintln!("{}: {} branches", workload.name, phases.branches);
        programs.push(Program { workload, phases });
    }
    println!("{}", page::tables(&programs));
    if options.is_all() {
        page::write(&programs, &root().join("docs/studies/watch.md"))?;
        println!("written to docs/studies/watch.md");
    }
    Ok(())
}

fn phases(kept_builds: &KeptBuilds, workload: &Workload, scale: Scale) -> Result<Phases> {
    let scratch = scratch(&format!("watch-{}", workload.name))?;
    let data = scratch.path().join("run");
    let executable = kept_builds.executable(workload.source, Flavor::Trace);
    let input = kept_builds.input(workload, scale)?;
    workload.run(&executable, &input, scale, Some(&data))?;
    let mut command = holloway_command(["phases", "--trigger", "--format", "json"]);
    let printed = run_ok(command.arg(&data))?.stdout;
    serde_json::from_slice(&printed).context("the phases as JSON")
}
