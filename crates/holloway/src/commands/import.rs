//! `holloway import FILE [PROGRAM]...`: reads the samples and branch records of other tools, and
//! reports them.

use std::path::Path;
use std::process::ExitCode;

use holloway_collect::{import, run_directory};
use holloway_report::plural;

use crate::cli::ImportArgs;
use crate::commands::report;
use crate::failure::{Failure, Result};
use crate::progress::Progress;
use crate::status;

/// Imports, and reports.
///
/// # Errors
/// If the file cannot be used, a program is another build, or the run's directory cannot be
/// written.
pub(crate) fn main(args: &ImportArgs) -> Result<ExitCode> {
    let mut progress = Progress::start("Importing", &status::shown(&args.file).to_string());
    let imported = import::read(&args.file, &args.programs).map_err(Failure::new)?;
    progress.end();
    warn(&imported);
    let runs = Path::new(run_directory::DEFAULT_RUNS);
    let name = args.file.file_stem().unwrap_or_default();
    let output = args.output.output.as_deref();
    let directory = run_directory::create(output, runs, &name.to_string_lossy())?;
    if let Err(error) = imported.store(&directory) {
        run_directory::discard_if_empty(&directory);
        return Err(Failure::new(error));
    }
    match args.output.no_report {
        true => status::line("Imported", &status::shown(&directory).to_string()),
        false => report::print(&directory, &args.view)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Warns of missing records, and of programs whose build is not known.
fn warn(imported: &import::Imported) {
    let lost = imported.samples.lost;
    if lost > 0 {
        let lost = plural(lost, "record");
        status::warn(&format!(
            "{lost} of samples and mappings lost while perf recorded: record with a lower frequency, or a larger buffer (perf record -F, -m)"
        ));
    }
    if let [first, others @ ..] = &imported.unverified[..] {
        let others = match others.len() {
            0 => String::new(),
            count => format!(" and of {}", plural(count as u64, "other file")),
        };
        status::warn(&format!(
            "the build of {first}{others} was not recorded, so it is not checked: if it was rebuilt, its blocks are wrong"
        ));
    }
}
