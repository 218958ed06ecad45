//! `holloway merge -o OUT RUN...`: adds up the counts of several runs.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use holloway_collect::merge::merge;
use holloway_collect::samples::sample_files;
use holloway_collect::settings::MapDirectories;
use holloway_report::notes::sentence;
use holloway_report::plural;

use crate::cli::MergeArgs;
use crate::failure::{Failure, Result};
use crate::test_log::LoggedTest;
use crate::{latest, loading, status, test_log};

/// Merges runs into a new run.
///
/// # Errors
/// If a run cannot be read or merged, or the new run cannot be written.
pub(crate) fn main(args: &MergeArgs) -> Result<ExitCode> {
    let runs = latest::distinct(&args.runs)?;
    for run in &runs {
        finish(run)?;
    }
    let tests = tests(&runs);
    let profiles = merge(&runs, &args.output, |directory, copied| {
        test_log::write_merged(directory, &tests, copied)
    })?;
    let text = format!(
        "{} with {} into {}",
        plural(runs.len() as u64, "run"),
        plural(profiles as u64, "profile"),
        status::shown(&args.output)
    );
    status::line("Merged", &text);
    Ok(ExitCode::SUCCESS)
}

/// The tests of each run, if all runs say which test ran what. Otherwise, the new run cannot say
/// so.
fn tests(runs: &[PathBuf]) -> Vec<(PathBuf, LoggedTest)> {
    let mut tests = Vec::new();
    if let Some(without) = runs.iter().find(|run| !test_log::exists(run)) {
        if let Some(with) = runs.iter().find(|run| test_log::exists(run)) {
            status::note(&format!(
                "the new run does not say which test ran what, because {} does not: `holloway coverage --tests {}` does",
                without.display(),
                with.display()
            ));
        }
        return tests;
    }
    for run in runs {
        let logged = match test_log::read_complete(run) {
            Ok(logged) => logged,
            Err(error) => {
                status::note(&format!(
                    "the new run does not say which test ran what: {}",
                    error.message
                ));
                return Vec::new();
            }
        };
        tests.extend(logged.into_iter().map(|test| (run.clone(), test)));
    }
    tests
}

/// Finishes a run whose programs have ended, and refuses a run that cannot be merged.
fn finish(run: &Path) -> Result<()> {
    holloway_collect::load::profile_files(run)?;
    if !run.is_dir() {
        return Err(Failure::usage(format_args!(
            "{} is not a run's directory: name the directories of runs",
            run.display()
        )));
    }
    if !sample_files(run).is_empty() {
        return Err(Failure::usage(format_args!(
            "{} has samples: `holloway manager` combines samples",
            run.display()
        )));
    }
    loading::finish(run, &MapDirectories::default())?;
    refuse_damage(run)
}

/// Refuses a damaged run: the sum would lack counts without a word.
fn refuse_damage(run: &Path) -> Result<()> {
    let loaded = loading::load_readable(run)?;
    let mut damage = loaded.profile.damage.iter();
    match damage.find(|note| note.sample().is_none()) {
        None => Ok(()),
        Some(note) => Err(Failure::new(format_args!(
            "cannot merge {}, which is not whole: {}",
            run.display(),
            sentence(note)
        ))),
    }
}
