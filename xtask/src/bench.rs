//! `cargo xtask bench`: the cost of counting paths and edges on the suite, side by side with the
//! compilers' own counters.
//!
//! 1. `programs`: builds every program in every flavor, and keeps the builds below target/bench as
//!    long as nothing changes that they are made of;
//! 2. `rounds`: runs the flavors in turn, round by round, so that a slow spell of the machine hits
//!    all of them;
//! 3. `totals`: the counts of a run; `builds`: the cost of weaving at build time;
//! 4. `summary`: ratios within a round, their medians, and geometric means; `targets`: compares
//!    them with the targets;
//! 5. `page`, `json`: docs/benchmarks.md, target/bench/latest.json, and the file of `--json`.
//!
//! `callgrind` counts instructions instead of time, for a busy machine.

mod builds;
mod callgrind;
mod exact;
mod json;
mod options;
mod page;
mod paper;
mod programs;
mod results;
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

use crate::machine;
use crate::workspace::{bench_folder, root};
use anyhow::{Result, ensure};
use holloway_tests::workload::{MICRO, SUITE};
use results::Results;

/// Runs the benches and writes their results.
///
/// # Errors
/// A build or a run fails, or the output of a flavor differs from the native output.
pub(crate) fn run(options: &Options) -> Result<()> {
    options.check()?;
    if let Some(file) = &options.json {
        results_file::check(file)?;
    }
    let shelf = Shelf::open()?;
    let suite = options.chosen(SUITE.into_iter());
    let micro = options.chosen(MICRO.iter());
    if options.build_only {
        let all = suite.into_iter().chain(micro);
        return shelf.build(all, &options.flavors(), options.scale());
    }
    build_apart(options)?;
    if options.callgrind {
        let all: Vec<_> = suite.into_iter().chain(micro).collect();
        let counts = callgrind::run(&shelf, &all, options)?;
        return keep(options, || {
            json::instructions(&machine::description(), &counts)
        });
    }
    let measure = |all: Vec<_>, ways: &[way::Way], rounds| {
        all.into_iter()
            .map(|w| rounds::row(&shelf, w, options, ways, rounds))
            .collect::<Result<Vec<_>>>()
    };
    let ways = options.ways();
    let mut micro_ways = ways.clone();
    if options.is_all() {
        // No table has streams of tight loops.
        micro_ways.retain(|way| !way.is_stream());
    }
    let mut results = Results {
        machine: machine::description(),
        date: jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
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
    // Executables are read after all measuring, because reading takes memory.
    for row in results.suite.iter_mut().chain(&mut results.micro) {
        for m in &mut row.ways {
            let executable = shelf.executable(row.workload.source, m.way.flavor());
            m.code = sizes::code_bytes(&executable)?;
        }
    }
    report(&results, options)?;
    keep(options, || json::whole(&results))
}

/// Builds in another process. The peak memory of a child is at least that of its parent when it
/// forks, so this process has to stay small.
fn build_apart(options: &Options) -> Result<()> {
    let mut builder = std::process::Command::new(std::env::current_exe()?);
    let status = builder
        .arg("bench")
        .args(options.build_arguments())
        .status()?;
    ensure!(status.success(), "not everything could be built");
    Ok(())
}

/// Writes the file of `--json`, if the option is given.
fn keep(options: &Options, json: impl FnOnce() -> serde_json::Value) -> Result<()> {
    let Some(file) = &options.json else {
        return Ok(());
    };
    results_file::write(file, &json())?;
    println!("written to {}", file.display());
    Ok(())
}

/// Prints the results, and keeps those of a whole run.
fn report(results: &Results, options: &Options) -> Result<()> {
    if !options.is_all() {
        println!("{}\n\n{}", results.machine, page::tuning(results));
        return Ok(());
    }
    println!("{}\n\n{}", results.machine, page::tables(results));
    let file = bench_folder()?.join("latest.json");
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
