//! `holloway suite RUN...`: the tables of the papers for several runs.

use std::path::Path;
use std::process::ExitCode;

use holloway_analysis::RunProfile;
use holloway_report::Options;
use holloway_report::notes::sentence;
use holloway_report::suite::{self as report, Suite};

use crate::cli::{OutputFormat, SuiteArgs};
use crate::failure::{Failure, Result};
use crate::printing::{check_selection, source, unfiltered, write_out};
use crate::{latest, loading, status};

/// Prints a row for each run, and the mean.
///
/// # Errors
/// If a run cannot be read, has no paths, or has no training run, or if stdout cannot be written.
pub(crate) fn main(args: &SuiteArgs) -> Result<ExitCode> {
    let source = source();
    let options = Options {
        function: args.function.as_ref().map(|choice| choice.regex.clone()),
        ..unfiltered(None, args.style.color, &source)
    };
    let mut suite = Suite::new();
    for run in latest::distinct(&args.runs)? {
        let name = name(&run);
        let profile = load(&run)?;
        let train = match &args.train {
            Some(directory) => Some(training_run(directory, &name)?),
            None => None,
        };
        let runs: Vec<&RunProfile> = [Some(&profile), train.as_ref()]
            .into_iter()
            .flatten()
            .collect();
        check_selection(&runs, &options)?;
        let added = suite.add(name, &profile, train.as_ref(), &options);
        added.map_err(|error| Failure::new(format_args!("{}: {error}", run.display())))?;
    }
    write_out(|out| match args.style.format {
        OutputFormat::Text => report::write(&suite, &options, out),
        OutputFormat::Json => report::json(&suite, out),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Reads a run. Warns of its damage.
fn load(run: &Path) -> Result<RunProfile> {
    let profile = loading::load(run)?;
    for note in &profile.damage {
        status::warn(&format!("{}: {}", run.display(), sentence(note)));
    }
    Ok(profile)
}

/// The name of a run: the last part of its path.
fn name(run: &Path) -> String {
    let last = run.file_name().unwrap_or(run.as_os_str());
    last.to_string_lossy().into_owned()
}

/// Reads the training run of a run, which has the same name.
fn training_run(directory: &Path, name: &str) -> Result<RunProfile> {
    if !directory.is_dir() {
        return Err(Failure::usage(format_args!(
            "there is no directory {}: --train takes a directory with a training run for each run, of the same name",
            directory.display()
        )));
    }
    let train = directory.join(name);
    if !train.exists() {
        return Err(Failure::new(format_args!(
            "{} has no run {name}, which would be the training run of {name}: give both runs one name",
            directory.display()
        )));
    }
    load(&train)
}
