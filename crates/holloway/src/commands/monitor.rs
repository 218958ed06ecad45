//! `holloway monitor [--system | --pid PID | -- PROGRAM ARGS]`: samples the code that runs, and
//! reports where the time went. Needs no counters in the program.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use holloway_collect::error::{MonitorRunError, RunError};
use holloway_collect::samples::Watching;
use holloway_collect::{child, run_directory, samples};
use holloway_format::samples::SampleRecord;
use holloway_link::program::find_program;
use holloway_report::plural;
use holloway_sample::monitor::Target;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::cli::{MonitorArgs, OutputArgs, ViewArgs};
use crate::commands::report;
use crate::failure::{Context as _, Failure, Result};
use crate::status;

/// The hidden command of the process that becomes a watched program.
pub(crate) const BEGIN_COMMAND: &str = "__begin-watched";

/// Watches, and reports.
///
/// # Errors
/// If the kernel does not permit it, the program cannot be run (126, 127), or the run's directory
/// cannot be written.
pub(crate) fn main(args: &MonitorArgs) -> Result<ExitCode> {
    match (args.program.split_first(), args.pid) {
        (Some((program, program_args)), _) => watch_program(program, program_args, args),
        (None, Some(process)) => {
            let name = format!("process-{process}");
            watch_running(Target::Process(process), &name, args)
        }
        (None, None) => watch_running(Target::System, "system", args),
    }
}

fn watch_program(
    program: &OsString,
    program_args: &[OsString],
    args: &MonitorArgs,
) -> Result<ExitCode> {
    let Some(file) = find_program(program) else {
        let error = Command::new(program).spawn().err();
        let error = error.unwrap_or_else(|| io::ErrorKind::PermissionDenied.into());
        return Err(Failure::cannot_run(program, &error));
    };
    let name = Path::new(program).file_name().unwrap_or(program);
    let directory = create(&args.output, &name.to_string_lossy())?;
    let own = std::env::current_exe().cannot(|| "find holloway's own program".to_owned())?;
    let command = |socket: &Path| {
        let mut command = Command::new(own);
        command.arg(BEGIN_COMMAND).arg(socket).arg(&file);
        command.arg(program).args(program_args);
        command
    };
    let watched = samples::run_watched(command, watching(args), &directory);
    let (end, record) = watched.map_err(|error| failure(&directory, program, &error))?;
    finish(&directory, &record, &args.output, &args.view)?;
    Ok(ExitCode::from(child::exit_code(end.status)))
}

/// In the process that becomes the program: waits for the monitor, then executes the program.
/// `words`: socket, file, and the program's own words.
///
/// # Errors
/// If the program cannot be executed (126, 127).
pub(crate) fn begin(words: &[OsString]) -> Result<ExitCode> {
    let [socket, file, program, args @ ..] = words else {
        return Err(Failure::usage("this is a command for holloway itself"));
    };
    if samples::begin_watched(Path::new(socket)).is_err() {
        // The monitor says why.
        return Ok(ExitCode::from(crate::failure::CANNOT_RUN));
    }
    let error = Command::new(file).arg0(program).args(args).exec();
    Err(Failure::cannot_run(program, &error))
}

fn watch_running(target: Target, name: &str, args: &MonitorArgs) -> Result<ExitCode> {
    let directory = create(&args.output, name)?;
    let is_interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&is_interrupted))
            .cannot(|| "prepare for Ctrl-C".to_owned())?;
    }
    let has_ended = || {
        is_interrupted.load(Ordering::Acquire)
            || match target {
                Target::Process(process) => !Path::new(&format!("/proc/{process}")).exists(),
                Target::System | Target::AfterExec(_) => false,
            }
    };
    let watched = watching(args)
        .start(target)
        .map_err(MonitorRunError::from)
        .and_then(|monitor| {
            // The user can trust this line: the events are open.
            status::line("Watching", &format!("{name}; Ctrl-C ends it"));
            Ok(samples::watch(monitor, &directory, &has_ended)?)
        });
    let record = watched.map_err(|error| failure(&directory, name.as_ref(), &error))?;
    finish(&directory, &record, &args.output, &args.view)?;
    Ok(ExitCode::SUCCESS)
}

fn watching(args: &MonitorArgs) -> Watching {
    Watching {
        frequency: args.frequency,
        branch_stacks: args.branch_stacks,
    }
}

fn create(output: &OutputArgs, name: &str) -> Result<PathBuf> {
    let runs = Path::new(run_directory::DEFAULT_RUNS);
    Ok(run_directory::create(output.output.as_deref(), runs, name)?)
}

fn failure(directory: &Path, program: &std::ffi::OsStr, error: &MonitorRunError) -> Failure {
    run_directory::discard_if_empty(directory);
    match error {
        MonitorRunError::Run(RunError::Start(error)) => Failure::cannot_run(program, error),
        MonitorRunError::Run(_)
        | MonitorRunError::Monitor(_)
        | MonitorRunError::Store(_)
        | MonitorRunError::Socket(_)
        | MonitorRunError::NotStarted => Failure::new(error),
    }
}

fn finish(
    directory: &Path,
    record: &SampleRecord,
    output: &OutputArgs,
    view: &ViewArgs,
) -> Result<()> {
    if record.lost > 0 {
        let lost = plural(record.lost, "record");
        status::warn(&format!(
            "{lost} of samples and mappings lost: the machine was too busy to read the buffers in time"
        ));
    }
    match output.no_report {
        true => {
            status::line("Recorded", &status::shown(directory).to_string());
            Ok(())
        }
        false => report::print(directory, view),
    }
}
