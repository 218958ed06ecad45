//! A program's runs: every flavour in turn, round by round; time, processor time and peak memory of each.
//!
//! Before the rounds each flavour runs once, which warms the caches and shows that its output is the native one.
//! The order of the flavours is turned round after every round, so that none always runs behind the same one.

use super::options::Options;
use super::programs::Shelf;
use super::samples::Samples;
use super::totals::Totals;
use super::way::Way;
use anyhow::{Context, Result, bail, ensure};
use holloway_tests::tool::scratch;
use holloway_tests::workload::{Flavour, Scale, Workload};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use wait4::Wait4;

/// One program's figures.
#[derive(Debug)]
pub(crate) struct Row {
    /// The program.
    pub(crate) workload: &'static Workload,
    /// One for each way, native first.
    pub(crate) ways: Vec<Measured>,
    /// What one run counted, in paths.
    pub(crate) totals: Option<Totals>,
    /// The same in edges.
    pub(crate) edge_totals: Option<Totals>,
}

/// A way's figures.
#[derive(Debug)]
pub(crate) struct Measured {
    /// Which.
    pub(crate) way: Way,
    /// Wall-clock seconds.
    pub(crate) seconds: Samples,
    /// Seconds of all processors, user and system.
    pub(crate) cpu: Samples,
    /// Peak memory of the largest process, in bytes.
    pub(crate) peak: Samples,
    /// Bytes of machine code in the executable, once it has been looked at.
    pub(crate) code: u64,
}

impl Row {
    /// The native figures: they are always there.
    pub(crate) fn native(&self) -> &Measured {
        &self.ways[0]
    }

    /// A way's figures, if it was measured.
    pub(crate) fn of(&self, way: Way) -> Option<&Measured> {
        self.ways.iter().find(|m| m.way == way)
    }

    /// A way's times over the native ones, round by round.
    pub(crate) fn ratios(&self, way: Way) -> Option<Samples> {
        Some(self.of(way)?.seconds.over(&self.native().seconds))
    }

    /// The median of these ratios.
    pub(crate) fn slowdown(&self, way: Way) -> Option<f64> {
        Some(self.ratios(way)?.median())
    }

    /// The same of a flavour that is run alone.
    pub(crate) fn slowdown_of(&self, flavour: Flavour) -> Option<f64> {
        self.slowdown(Way::Alone(flavour))
    }
}

/// What one run took.
struct Run {
    seconds: f64,
    cpu: f64,
    peak: f64,
}

/// Where a program runs and leaves its data.
struct Place<'a> {
    workload: &'static Workload,
    scale: Scale,
    input: PathBuf,
    data: &'a Path,
}

/// Measures one program.
///
/// # Errors
/// A run fails, or a flavour prints what the native program doesn't.
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
    let place = Place {
        workload,
        scale,
        input: shelf.input(workload, scale)?,
        data: &data,
    };
    let executable = |way: Way| shelf.executable(workload.source, way.flavour());
    check_outputs(&place, ways, &executable)?;
    let mut measured: Vec<Measured> = ways.iter().map(|way| Measured::new(*way)).collect();
    for round in 0..rounds {
        eprint!("\r{}: round {} of {rounds} ", workload.name, round + 1);
        let count = measured.len();
        for i in 0..count {
            let m = &mut measured[if round % 2 == 0 { i } else { count - 1 - i }];
            let run = place.run(m.way, &executable(m.way))?;
            m.seconds.push(run.seconds);
            m.cpu.push(run.cpu);
            m.peak.push(run.peak);
        }
    }
    eprintln!();
    let totals = |flavour| {
        let counted = options.flavours().contains(&flavour).then(|| {
            let way = Way::Alone(flavour);
            place.totals(way, &executable(way))
        });
        counted.transpose()
    };
    Ok(Row {
        workload,
        ways: measured,
        totals: totals(Flavour::Paths)?,
        edge_totals: totals(Flavour::Edges)?,
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

/// Runs it each way once and holds what it prints against the native program's.
fn check_outputs(
    place: &Place<'_>,
    ways: &[Way],
    executable: &dyn Fn(Way) -> PathBuf,
) -> Result<()> {
    let mut native = None;
    for way in ways {
        let printed = place
            .printed(*way, &executable(*way))
            .with_context(|| way.name())?;
        place.clear()?;
        ensure!(
            *native.get_or_insert(printed) == printed,
            "{} {}: prints something else than the native program: it was miscompiled, or its output depends on chance",
            place.workload.name,
            way.name(),
        );
    }
    Ok(())
}

impl Place<'_> {
    fn commands(&self, way: Way, executable: &Path) -> Vec<Command> {
        let commands = self.workload.commands(executable, &self.input, self.scale);
        let commands = commands.into_iter().enumerate().map(|(number, command)| {
            // A run under the collector has a folder of its own.
            let data = match way.is_stream() {
                true => self.data.join(number.to_string()),
                false => self.data.to_owned(),
            };
            way.command(command, &data)
        });
        commands.collect()
    }

    /// A hash of what a run prints, of the set of its lines where they come in any order.
    fn printed(&self, way: Way, executable: &Path) -> Result<u64> {
        let mut all = DefaultHasher::new();
        let mut any_order = 0u64;
        for mut command in self.commands(way, executable) {
            command.stdin(Stdio::null()).stdout(Stdio::piped());
            if way.is_stream() {
                // Each run says there where it recorded to.
                command.stderr(Stdio::null());
            }
            let mut child = command
                .spawn()
                .with_context(|| format!("cannot start {command:?}"))?;
            let lines = BufReader::new(child.stdout.take().context("stdout was piped")?);
            for line in lines.split(b'\n') {
                let line = line?;
                line.hash(&mut all);
                let mut one = DefaultHasher::new();
                line.hash(&mut one);
                any_order = any_order.wrapping_add(one.finish());
            }
            let status = child.wait()?;
            ensure!(status.success(), "{command:?}: {status}");
        }
        Ok(if self.workload.ordered {
            all.finish()
        } else {
            any_order
        })
    }

    /// Times a run's commands, without the harness's own work between them.
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

    /// What a run counts.
    fn totals(&self, way: Way, executable: &Path) -> Result<Totals> {
        self.printed(way, executable)?;
        let totals = Totals::of_run(self.data)?;
        // The next run's counts would be added to these.
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
