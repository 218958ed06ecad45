//! Runs a program, and collects its streams while it runs.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use holloway_abi::COLLECTOR_VARIABLE;

use crate::burst::Burst;
use crate::child::{self, ProgramEnd};
use crate::error::RunError;
use crate::interrupted;
use crate::notice::Notify;
use crate::pool::Collector;
use crate::settings::Settings;

/// Runs `command` to its end, and collects its streams while it runs. The program records into
/// `directory`, which is marked if a signal interrupts the program. The caller must set the program's variable `HOLLOWAY_DATA` to exactly this path.
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
    let end = child::run(command)?;
    if let Some(interrupt) = end.interrupt {
        interrupted::mark(directory, interrupt);
    }
    Ok((end, collector))
}
