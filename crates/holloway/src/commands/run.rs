//! `holloway run [-o RUN] -- ./app ARGS`: runs a woven program, finishes the run's directory, and
//! prints the report.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use holloway_abi::Kind;
use holloway_collect::burst::Burst;
use holloway_collect::collector::Measurement;
use holloway_collect::error::RunError;
use holloway_collect::settings::MapDirectories;
use holloway_collect::{child, collector, image, run_directory};
use holloway_format::{ImageMap, decode_image};
use holloway_link::program::find_program;
use signal_hook::consts::SIGSEGV;

use crate::cli::RunArgs;
use crate::commands::report;
use crate::failure::{Failure, Result};
use crate::{kinds, loading, missing_profile, notices, status};

/// Runs the program.
///
/// # Errors
/// If the program cannot be run (126, 127), the run's directory cannot be written, or nothing can
/// be reported.
pub(crate) fn main(args: &RunArgs) -> Result<ExitCode> {
    if args.collect.is_some() {
        return Err(Failure::usage(
            "--collect is chosen when a program is built: `holloway cc --collect KIND …` or `cargo holloway run --collect KIND`",
        ));
    }
    let (program, program_args) = args.program.split_first().expect("clap requires a program");
    let file = find_program(program);
    let image_info = file.as_deref().and_then(|file| image::inspect(file).ok());
    let runs = image_info
        .as_ref()
        .and_then(|image| image.runs.clone())
        .filter(|runs| runs.parent().is_some_and(Path::is_dir))
        .unwrap_or_else(|| PathBuf::from(run_directory::DEFAULT_RUNS));
    let name = Path::new(program)
        .file_name()
        .unwrap_or(program)
        .to_string_lossy()
        .into_owned();
    if file.is_none() {
        // Ask the system for the reason now, before creating a run's directory.
        let error = Command::new(program)
            .spawn()
            .err()
            .unwrap_or_else(|| std::io::ErrorKind::PermissionDenied.into());
        return Err(Failure::cannot_run(program, &error));
    }
    if let Some(kind) = image_info.as_ref().and_then(|image| image.kind) {
        kinds::check(
            kind,
            &args.stream,
            (!args.output.no_report).then_some(&args.view),
        )?;
    }
    if image_info.as_ref().and_then(|image| image.kind) == Some(Kind::Nothing) {
        return Err(Failure::usage(missing_profile::records_nothing(
            &program.to_string_lossy(),
        )));
    }
    Burst::check_environment()?;
    let directory = run_directory::create(args.output.output.as_deref(), &runs, &name)?;
    let mut command = Command::new(program);
    command
        .args(program_args)
        .env(run_directory::DATA, &directory);
    let maps = MapDirectories {
        linked: None,
        store: run_directory::map_store(&runs),
    };
    let settings = args
        .stream
        .settings(&maps, notices::phases(args.view.list.style.format));
    let run = collector::run(
        &mut command,
        &directory,
        settings,
        Measurement::Here,
        notices::warn,
    );
    let (end, collector) = match run {
        Ok(run) => run,
        Err(RunError::Start(error)) => {
            run_directory::discard_if_empty(&directory);
            return Err(Failure::cannot_run(program, &error));
        }
        Err(error @ RunError::Wait(_)) => return Err(Failure::new(error)),
    };
    loading::catch_up(&collector);
    let status = end.status;
    if status.signal() == Some(SIGSEGV)
        && image_info
            .as_ref()
            .is_some_and(|file| file.imports_musl_dlopen)
    {
        status::note(&format!(
            "{} ended by a segmentation fault: musl can't load a woven shared object after the program has started (dlopen), and may crash as it says so; link the program with it, or name it in LD_PRELOAD",
            program.display()
        ));
    }
    let summary = loading::finish(&directory, &maps)?;
    let code = ExitCode::from(child::exit_code(status));
    if summary.profiles == 0 {
        let is_woven = image_info.is_some_and(|image| image.is_woven);
        let name = program.to_string_lossy();
        let find_reason = || {
            let file = file.as_deref().filter(|_| is_woven)?;
            missing_profile::uninstrumented(&name, &map_of(file).into_iter().collect::<Vec<_>>())
                .or_else(|| missing_profile::surroundings(&directory, &runs))
        };
        let reason = find_reason().unwrap_or_else(|| match is_woven {
            true => reasons_of_woven(&name),
            false => reason_of_unwoven(&name),
        });
        run_directory::discard_if_empty(&directory);
        status::warn(&format!("no profile was written: {reason}"));
        return Ok(code);
    }
    if args.output.no_report {
        status::line("Recorded", &status::shown(&directory).to_string());
    } else {
        report::print(&directory, &args.view)?;
    }
    Ok(code)
}

/// The path map of a woven program, if it can be read.
fn map_of(program: &Path) -> Option<ImageMap> {
    let bytes = image::read_map(program).ok()?;
    decode_image(&bytes).ok()
}

/// Possible reasons why a woven program left no profile, and advice.
fn reasons_of_woven(program: &str) -> String {
    format!(
        "{program} ended before any instrumented function was entered, or could not see the run's directory or write into it: it was started with another environment (set {} in it), with another root directory, or as another user",
        run_directory::DATA
    )
}

/// The reason why a program that is not woven left no profile, and advice.
fn reason_of_unwoven(program: &str) -> String {
    format!(
        "{program} was not built by holloway; build it with `cargo holloway build` or CC=\"holloway cc\" CXX=\"holloway c++\""
    )
}
