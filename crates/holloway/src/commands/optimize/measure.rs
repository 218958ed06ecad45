//! Measures a program against its optimized build.
//!
//! The builds run in turn, and which goes first alternates, so that none profits from the others.
//! Measured is the CPU time of the process and of the child processes that it waited for: unlike
//! elapsed time, it does not contain the time of other programs on a loaded machine. Each round
//! takes another order of functions, the same one for all builds. Each run's stdout goes to a file
//! and is compared with that of the program's first run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use holloway_analysis::paired::{self, Gain, Pair};
use holloway_collect::child;
use holloway_link::program::find_program;

use super::builds::{Build, Builds};
use super::carried::{Carried, stdin};
use crate::failure::{Context, Failure, Result};
use crate::progress::Progress;
use crate::status;

/// The longest run whose instructions are counted: valgrind makes it about fifty times as long.
const MAX_COUNTED: Duration = Duration::from_secs(4);

/// The times of builds.
pub(super) struct Times {
    /// The program, as the user named it.
    program: String,
    /// The CPU times of each build, in seconds, by round.
    times: BTreeMap<Build, Vec<f64>>,
}

impl Times {
    /// Whether a build was measured.
    pub(super) fn has(&self, build: Build) -> bool {
        self.times.contains_key(&build)
    }

    /// The gain of a build over another one. Both were measured.
    ///
    /// # Errors
    /// If the builds take no measurable time.
    pub(super) fn gain(&self, plain: Build, other: Build) -> Result<Gain> {
        gain(&self.program, &self.times[&plain], &self.times[&other])
    }
}

/// What was measured.
pub(super) struct Measured {
    pub(super) times: Times,
    /// The gain of the program over itself.
    pub(super) noise: Gain,
    /// The instructions that builds execute, if valgrind is there and the runs are short.
    instructions: BTreeMap<Build, u64>,
}

impl Measured {
    /// The instructions of two builds, if they were counted.
    pub(super) fn instructions(&self, plain: Build, other: Build) -> Option<paired::Instructions> {
        Some(paired::Instructions {
            plain: *self.instructions.get(&plain)?,
            other: *self.instructions.get(&other)?,
        })
    }
}

fn gain(program: &str, plain: &[f64], other: &[f64]) -> Result<Gain> {
    let pairs = plain.iter().zip(other);
    let pairs: Vec<Pair> = pairs
        .map(|(&plain, &other)| Pair { plain, other })
        .collect();
    Gain::of_pairs(&pairs).ok_or_else(|| {
        Failure::new(format_args!(
            "{program} takes no measurable time: give arguments that make it work longer"
        ))
    })
}

/// Whether the instructions that builds execute are counted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Instructions {
    /// Those of the builds of [`Build::is_counted`].
    Counted,
    /// They are known, or do not show what a step gains.
    NotCounted,
}

/// Measures the program against its optimized builds.
///
/// # Errors
/// If a run fails or prints something else than the first run, or takes no time.
pub(super) fn measure(
    carried: &Carried,
    builds: &Builds,
    args: &[OsString],
    pairs: NonZeroUsize,
    instructions: Instructions,
) -> Result<Measured> {
    let program = carried.program.display().to_string();
    status::line("Measuring", &program);
    let runner = Runner::new(carried, args)?;
    let plain = std::slice::from_ref(&carried.executable);
    let progress = Progress::start("Measuring", "");
    let noise = runner.rounds(&[plain, plain], pairs, &progress)?;
    let noise = gain(&program, &noise[0], &noise[1])?;
    let times = runner.times(builds, pairs, &progress)?;
    let counted = builds.iter().filter(|(build, _)| build.is_counted());
    let counted: Vec<_> = counted
        .map(|(build, programs)| (build, &programs[0]))
        .collect();
    let is_short = runner.first_time <= MAX_COUNTED;
    let instructions = match is_short && instructions == Instructions::Counted {
        true => runner.instructions(&counted, &progress),
        false => None,
    };
    Ok(Measured {
        times,
        noise,
        instructions: instructions.unwrap_or_default(),
    })
}

/// Measures builds of a program against each other.
///
/// # Errors
/// If a run fails or prints something else than the first run.
pub(super) fn times(
    carried: &Carried,
    builds: &Builds,
    args: &[OsString],
    pairs: NonZeroUsize,
) -> Result<Times> {
    status::line("Measuring", "with one function left out of a step");
    let runner = Runner::new(carried, args)?;
    runner.times(builds, pairs, &Progress::start("Measuring", ""))
}

/// Runs builds of a program, and compares what they print.
struct Runner<'a> {
    carried: &'a Carried,
    args: &'a [OsString],
    /// What the program printed and how it ended, when it ran first.
    first: Outcome,
    /// The CPU time of the first run.
    first_time: Duration,
}

/// How a run ended: the hash of its stdout, and its exit status.
#[derive(Clone, PartialEq, Eq)]
struct Outcome {
    stdout: blake3::Hash,
    status: ExitStatus,
}

impl<'a> Runner<'a> {
    /// Runs the program twice, to see whether its output is always the same. These runs warm the
    /// machine up, too.
    fn new(carried: &'a Carried, args: &'a [OsString]) -> Result<Self> {
        let run = || run(carried, &carried.executable, args);
        let (first, first_time) = run()?;
        let name = carried.program.display();
        if !first.status.success() {
            return Err(Failure::new(format_args!(
                "{name} fails ({}): give arguments with which it succeeds",
                first.status
            )));
        }
        if run()?.0 != first {
            return Err(Failure::new(format_args!(
                "{name} prints something else each time, so builds of it cannot be compared: give arguments that make its output repeatable"
            )));
        }
        Ok(Self {
            carried,
            args,
            first,
            first_time,
        })
    }

    /// Runs builds in turn.
    fn times(&self, builds: &Builds, pairs: NonZeroUsize, progress: &Progress) -> Result<Times> {
        let compared: Vec<&[PathBuf]> = builds.values().map(Vec::as_slice).collect();
        let times = self.rounds(&compared, pairs, progress)?;
        Ok(Times {
            program: self.carried.program.display().to_string(),
            times: builds.keys().copied().zip(times).collect(),
        })
    }

    /// Runs each build once in each round, in every second round in reverse order. The programs of
    /// a build take turns. Returns the times of each build, in seconds and by round.
    fn rounds(
        &self,
        builds: &[&[PathBuf]],
        count: NonZeroUsize,
        progress: &Progress,
    ) -> Result<Vec<Vec<f64>>> {
        let mut times = vec![Vec::with_capacity(count.get()); builds.len()];
        for number in 0..count.get() {
            progress.set(&format!("round {} of {count}", number + 1));
            let mut order: Vec<usize> = (0..builds.len()).collect();
            if number % 2 == 1 {
                order.reverse();
            }
            for index in order {
                let programs = builds[index];
                times[index].push(self.time(&programs[number % programs.len()])?);
            }
        }
        Ok(times)
    }

    fn time(&self, build: &Path) -> Result<f64> {
        let (outcome, time) = run(self.carried, build, self.args)?;
        if outcome == self.first {
            return Ok(time.as_secs_f64());
        }
        let name = self.carried.program.display();
        Err(Failure::new(if build == self.carried.executable {
            format!(
                "{name} prints something else each time, so builds of it cannot be compared: give arguments that make its output repeatable"
            )
        } else {
            format!(
                "the optimized build of {name} does not print what the program prints: does its output depend on time, addresses, or undefined behavior?"
            )
        }))
    }

    /// Counts the instructions that builds execute, with valgrind. `None` if valgrind is missing or
    /// cannot run the program.
    fn instructions(
        &self,
        builds: &[(&Build, &PathBuf)],
        progress: &Progress,
    ) -> Option<BTreeMap<Build, u64>> {
        let valgrind = find_program("valgrind".as_ref())?;
        progress.set("counting instructions with valgrind");
        let count = |name: Build, build: &Path| {
            let without = self
                .carried
                .scratch_file(&format!("{}-counted", name.name()));
            let build = without_debug_information(build, &without);
            let log = self.carried.scratch_file("callgrind.log");
            let mut option = OsString::from("--log-file=");
            option.push(&log);
            let mut command = Command::new(&valgrind);
            command
                .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
                .arg(option)
                .arg(build)
                .args(self.args)
                .stdin(stdin())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            let status = command.status().ok()?;
            let text = std::fs::read_to_string(log).ok()?;
            status.success().then(|| collected(&text)).flatten()
        };
        let counted = builds
            .iter()
            .map(|&(&name, build)| Some((name, count(name, build)?)));
        counted.collect()
    }
}

/// Writes a copy of a program without its debug information, which valgrind reads and may not
/// understand. Returns the program itself if `strip` cannot do that.
fn without_debug_information<'a>(program: &'a Path, copy: &'a Path) -> &'a Path {
    let mut strip = Command::new("strip");
    strip.arg("--strip-debug").arg("-o").arg(copy).arg(program);
    let status = strip
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match status {
        Ok(status) if status.success() => copy,
        Ok(_) | Err(_) => program,
    }
}

/// The number of instructions in callgrind's messages: `==1== Collected : 123`.
fn collected(log: &str) -> Option<u64> {
    let (_, after) = log.split_once("Collected : ")?;
    after.split_whitespace().next()?.parse().ok()
}

/// Runs a build of the program. Its stderr is not shown.
fn run(carried: &Carried, build: &Path, args: &[OsString]) -> Result<(Outcome, Duration)> {
    let file = carried.scratch_file("stdout");
    let writing = || format!("write {}", file.display());
    let stdout = File::create(&file).cannot(writing)?;
    let mut command = carried.command(build, args);
    command.stdin(stdin()).stdout(stdout).stderr(Stdio::null());
    let (end, time) = child::run_timed(&mut command).map_err(|error| carried.cannot_run(error))?;
    let mut hasher = blake3::Hasher::new();
    let mut printed = File::open(&file).cannot(writing)?;
    std::io::copy(&mut printed, &mut hasher).cannot(writing)?;
    let outcome = Outcome {
        stdout: hasher.finalize(),
        status: end.status,
    };
    Ok((outcome, time))
}

#[cfg(test)]
mod tests {
    use super::collected;

    #[test]
    fn callgrinds_count_is_read() {
        let log = "==7== Events    : Ir\n==7== Collected : 766455996\n==7== \n";
        assert_eq!(collected(log), Some(766_455_996));
        assert_eq!(collected("==7== Collected : \n"), None);
        assert_eq!(collected(""), None);
    }
}
