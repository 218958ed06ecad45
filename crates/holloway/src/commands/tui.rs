//! `holloway tui [RUN]`: browses a run in the terminal.

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use holloway_abi::Unit;
use holloway_report::Options;
use holloway_report::browse::Browser;

use crate::cli::TuiArgs;
use crate::failure::{Context as _, Failure, Result};
use crate::printing::{check_selection, code_filter, source, unfiltered, warn_of_changed_files};
use crate::{latest, loading, tui};

/// Shows the run that the user names, or the latest run.
///
/// # Errors
/// If there is no run, nothing ran, or stdin or stdout is no terminal.
pub(crate) fn main(args: &TuiArgs) -> Result<ExitCode> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(Failure::usage(
            "the terminal interface needs a terminal: use `holloway report` for pipes and files",
        ));
    }
    let run = match &args.run {
        Some(run) => latest::resolve(run)?,
        None => latest::latest()?,
    };
    let run = loading::load_or_estimate(&run, Unit::Paths)?;
    let source = source();
    let options = Options {
        code: code_filter(&args.code),
        ..unfiltered(None, args.color, &source)
    };
    check_selection(&[&run], &options)?;
    if !run.functions.iter().any(holloway_analysis::Function::ran) {
        return Err(Failure::usage(
            "no function of this run is known to have run: `holloway report` says why",
        ));
    }
    let browser = Browser::new(&run, &options);
    tui::show(&browser, options.colors).cannot(|| "use the terminal".to_owned())?;
    warn_of_changed_files(&[&run], &options);
    Ok(ExitCode::SUCCESS)
}
