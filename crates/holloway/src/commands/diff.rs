//! `holloway diff A B`: what changed from one run to another.

use std::process::ExitCode;

use holloway_report::diff::{self as report, Changes};

use super::overlap::read_both;
use crate::cli::{DiffArgs, OutputFormat};
use crate::failure::{DIFFERENT, Result};
use crate::printing::{check_selection, options, source, warn_of_changed_workspace, write_out};

/// Prints the changes from one run to another. Succeeds if nothing changed.
///
/// # Errors
/// If one of the runs cannot be read, or stdout cannot be written.
pub(crate) fn main(args: &DiffArgs) -> Result<ExitCode> {
    let [first, second] = read_both([&args.first, &args.second])?;
    let source = source();
    let options = options(&args.list, &source);
    check_selection(&[&first, &second], &options)?;
    let changes = Changes::new([&first, &second], &options);
    write_out(|out| match args.list.style.format {
        OutputFormat::Text => report::write(&changes, &options, out),
        OutputFormat::Json => report::json(&changes, &options, out),
    })?;
    warn_of_changed_workspace(&[&first, &second], &options);
    Ok(match changes.is_different() {
        false => ExitCode::SUCCESS,
        true => ExitCode::from(DIFFERENT),
    })
}
