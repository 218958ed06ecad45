//! `cargo xtask study server`: two monitors watch a server with two threads under load for an hour.
//! One watches the server, the other the whole machine. Neither may lose a record, or hold more
//! files or threads at the end than at the start. Their memory is shown over time.
//!
//! Nothing is timed, so the machine may be busy. The more processes begin and end, the harder the
//! test of the monitor of the whole machine.

use crate::workspace::{BuildProfile, build_holloway, root};
use anyhow::{Context, Result, ensure};
use holloway_format::samples::SampleRecord;
use holloway_tests::server::{Holdings, Server};
use holloway_tests::tool::{clean, scratch};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead as _, BufReader, Read as _};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

/// Rows of the table.
const ROWS: u32 = 6;
/// Minutes that are worth a page.
const LONG: u64 = 30;
/// Time before the first look: the monitors have written once.
const WARM_UP: Duration = Duration::from_secs(15);

/// The text before the table.
const HEAD: &str = "\
# A server, watched for long

Written by `cargo xtask study server`. A server with two threads answered two clients as fast as it
could. Two [monitors](../monitor.md) watched at the same time: one the server (`--pid`), one the
whole machine (`--system`), on which other work went on. Memory is the resident memory of the
monitor. The samples are those that it has written: of user code only, and the server spends most of
its time in the kernel. The monitor of the machine remembers each sampled address, so its memory
grows as long as other programs bring new code.
";

/// The options of `cargo xtask study server`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Watch for this many minutes
    #[arg(long, value_name = "N", default_value = "60")]
    minutes: NonZeroU64,
}

/// A running monitor.
struct Monitor {
    name: &'static str,
    child: Child,
    messages: BufReader<ChildStderr>,
    run: PathBuf,
}

/// The state of a monitor at one moment.
struct Look {
    holdings: Holdings,
    cpu: f64,
    samples: u64,
    lost: u64,
}

/// Runs the study, prints it, and writes the page if it took long enough.
///
/// # Errors
/// If a monitor lost a record or holds more than at the start, or if a command fails.
pub(crate) fn run(options: &Options) -> Result<()> {
    let holloway = match std::env::var_os("HOLLOWAY_EXE") {
        Some(exe) => PathBuf::from(exe),
        None => build_holloway(BuildProfile::Release)?,
    };
    let scratch = scratch("study-server")?;
    let folder = scratch.path();
    let program = Server::build(&holloway, folder)?;
    let server = Server::start(&program, 19)?;
    let id = server.process().to_string();
    let mut monitors = Vec::new();
    for (name, words) in [("server", &["--pid", &*id][..]), ("machine", &["--system"])] {
        monitors.push(Monitor::start(
            &holloway,
            name,
            words,
            &folder.join(format!("run-{name}")),
        )?);
    }
    let begun = processes_begun()?;
    std::thread::sleep(WARM_UP);
    let mut table = "\
| minute | requests | processes begun | monitor of | memory (KiB) | files | threads | CPU time (s) | samples | lost |
|--:|--:|--:|---|--:|--:|--:|--:|--:|--:|
"
    .to_owned();
    let start = Instant::now();
    let whole = Duration::from_secs(60 * options.minutes.get());
    let mut first = Vec::new();
    for row in 0..=ROWS {
        let at = whole * row / ROWS;
        std::thread::sleep(at.saturating_sub(start.elapsed()));
        for (number, monitor) in monitors.iter().enumerate() {
            let look = monitor.look()?;
            let line = format!(
                "| {:.0} | {} | {} | {} | {} | {} | {} | {:.2} | {} | {} |\n",
                at.as_secs_f64() / 60.0,
                server.answers(),
                processes_begun()? - begun,
                monitor.name,
                look.holdings.memory_kib,
                look.holdings.files,
                look.holdings.threads,
                look.cpu,
                look.samples,
                look.lost
            );
            eprint!("{line}");
            table += &line;
            ensure!(
                look.lost == 0,
                "{} lost {} records",
                monitor.name,
                look.lost
            );
            match first.get(number) {
                None => first.push(look),
                Some(first) => ensure!(
                    (first.holdings.files, first.holdings.threads)
                        == (look.holdings.files, look.holdings.threads),
                    "{} held {:?}, and now holds {:?}",
                    monitor.name,
                    first.holdings,
                    look.holdings
                ),
            }
        }
    }
    server.stop()?;
    for monitor in monitors {
        monitor.stop()?;
    }
    println!("{table}");
    if options.minutes.get() >= LONG {
        let page = root().join("docs/studies/server.md");
        let minutes = options.minutes;
        std::fs::write(&page, format!("{HEAD}\n{minutes} minutes.\n\n{table}"))
            .with_context(|| format!("cannot write {}", page.display()))?;
        println!("written to docs/studies/server.md");
    }
    Ok(())
}

impl Monitor {
    fn start(holloway: &Path, name: &'static str, words: &[&str], run: &Path) -> Result<Self> {
        let mut command = Command::new(holloway);
        clean(command.args(["monitor", "--no-report", "-o"]).arg(run));
        command.args(words).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::piped()).spawn()?;
        let stderr = child.stderr.take().context("stderr was piped")?;
        let mut messages = BufReader::new(stderr);
        let mut line = String::new();
        messages.read_line(&mut line)?;
        ensure!(line.contains("Watching"), "holloway monitor: {line}");
        Ok(Self {
            name,
            child,
            messages,
            run: run.to_owned(),
        })
    }

    fn look(&self) -> Result<Look> {
        let process = self.child.id();
        let mut cpu = 0.0;
        for thread in std::fs::read_dir(format!("/proc/{process}/task"))? {
            let text = std::fs::read_to_string(thread?.path().join("schedstat"))?;
            let running = text.split_whitespace().next();
            cpu += running.context("schedstat is empty")?.parse::<f64>()? / 1e9;
        }
        let record = self.record()?;
        Ok(Look {
            holdings: Holdings::of(process)?,
            cpu,
            samples: record.total().0,
            lost: record.lost,
        })
    }

    /// What the monitor has written.
    fn record(&self) -> Result<SampleRecord> {
        for file in std::fs::read_dir(&self.run)? {
            let path = file?.path();
            if path.extension().is_some_and(|extension| extension == "hws") {
                return Ok(SampleRecord::decode(&std::fs::read(path)?)?);
            }
        }
        anyhow::bail!("{} has written no samples", self.name)
    }

    /// Ends the monitor.
    fn stop(mut self) -> Result<()> {
        // The monitor of the server may have ended with it.
        kill_process(Pid::from_child(&self.child), Signal::INT).ok();
        let mut rest = String::new();
        self.messages.read_to_string(&mut rest)?;
        ensure!(self.child.wait()?.success(), "holloway monitor: {rest}");
        let lost = self.record()?.lost;
        ensure!(lost == 0, "{} lost {lost} records", self.name);
        Ok(())
    }
}

/// The number of processes and threads that have begun since the machine started.
fn processes_begun() -> Result<u64> {
    let text = std::fs::read_to_string("/proc/stat")?;
    let mut lines = text.lines();
    let line = lines.find_map(|line| line.strip_prefix("processes "));
    Ok(line
        .context("/proc/stat has no processes")?
        .trim()
        .parse()?)
}
