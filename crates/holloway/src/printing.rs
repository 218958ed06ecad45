//! Prints reports on stdout: their options, the terminal's width and colors, and the source text.

use std::io::{self, IsTerminal as _, Write as _};

use holloway_analysis::RunProfile;
use holloway_analysis::variation::RankOptions;
use holloway_analysis::variation::rank::{Disturbed, Time};
use holloway_link::toolchain::Rustc;
use holloway_report::{CodeFilter, Files, Glob, Options, Origin, SelectionError};

use crate::cli::{CodeArgs, ColorWhen, ListArgs, TimeOf, TimesArgs};
use crate::failure::{Failure, Result};
use crate::status;

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
        color: wants_color(color),
        width: terminal_width(),
        cwd: std::env::current_dir().ok(),
        ..Options::new(source)
    }
}

/// The filter on code that the options ask for.
pub(crate) fn code_filter(args: &CodeArgs) -> CodeFilter {
    CodeFilter {
        crates: args.crates.clone(),
        files: args.files.iter().map(|glob| Glob::new(glob)).collect(),
        origin: match (args.workspace, args.all_code) {
            (true, _) => Origin::Workspace,
            (false, true) => Origin::All,
            (false, false) => Origin::ByView,
        },
    }
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

/// Writes to stdout. A closed pipe is no error.
///
/// # Errors
/// If stdout cannot be written.
pub(crate) fn write_out(write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::new(format_args!(
            "cannot write the report: {error}"
        ))),
        _ => Ok(()),
    }
}

/// Whether to write colors. `--color auto`: if stdout is a terminal, unless `NO_COLOR` or
/// `TERM=dumb` forbids it.
fn wants_color(when: ColorWhen) -> bool {
    match when {
        ColorWhen::Always => true,
        ColorWhen::Never => false,
        ColorWhen::Auto => {
            anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
        }
    }
}

/// Columns of a terminal that does not know its width.
const UNKNOWN_WIDTH: usize = 100;
/// The narrowest page. Reports for narrower terminals are as wide.
const MIN_WIDTH: usize = 40;

/// The width of reports in columns. If stdout is a terminal: its width. Else: the value of
/// `COLUMNS`. Else `usize::MAX`, so that lines of a pipe or file are never folded.
fn terminal_width() -> usize {
    let variable = std::env::var("COLUMNS").ok();
    let columns = variable.as_deref().and_then(columns);
    let width = if io::stdout().is_terminal() {
        // A terminal that does not know its width reports 0.
        let size = rustix::termios::tcgetwinsize(io::stdout()).ok();
        size.map(|size| usize::from(size.ws_col))
            .filter(|&width| width > 0)
            .or(columns)
            .unwrap_or(UNKNOWN_WIDTH)
    } else {
        columns.unwrap_or(usize::MAX)
    };
    width.max(MIN_WIDTH)
}

/// The number in `COLUMNS`. A value that is not a positive number is ignored, as shells do.
fn columns(value: &str) -> Option<usize> {
    value.trim().parse().ok().filter(|&columns| columns > 0)
}

#[cfg(test)]
mod tests {
    use super::columns;

    #[test]
    fn columns_must_be_a_positive_number() {
        let values = ["60", " 132 ", "0", "", "-1", "wide"];
        let expected = [Some(60), Some(132), None, None, None, None];
        assert_eq!(values.map(columns), expected);
    }
}
