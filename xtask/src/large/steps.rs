//! The steps of a build, with what each of them takes.

use anyhow::{Context, Result, ensure};
use holloway_tests::tool::{clean, shown};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use wait4::Wait4 as _;

/// What a step took.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Step {
    /// Its name in the table of build times.
    pub(super) name: String,
    /// CPU time of all its processes, in seconds.
    pub(super) cpu: f64,
    /// Elapsed time, in seconds.
    pub(super) elapsed: f64,
    /// The memory of its largest process at most, in bytes.
    pub(super) memory: u64,
}

/// Runs steps, and keeps what they took. Steps of an interrupted study are not run again.
pub(super) struct Steps {
    /// The file for what the steps print.
    log: PathBuf,
    /// The file with the steps that have ended.
    file: PathBuf,
    /// The steps that an earlier process has run, in reverse order.
    earlier: Vec<Step>,
    /// The steps that have ended.
    pub(super) done: Vec<Step>,
}

impl Steps {
    /// The steps with this name. Their files are in `folder`.
    ///
    /// # Errors
    /// If the file of an earlier process cannot be read.
    pub(super) fn new(folder: &Path, name: &str) -> Result<Self> {
        let file = folder.join(format!("{name}.steps.json"));
        let earlier = match file.is_file() {
            true => serde_json::from_str(&std::fs::read_to_string(&file)?)?,
            false => Vec::new(),
        };
        Ok(Self {
            log: folder.join(format!("{name}.log")),
            file,
            earlier: earlier.into_iter().rev().collect(),
            done: Vec::new(),
        })
    }

    /// Runs a command as a step.
    ///
    /// # Errors
    /// If it cannot be started, or fails. The message has the end of what it printed.
    pub(super) fn run(&mut self, name: &str, command: &mut Command) -> Result<()> {
        if let Some(step) = self.earlier.pop_if(|step| step.name == name) {
            self.done.push(step);
            return Ok(());
        }
        let log = std::fs::File::create(&self.log)?;
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        let start = Instant::now();
        let child = command.spawn();
        let used = child
            .with_context(|| format!("cannot start {}", shown(command)))?
            .wait4()?;
        ensure!(
            used.status.success(),
            "{} ended with {}\n{}",
            shown(command),
            used.status,
            self.last_lines()?
        );
        let step = Step {
            name: name.to_owned(),
            cpu: (used.rusage.utime + used.rusage.stime).as_secs_f64(),
            elapsed: start.elapsed().as_secs_f64(),
            memory: used.rusage.maxrss,
        };
        eprintln!(
            "  {name}: {:.1} s of CPU time, {:.1} s, {} MB",
            step.cpu,
            step.elapsed,
            step.memory >> 20
        );
        self.done.push(step);
        std::fs::write(&self.file, serde_json::to_string(&self.done)?)?;
        Ok(())
    }

    /// Runs a command that is not the compiler's or Holloway's, without the caller's settings.
    ///
    /// # Errors
    /// As for [`Self::run`].
    pub(super) fn run_clean(&mut self, name: &str, command: &mut Command) -> Result<()> {
        clean(command);
        self.run(name, command)
    }

    fn last_lines(&self) -> Result<String> {
        let printed = std::fs::read(&self.log)?;
        let text = String::from_utf8_lossy(&printed);
        let lines: Vec<&str> = text.lines().rev().take(30).collect();
        Ok(lines.into_iter().rev().collect::<Vec<_>>().join("\n"))
    }
}
