//! `holloway stability A B…`: shows whether the paths that vary most in one run also vary most in
//! the others.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use holloway_abi::Kind;
use holloway_analysis::variation::VariationRun;
use holloway_report::stability;

use crate::cli::{OutputFormat, StabilityArgs};
use crate::failure::{Failure, Result};
use crate::printing::{rank_options, source, unfiltered, write_out};
use crate::{kinds, latest, loading, status};

/// Evaluates the first paths of each run on all runs.
///
/// # Errors
/// If a run cannot be read or has no times of paths, or stdout cannot be written.
pub(crate) fn main(args: &StabilityArgs) -> Result<ExitCode> {
    if args.top == Some(0) {
        return Err(Failure::usage(
            "--top 0 compares nothing: give a number of paths, 1 or more",
        ));
    }
    let runs = args.runs.iter().map(|argument| load_timed(argument));
    let runs: Vec<VariationRun> = runs.collect::<Result<_>>()?;
    if let Some(warning) = different_programs(&args.runs, &runs) {
        status::warn(&warning);
    }
    let runs: Vec<&VariationRun> = runs.iter().collect();
    let source = source();
    let options = unfiltered(args.top, args.style.color, &source);
    let rank_options = rank_options(args.times);
    write_out(|out| match args.style.format {
        OutputFormat::Text => stability::write(&runs, &options, rank_options, out),
        OutputFormat::Json => stability::json(&runs, &options, rank_options, out),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// A warning that lists each run's programs. `None` if each run shares a program with the first
/// run.
fn different_programs(arguments: &[PathBuf], runs: &[VariationRun]) -> Option<String> {
    let images = |run: &VariationRun| -> Vec<String> {
        let images = run.run.images.iter();
        images.map(|image| image.name.clone()).collect()
    };
    let programs_of_runs: Vec<Vec<String>> = runs.iter().map(images).collect();
    let shares_program =
        |names: &Vec<String>| names.iter().any(|name| programs_of_runs[0].contains(name));
    if programs_of_runs.iter().all(shares_program) {
        return None;
    }
    let programs = arguments.iter().zip(&programs_of_runs);
    let programs: Vec<String> = programs
        .map(|(run, names)| format!("{} is of {}", status::shown(run), names.join(", ")))
        .collect();
    Some(format!(
        "the runs are of programs with different names: {}; only functions that they have in common are compared",
        programs.join(", ")
    ))
}

fn load_timed(argument: &Path) -> Result<VariationRun> {
    let run = latest::resolve(argument)?;
    let loaded = loading::load_with_streams(&run)?;
    if !loaded.kinds.is_timed() {
        let message = kinds::no_data(&loaded.kinds, "times of paths", Kind::Variation);
        return Err(Failure::usage(format_args!("{}: {message}", run.display())));
    }
    Ok(loaded.into_variation())
}
