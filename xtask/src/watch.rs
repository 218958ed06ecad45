//! `cargo xtask study watch`: the hot spots, phases, and predicted branches of the suite's
//! programs, beside the figures of Merten et al. (1999) and of Conte et al. (1994).
//!
//! 1. `record` runs each program once, woven for traces. `holloway phases` and `holloway predict`
//!    evaluate its longest trace. The answers are kept, so a study that was interrupted goes on.
//! 2. `page` writes docs/studies/watch.md; `timeline` draws its figure 1.
//!
//! The inputs are the small ones of the end-to-end tests. The detectors need some 10,000 branches,
//! and these runs have millions. `--full` takes the inputs of the benchmarks; evaluating their
//! traces takes hours. Nothing is timed, so the machine may be busy.

mod page;
mod predictors;
mod record;
mod timeline;

use crate::bench::KeptBuilds;
use crate::suite;
use crate::workspace::root;
use anyhow::{Context, Result};
use holloway_tests::workload::{Flavor, Scale};
use record::watch;

/// The options of `cargo xtask study watch`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Use the inputs of the benchmarks
    #[arg(long)]
    full: bool,
    /// Run only these programs
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = suite::parse_name)]
    only: Vec<String>,
}

impl Options {
    fn scale(&self) -> Scale {
        match self.full {
            true => Scale::Full,
            false => Scale::Small,
        }
    }

    /// Whether the whole suite runs, with the inputs that the page names.
    fn is_all(&self) -> bool {
        self.only.is_empty() && !self.full
    }
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
        let program = watch(&kept_builds, workload, options.scale());
        let program = program.with_context(|| workload.name)?;
        eprintln!("{}: {} branches", workload.name, program.phases.branches);
        programs.push(program);
    }
    println!("{}", page::tables(&programs));
    if options.is_all() {
        page::write(&programs, &root().join("docs/studies/watch.md"))?;
        println!("written to docs/studies/watch.md");
    }
    Ok(())
}
