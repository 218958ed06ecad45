//! `cargo xtask study traces`: measures stored streams of the suite's programs, as the papers on
//! whole program paths and on k iterations do.
//!
//! 1. `record` runs each program, woven for traces and for loops, without a collector. It reads the
//!    words of the program's threads from the profile.
//! 2. `files` compares the file and the grammar of a trace (Larus 1999, Table 1) with general
//!    compressors and plain SEQUITUR. `hot` counts minimal hot subpaths by their maximum length
//!    (Figure 9).
//! 3. `forests` compares slab forests (D'Elia, Demetrescu, Finocchi 2013, Figures 11, 13, 14) with
//!    hashed counters.
//! 4. `page` writes docs/studies/traces.md.
//!
//! Speeds use the processor time of all threads together, so they are valid on a busy machine.

mod files;
mod forests;
mod hot;
mod options;
mod page;
mod record;
mod results;
mod stopwatch;

pub(crate) use options::Arguments;

use crate::bench::Shelf;
use crate::machine;
use crate::workspace::{cargo, root};
use anyhow::{Context, Result};
use holloway_tests::workload::{Flavor, SUITE, Scale, Workload};
use options::Options;
use results::{Program, Study};
use std::os::unix::process::CommandExt;

/// Runs the study, prints it, and writes the page if nothing was left out.
///
/// # Errors
/// If a build or a run fails, if a trace that is read back differs from the recorded one, or if a
/// compressor is missing.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let options = Options::new(arguments);
    if std::env::var_os(OPTIMIZED).is_none() {
        return Err(restart_optimized());
    }
    let shelf = Shelf::open()?;
    let chosen = options.chosen();
    let flavors = [Flavor::Trace, Flavor::Loops];
    shelf.build(chosen.iter().copied(), &flavors, options.scale)?;
    let mut programs = Vec::new();
    for workload in &chosen {
        let program = program(&shelf, workload, &options);
        programs.push(program.with_context(|| workload.name)?);
        eprintln!("{}: done", workload.name);
    }
    let is_all = chosen.len() == SUITE.len();
    let study = Study {
        machine: machine::description(),
        options,
        programs,
    };
    println!("{}", page::tables(&study));
    if is_all && study.options.scale == Scale::Full {
        let file = root().join("docs/studies/traces.md");
        page::write(&study, &file)?;
        println!("written to docs/studies/traces.md");
    }
    Ok(())
}

/// This environment variable is set if this command was built with optimization.
const OPTIMIZED: &str = "HOLLOWAY_STUDY_OPTIMIZED";

/// Replaces this process by the same command, built with optimization: the measured code runs in
/// this process. Returns only if that fails.
fn restart_optimized() -> anyhow::Error {
    let mut command = cargo();
    command.args(["run", "--quiet", "--release", "--package", "xtask", "--"]);
    command
        .args(std::env::args_os().skip(1))
        .env(OPTIMIZED, "1");
    let error = command.exec();
    anyhow::Error::new(error).context("cannot start cargo")
}

fn program(shelf: &Shelf, workload: &'static Workload, options: &Options) -> Result<Program> {
    let recorded =
        |flavor, max_words| record::record(shelf, workload, flavor, options.scale, max_words);
    let (trace, first_grammar) = {
        let stored = recorded(Flavor::Trace, options.max_words)?;
        let trace = files::measure(&stored, options)?;
        (trace, files::grammar_of_first(&stored, options.figures)?)
    };
    Ok(Program {
        workload,
        trace,
        hot: hot::counts(&first_grammar),
        forests: forests::measure(&recorded(Flavor::Loops, options.forests)?, options.figures),
    })
}
