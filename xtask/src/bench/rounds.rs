//! Measures the runs of a program: its flavors run in turn, round by round. Each run is measured by
//! wall-clock time, processor time, and peak memory.
//!
//! Before the first round, each flavor runs once. This run warms the caches, and its output is
//! compared with the native output. The order of the flavors reverses after every round, so that no
//! flavor always runs after the same other flavor.

use super::options::Options;
use super::programs::Shelf;
use super::samples::Samples;
use super::totals::Totals;
use super::way::Way;
use anyhow::{Context, Result, bail, ensure};
use holloway_tests::tool::scratch;
use holloway_tests::workload::{Flavor, Scale, Workload};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use wait4::Wait4;

/// The measurements of a program.
#[derive(Debug)]
pub(crate) struct Row {
    /// The program.
    pub(crate) workload: &'static Workload,
    /// The measurements of each way, native first.
    pub(crate) ways: Vec<Measured>,
    /// The counts of one run with paths.
    pub(crate) totals: Option<Totals>,
    /// The counts of one run with edges.
    pub(crate) edge_totals: Option<Totals>,
}

/// The measurements of one way to run a program.
#[derive(Debug)]
pub(crate) struct Measured {
    /// The way.
    pub(crate) way: Way,
    /// Wall-clock seconds.
    pub(crate) seconds: Samples,
    /// Seconds of all processors, user and system.
    pub(crate) cpu: Samples,
    /// Peak memory of the largest process, in bytes.
    pub(crate) peak: Samples,
    /// Bytes of machine code in the executable; 0 until it is read.
    pub(crate) code: u64,
}

impl Row {
    /// The native measurements, which every row has.
    pub(crate) fn native(&self) -> &Measured {
        &self.ways[0]
    }

    /// The measurements of a way, if it was measured.
    pub(crate) fn of(&self, way: Way) -> Option<&Measured> {
        self.ways.iter().find(|m| m.way == way)
    }

    /// The ratios of a way's times to the native times, round by round.
    pub(crate) fn ratios(&self, way: Way) -> Option<Samples> {
        Some(self.of(way)?.seconds.over(&self.native().seconds))
    }

    /// The median of the ratios of a way's times to the native times.
    pub(crate) fn slowdown(&self, way: Way) -> Option<f64> {
        Some(self.ratios(way)?.median())
    }

    /// The median ratio of a flavor that runs without a collector.
    pub(crate) fn slowdown_of(&self, flavor: Flavor) -> Option<f64> {
        self.slowdown(Way::Alone(flavor))
    }
}

/// Time and memory of one run.
struct Run {
    seconds: f64,
    cpu: f64,
    peak: f64,
}

/// A program with its input and the directory for its data.
struct ProgramRun<'a> {
    workload: &'static Workload,
    scale: Scale,
    input: PathBuf,
    data: &'a Path,
}

/// Measures one program.
///
/// # Errors
/// If a run fails, or if the output of a flavor differs from the native output.
pub(crate) fn row(
    shelf: &Shelf,
    workload: &'static Workload,
    options: &Options,
    ways: &[Way],
    rounds: usize,
) -> Result<Row> {
    let scratch = scratch(&format!("bench-{}", workload.name))?;
    let scale = options.scale();
    let data = scratch.path().join("data");
    let program_run = ProgramRun {
        workload,
        scale,
        input: shelf.input(workload, scale)?,
        data: &data,
    };
    let executable = |way: Way| shelf.executable(workload.source, way.flavor());
    check_outputs(&program_run, ways, &executable)?;
    let mut measured: Vec<Measured> = ways.iter().map(|way| Measured::new(*way)).collect();
    for round in 0..rounds {
        eprint!("\r{}: round {} of {rounds} ", workload.name, round + 1);
        let count = measured.len();
        for i in 0..count {
            let m = &mut measured[if round % 2 == 0 { i } else { count - 1 - i }];
            let run = program_run.run(m.way, &executable(m.way))?;
            m.seconds.push(run.seconds);
            m.cpu.push(run.cpu);
            m.peak.push(run.peak);
        }
    }
    eprintln!();
    let totals = |flavor| {
        let counted = options.flavors().contains(&flavor).then(|| {
            let way = Way::Alone(flavor);
            program_run.totals(way, &executable(way))
        });
        counted.transpose()
    };
    Ok(Row {
        workload,
        ways: measured,
        totals: totals(Flavor::Paths)?,
        edge_totals: totals(Flavor::Edges)?,
    })
}

impl Measured {
    fn new(way: Way) -> Self {
        Self {
            way,
            seconds: Samples::default(),
            cpu: Samples::default(),
            peak: Samples::default(),
            code: 0,
        }
    }
}

/// Runs the program once in each way and compares the output with the native output.
fn check_outputs(
    program_run: &ProgramRun<'_>,
    ways: &[Way],
    executable: &dyn Fn(Way) -> PathBuf,
) -> Result<()> {
    let mut native = None;
    for way in ways {
        let printed = program_run
            .printed(*way, &executable(*way))
            .with_context(|| way.name())?;
        program_run.clear()?;
        ensure!(
            *native.get_or_insert(printed) == printed,
            "{} {}: prints something else than the native program: it was miscompiled, or its output depends on chance",
            program_run.workload.name,
            way.name(),
        );
    }
    Ok(())
}

impl ProgramRun<'_> {
    fn commands(&self, way: Way, executable: &Path) -> Vec<Command> {
        let commands = self.workload.commands(executable, &self.input, self.scale);
        let commands = commands.into_iter().enumerate().map(|(number, command)| {
            // Each run under the collector has a separate folder.
            let data = match way.is_stream() {
                true => self.data.join(number.to_string()),
                false => self.data.to_owned(),
            };
            way.command(command, &data)
        });
        commands.collect()
    }

    /// A hash of the output of a run. If the order of lines depends on chance, the hash ignores it.
    fn printed(&self, way: Way, executable: &Path) -> Result<u64> {
        let mut in_order = DefaultHasher::new();
        let mut any_order = 0u64;
        for mut command in self.commands(way, executable) {
            command.stdin(Stdio::null()).stdout(Stdio::piped());
            if way.is_stream() {
                // Runs under the collector print the name of their directory to stderr.
                command.stderr(Stdio::null());
            }
            let mut child = command
                .spawn()
                .with_context(|| format!("cannot start {command:?}"))?;
            let lines = BufReader::new(child.stdout.take().context("stdout was piped")?);
            for line in lines.split(b'\n') {
                let line = line?;
                line.hash(&mut in_order);
                let mut line_hash = DefaultHasher::new();
                line.hash(&mut line_hash);
                any_order = any_order.wrapping_add(line_hash.finish());
            }
            let status = child.wait()?;
            ensure!(status.success(), "{command:?}: {status}");
        }
        Ok(if self.workload.ordered {
            in_order.finish()
        } else {
            any_order
        })
    }

    /// Measures the commands of a run, without the harness's work between them.
    fn run(&self, way: Way, executable: &Path) -> Result<Run> {
        let mut run = Run {
            seconds: 0.0,
            cpu: 0.0,
            peak: 0.0,
        };
        for mut command in self.commands(way, executable) {
            command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped());
            let start = Instant::now();
            let mut child = command
                .spawn()
                .with_context(|| format!("cannot start {command:?}"))?;
            let mut errors = String::new();
            child
                .stderr
                .take()
                .context("stderr was piped")?
                .read_to_string(&mut errors)?;
            let end = child.wait4()?;
            run.seconds += start.elapsed().as_secs_f64();
            if !end.status.success() {
                bail!("{command:?}: {}\n{errors}", end.status);
            }
            run.cpu += (end.rusage.utime + end.rusage.stime).as_secs_f64();
            run.peak = run.peak.max(end.rusage.maxrss as f64);
        }
        self.clear()?;
        Ok(run)
    }

    /// The counts of a run.
    fn totals(&self, way: Way, executable: &Path) -> Result<Totals> {
        self.printed(way, executable)?;
        let totals = Totals::of_run(self.data)?;
        // Otherwise the next run would add its counts to these.
        self.clear()?;
        Ok(totals)
    }

    fn clear(&self) -> Result<()> {
        if self.data.exists() {
            std::fs::remove_dir_all(self.data)?;
        }
        Ok(())
    }
}
