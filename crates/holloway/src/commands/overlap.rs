//! `holloway overlap A B`: compares the paths or edges of two runs.

use std::path::Path;
use std::process::ExitCode;

use holloway_analysis::RunProfile;

use crate::cli::{OutputFormat, OverlapArgs};
use crate::failure::Result;
use crate::printing::{check_selection, options, source, write_out};
use crate::{latest, loading, status};

/// Compares two runs and prints their overlap and their largest differences.
///
/// # Errors
/// If one of the runs cannot be read, or stdout cannot be written.
pub(crate) fn main(args: &OverlapArgs) -> Result<ExitCode> {
    let [first, second] = [read(&args.first)?, read(&args.second)?];
    let source = source();
    let options = options(&args.list, &source);
    check_selection(&[&first, &second], &options)?;
    write_out(|out| match args.list.style.format {
        OutputFormat::Text => holloway_report::overlap::write(&first, &second, &options, out),
        OutputFormat::Json => holloway_report::overlap::json(&first, &second, &options, out),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Reads the counts of a run, or estimates them from samples. For a run with times of paths, prints
/// a note that names the command that compares times.
fn read(argument: &Path) -> Result<RunProfile> {
    let run = latest::resolve(argument)?;
    if loading::has_samples(&run) {
        return loading::load_or_estimate(&run);
    }
    let loaded = loading::load_with_streams(&run)?;
    if loaded.kinds.is_timed() {
        status::note(&format!(
            "{} has times of paths: overlap compares only how often paths ran; `holloway stability` compares their variation",
            run.display()
        ));
    }
    Ok(loaded.profile)
}
