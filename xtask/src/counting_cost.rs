//! `cargo xtask study counting-cost`: what counting paths adds to a program, in instructions.
//!
//! 1. [`profile`] runs a program under callgrind, native and with paths counted, and joins the
//!    instructions of each function with the paths that `holloway report` found in the same run.
//! 2. [`tables`] prints programs, the functions that add most, and functions by the length of their
//!    paths.
//!
//! Instructions are not time: they ignore caches, and increments that wait for each other. But they
//! are the same on every run, even on a busy machine.

mod profile;
mod tables;

use crate::bench::KeptBuilds;
use crate::suite;
use anyhow::{Context, Result, ensure};
use holloway_tests::workload::{Flavor, Scale};
use profile::Program;
use std::num::NonZeroUsize;

/// The options of `cargo xtask study counting-cost`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Run only these programs
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = suite::parse_name)]
    only: Vec<String>,
    /// Print this many functions of each program
    #[arg(long, value_name = "N", default_value = "4")]
    top: NonZeroUsize,
}

/// Runs the study and prints it.
///
/// # Errors
/// If a build or a run fails, or if no program with one thread is chosen.
pub(crate) fn run(options: &Options) -> Result<()> {
    let kept_builds = KeptBuilds::open()?;
    let mut chosen = suite::chosen(&options.only);
    // Programs with two threads divide their work differently in each run.
    chosen.retain(|workload| workload.threads == 1);
    ensure!(!chosen.is_empty(), "none of these programs has one thread");
    let flavors = [Flavor::Native, Flavor::Paths];
    kept_builds.build(chosen.iter().copied(), &flavors, Scale::Small)?;
    let mut programs = Vec::new();
    for workload in chosen {
        programs.push(Program::run(&kept_builds, workload).with_context(|| workload.name)?);
        eprintln!("{}: done", workload.name);
    }
    println!("{}", tables::tables(&programs, options.top.get()));
    Ok(())
}
