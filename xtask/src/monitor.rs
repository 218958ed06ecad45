//! `cargo xtask study monitor`: what watching a program costs, beside the figures of Zhang et al.
//! (1997) on Morph's monitor.
//!
//! 1. Each program is built with `--collect none`.
//! 2. In each round, each program runs alone, and watched by `holloway monitor --system`, one after
//!    the other. The next round begins with the other setup.
//! 3. A ratio compares the two runs of a round. The table has medians over the rounds, so the
//!    machine should be idle.
//! 4. `gaps` measures the time in interrupts. This works on a busy machine, too.

mod gaps;
mod process;

use crate::bench::{KeptBuilds, Samples, geometric_mean};
use crate::machine::load;
use crate::suite;
use crate::workspace::root;
use anyhow::{Context, Result, ensure};
use holloway_tests::tool::scratch;
use holloway_tests::workload::{Flavor, MICRO, Scale, Workload};
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::Stdio;
use wait4::Wait4;

pub(crate) use process::Monitor;

/// The tight loops that are hit hardest: they sort, fill the cache, and have short paths.
const HIT_HARDEST: [&str; 3] = ["micro-sort", "micro-sieve", "micro-twopath"];

/// The text before the tables.
const HEAD: &str = "\
# The cost of watching

Written by `cargo xtask study monitor`: what it costs to [watch](../monitor.md) a program with
`holloway monitor --system`. [What it costs to build it so](none.md) is another page.
";

/// The text before the table of interrupts.
const GAPS: &str = "\
## Interrupts

A loop reads the clock again and again. A gap of 0.4 to 60 µs between two readings is an interrupt.
Time in longer gaps belongs to other processes, and is left out. So these figures hold on a busy
machine, too. Lower is better.

";

/// The text before the table of programs.
const PROGRAMS: &str = "\
## Programs

Times are CPU times of the program: medians of ratios within a round. The spread is the
interquartile range of these ratios. *Monitor* is the CPU time that the monitor used while it
watched, as a share of the time for which it watched. The monitor took its default number of
samples per second.

The first rows are Morph's, with a kernel of its own (Zhang et al. 1997, tables 4 and 5): its
slowdown includes the work of the monitor.

";

/// The rows of Zhang et al. (1997).
const MORPH: [(&str, f64); 5] = [
    ("*Morph: sort*", 0.07),
    ("*Morph: vortex*", 0.24),
    ("*Morph: tight loop*", 0.07),
    ("*Morph: loop that fills the cache, 512 KB*", 0.50),
    ("*Morph: loop that fills the cache, 1 MB*", 0.17),
];

/// The options of `cargo xtask study monitor`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Run only these programs of the suite, and no tight loops
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = suite::parse_name)]
    only: Vec<String>,
    /// Write the page although programs are left out
    #[arg(long)]
    write: bool,
    /// Run each program this many times in each setup
    #[arg(long, value_name = "N", default_value = "11")]
    rounds: NonZeroUsize,
    /// Take this many samples per second, and do not write the page
    #[arg(long, value_name = "HZ")]
    frequency: Option<NonZeroUsize>,
}

/// How a program is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Setup {
    Alone,
    Watched,
}

const SETUPS: [Setup; 2] = [Setup::Alone, Setup::Watched];

/// The figures of a program.
struct Figures {
    workload: &'static Workload,
    /// By setup: CPU seconds.
    cpu: [Samples; 2],
    /// The monitor's CPU time as a share of its run time.
    monitor: Samples,
}

/// Runs the study, prints it, and writes the page if the whole suite ran.
///
/// # Errors
/// If a build or a run fails, or if the machine does not permit sampling.
pub(crate) fn run(options: &Options) -> Result<()> {
    let kept_builds = KeptBuilds::open()?;
    let mut chosen = suite::chosen(&options.only);
    if options.only.is_empty() {
        let is_hit = |workload: &&Workload| HIT_HARDEST.contains(&workload.name);
        chosen.extend(MICRO.iter().filter(is_hit));
    }
    kept_builds.build(chosen.iter().copied(), &[Flavor::None], Scale::Full)?;
    let mut all_figures: Vec<Figures> = chosen
        .into_iter()
        .map(|workload| Figures {
            workload,
            cpu: Default::default(),
            monitor: Samples::default(),
        })
        .collect();
    for round in 0..options.rounds.get() {
        for figures in &mut all_figures {
            for number in 0..SETUPS.len() {
                let setup = SETUPS[(round + number) % SETUPS.len()];
                let name = figures.workload.name;
                figures
                    .measure(&kept_builds, setup, options.frequency)
                    .with_context(|| name.to_owned())?;
            }
        }
        eprintln!("round {} of {}", round + 1, options.rounds);
    }
    let gaps = gaps::study(options.rounds.get())?;
    let programs = table(&all_figures);
    println!("{gaps}\n{programs}");
    if (options.only.is_empty() || options.write) && options.frequency.is_none() {
        let page = root().join("docs/studies/monitor.md");
        let rounds = options.rounds;
        let coverage = format!("{} {}", suite::coverage(&options.only), load());
        let text =
            format!("{HEAD}\n{coverage} {rounds} rounds.\n\n{GAPS}{gaps}\n{PROGRAMS}{programs}");
        std::fs::write(&page, text).with_context(|| format!("cannot write {}", page.display()))?;
        println!("written to docs/studies/monitor.md");
    }
    Ok(())
}

impl Figures {
    fn measure(
        &mut self,
        kept_builds: &KeptBuilds,
        setup: Setup,
        frequency: Option<NonZeroUsize>,
    ) -> Result<()> {
        let workload = self.workload;
        let executable = kept_builds.executable(workload.source, Flavor::None);
        let input = kept_builds.input(workload, Scale::Full)?;
        let scratch = scratch("study-monitor")?;
        let monitor = match setup {
            Setup::Watched => Some(Monitor::start(&scratch.path().join("run"), frequency)?),
            Setup::Alone => None,
        };
        let cpu = cpu_seconds(workload, &executable, &input)?;
        self.cpu[setup as usize].push(cpu);
        if let Some(monitor) = monitor {
            self.monitor.push(monitor.stop()?);
        }
        Ok(())
    }

    /// The CPU time of the watched runs over that of the others.
    fn slowdown(&self) -> Samples {
        let [alone, watched] = &self.cpu;
        watched.over(alone)
    }
}

/// Runs a program. Returns its CPU time.
fn cpu_seconds(workload: &Workload, executable: &Path, input: &Path) -> Result<f64> {
    let mut cpu = 0.0;
    for mut command in workload.commands(executable, input, Scale::Full) {
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.stderr(Stdio::null()).spawn();
        let child = child.with_context(|| format!("cannot start {command:?}"))?;
        let end = child.wait4()?;
        ensure!(end.status.success(), "{command:?}: {}", end.status);
        cpu += (end.rusage.utime + end.rusage.stime).as_secs_f64();
    }
    Ok(cpu)
}

/// A ratio as an increase in percent.
fn increase(ratio: f64) -> String {
    format!("{:+.2} %", 100.0 * (ratio - 1.0))
}

fn table(all_figures: &[Figures]) -> String {
    let mut text = "\
| program | time, watched | spread | monitor |
|---|--:|--:|--:|
"
    .to_owned();
    for (name, slowdown) in MORPH {
        text += &format!("| {name} | +{slowdown:.2} % | | |\n");
    }
    for figures in all_figures {
        let slowdown = figures.slowdown();
        text += &format!(
            "| {} | {} | {:.2} % | {:.3} % |\n",
            figures.workload.name,
            increase(slowdown.median()),
            100.0 * slowdown.spread(),
            100.0 * figures.monitor.median()
        );
    }
    let slowdowns = all_figures
        .iter()
        .map(|figures| figures.slowdown().median());
    let shares = all_figures.iter().map(|figures| figures.monitor.median());
    let mut medians = Samples::default();
    slowdowns
        .clone()
        .for_each(|slowdown| medians.push(slowdown));
    let mean_share = shares.sum::<f64>() / all_figures.len().max(1) as f64;
    text += &format!(
        "| **median of programs** | {} | | |\n",
        increase(medians.median())
    );
    text + &format!(
        "| **mean** | {} | | {:.3} % |\n",
        increase(geometric_mean(slowdowns)),
        100.0 * mean_share
    )
}
