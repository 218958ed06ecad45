//! `cargo xtask bench`: what counting paths and edges costs, on the suite, side by side with the compilers' own counters.
//!
//! 1. `programs`: every program in every flavour, kept below target/bench as long as nothing it is made of changes;
//! 2. `rounds`: the flavours run in turn, round by round, so that a slow spell of the machine hits all of them;
//! 3. `totals`: what a run counted; `builds`: what weaving costs at build time;
//! 4. `summary`: ratios within a round, their medians, geometric means, and what they are against the targets;
//! 5. `page`, `json`: docs/benchmarks.md, target/bench/latest.json, and the file of `--json`.
//!
//! `callgrind` counts instructions in place of time, for a machine that is busy with other things.

mod builds;
mod callgrind;
mod exact;
mod json;
mod options;
mod page;
mod paper;
mod programs;
mod results_file;
mod rounds;
mod samples;
mod sizes;
mod summary;
mod targets;
mod totals;
mod way;

pub(crate) use options::Options;
pub(crate) use programs::Shelf;
pub(crate) use samples::Samples;
pub(crate) use totals::Totals;

use crate::root;
use crate::test::release_build;
use anyhow::{Context, Result, ensure};
use holloway_tests::workload::{MICRO, SUITE};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

/// All that was measured.
#[derive(Debug)]
pub(crate) struct Results {
    /// Processor, cores, kernel.
    pub(crate) machine: String,
    /// Inputs were small, rounds few.
    pub(crate) quick: bool,
    /// The suite.
    pub(crate) suite: Vec<rounds::Row>,
    /// Tight loops.
    pub(crate) micro: Vec<rounds::Row>,
    /// Counts held against what is known, with threads.
    pub(crate) exact: Vec<exact::Check>,
    /// Build times, if asked for.
    pub(crate) builds: Option<builds::Builds>,
}

/// Runs the benches and writes their results.
///
/// # Errors
/// A build or a run fails, or a flavour's output isn't the native one.
pub(crate) fn run(options: &Options) -> Result<()> {
    if let Some(file) = &options.json {
        results_file::check(file)?;
    }
    let shelf = shelf()?;
    let suite = options.chosen(SUITE.into_iter());
    let micro = options.chosen(MICRO.iter());
    if options.build_only {
        let all = suite.into_iter().chain(micro);
        return shelf.build(all, options.flavours(), options.scale());
    }
    build_apart(options)?;
    if options.callgrind {
        let all: Vec<_> = suite.into_iter().chain(micro).collect();
        let counts = callgrind::run(&shelf, &all, options)?;
        return keep(options, || json::instructions(&machine(), &counts));
    }
    let measure = |all: Vec<_>, ways: &[way::Way], rounds| {
        all.into_iter()
            .map(|w| rounds::row(&shelf, w, options, ways, rounds))
            .collect::<Result<Vec<_>>>()
    };
    let ways = options.ways();
    let mut micro_ways = ways.clone();
    if options.is_all() {
        // Streams of tight loops are in no table.
        micro_ways.retain(|way| !way.is_stream());
    }
    let mut results = Results {
        machine: machine(),
        quick: options.quick,
        suite: measure(suite, &ways, options.rounds())?,
        micro: measure(micro, &micro_ways, options.micro_rounds())?,
        exact: if options.is_all() {
            exact::checks(&shelf)?
        } else {
            Vec::new()
        },
        builds: (options.is_all() && !options.quick)
            .then(builds::measure)
            .transpose()?,
    };
    // Reading executables takes memory, so it comes after all measuring.
    for row in results.suite.iter_mut().chain(&mut results.micro) {
        for m in &mut row.ways {
            let executable = shelf.executable(row.workload.source, m.way.flavour());
            m.code = sizes::code_bytes(&executable)?;
        }
    }
    report(&results, options)?;
    keep(options, || json::whole(&results))
}

/// The shelf of built programs. The workloads find holloway by a variable of this process: without it the command begins again with it.
///
/// # Errors
/// holloway can't be built.
pub(crate) fn shelf() -> Result<Shelf> {
    if std::env::var_os("HOLLOWAY_EXE").is_none() {
        return Err(with_exe(&release_build()?));
    }
    Ok(Shelf::open(&folder()?))
}

/// Builds in a process of its own: a child's peak memory is at least what its parent once had, so this one stays small.
fn build_apart(options: &Options) -> Result<()> {
    let mut builder = std::process::Command::new(std::env::current_exe()?);
    let status = builder
        .arg("bench")
        .args(options.words_to_build())
        .status()?;
    ensure!(status.success(), "not everything could be built");
    Ok(())
}

/// Writes the file that was asked for, if one was.
fn keep(options: &Options, json: impl FnOnce() -> serde_json::Value) -> Result<()> {
    let Some(file) = &options.json else {
        return Ok(());
    };
    results_file::write(file, &json())?;
    println!("written to {}", file.display());
    Ok(())
}

/// Prints the results; those of a whole run are kept too.
fn report(results: &Results, options: &Options) -> Result<()> {
    if !options.is_all() {
        println!("{}\n\n{}", results.machine, page::tuning(results));
        return Ok(());
    }
    println!("{}\n\n{}", results.machine, page::tables(results));
    let file = folder()?.join("latest.json");
    results_file::write(&file, &json::whole(results))?;
    println!("\nwritten to {}", file.display());
    if options.quick {
        return Ok(());
    }
    let page = root().join("docs/benchmarks.md");
    match page::too_noisy(results) {
        Some(why) => {
            println!("{why}: not written to docs/benchmarks.md; run it on an idle machine");
        }
        None => {
            page::write(results, &page)?;
            println!("written to docs/benchmarks.md");
        }
    }
    Ok(())
}

/// Where programs and results are kept: `bench` in the target directory.
pub(crate) fn folder() -> Result<PathBuf> {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let folder = std::path::absolute(target)?.join("bench");
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// Becomes this command again with `HOLLOWAY_EXE` set: changing one's own environment is unsafe. Gives why it didn't.
fn with_exe(exe: &Path) -> anyhow::Error {
    let again = std::env::current_exe().map(|again| {
        std::process::Command::new(again)
            .args(std::env::args_os().skip(1))
            .env("HOLLOWAY_EXE", exe)
            .exec()
    });
    let error = again.unwrap_or_else(|error| error);
    anyhow::Error::new(error).context("cannot start again")
}

/// Processor, cores, kernel: what a reader needs to place the figures, and nothing that names the machine.
pub(crate) fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let info = read("/proc/cpuinfo");
    let model = info
        .lines()
        .find_map(|l| l.strip_prefix("model name"))
        .and_then(|l| l.split(": ").nth(1))
        .unwrap_or("unknown");
    let cores = std::thread::available_parallelism().map_or(1, Into::into);
    let kernel = read("/proc/sys/kernel/osrelease");
    let kernel: Vec<&str> = kernel.trim().split('.').take(2).collect();
    format!("{model}, {cores} cores, Linux {}", kernel.join("."))
}
