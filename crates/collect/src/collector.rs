//! Runs a program and collects its streams meanwhile.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitStatus};

use holloway_abi::COLLECTOR_VARIABLE;

use crate::burst::Burst;
use crate::child;
use crate::error::RunError;
use crate::notice::Notify;
use crate::pool::Collector;
use crate::settings::Settings;

/// Runs `command` to its end, and collects its streams meanwhile. The program records into
/// `directory`, which its variable `HOLLOWAY_DATA` must name in the same words.
///
/// The collector goes on for processes that outlive the program, until it is dropped.
///
/// # Errors
/// The program, or the collector's thread, cannot be started, or the program's end cannot be waited
/// for.
pub fn run(
    command: &mut Command,
    directory: &Path,
    settings: Settings,
    notify: Notify,
) -> Result<(ExitStatus, Collector), RunError> {
    command.envs(settings.burst.map(Burst::variable));
    let collector = Collector::start(directory, settings, notify).map_err(RunError::Start)?;
    let mut variable = OsString::from(format!("{} ", std::process::id()));
    variable.push(directory);
    command.env(COLLECTOR_VARIABLE, variable);
    let status = child::run(command)?;
    collector.drain();
    Ok((status, collector))
}
