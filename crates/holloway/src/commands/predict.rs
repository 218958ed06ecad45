//! `holloway predict`: simulates branch predictors on a thread of a run that was recorded with
//! `--collect trace`.

use std::process::ExitCode;

use holloway_analysis::predictors::answer::Sweep;
use holloway_analysis::predictors::{Answer, Estimates, Question};
use holloway_report::predictors::Predictions;

use super::trace::with_longest;
use crate::cli::OutputFormat;
use crate::cli::predict::PredictArgs;
use crate::failure::Result;
use crate::printing::{source, unfiltered, write_out};
use crate::progress::Progress;

/// Shows what predictors find in the longest chosen trace.
///
/// # Errors
/// If there is no trace, the trace cannot be read, or stdout cannot be written.
pub(crate) fn main(args: &PredictArgs) -> Result<ExitCode> {
    let question = Question {
        estimates: args.estimates.then_some(Estimates {
            dump_interval: args.dump_interval,
            sweep: if args.sweep { Sweep::On } else { Sweep::Off },
        }),
    };
    with_longest(&args.answer, |thread| {
        let answer = {
            let _progress = Progress::start("Predicting", "the branches");
            Answer::new(thread.stream.code, thread.stream.trace, &question)
        };
        let predictions = Predictions {
            thread,
            answer: &answer,
        };
        let source = source();
        let display = &args.answer.display;
        let options = unfiltered(display.top, display.style.color, &source);
        let write = match display.style.format {
            OutputFormat::Text => holloway_report::terminal::predictors::write,
            OutputFormat::Json => holloway_report::json::predictors::write,
        };
        write_out(|out| write(&predictions, &options, out))?;
        Ok(ExitCode::SUCCESS)
    })
}
