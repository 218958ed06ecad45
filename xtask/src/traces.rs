//! `cargo xtask study traces`: stored streams of the suite's programs, measured offline as the
//! papers on whole program paths and on k iterations do.
//!
//! 1. `record`: each program, woven for traces and for loops, runs without a collector; the words
//!    of its threads are read from its profile;
//! 2. `files`: the file and the grammar of a trace (Larus 1999, Table 1), compared with general
//!    compressors and plain SEQUITUR; `hot`: minimal hot subpaths by their longest length (Figure
//!    9);
//! 3. `forests`: forests of sequences over k iterations (D'Elia, Demetrescu, Finocchi 2013, Figures
//!    11, 13, 14), compared with hashed counters;
//! 4. `page`: docs/studies/traces.md.
//!
//! Speeds use the processor time of all threads together, so that they hold on a busy machine.

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
/// A build or a run fails, a trace read back differs from the recorded one, or a compressor is
/// missing.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let options = Options::new(arguments);
    if std::env::var_os(OPTIMIZED).is_none() {
        return Err(optimized());
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

/// Set if this command was built with optimization.
const OPTIMIZED: &str = "HOLLOWAY_STUDY_OPTIMIZED";

/// Replaces this process by the same command, built with optimization: the measured code runs in
/// this process. Returns only if that fails.
fn optimized() -> anyhow::Error {
    let mut again = cargo();
    again.args(["run", "--quiet", "--release", "--package", "xtask", "--"]);
    again.args(std::env::args_os().skip(1)).env(OPTIMIZED, "1");
    let error = again.exec();
    anyhow::Error::new(error).context("cannot start cargo")
}

fn program(shelf: &Shelf, workload: &'static Workload, options: &Options) -> Result<Program> {
    let recorded = |flavor, most| record::record(shelf, workload, flavor, options.scale, most);
    let (trace, first) = {
        let stored = recorded(Flavor::Trace, options.most)?;
        let trace = files::measure(&stored, options)?;
        (trace, files::grammar_of_first(&stored, options.figures)?)
    };
    Ok(Program {
        workload,
        trace,
        hot: hot::counts(&first),
        forests: forests::measure(&recorded(Flavor::Loops, options.forests)?, options.figures),
    })
}
