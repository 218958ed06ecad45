//! `holloway advise [RUN]`: advice for people about changes of the source that may pay.

use std::process::ExitCode;

use holloway_analysis::advice::{Evidence, advise};
use holloway_report::advice::{AdviceReport, is_library};

use crate::cli::{AdviseArgs, OutputFormat};
use crate::failure::{Failure, Result};
use crate::printing::{check_selection, options, source, write_out};
use crate::{latest, loading};

/// Shows the advice for the run that the user names, or for the latest run.
///
/// # Errors
/// If there is no run, the run has only samples, no part of it can be read, or stdout cannot be
/// written.
pub(crate) fn main(args: &AdviseArgs) -> Result<ExitCode> {
    let run = match &args.run {
        Some(run) => latest::resolve(run)?,
        None => latest::latest()?,
    };
    if loading::has_samples(&run) {
        return Err(Failure::usage(format_args!(
            "{}: advice needs counts, and this run has only samples: build with --collect paths or loops, and use `holloway run`",
            run.display()
        )));
    }
    let streams = loading::load_with_streams(&run)?.into_all();
    let source = source();
    let options = options(&args.list, &source);
    check_selection(&[&streams.profile], &options)?;
    let advised = advise(&Evidence {
        run: &streams.profile,
        previous_paths: streams.previous_paths.as_ref(),
        loops: streams.loops.as_ref(),
        variation: streams.variation.as_ref(),
        is_library,
    });
    let report = AdviceReport {
        run: &streams.profile,
        advised: &advised,
    };
    write_out(|out| match args.list.style.format {
        OutputFormat::Text => holloway_report::terminal::advice::write(&report, &options, out),
        OutputFormat::Json => holloway_report::json::advice::write(&report, &options, out),
    })?;
    Ok(ExitCode::SUCCESS)
}
