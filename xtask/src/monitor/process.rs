//! A `holloway monitor` that watches the machine while a study runs.

use anyhow::{Context, Result, ensure};
use holloway_tests::tool::holloway_command;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead as _, BufReader, Read as _};
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::{Child, ChildStderr, Stdio};
use std::time::{Duration, Instant};
use wait4::Wait4;

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
