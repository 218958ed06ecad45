//! Runs a program, collects its streams while it runs, and measures its CPU time.

use std::ffi::OsString;
use std::path::Path;
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

/// Runs `command` to its end, and collects its streams while it runs. The program records into
/// `directory`, which is marked if a signal interrupts the program. The caller must set the
/// program's variable `HOLLOWAY_DATA` to exactly this path.
///
/// Stores the program's CPU time in the directory if the program added a profile to it.
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
    notify: Notify,
) -> Result<(ProgramEnd, Collector), RunError> {
    command.envs(settings.burst.map(Burst::variable));
    let collector = Collector::start(directory, settings, notify).map_err(RunError::Start)?;
    let mut variable = OsString::from(format!("{} ", std::process::id()));
    variable.push(directory);
    command.env(COLLECTOR_VARIABLE, variable);
    let earlier_profiles = profiles(directory).unwrap_or_default();
    let clock = CpuClock::open();
    let (end, usage) = child::run_measured(command)?;
    let record = cpu_time::record(&usage, clock);
    let mut recorded = profiles(directory).unwrap_or_default().into_iter();
    // A directory without a profile stays empty, and is removed.
    if recorded.any(|profile| earlier_profiles.binary_search(&profile).is_err()) {
        if let Some(interrupt) = end.interrupt {
            interrupted::mark(directory, interrupt);
        }
        if let Err(error) = cpu_time::store(directory, &record) {
            notify(Notice::Unwritten(error));
        }
    }
    Ok((end, collector))
}
