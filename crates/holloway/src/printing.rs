//! Prints reports on stdout: their options and the source text.

use std::io::{self, Write as _};

use holloway_analysis::RunProfile;
use holloway_analysis::variation::RankOptions;
use holloway_analysis::variation::rank::{Disturbed, Time};
use holloway_format::SourceFile;
use holloway_link::toolchain::Rustc;
use holloway_report::{
    CodeFilter, Files, Glob, Options, Origin, PathChoice, SelectionError, changed_files,
    function_pattern, plural, short_file as short,
};
use regex::Regex;

use crate::cli::{CodeArgs, ColorWhen, ListArgs, PlaceArgs, TimeOf, TimesArgs, last_line};
use crate::failure::{Failure, Result};
use crate::screen::{colors, terminal_width};
use crate::{pager, status};

/// The options of a ranking of paths by variation.
pub(crate) fn rank_options(args: TimesArgs) -> RankOptions {
    RankOptions {
        time: match args.time.unwrap_or_default() {
            TimeOf::Inclusive => Time::Inclusive,
            TimeOf::Exclusive => Time::Exclusive,
        },
        disturbed: match args.include_preempted {
            true => Disturbed::Included,
            false => Disturbed::LeftOut,
        },
    }
}

/// The source text for reports: files on this machine, including those of the standard library if
/// they are installed.
pub(crate) fn source() -> Files {
    Files::new(Rustc::find().and_then(|rustc| rustc.source()))
}

/// The report options for a list.
pub(crate) fn options<'a>(list: &ListArgs, source: &'a Files) -> Options<'a> {
    Options {
        function: list.function.as_ref().map(|choice| choice.regex.clone()),
        path: list
            .function
            .as_ref()
            .and_then(|choice| choice.path.clone()),
        ..unfiltered(list.top, list.style.color, source)
    }
}

/// The report options for a list that shows all functions.
pub(crate) fn unfiltered(top: Option<usize>, color: ColorWhen, source: &Files) -> Options<'_> {
    Options {
        top,
        colors: colors(color),
        width: terminal_width(),
        cwd: std::env::current_dir().ok(),
        ..Options::new(source)
    }
}

/// A function that the user names.
pub(crate) struct NamedFunction {
    /// Matches the names of the functions that the user may mean.
    pub(crate) pattern: Regex,
    /// The path that the user names after the function, as in `search#3fa2`.
    pub(crate) path: Option<PathChoice>,
    /// The name without the path.
    pub(crate) function: String,
}

/// Reads the name of a function in a run: a name, the end of a name, or a regex.
///
/// # Errors
/// If no function has the name, and it is no regex.
pub(crate) fn named_function(run: &RunProfile, text: &str) -> Result<NamedFunction> {
    if let Some(choice) = PathChoice::parse(text) {
        return Ok(NamedFunction {
            pattern: choice.functions(),
            function: choice.function.clone(),
            path: Some(choice),
        });
    }
    let pattern = function_pattern(run, text).map_err(|error| {
        Failure::usage(format_args!(
            "no function has the name {text}, and it is no regex: {}",
            last_line(&error)
        ))
    })?;
    Ok(NamedFunction {
        pattern,
        path: None,
        function: text.to_owned(),
    })
}

/// The filter on code that the options ask for.
pub(crate) fn code_filter(args: &CodeArgs) -> CodeFilter {
    CodeFilter {
        crates: args.crates.clone(),
        files: globs(&args.files),
        origin: match (args.workspace, args.all_code) {
            (true, _) => Origin::Workspace,
            (false, true) => Origin::All,
            (false, false) => Origin::ByView,
        },
    }
}

/// The filter on code by place.
pub(crate) fn place_filter(args: &PlaceArgs) -> CodeFilter {
    CodeFilter {
        crates: args.crates.clone(),
        files: globs(&args.files),
        ..CodeFilter::default()
    }
}

/// Reads patterns of files.
pub(crate) fn globs(texts: &[String]) -> Vec<Glob> {
    let folder = std::env::current_dir().ok();
    let globs = texts.iter();
    globs
        .map(|text| Glob::in_folder(text, folder.as_deref()))
        .collect()
}

/// Checks that the functions, crates, files, and paths that the user names exist in one of the
/// runs. Warns of a crate or a file that does not exist if others do.
///
/// # Errors
/// If the names leave nothing to show.
pub(crate) fn check_selection(runs: &[&RunProfile], options: &Options<'_>) -> Result<()> {
    warn_partly(holloway_report::check_selection(runs, options))
}

/// Warns of the names that do not exist, if others do.
///
/// # Errors
/// If the names leave nothing to show.
pub(crate) fn warn_partly(
    checked: std::result::Result<Vec<SelectionError>, SelectionError>,
) -> Result<()> {
    let partly = checked.map_err(Failure::usage)?;
    let warnings = partly.iter().map(ToString::to_string);
    warnings.for_each(|warning| status::warn(&warning));
    Ok(())
}

/// Warns of source files that were shown, and that have changed since the runs' programs were
/// built.
pub(crate) fn warn_of_changed_files(runs: &[&RunProfile], options: &Options<'_>) {
    let modules = runs.iter().flat_map(|run| &run.modules);
    warn_of_changes(modules.flat_map(|module| &module.sources), options);
}

/// As [`warn_of_changed_files`], for a view that names lines without their text: it warns of all
/// source files of the workspace.
pub(crate) fn warn_of_changed_workspace(runs: &[&RunProfile], options: &Options<'_>) {
    let modules = runs.iter().flat_map(|run| &run.modules);
    let sources = modules.flat_map(|module| &module.sources);
    let cwd = options.cwd.as_deref();
    options.code.read_workspace(sources, cwd, options.source);
    warn_of_changed_files(runs, options);
}

/// As [`warn_of_changed_files`], for the source files that the compiler read.
pub(crate) fn warn_of_changes<'a>(
    compiled: impl IntoIterator<Item = &'a SourceFile>,
    options: &Options<'_>,
) {
    let changed = changed_files(compiled, options.source);
    let [first, others @ ..] = &changed[..] else {
        return;
    };
    let others = match others.len() {
        0 => " has".to_owned(),
        count => format!(" and {} have", plural(count as u64, "other source file")),
    };
    let first = short(first, options.cwd.as_deref());
    status::warn(&format!(
        "{first}{others} changed since the program was built, so counts may stand beside other lines: build and record again"
    ));
}

/// Writes to stdout, or to the pager of the command. A closed pipe is no error.
///
/// # Errors
/// If stdout cannot be written.
pub(crate) fn write_out(write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> Result<()> {
    let written = pager::write(write).unwrap_or_else(|write| {
        let mut out = io::BufWriter::new(io::stdout().lock());
        write(&mut out).and_then(|()| out.flush())
    });
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::new(format_args!(
            "cannot write the report: {error}"
        ))),
        _ => Ok(()),
    }
}
