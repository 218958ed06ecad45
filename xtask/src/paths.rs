//! `cargo xtask study paths`: the slides' three tables (Ball, Larus 1996) for the suite, as far as
//! they are counts.
//!
//! 1. `record`: each program runs with its full input, paths counted and edges counted, and with
//!    another input, paths counted;
//! 2. `holloway report` and `holloway overlap` say what is in these runs;
//! 3. `page`: docs/studies/paths.md.
//!
//! Nothing is timed, so that the machine may be busy with other things. Overheads, the rest of the
//! slides' first table, are in docs/benchmarks.md.

mod page;
mod record;

use crate::bench;
use anyhow::{Context, Result, anyhow, bail, ensure};
use holloway_tests::workload::{Flavour, SUITE, Scale, Workload};
use record::Figures;
use std::sync::Mutex;

/// What to study.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// How much the programs do in the runs that are compared with.
    scale: Scale,
    /// Only these programs; empty: all.
    only: Vec<String>,
}

impl Options {
    /// Reads the words after `study paths`.
    ///
    /// # Errors
    /// An unknown option or program.
    pub(crate) fn parse(words: &[&str]) -> Result<Self> {
        let mut options = Self {
            scale: Scale::Full,
            only: Vec::new(),
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--quick" => options.scale = Scale::Quick,
                "--only" => {
                    let names = words.next().context("--only takes a value")?;
                    options.only.extend(names.split(',').map(str::to_owned));
                }
                _ => bail!("unknown option {word:?}: `cargo xtask help` lists what there is"),
            }
        }
        for name in &options.only {
            ensure!(
                SUITE.iter().any(|w| w.name == name),
                "no program of the suite is called {name:?}: there are {}",
                SUITE.map(|w| w.name).join(", ")
            );
        }
        Ok(options)
    }

    /// The programs asked for.
    fn chosen(&self) -> Vec<&'static Workload> {
        let is_chosen =
            |w: &&Workload| self.only.is_empty() || self.only.iter().any(|n| n == w.name);
        SUITE.into_iter().filter(is_chosen).collect()
    }

    /// Whether nothing was left out, so that the result is worth keeping.
    fn is_all(&self) -> bool {
        self.only.is_empty() && self.scale == Scale::Full
    }
}

/// A program and what was counted in it.
#[derive(Debug)]
struct Program {
    workload: &'static Workload,
    figures: Figures,
}

/// Runs programs, two at a time: nothing is timed.
fn programs(
    shelf: &bench::Shelf,
    workloads: &[&'static Workload],
    scale: Scale,
) -> Result<Vec<Program>> {
    let queue = Mutex::new(workloads.iter().enumerate());
    let work = || -> Result<Vec<(usize, Program)>> {
        let mut done = Vec::new();
        while let Some((place, workload)) = {
            let mut queue = queue
                .lock()
                .map_err(|_| anyhow!("the other one panicked"))?;
            queue.next()
        } {
            let figures = record::figures(shelf, workload, scale);
            let figures = figures.with_context(|| workload.name)?;
            eprintln!(
                "{}: {} path increments, {} edge increments",
                workload.name, figures.paths.increments, figures.edges.increments
            );
            done.push((place, Program { workload, figures }));
        }
        Ok(done)
    };
    let mut all = std::thread::scope(|scope| {
        let other = scope.spawn(work);
        let mut all = work()?;
        all.extend(other.join().map_err(|_| anyhow!("a run panicked"))??);
        Ok::<_, anyhow::Error>(all)
    })?;
    all.sort_by_key(|(place, _)| *place);
    Ok(all.into_iter().map(|(_, program)| program).collect())
}

/// Runs the study, prints it, and writes the page where nothing was left out.
///
/// # Errors
/// A build or a run fails, or counts were lost.
pub(crate) fn run(options: &Options) -> Result<()> {
    let shelf = bench::shelf()?;
    let chosen = options.chosen();
    let flavours = [Flavour::Paths, Flavour::Edges];
    shelf.build(chosen.iter().copied(), &flavours, options.scale)?;
    let programs = programs(&shelf, &chosen, options.scale)?;
    println!("{}", page::tables(&programs));
    if options.is_all() {
        let file = crate::root().join("docs/studies/paths.md");
        page::write(&programs, &file)?;
        println!("written to docs/studies/paths.md");
    }
    Ok(())
}
