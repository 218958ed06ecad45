//! Prints reports on stdout: their options, the terminal's width and colors, and the source text.

use std::io::{self, IsTerminal as _, Write as _};

use holloway_analysis::variation::RankOptions;
use holloway_analysis::variation::rank::{Disturbed, Time};
use holloway_link::toolchain::Rustc;
use holloway_report::{Files, Options};

use crate::cli::{ColorWhen, ListArgs, TimeOf, TimesArgs};
use crate::failure::{Failure, Result};

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
        function: list.function.clone(),
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

/// The width of the terminal in columns. `usize::MAX` if stdout is no terminal.
fn terminal_width() -> usize {
    if !io::stdout().is_terminal() {
        return usize::MAX;
    }
    // A terminal that does not know its width reports 0.
    match rustix::termios::tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col).max(40),
        _ => 100,
    }
}
