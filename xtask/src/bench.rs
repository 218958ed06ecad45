//! `cargo xtask bench`: what counting paths costs, on five real programs, and what weaving costs at build time.
//!
//! Native, woven and peer (clang's `-fprofile-generate`, rustc's `-Cprofile-generate`: edges, not paths, and not exact
//! under threads) are built at the same level and run in turn, round by round, so that a slow spell of the machine hits all
//! three. A figure is the median of the rounds; the spread is that of the middle half. Ratios are taken within one run.

mod measure;
mod print;

use crate::test::release_build;
use anyhow::{Context, Result, bail};
use holloway_tests::tool::scratch;
use holloway_tests::workload::{ALL, FLAVOURS, Flavour, Workload, rust_build_command};
use measure::{Samples, timed};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::time::Duration;

/// What to run.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// Small inputs, few rounds: to see that it works.
    quick: bool,
    /// Only these programs; empty: all, and the build times.
    only: Vec<String>,
}

impl Options {
    /// Reads `--quick` and `--only NAME`.
    ///
    /// # Errors
    /// An unknown option or program.
    pub(crate) fn parse(words: &[&str]) -> Result<Self> {
        let mut options = Self {
            quick: false,
            only: Vec::new(),
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--quick" => options.quick = true,
                "--only" => {
                    let name = *words.next().context("--only takes a program's name")?;
                    if !ALL.iter().any(|w| w.name() == name) {
                        bail!(
                            "no program is called {name:?}: there are {}",
                            ALL.map(Workload::name).join(", ")
                        );
                    }
                    options.only.push(name.to_owned());
                }
                _ => bail!("unknown option {word:?}: `cargo xtask help` lists what there is"),
            }
        }
        Ok(options)
    }

    fn wants(&self, workload: Workload) -> bool {
        self.only.is_empty() || self.only.iter().any(|n| n == workload.name())
    }

    /// Size of a program's input: a native run takes half a second to two seconds.
    fn size(&self, workload: Workload) -> usize {
        let full = match workload {
            Workload::Ripgrep => 40,
            Workload::Parallel => 40,
            Workload::Bzip2 => 12,
            Workload::Lua => 12,
            Workload::Sqlite => 25,
        };
        if self.quick { 1 + full / 10 } else { full }
    }

    fn rounds(&self) -> usize {
        if self.quick { 3 } else { 11 }
    }
}

/// One program's times.
#[derive(Debug)]
pub(crate) struct Row {
    /// Its name.
    pub(crate) name: &'static str,
    /// Seconds a run, for each of [`FLAVOURS`].
    pub(crate) times: [Samples; 3],
    /// Path executions of one woven run.
    pub(crate) paths: u64,
}

/// Build times of ripgrep from nothing.
#[derive(Debug, Default)]
pub(crate) struct Builds {
    /// Plain release.
    pub(crate) plain: Samples,
    /// `cargo holloway build --release`.
    pub(crate) woven: Samples,
}

/// All that was measured.
#[derive(Debug, Default)]
pub(crate) struct Results {
    /// Programs.
    pub(crate) rows: Vec<Row>,
    /// Build times, if asked for.
    pub(crate) builds: Option<Builds>,
}

/// Runs the benches and writes their results.
///
/// # Errors
/// A build or a run fails.
pub(crate) fn run(options: &Options) -> Result<()> {
    let exe = release_build()?;
    // The workloads find holloway by this variable, in this process.
    if std::env::var_os("HOLLOWAY_EXE").is_none() {
        return with_exe(&exe);
    }
    let mut results = Results::default();
    for workload in ALL.into_iter().filter(|w| options.wants(*w)) {
        results.rows.push(row(workload, options)?);
    }
    if options.only.is_empty() {
        results.builds = Some(builds(options)?);
    }
    print::write(&results, options.quick, options.only.is_empty())
}

/// Becomes this command again with `HOLLOWAY_EXE` set: changing one's own environment is unsafe.
fn with_exe(exe: &Path) -> Result<()> {
    let mut again = std::process::Command::new(std::env::current_exe()?);
    let error = again
        .args(std::env::args_os().skip(1))
        .env("HOLLOWAY_EXE", exe)
        .exec();
    Err(error).context("cannot start again")
}

fn row(workload: Workload, options: &Options) -> Result<Row> {
    let scratch = scratch(&format!("bench-{}", workload.name()))?;
    let folder = workload.prepare(scratch.path())?;
    let (input, size) = (scratch.path().join("input"), options.size(workload));
    workload.write_input(&input, size)?;
    let mut executables = Vec::new();
    for flavour in FLAVOURS {
        eprintln!("building {} {}", workload.name(), flavour.name());
        executables.push(workload.build(&folder, flavour)?);
    }
    let mut times: [Samples; 3] = Default::default();
    let data = scratch.path().join("data");
    for round in 0..=options.rounds() {
        for (samples, (flavour, exe)) in times.iter_mut().zip(FLAVOURS.iter().zip(&executables)) {
            let seconds = one_run(workload, *flavour, exe, &input, size, &data)?;
            // The first round warms the caches and is not counted.
            if round > 0 {
                samples.push(seconds);
            }
        }
        eprint!(
            "\r{}: round {round} of {}",
            workload.name(),
            options.rounds()
        );
    }
    eprintln!();
    let paths = path_executions(
        workload,
        &executables[1],
        &input,
        size,
        &scratch.path().join("counted"),
    )?;
    Ok(Row {
        name: workload.name(),
        times,
        paths,
    })
}

/// Wall-clock time of a run's commands, without the harness's own work between them.
fn one_run(
    w: Workload,
    flavour: Flavour,
    exe: &Path,
    input: &Path,
    size: usize,
    data: &Path,
) -> Result<f64> {
    let mut total = Duration::ZERO;
    for mut command in w.commands(exe, input, size) {
        command.env("LLVM_PROFILE_FILE", input.join("peer.profraw"));
        if flavour == Flavour::Woven {
            command.env("HOLLOWAY_DATA", data);
        }
        total += timed(&mut command)?;
    }
    if data.exists() {
        std::fs::remove_dir_all(data)?;
    }
    Ok(total.as_secs_f64())
}

fn path_executions(w: Workload, exe: &Path, input: &Path, size: usize, data: &Path) -> Result<u64> {
    w.run(exe, input, size, Some(data))?;
    holloway_tests::report::Report::of_run(data)?.total("path_executions")
}

/// ripgrep with all its dependencies, from nothing built and nothing cached, plain and woven in turn.
fn builds(options: &Options) -> Result<Builds> {
    let scratch = scratch("bench-builds")?;
    let folder = Workload::Ripgrep.prepare(scratch.path())?;
    let mut builds = Builds::default();
    for round in 0..if options.quick { 1 } else { 3 } {
        for flavour in [Flavour::Native, Flavour::Woven] {
            let target = scratch
                .path()
                .join(format!("target-{}-{round}", flavour.name()));
            let mut command = rust_build_command(&folder, flavour, &target);
            command.env(
                "HOLLOWAY_CACHE",
                scratch.path().join(format!("cache-{round}")),
            );
            let seconds = timed(&mut command)?.as_secs_f64();
            eprintln!("ripgrep from nothing, {}: {seconds:.1} s", flavour.name());
            let samples = if flavour == Flavour::Native {
                &mut builds.plain
            } else {
                &mut builds.woven
            };
            samples.push(seconds);
            std::fs::remove_dir_all(&target)?;
        }
    }
    Ok(builds)
}
