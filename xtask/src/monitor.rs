//! `cargo xtask study monitor`: what watching a program costs, beside the figures of Zhang et al.
//! (1997) on Morph's monitor.
//!
//! 1. Each program is built by the compiler alone, and with `--collect none`.
//! 2. In each round, each program runs in three setups, one after the other: native, with
//!    `--collect none`, and so watched by `holloway monitor --system`. The next round begins with
//!    another setup.
//! 3. A ratio compares two setups of the same round. The tables have medians over the rounds, so
//!    the machine should be idle.

use crate::bench::{KeptBuilds, Samples, code_bytes, geometric_mean};
use crate::suite;
use crate::workspace::root;
use anyhow::{Context, Result, ensure};
use holloway_tests::tool::{holloway_command, scratch};
use holloway_tests::workload::{Flavor, MICRO, Scale, Workload};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead as _, BufReader, Read as _};
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::{Child, ChildStderr, Stdio};
use std::time::{Duration, Instant};
use wait4::Wait4;

/// The tight loops that are hit hardest: they sort, fill the cache, and have short paths.
const HIT_HARDEST: [&str; 3] = ["micro-sort", "micro-sieve", "micro-twopath"];

/// The text before the tables.
const HEAD: &str = "\
# The cost of watching

Written by `cargo xtask study monitor`: what it costs to build a program with `--collect none`, and
what it costs to [watch](../monitor.md) it with `holloway monitor --system`. Times are CPU times of
the program: medians of ratios within a round. The spread is the interquartile range of these ratios.
The monitor's share is the CPU time that it used while it watched, as a share of that time. Most of
it is the reading of a program's path map, once, when its first sample arrives: a short run pays a
larger share.

The monitor took its default number of samples per second. `--frequency HZ` repeats the study with
another number.

Zhang and others (1997) measured their monitor, Morph, with a kernel of its own: slowdowns from
0.07 % (sort) to 0.24 % (vortex) in their table 4, and 0.07, 0.50 (a program that fills the cache),
and 0.17 % in table 5, of programs built to be hit hardest.
";

/// The options of `cargo xtask study monitor`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Run only these programs of the suite, and no tight loops
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = suite::parse_name)]
    only: Vec<String>,
    /// Run each program this many times in each setup
    #[arg(long, value_name = "N", default_value = "11")]
    rounds: NonZeroUsize,
    /// Take this many samples per second, and do not write the page
    #[arg(long, value_name = "HZ")]
    frequency: Option<NonZeroUsize>,
}

/// How a program is built and run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Setup {
    Native,
    WithoutCounters,
    Watched,
}

const SETUPS: [Setup; 3] = [Setup::Native, Setup::WithoutCounters, Setup::Watched];

impl Setup {
    fn flavor(self) -> Flavor {
        match self {
            Self::Native => Flavor::Native,
            Self::WithoutCounters | Self::Watched => Flavor::None,
        }
    }
}

/// The figures of a program.
struct Figures {
    workload: &'static Workload,
    /// Bytes of machine code: native, and with `--collect none`.
    code: [u64; 2],
    /// By setup: CPU seconds.
    cpu: [Samples; 3],
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
    let flavors = [Flavor::Native, Flavor::None];
    kept_builds.build(chosen.iter().copied(), &flavors, Scale::Full)?;
    let mut all_figures = Vec::new();
    for workload in chosen {
        let code = flavors.map(|flavor| kept_builds.executable(workload.source, flavor));
        let [native, none] = [code_bytes(&code[0])?, code_bytes(&code[1])?];
        all_figures.push(Figures {
            workload,
            code: [native, none],
            cpu: Default::default(),
            monitor: Samples::default(),
        });
    }
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
    let tables = table(&all_figures);
    println!("{tables}");
    if options.only.is_empty() && options.frequency.is_none() {
        let page = root().join("docs/studies/monitor.md");
        let rounds = options.rounds;
        std::fs::write(&page, format!("{HEAD}\n{rounds} rounds.\n\n{tables}"))
            .with_context(|| format!("cannot write {}", page.display()))?;
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
        let executable = kept_builds.executable(workload.source, setup.flavor());
        let input = kept_builds.input(workload, Scale::Full)?;
        let scratch = scratch("study-monitor")?;
        let monitor = match setup {
            Setup::Watched => Some(Monitor::start(&scratch.path().join("run"), frequency)?),
            Setup::Native | Setup::WithoutCounters => None,
        };
        let cpu = cpu_seconds(workload, &executable, &input)?;
        self.cpu[setup as usize].push(cpu);
        if let Some(monitor) = monitor {
            self.monitor.push(monitor.stop()?);
        }
        Ok(())
    }

    /// The CPU time in one setup over that in another.
    fn ratio(&self, setup: Setup, base: Setup) -> Samples {
        self.cpu[setup as usize].over(&self.cpu[base as usize])
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

/// A running monitor.
pub(crate) struct Monitor {
    child: Child,
    messages: BufReader<ChildStderr>,
    start: Instant,
    /// Its CPU time when it began to watch.
    cpu_at_start: Duration,
}

impl Monitor {
    /// Starts a monitor that writes into `run`, and waits until it watches.
    pub(crate) fn start(run: &Path, frequency: Option<NonZeroUsize>) -> Result<Self> {
        let mut command = holloway_command(["monitor", "--system", "--no-report", "-o"]);
        command.arg(run);
        if let Some(frequency) = frequency {
            command.arg("--frequency").arg(frequency.to_string());
        }
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::piped()).spawn()?;
        let stderr = child.stderr.take().context("stderr was piped")?;
        let mut messages = BufReader::new(stderr);
        let mut line = String::new();
        messages.read_line(&mut line)?;
        ensure!(line.contains("Watching"), "holloway monitor: {line}");
        Ok(Self {
            cpu_at_start: cpu_time(child.id())?,
            child,
            messages,
            start: Instant::now(),
        })
    }

    /// Ends the monitor. Returns the CPU time that it used to watch, as a share of the time for
    /// which it watched. Its start and its end are left out: they do not recur.
    pub(crate) fn stop(mut self) -> Result<f64> {
        let cpu = cpu_time(self.child.id())?.saturating_sub(self.cpu_at_start);
        let share = cpu.as_secs_f64() / self.start.elapsed().as_secs_f64();
        kill_process(Pid::from_child(&self.child), Signal::INT)?;
        let mut rest = String::new();
        self.messages.read_to_string(&mut rest)?;
        let end = self.child.wait4()?;
        ensure!(end.status.success(), "holloway monitor: {rest}");
        Ok(share)
    }
}

/// The CPU time of all threads of a process.
fn cpu_time(process: u32) -> Result<Duration> {
    let mut nanoseconds = 0u64;
    for thread in std::fs::read_dir(format!("/proc/{process}/task"))? {
        let text = std::fs::read_to_string(thread?.path().join("schedstat"))?;
        let running = text
            .split_whitespace()
            .next()
            .context("schedstat is empty")?;
        nanoseconds += running.parse::<u64>()?;
    }
    Ok(Duration::from_nanos(nanoseconds))
}

/// A ratio as an increase in percent.
fn increase(ratio: f64) -> String {
    format!("{:+.2} %", 100.0 * (ratio - 1.0))
}

fn table(all_figures: &[Figures]) -> String {
    let mut text = "\
| program | code, native (KiB) | code, `none` | time, `none` | spread | time, watched | spread | monitor |
|---|--:|--:|--:|--:|--:|--:|--:|
"
    .to_owned();
    let row = |name: &str, native: &str, cells: &[String]| {
        format!("| {name} | {native} | {} |\n", cells.join(" | "))
    };
    for figures in all_figures {
        let [native, none] = figures.code;
        let built = figures.ratio(Setup::WithoutCounters, Setup::Native);
        let watched = figures.ratio(Setup::Watched, Setup::WithoutCounters);
        let cells = [
            increase(none as f64 / native as f64),
            increase(built.median()),
            format!("{:.2} %", 100.0 * built.spread()),
            increase(watched.median()),
            format!("{:.2} %", 100.0 * watched.spread()),
            format!("{:.2} %", 100.0 * figures.monitor.median()),
        ];
        let native = format!("{:.1}", native as f64 / 1024.0);
        text += &row(figures.workload.name, &native, &cells);
    }
    let mean = |of: &dyn Fn(&Figures) -> f64| geometric_mean(all_figures.iter().map(of));
    let median = |setup, base| move |figures: &Figures| figures.ratio(setup, base).median();
    let shares = all_figures.iter().map(|figures| figures.monitor.median());
    let cells = [
        increase(mean(&|figures| {
            figures.code[1] as f64 / figures.code[0] as f64
        })),
        increase(mean(&median(Setup::WithoutCounters, Setup::Native))),
        String::new(),
        increase(mean(&median(Setup::Watched, Setup::WithoutCounters))),
        String::new(),
        format!(
            "{:.2} %",
            100.0 * shares.sum::<f64>() / all_figures.len().max(1) as f64
        ),
    ];
    text + &row("**mean**", "", &cells)
}
