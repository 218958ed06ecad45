//! `holloway annotate FUNCTION|FILE [RUN]`: the whole source of a function or file with counts.

use std::process::ExitCode;

use holloway_abi::Unit;
use holloway_analysis::RunProfile;
use holloway_report::annotation::{self, Annotation};
use holloway_report::notes::sentence;
use holloway_report::{Options, PathChoice, check_function_or_file, names_function, terminal};

use crate::cli::AnnotateArgs;
use crate::failure::{Failure, Result};
use crate::printing::{
    named_function, place_filter, source, unfiltered, warn_of_changed_files, warn_partly, write_out,
};
use crate::{latest, loading};

/// Prints the source of the function or file that the user names.
///
/// # Errors
/// If there is no run, no function or file has the name, or stdout cannot be written.
pub(crate) fn main(args: &AnnotateArgs) -> Result<ExitCode> {
    let run = match &args.run {
        Some(run) => latest::resolve(run)?,
        None => latest::latest()?,
    };
    let run = loading::load_or_estimate(&run, Unit::Edges)?;
    loading::warn_of_estimates(&run);
    let source = source();
    let mut options = Options {
        code: place_filter(&args.place),
        ..unfiltered(args.top, args.color, &source)
    };
    let annotations = annotations(&run, &args.target, &mut options)?;
    if let (true, Some(note)) = (annotations.is_empty(), run.damage.first()) {
        return Err(Failure::new(format_args!(
            "no line of {} is known, and part of the run cannot be read: {}; record again",
            args.target,
            sentence(note)
        )));
    }
    if annotations.is_empty() {
        return Err(Failure::usage(format_args!(
            "no line of {} is known: the program has no line tables for it; compile with -g",
            args.target
        )));
    }
    write_out(|out| terminal::annotate::write(&run, &annotations, &options, out))?;
    warn_of_changed_files(&[&run], &options);
    Ok(ExitCode::SUCCESS)
}

/// The functions or files that the user names: functions with the name, else files that match, else
/// functions that match a regex.
///
/// # Errors
/// If there are none.
fn annotations(
    run: &RunProfile,
    target: &str,
    options: &mut Options<'_>,
) -> Result<Vec<Annotation>> {
    let is_function = names_function(run, target) || PathChoice::parse(target).is_some();
    if !is_function && !annotation::files_matching(run, target, options).is_empty() {
        if options.code.is_given() {
            return Err(Failure::usage(format_args!(
                "{target} is a file, and --file and --crate choose functions: leave them out"
            )));
        }
        return Ok(annotation::of_files(run, target, options));
    }
    let name = named_function(run, target)?;
    options.function = Some(name.pattern);
    warn_partly(check_function_or_file(run, target, options))?;
    Ok(annotation::of_functions(run, options))
}
