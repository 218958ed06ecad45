//! `cargo xtask bench`: measures the cost of counting paths and edges on the suite, and of the
//! compilers' own counters.
//!
//! 1. `programs` builds every program in every flavor. It keeps the builds below target/bench until
//!    their sources or tools change ([`KeptBuilds`]).
//! 2. A *setup* is a flavor, and how it is run ([`setup`]). `rounds` runs the setups in turn, round
//!    by round, so that a slow phase of the machine slows all of them.
//! 3. `totals` reads the counts of a run. `builds` measures the cost of weaving at build time.
//! 4. `summary` computes ratios within a round, their medians, and geometric means. `targets`
//!    compares them with the targets.
//! 5. `page` and `json` write docs/benchmarks.md, target/bench/latest.json, and the file of
//!    `--json`.
//!
//! `callgrind` counts instructions instead of time, so it works on a busy machine.

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
mod setup;
mod sizes;
mod summary;
mod targets;
mod totals;

pub(crate) use builds::{Builds, measure as measure_builds};
pub(crate) use callgrind::{
    BRANCH_OPTIONS, Branches, CommandCost, count as count_instructions, count_at, count_command,
    record as record_instructions, without_lines,
};
pub(crate) use options::Options;
pub(crate) use programs::{KeptBuilds, restart_with};
pub(crate) use samples::{Samples, geometric_mean};
pub(crate) use sizes::code_bytes;
pub(crate) use totals::Totals;

use crate::machine;
use crate::workspace::{bench_folder, root};
use anyhow::{Result, ensure};
use holloway_tests::workload::{MICRO, SUITE};
use results::Results;

/// Rounds of builds. Each round takes some minutes on two cores.
const BUILD_ROUNDS: usize = 2;

/// Runs the benches and writes their results.
///
/// # Errors
/// If a build or a run fails, or if the output of a flavor differs from the native output.
pub(crate) fn run(options: &Options) -> Result<()> {
    options.check()?;
    if let Some(file) = &options.json {
        results_file::check(file)?;
    }
    let kept_builds = KeptBuilds::open()?;
    let suite = options.chosen(SUITE.into_iter());
    let micro = options.chosen(MICRO.iter());
    if options.build_only {
        let workloads = suite.into_iter().chain(micro);
        return kept_builds.build(workloads, &options.flavors(), options.scale());
    }
    build_in_other_process(options)?;
    if options.callgrind {
        let workloads: Vec<_> = suite.into_iter().chain(micro).collect();
        let counts = callgrind::run(&kept_builds, &workloads, options)?;
        return write_json(options, || {
            json::instructions(&machine::description(), &counts)
        });
    }
    let measure = |workloads: Vec<_>, setups: &[setup::Setup], rounds| {
        workloads
            .into_iter()
            .map(|w| rounds::row(&kept_builds, w, options, setups, rounds))
            .collect::<Result<Vec<_>>>()
    };
    let setups = options.setups();
    let mut micro_setups = setups.clone();
    if options.is_all() {
        // The tables do not show streams of tight loops.
        micro_setups.retain(|setup| !setup.is_stream());
    }
    let mut results = Results {
        machine: machine::description(),
        date: jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
        quick: options.quick,
        suite: measure(suite, &setups, options.rounds())?,
        micro: measure(micro, &micro_setups, options.micro_rounds())?,
        exact: if options.is_all() {
            exact::checks(&kept_builds)?
        } else {
            Vec::new()
        },
        builds: None,
    };
    // A build that fails must not take the other results along.
    let failure = if options.is_all() && !options.quick {
        let builds = builds::measure(BUILD_ROUNDS, &|_| true);
        builds.map(|builds| results.builds = Some(builds)).err()
    } else {
        None
    };
    // The executables are read after all measurements, because reading takes memory.
    for row in results.suite.iter_mut().chain(&mut results.micro) {
        for m in &mut row.setups {
            let executable = kept_builds.executable(row.workload.source, m.setup.flavor());
            m.code = sizes::code_bytes(&executable)?;
        }
    }
    report(&results, options)?;
    write_json(options, || json::whole(&results))?;
    failure.map_or(Ok(()), Err)
}

/// Builds the programs in another process. The peak memory of a child is at least the memory of its
/// parent at the fork, so the process that measures has to stay small.
fn build_in_other_process(options: &Options) -> Result<()> {
    let mut builder = std::process::Command::new(std::env::current_exe()?);
    let status = builder
        .arg("bench")
        .args(options.build_arguments())
        .status()?;
    ensure!(status.success(), "not everything could be built");
    Ok(())
}

/// Writes the file of `--json`, if the option is given.
fn write_json(options: &Options, json: impl FnOnce() -> serde_json::Value) -> Result<()> {
    let Some(file) = &options.json else {
        return Ok(());
    };
    results_file::write(file, &json())?;
    println!("written to {}", file.display());
    Ok(())
}

/// Prints the results. If nothing was left out, writes latest.json and, unless the run was quick or
/// too noisy, docs/benchmarks.md.
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
