//! `holloway suite RUN...`: the tables of the papers for several runs.

use std::path::Path;
use std::process::ExitCode;

use holloway_analysis::RunProfile;
use holloway_report::suite::{self as report, Suite};

use crate::cli::{OutputFormat, SuiteArgs};
use crate::failure::{Failure, Result};
use crate::printing::{options, source, write_out};
use crate::{latest, loading};

/// Prints a row for each run, and the mean.
///
/// # Errors
/// If a run cannot be read, has no paths, or has no training run, or if stdout cannot be written.
pub(crate) fn main(args: &SuiteArgs) -> Result<ExitCode> {
    let source = source();
    let options = options(&args.list, &source);
    let mut suite = Suite::new();
    for run in &args.runs {
        let run = latest::resolve(run)?;
        let name = name(&run);
        let profile = loading::load(&run)?;
        let train = match &args.train {
            Some(directory) => Some(training_run(directory, &name)?),
            None => None,
        };
        if !suite.add(name, &profile, train.as_ref(), &options) {
            return Err(Failure::new(format_args!(
                "{} has no path counts, or its training run has none: record it with --collect paths",
                run.display()
            )));
        }
    }
    write_out(|out| match args.list.style.format {
        OutputFormat::Text => report::write(&suite, &options, out),
        OutputFormat::Json => report::json(&suite, out),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The name of a run: the last part of its path.
fn name(run: &Path) -> String {
    let last = run.file_name().unwrap_or(run.as_os_str());
    last.to_string_lossy().into_owned()
}

/// Reads the training run of a run, which has the same name.
fn training_run(directory: &Path, name: &str) -> Result<RunProfile> {
    let train = directory.join(name);
    if !train.exists() {
        return Err(Failure::new(format_args!(
            "{} has no training run {name}: name training runs as their runs",
            directory.display()
        )));
    }
    loading::load(&train)
}
