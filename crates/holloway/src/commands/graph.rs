//! `holloway graph FUNCTION [RUN]`: the flow graph of a function, on the terminal or for Graphviz.

use std::process::ExitCode;

use holloway_abi::Unit;
use holloway_analysis::{Function, RunProfile};
use holloway_format::PathId;
use holloway_report::export::{self, ExportRun, Format, Weight};
use holloway_report::terminal::graph::{self, GraphChoice};
use holloway_report::{Options, PathChoice, chosen_path, full_path_name, grouped, one_function};

use crate::cli::{GraphArgs, PathArg};
use crate::failure::{Failure, Result};
use crate::printing::{self, check_selection, place_filter, source, unfiltered, write_out};
use crate::{latest, loading};

/// Prints the graph of the function that the user names.
///
/// # Errors
/// If there is no run, not exactly one function has the name, the function has no such path, or
/// stdout cannot be written.
pub(crate) fn main(args: &GraphArgs) -> Result<ExitCode> {
    let run = match &args.run {
        Some(run) => latest::resolve(run)?,
        None => latest::latest()?,
    };
    let run = loading::load_or_estimate(&run, Unit::Paths)?;
    loading::warn_of_estimates(&run);
    let source = source();
    let name = printing::named_function(&run, &args.function)?;
    if name.path.is_some() && args.path.is_some() {
        return Err(Failure::usage(format_args!(
            "{} names a path already: leave out --path, or name only the function",
            args.function
        )));
    }
    let mut options = Options {
        function: Some(name.pattern),
        path: name.path,
        code: place_filter(&args.place),
        ..unfiltered(None, args.color, &source)
    };
    if let Some(PathArg::Name(digits)) = &args.path {
        options.path = PathChoice::parse(&format!("{}{digits}", name.function));
    }
    check_selection(&[&run], &options)?;
    let function = one_function(&run, &options).map_err(Failure::usage)?;
    let path = path(&run, run.function(function), args, &options)?;
    if args.dot {
        return dot(&run, run.function(function), path, &name.function, options);
    }
    let choice = GraphChoice {
        path,
        numbering: args.numbering,
        all_blocks: args.all,
    };
    write_out(|out| graph::write(&run, function, choice, &options, out))?;
    printing::warn_of_changed_files(&[&run], &options);
    Ok(ExitCode::SUCCESS)
}

/// The path that the user wants to see.
///
/// # Errors
/// If the function has no such path.
fn path(
    run: &RunProfile,
    function: &Function,
    args: &GraphArgs,
    options: &Options<'_>,
) -> Result<Option<PathId>> {
    if (args.path.is_some() || options.path.is_some()) && function.unit() == Unit::Edges {
        return Err(Failure::usage(match run.unit() {
            Unit::Edges => {
                "edges were recorded, not paths: leave out the path, or build with --collect paths"
            }
            Unit::Paths => "edges of this function were recorded, not paths: leave out the path",
        }));
    }
    if let Some(PathArg::Number(number)) = args.path {
        let paths = function.map.path_count;
        if number >= paths {
            return Err(Failure::usage(format_args!(
                "there is no path p{number}: the paths of {} are p0 to p{}",
                function.map.display_name(),
                grouped(paths - 1)
            )));
        }
        return Ok(Some(PathId(number)));
    }
    Ok(options
        .path
        .as_ref()
        .and_then(|choice| chosen_path(function, choice)))
}

/// Prints the graph for Graphviz.
fn dot(
    run: &RunProfile,
    function: &Function,
    path: Option<PathId>,
    name: &str,
    mut options: Options<'_>,
) -> Result<ExitCode> {
    let full_name = path.map(|path| full_path_name(function, path));
    options.path = full_name.and_then(|digits| PathChoice::parse(&format!("{name}#{digits}")));
    let export = ExportRun {
        run,
        variation: None,
        options: &options,
    };
    let mut bytes = Vec::new();
    export::write(&export, Format::Dot, Weight::Instructions, &mut bytes)
        .map_err(Failure::usage)?;
    write_out(|out| out.write_all(&bytes))?;
    Ok(ExitCode::SUCCESS)
}
