//! `holloway export --format F [-o FILE] [RUN]`: writes a run as a file for other programs.

use std::io::{self, IsTerminal as _, Write};
use std::path::Path;
use std::process::ExitCode;

use holloway_abi::Unit;
use holloway_analysis::RunProfile;
use holloway_analysis::variation::VariationRun;
use holloway_report::Options;
use holloway_report::export::{self, Content, ExportError, ExportRun, Format, Weight};
use holloway_report::json;
use holloway_report::notes::sentence;

use crate::cli::{ColorWhen, ExportArgs};
use crate::failure::{Failure, Result};
use crate::output_file::{self, cannot_write};
use crate::printing::{check_selection, code_filter, source, unfiltered, warn_partly};
use crate::{latest, loading, status};

/// Exports the run that the user names, or the latest run.
///
/// # Errors
/// If there is no run, the run has nothing that the format shows, or the file cannot be written.
pub(crate) fn main(args: &ExportArgs) -> Result<ExitCode> {
    check(args)?;
    let run = match &args.run {
        Some(run) => latest::resolve(run)?,
        None => latest::latest()?,
    };
    let source = source();
    let options = options(args, &source);
    if loading::has_samples(&run) {
        export_samples(args, &run, &options)?;
        return Ok(ExitCode::SUCCESS);
    }
    let loaded = loading::load_with_streams(&run)?;
    match loaded.kinds.is_timed() {
        true => {
            let timed = loaded.into_variation();
            export_counts(args, &timed.run, Some(&timed), &options)?;
        }
        false => export_counts(args, &loaded.profile, None, &options)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses options without effect on the format, and a terminal for a binary file.
///
/// # Errors
/// If an option is refused.
fn check(args: &ExportArgs) -> Result<()> {
    let format = args.format.0;
    if args.weight.is_some() && format != Format::Folded {
        return Err(Failure::usage(format_args!(
            "--weight goes with --format folded, not {}: leave it out",
            format.name()
        )));
    }
    let has_top = match format.content() {
        Content::Stacks => true,
        Content::Functions => !matches!(format, Format::Callgrind | Format::SampleProfile),
        Content::Coverage | Content::OneFunction => false,
    };
    if args.top.is_some() && !has_top {
        return Err(Failure::usage(format_args!(
            "--top limits paths, and {} shows all code: leave it out",
            format.name()
        )));
    }
    if format.is_binary() && output_file(args).is_none() && io::stdout().is_terminal() {
        return Err(Failure::usage(format_args!(
            "{} is not text for a terminal: write it to a file with -o FILE",
            format.name()
        )));
    }
    Ok(())
}

/// The file to write. `None` for stdout.
fn output_file(args: &ExportArgs) -> Option<&Path> {
    args.output
        .as_deref()
        .filter(|file| !output_file::is_stdout(file))
}

fn options<'a>(args: &ExportArgs, source: &'a holloway_report::Files) -> Options<'a> {
    let mut code = args.code.clone();
    let shows_coverage = args.format.0.content() == Content::Coverage;
    let selects_code = args.function.is_some() || code.is_given() || code.all_code;
    code.workspace = args.workspace || shows_coverage && !selects_code;
    Options {
        function: args.function.as_ref().map(|choice| choice.regex.clone()),
        path: args
            .function
            .as_ref()
            .and_then(|choice| choice.path.clone()),
        code: code_filter(&code),
        ..unfiltered(args.top, ColorWhen::Never, source)
    }
}

fn export_counts(
    args: &ExportArgs,
    run: &RunProfile,
    variation: Option<&VariationRun>,
    options: &Options<'_>,
) -> Result<()> {
    for note in run.damage.iter().filter(|note| note.sample().is_none()) {
        status::warn(&format!("the export lacks counts: {}", sentence(note)));
    }
    loading::warn_of_estimates(run);
    check_selection(&[run], options)?;
    let export = ExportRun {
        run,
        variation,
        options,
    };
    let weight = args.weight.map_or(Weight::Instructions, Weight::from);
    write(args, |out| {
        export::write(&export, args.format.0, weight, out)
    })
}

/// Exports samples: as JSON, and paths of branch records also as stacks. Other formats show exact
/// counts: in them, code without samples would look like code that never ran.
fn export_samples(args: &ExportArgs, run: &Path, options: &Options<'_>) -> Result<()> {
    let format = args.format.0;
    if format != Format::Json {
        let records = match format.content() {
            Content::Stacks => Some(loading::load_samples(run, Unit::Paths)?),
            Content::Functions | Content::Coverage | Content::OneFunction => None,
        };
        if let Some(records) = records.filter(|records| records.unit() == Unit::Paths) {
            status::note("the paths are those of branch records: sampled, not exact");
            return export_counts(args, &records, None, options);
        }
        return Err(Failure::usage(format_args!(
            "{}: {} shows exact counts or paths, and this run has only samples: export json, or build with --collect paths and use `holloway run`",
            run.display(),
            format.name()
        )));
    }
    let sampled = holloway_collect::samples::load(run)?;
    warn_partly(holloway_report::check_sampled(&sampled, options))?;
    write(args, |out| {
        Ok(json::samples::write(&sampled, options, out)?)
    })
}

/// Writes the file, completely or not at all, or writes to stdout.
fn write(
    args: &ExportArgs,
    content: impl FnOnce(&mut (dyn Write + Send)) -> std::result::Result<(), ExportError>,
) -> Result<()> {
    let path = output_file(args).unwrap_or(Path::new("-"));
    output_file::write(path, content, |error| failure(path, error))
}

fn failure(path: &Path, error: ExportError) -> Failure {
    match error {
        ExportError::Io(error) => cannot_write(path, &error),
        ExportError::NoPaths(_)
        | ExportError::NothingRan
        | ExportError::NoTimes
        | ExportError::NeedsFunction
        | ExportError::SeveralFunctions(_) => Failure::usage(error),
    }
}
