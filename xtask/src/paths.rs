//! `cargo xtask study paths`: computes the three tables of the slides (Ball, Larus 1996) for the
//! suite. Only counts are computed.
//!
//! 1. `record` runs each program three times: with its full input with path counters and with edge
//!    counters, and with another input with path counters. `holloway report` and `holloway overlap`
//!    evaluate these runs.
//! 2. `page` writes docs/studies/paths.md.
//!
//! Nothing is timed, so the machine may be busy. The overheads of the slides' first table are in
//! docs/benchmarks.md.

mod page;
mod record;

use crate::bench::Shelf;
use crate::suite;
use crate::workspace::root;
use anyhow::{Context, Result, anyhow};
use holloway_tests::workload::{Flavor, Scale, Workload};
use record::Program;
use std::sync::Mutex;

/// The options of `cargo xtask study paths`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Use smaller inputs
    #[arg(long)]
    quick: bool,
    /// Run only these programs
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = suite::parse_name)]
    only: Vec<String>,
}

impl Options {
    fn scale(&self) -> Scale {
        match self.quick {
            true => Scale::Quick,
            false => Scale::Full,
        }
    }

    /// Whether the whole suite runs at its full size, so that the result is worth keeping.
    fn is_all(&self) -> bool {
        self.only.is_empty() && !self.quick
    }
}

/// Runs programs, two at the same time.
fn programs(shelf: &Shelf, workloads: &[&'static Workload], scale: Scale) -> Result<Vec<Program>> {
    let queue = Mutex::new(workloads.iter().enumerate());
    let work = || -> Result<Vec<(usize, Program)>> {
        let mut done = Vec::new();
        while let Some((index, workload)) = {
            let mut queue = queue
                .lock()
                .map_err(|_| anyhow!("the other one panicked"))?;
            queue.next()
        } {
            let program = Program::run(shelf, workload, scale).with_context(|| workload.name)?;
            eprintln!(
                "{}: {} path increments, {} edge increments",
                workload.name, program.figures.paths.increments, program.figures.edges.increments
            );
            done.push((index, program));
        }
        Ok(done)
    };
    let mut all = std::thread::scope(|scope| {
        let other = scope.spawn(work);
        let mut all = work()?;
        all.extend(other.join().map_err(|_| anyhow!("a run panicked"))??);
        Ok::<_, anyhow::Error>(all)
    })?;
    all.sort_by_key(|(index, _)| *index);
    Ok(all.into_iter().map(|(_, program)| program).collect())
}

/// Runs the study, prints it, and writes the page if nothing was left out.
///
/// # Errors
/// If a build or a run fails, or counts were lost.
pub(crate) fn run(options: &Options) -> Result<()> {
    let shelf = Shelf::open()?;
    let chosen = suite::chosen(&options.only);
    let flavors = [Flavor::Paths, Flavor::Edges];
    shelf.build(chosen.iter().copied(), &flavors, options.scale())?;
    let programs = programs(&shelf, &chosen, options.scale())?;
    println!("{}", page::tables(&programs));
    if options.is_all() {
        let file = root().join("docs/studies/paths.md");
        page::write(&programs, &file)?;
        println!("written to docs/studies/paths.md");
    }
    Ok(())
}
