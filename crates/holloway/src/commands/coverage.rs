//! `holloway coverage [RUN...]`: what ran, out of what there is, and what never did.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use holloway_report::Options;

use crate::cli::coverage::CoverageArgs;
use crate::cli::{CodeArgs, OutputFormat};
use crate::failure::{Failure, Result};
use crate::printing::{check_selection, code_filter, options, source, write_out};
use crate::{latest, loading};

/// Shows the coverage of the runs that the user names, or of the latest run.
///
/// # Errors
/// If there is no run, a run has only samples, no part can be read, or stdout cannot be written.
pub(crate) fn main(args: &CoverageArgs) -> Result<ExitCode> {
    let runs = match &args.runs[..] {
        [] => vec![latest::latest()?],
        runs => runs
            .iter()
            .map(|run| latest::resolve(run))
            .collect::<Result<Vec<PathBuf>>>()?,
    };
    if let Some(run) = runs.iter().find(|run| loading::has_samples(run)) {
        return Err(Failure::usage(format_args!(
            "{}: coverage needs counts, and this run has only samples: build with --collect paths, and use `holloway run`",
            run.display()
        )));
    }
    let paths: Vec<&Path> = runs.iter().map(PathBuf::as_path).collect();
    let loaded = loading::load_merged(&paths)?;
    let source = source();
    let code = CodeArgs {
        workspace: args.workspace,
        ..args.code.clone()
    };
    let options = Options {
        code: code_filter(&code),
        ..options(&args.list, &source)
    };
    check_selection(&[&loaded.profile], &options)?;
    let write = match args.list.style.format {
        OutputFormat::Text => holloway_report::terminal::covered::write,
        OutputFormat::Json => holloway_report::json::covered::write,
    };
    write_out(|out| write(&loaded.profile, &options, out))?;
    Ok(ExitCode::SUCCESS)
}
