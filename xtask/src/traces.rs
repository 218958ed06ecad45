//! `cargo xtask study traces`: stored streams of the suite's programs under the two papers' measures, offline.
//!
//! 1. `record`: each program, woven for traces and for loops, runs without a collector; its threads' words are read out of its profile;
//! 2. `files`: what the trace becomes (Larus 1999, Table 1), beside general compressors and plain SEQUITUR; `hot`: minimal hot subpaths
//!    against their longest length (Figure 9);
//! 3. `forests`: forests of sequences over k iterations (D'Elia, Demetrescu, Finocchi 2013, Figures 11, 13, 14), beside hashed counters;
//! 4. `page`: docs/traces.md.
//!
//! Speeds are of processor time, of all threads that work on it together, so that they hold on a machine that does other things.

mod files;
mod forests;
mod hot;
mod options;
mod page;
mod record;

pub(crate) use options::Options;

use crate::bench;
use crate::test::cargo;
use anyhow::{Context, Result};
use holloway_tests::workload::{Flavour, SUITE, Workload};
use rustix::time::{ClockId, clock_gettime};
use std::os::unix::process::CommandExt;
use std::time::Duration;

/// All that was measured.
#[derive(Debug)]
pub(crate) struct Study {
    /// Processor, cores, kernel.
    machine: String,
    /// What was asked for.
    options: Options,
    programs: Vec<Program>,
}

/// A program's figures.
#[derive(Debug)]
struct Program {
    workload: &'static Workload,
    trace: files::Figures,
    /// Hot subpaths, as `hot` counts them.
    hot: Vec<Vec<usize>>,
    forests: forests::Figures,
}

/// Runs the study, prints it, and writes the page where nothing was left out.
///
/// # Errors
/// A build or a run fails, a trace doesn't come back as it was, or a compressor is missing.
pub(crate) fn run(options: Options) -> Result<()> {
    if std::env::var_os(OPTIMISED).is_none() {
        return Err(optimised());
    }
    let shelf = bench::shelf()?;
    let chosen = options.chosen();
    let flavours = [Flavour::Trace, Flavour::Loops];
    shelf.build(chosen.iter().copied(), &flavours, options.scale)?;
    let mut programs = Vec::new();
    for workload in &chosen {
        let program = program(&shelf, workload, &options);
        programs.push(program.with_context(|| workload.name)?);
        eprintln!("{}: done", workload.name);
    }
    let is_all = chosen.len() == SUITE.len();
    let study = Study {
        machine: bench::machine(),
        options,
        programs,
    };
    println!("{}", page::tables(&study));
    if is_all && study.options.writes {
        let file = crate::root().join("docs/traces.md");
        page::write(&study, &file)?;
        println!("written to docs/traces.md");
    }
    Ok(())
}

/// Set where the command was built with optimisation.
const OPTIMISED: &str = "HOLLOWAY_STUDY_OPTIMISED";

/// Becomes this command again, built with optimisation: what is measured runs in this process. Gives why it didn't.
fn optimised() -> anyhow::Error {
    let mut again = cargo();
    again.args(["run", "--quiet", "--release", "--package", "xtask", "--"]);
    again.args(std::env::args_os().skip(1)).env(OPTIMISED, "1");
    let error = again.exec();
    anyhow::Error::new(error).context("cannot start cargo")
}

fn program(
    shelf: &bench::Shelf,
    workload: &'static Workload,
    options: &Options,
) -> Result<Program> {
    let recorded = |flavour, most| record::record(shelf, workload, flavour, options.scale, most);
    let (trace, first) = {
        let stored = recorded(Flavour::Trace, options.most)?;
        let trace = files::measure(&stored, options)?;
        (trace, files::grammar_of_first(&stored, options.figures)?)
    };
    Ok(Program {
        workload,
        trace,
        hot: hot::counts(&first),
        forests: forests::measure(&recorded(Flavour::Loops, options.forests)?, options.figures),
    })
}

/// What a piece of work gives, and the processor time that it took, in all threads.
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = processor_time();
    let result = work();
    (result, processor_time().saturating_sub(start))
}

/// Time that all threads have run.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Millions a second.
fn rate(items: u64, time: Duration) -> f64 {
    items as f64 / time.as_secs_f64().max(1e-9) / 1e6
}
