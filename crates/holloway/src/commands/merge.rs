//! `holloway merge -o OUT RUN...`: adds up the counts of several runs.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use holloway_collect::merge::{MergeSummary, merge};
use holloway_collect::settings::MapDirectories;
use holloway_report::plural;

use crate::cli::MergeArgs;
use crate::failure::{Failure, Result};
use crate::{latest, loading, status};

/// Merges runs into a new run.
///
/// # Errors
/// If a run cannot be read or merged, or the new run cannot be written.
pub(crate) fn main(args: &MergeArgs) -> Result<ExitCode> {
    let runs = args.runs.iter().map(|run| finished(run));
    let runs: Vec<PathBuf> = runs.collect::<Result<_>>()?;
    let MergeSummary { read, written } = merge(&runs, &args.output)?;
    let text = format!(
        "{} with {} into {} ({})",
        plural(runs.len() as u64, "run"),
        plural(read as u64, "profile"),
        status::shown(&args.output),
        plural(written as u64, "profile")
    );
    status::line("Merged", &text);
    Ok(ExitCode::SUCCESS)
}

/// The directory of a run, finished if its programs have ended.
fn finished(run: &Path) -> Result<PathBuf> {
    let run = latest::resolve(run)?;
    holloway_collect::load::profile_files(&run)?;
    if !run.is_dir() {
        return Err(Failure::usage(format_args!(
            "{} is not a run's directory: name the directories of runs",
            run.display()
        )));
    }
    if loading::has_samples(&run) {
        return Err(Failure::usage(format_args!(
            "{} has samples, not counts: `holloway manager` combines samples",
            run.display()
        )));
    }
    loading::finish(&run, &MapDirectories::default())?;
    Ok(run)
}
