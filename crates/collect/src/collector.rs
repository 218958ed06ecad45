//! Runs a program, collects its streams while it runs, and measures its CPU time.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use holloway_abi::COLLECTOR_VARIABLE;
use holloway_sample::cpu_clock::CpuClock;

use crate::burst::Burst;
use crate::child::{self, ProgramEnd};
use crate::cpu_time;
use crate::error::RunError;
use crate::files::profiles;
use crate::interrupted;
use crate::notice::{Notice, Notify};
use crate::pool::Collector;
use crate::settings::Settings;

/// Which process measures the CPU time of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measurement {
    /// The collector's process measures the command and all its child processes.
    Here,
    /// The command is cargo. It starts each program through a runner, which calls [`measure`]. So
    /// the build is not measured.
    InRunner,
}

/// Runs `command` to its end, and collects its streams while it runs. The program records into
/// `directory`, which is marked if a signal interrupts the program. The caller must set the
/// program's variable `HOLLOWAY_DATA` to exactly this path.
///
/// Stores the program's CPU time in the directory if the program added a profile to it, and
/// `measurement` is [`Measurement::Here`].
///
/// The caller then calls [`Collector::drain`], which may take long if the collector is behind.
///
/// The returned collector continues for processes that outlive the program, until it is dropped.
///
/// # Errors
/// If the program or the collector's thread cannot be started, or waiting for the program's end
/// fails.
pub fn run(
    command: &mut Command,
    directory: &Path,
    settings: Settings,
    measurement: Measurement,
    notify: Notify,
) -> Result<(ProgramEnd, Collector), RunError> {
    command.envs(settings.burst.map(Burst::variable));
    let collector = Collector::start(directory, settings, notify).map_err(RunError::Start)?;
    let mut variable = OsString::from(format!("{} ", std::process::id()));
    variable.push(directory);
    command.env(COLLECTOR_VARIABLE, variable);
    let watched = WatchedDirectory::new(directory);
    let end = match measurement {
        Measurement::Here => measure_into(command, &watched, notify)?,
        Measurement::InRunner => child::run(command)?,
    };
    // A directory without a profile stays empty, and is removed.
    if let Some(interrupt) = end.interrupt
        && watched.has_new_profile()
    {
        interrupted::mark(directory, interrupt);
    }
    Ok((end, collector))
}

/// Runs `command` to its end, and stores its CPU time in `directory` if the program added a profile
/// to it. For a program that another process collects.
///
/// # Errors
/// If the program cannot be started, or waiting for its end fails.
pub fn measure(
    command: &mut Command,
    directory: &Path,
    notify: Notify,
) -> Result<ProgramEnd, RunError> {
    measure_into(command, &WatchedDirectory::new(directory), notify)
}

fn measure_into(
    command: &mut Command,
    watched: &WatchedDirectory<'_>,
    notify: Notify,
) -> Result<ProgramEnd, RunError> {
    let clock = CpuClock::open();
    let (end, usage) = child::run_measured(command)?;
    let record = cpu_time::record(&usage, clock);
    if watched.has_new_profile()
        && let Err(error) = cpu_time::store(watched.directory, &record)
    {
        notify(Notice::Unwritten(error));
    }
    Ok(end)
}

/// A run's directory, and the profiles that it had at first.
struct WatchedDirectory<'a> {
    directory: &'a Path,
    earlier_profiles: Vec<PathBuf>,
}

impl<'a> WatchedDirectory<'a> {
    fn new(directory: &'a Path) -> Self {
        Self {
            directory,
            earlier_profiles: profiles(directory).unwrap_or_default(),
        }
    }

    fn has_new_profile(&self) -> bool {
        let mut recorded = profiles(self.directory).unwrap_or_default().into_iter();
        recorded.any(|profile| self.earlier_profiles.binary_search(&profile).is_err())
    }
}
