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
mod results;
mod stopwatch;

pub(crate) use options::Arguments;

use crate::bench::Shelf;
use crate::machine;
use crate::workspace::{cargo, root};
use anyhow::{Context, Result};
use holloway_tests::workload::{Flavour, SUITE, Scale, Workload};
use options::Options;
use results::{Program, Study};
use std::os::unix::process::CommandExt;

/// Runs the study, prints it, and writes the page where nothing was left out.
///
/// # Errors
/// A build or a run fails, a trace doesn't come back as it was, or a compressor is missing.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let options = Options::new(arguments);
    if std::env::var_os(OPTIMISED).is_none() {
        return Err(optimised());
    }
    let shelf = Shelf::open()?;
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
        machine: machine::description(),
        options,
        programs,
    };
    println!("{}", page::tables(&study));
    if is_all && study.options.scale == Scale::Full {
        let file = root().join("docs/traces.md");
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

fn program(shelf: &Shelf, workload: &'static Workload, options: &Options) -> Result<Program> {
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
