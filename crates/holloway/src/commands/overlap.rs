//! `holloway overlap A B`: compares the paths or edges of two runs.

use std::path::Path;
use std::process::ExitCode;

use holloway_abi::Unit;
use holloway_analysis::RunProfile;

use crate::cli::{OutputFormat, OverlapArgs};
use crate::failure::Result;
use crate::printing::{check_selection, options, source, warn_of_changed_workspace, write_out};
use crate::{latest, loading, status};

/// Compares two runs and prints their overlap and their largest differences.
///
/// # Errors
/// If one of the runs cannot be read, or stdout cannot be written.
pub(crate) fn main(args: &OverlapArgs) -> Result<ExitCode> {
    let [first, second] = read_both([&args.first, &args.second])?;
    let source = source();
    let options = options(&args.list, &source);
    check_selection(&[&first, &second], &options)?;
    write_out(|out| match args.list.style.format {
        OutputFormat::Text => holloway_report::overlap::write(&first, &second, &options, out),
        OutputFormat::Json => holloway_report::overlap::json(&first, &second, &options, out),
    })?;
    warn_of_changed_workspace(&[&first, &second], &options);
    Ok(ExitCode::SUCCESS)
}

/// Reads both runs. Branch records are compared by paths with a run that counted paths or has paths
/// in its records, and otherwise by edges.
pub(super) fn read_both(arguments: [&Path; 2]) -> Result<[RunProfile; 2]> {
    let runs = [
        latest::resolve(arguments[0])?,
        latest::resolve(arguments[1])?,
    ];
    let [first, second] = &runs;
    match [first, second].map(|run| loading::has_samples(run)) {
        [false, false] => Ok([read(first)?, read(second)?]),
        [true, false] => {
            let second = read(second)?;
            Ok([loading::load_samples(first, second.unit())?, second])
        }
        [false, true] => {
            let first = read(first)?;
            let second = loading::load_samples(second, first.unit())?;
            Ok([first, second])
        }
        [true, true] => {
            let both = [first, second].map(|run| loading::load_samples(run, Unit::Paths));
            let [first_paths, second_paths] = both;
            let both = [first_paths?, second_paths?];
            match both.iter().all(|run| run.unit() == Unit::Paths) {
                true => Ok(both),
                false => Ok([
                    loading::load_samples(first, Unit::Edges)?,
                    loading::load_samples(second, Unit::Edges)?,
                ]),
            }
        }
    }
}

/// Reads the counts of a run. For a run with times of paths, prints a note that names the command
/// that compares times.
fn read(run: &Path) -> Result<RunProfile> {
    let loaded = loading::load_with_streams(run)?;
    if loaded.kinds.is_timed() {
        status::note(&format!(
            "{} has times of paths: only how often paths ran is compared here; `holloway stability` compares their variation",
            run.display()
        ));
    }
    Ok(loaded.profile)
}
