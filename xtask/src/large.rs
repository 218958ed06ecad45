//! `cargo xtask study large`: what `holloway optimize` gains on programs with megabytes of code,
//! beside link-time optimization, the compiler's own profile-guided optimization, and BOLT.
//!
//! 1. Each program is built in every way (`builds`). What each step takes is kept.
//! 2. All builds must print what the program prints that the compiler builds alone.
//! 3. Instructions and misses of the instruction cache are counted by callgrind, with another input
//!    than that of training. They are nearly the same on every run, so the machine may be busy.
//! 4. CPU times are taken in rounds, in which each build runs once, and the first one twice.
//!
//! A program takes half an hour or more. So the results of each are stored below target/large, and
//! the page is written from all that are stored. Builds are there, too, until their program is
//! measured: a study that was interrupted goes on with them.

mod builds;
mod cmake;
mod crates;
mod measure;
mod page;
mod programs;
mod request;
mod results;
mod steps;
mod style_sheet;

use crate::bench::restart_with;
use crate::machine;
use crate::workspace::{BuildProfile, build_holloway, root, target_folder};
use anyhow::{Context, Result, ensure};
use builds::Builder;
use programs::Program;
use request::LtoBuilds;
use results::{Measured, Results};
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// The options of `cargo xtask study large`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Measure only these programs. The page has the stored results of the others
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = programs::parse_name)]
    only: Vec<String>,
    /// Take CPU times in this many rounds
    #[arg(long, value_name = "N", default_value = "21")]
    rounds: NonZeroUsize,
    /// Leave out the build with LTO by Holloway, whose training takes longest
    #[arg(long)]
    without_merged: bool,
    /// Leave out all builds with LTO
    #[arg(long)]
    without_lto: bool,
    /// Measure nothing, and write the page from stored results
    #[arg(long, conflicts_with = "only")]
    page: bool,
}

impl Options {
    fn lto(&self) -> LtoBuilds {
        match (self.without_lto, self.without_merged) {
            (true, _) => LtoBuilds::None,
            (false, true) => LtoBuilds::Compiler,
            (false, false) => LtoBuilds::All,
        }
    }
}

/// Runs the study, stores the results, and writes the page.
///
/// # Errors
/// If a build or a run fails, or an optimized program prints something else.
pub(crate) fn run(options: &Options) -> Result<()> {
    if !options.page {
        if std::env::var_os("HOLLOWAY_EXE").is_none() {
            return Err(restart_with(&build_holloway(BuildProfile::Release)?));
        }
        for program in programs::chosen(&options.only) {
            let results = study(program, options);
            let results = results.with_context(|| program.name.to_owned())?;
            results.store(program)?;
            std::fs::remove_dir_all(builds_folder(program)?)?;
        }
    }
    let mut all = Vec::new();
    for program in &programs::PROGRAMS {
        if let Some(results) = Results::stored(program)? {
            all.push((program, results));
        }
    }
    ensure!(!all.is_empty(), "no results are stored: run without --page");
    let page = page::page(&all);
    println!("{page}");
    std::fs::write(root().join("docs/studies/large.md"), page)?;
    println!("written to docs/studies/large.md");
    Ok(())
}

fn study(program: &'static Program, options: &Options) -> Result<Results> {
    eprintln!("{}", program.name);
    let folder = &builds_folder(program)?;
    let builds = Builder { program, folder }.all(options.lto())?;
    let mut costs = measure::measure(program, &builds, options.rounds, folder)?;
    let again = costs.pop().context("the first build runs twice")?.times;
    let measured = builds
        .into_iter()
        .zip(costs)
        .map(|(build, costs)| Measured {
            name: build.name,
            steps: build.steps,
            costs,
        });
    Ok(Results {
        program: program.name.to_owned(),
        machine: machine::description(),
        builds: measured.collect(),
        again,
    })
}

/// The folder of a program's builds.
fn builds_folder(program: &Program) -> Result<PathBuf> {
    target_folder(&format!("large/{}", program.name))
}
