//! `holloway report [RUN]`, and the report at the end of a run.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use holloway_report::{Files, Options, Sort, View as ReportView};

use crate::args::{ColorWhen, OutputFormat, ReportArgs, SortKey, View, ViewArgs};
use crate::failure::{Failure, Result};
use crate::toolchain::Rustc;
use crate::{load, rundir};

/// Reports the run named, or the latest.
///
/// # Errors
/// There is no run, nothing of it can be read, or stdout cannot be written.
pub(crate) fn main(args: &ReportArgs) -> Result<ExitCode> {
    let run = match &args.run {
        Some(run) => run.clone(),
        None => rundir::latest()?,
    };
    print(&run, &args.view)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the report of a run's directory on stdout. A reader that goes away early is no error.
///
/// # Errors
/// Nothing of the run can be read, or stdout cannot be written.
pub(crate) fn print(run: &Path, view: &ViewArgs) -> Result<()> {
    print_below(run, view, std::env::current_dir().ok())
}

/// The same with source files shown relative to `base`.
///
/// # Errors
/// Nothing of the run can be read, or stdout cannot be written.
pub(crate) fn print_below(run: &Path, view: &ViewArgs, base: Option<PathBuf>) -> Result<()> {
    let profile = load::load(run)?;
    let source = Files::new(Rustc::find().and_then(|rustc| rustc.source()));
    let options = Options {
        view: report_view(view.view),
        sort: match view.sort {
            SortKey::Count => Sort::Count,
            SortKey::Instructions => Sort::Instructions,
        },
        top: view.top,
        function: view.function.clone(),
        color: wants_color(view.color),
        width: terminal_width(),
        cwd: base,
        source: &source,
    };
    let mut out = io::BufWriter::new(io::stdout().lock());
    let written = match view.format {
        OutputFormat::Text => holloway_report::terminal::write(&profile, &options, &mut out),
        OutputFormat::Json => holloway_report::json::write(&profile, &options, &mut out),
    };
    match written.and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::new(format_args!(
            "cannot write the report: {error}"
        ))),
        _ => Ok(()),
    }
}

fn report_view(view: View) -> ReportView {
    match view {
        View::Paths => ReportView::Paths,
        View::Functions => ReportView::Functions,
        View::Edges => ReportView::Edges,
        View::Lines => ReportView::Lines,
    }
}

/// `--color auto`: a terminal that is not told otherwise by `NO_COLOR` or `TERM=dumb`.
fn wants_color(when: ColorWhen) -> bool {
    match when {
        ColorWhen::Always => true,
        ColorWhen::Never => false,
        ColorWhen::Auto => {
            anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
        }
    }
}

/// Columns to fill: the terminal's; everything when stdout is no terminal.
fn terminal_width() -> usize {
    if !io::stdout().is_terminal() {
        return usize::MAX;
    }
    // A terminal that does not know its width says 0.
    match rustix::termios::tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col).max(40),
        _ => 100,
    }
}
