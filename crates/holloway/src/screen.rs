//! The terminal at stdout: its colors and its size.

use std::io::{self, IsTerminal as _};

use holloway_report::Colors;

use crate::cli::ColorWhen;

/// The colors to write. `--color auto`: if stdout is a terminal, unless `NO_COLOR`, `CLICOLOR=0`,
/// or `TERM=dumb` forbids it.
pub(crate) fn colors(when: ColorWhen) -> Colors {
    let wants_colors = match when {
        ColorWhen::Always => true,
        ColorWhen::Never => false,
        ColorWhen::Auto => {
            anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
        }
    };
    let variable = |name| std::env::var(name).unwrap_or_default();
    match wants_colors {
        true => terminal_colors(&variable("COLORTERM"), &variable("TERM")),
        false => Colors::None,
    }
}

/// The colors of a terminal with these values of `COLORTERM` and `TERM`.
pub(crate) fn terminal_colors(colorterm: &str, term: &str) -> Colors {
    if matches!(colorterm, "truecolor" | "24bit") || term.ends_with("-direct") {
        Colors::True
    } else if term.contains("256color") {
        Colors::Ansi256
    } else {
        Colors::Ansi16
    }
}

/// Columns of a terminal that does not know its width.
const UNKNOWN_WIDTH: usize = 100;
/// The narrowest page. Reports for narrower terminals are as wide.
const MIN_WIDTH: usize = 40;

/// The width of reports in columns. If stdout is a terminal: its width. Else: the value of
/// `COLUMNS`. Else `usize::MAX`, so that lines of a pipe or file are never folded.
pub(crate) fn terminal_width() -> usize {
    let variable = std::env::var("COLUMNS").ok();
    let columns = variable.as_deref().and_then(columns);
    let width = if io::stdout().is_terminal() {
        let size = terminal_size().map(|(width, _)| width);
        size.filter(|&width| width > 0)
            .or(columns)
            .unwrap_or(UNKNOWN_WIDTH)
    } else {
        columns.unwrap_or(usize::MAX)
    };
    width.max(MIN_WIDTH)
}

/// Columns and rows of the terminal at stdout, if it is one. A terminal that does not know them
/// reports 0.
pub(crate) fn terminal_size() -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some((size.ws_col.into(), size.ws_row.into()))
}

/// The number in `COLUMNS`. A value that is not a positive number is ignored, as shells do.
fn columns(value: &str) -> Option<usize> {
    value.trim().parse().ok().filter(|&columns| columns > 0)
}

#[cfg(test)]
mod tests {
    use holloway_report::Colors;

    use super::{columns, terminal_colors};

    #[test]
    fn terminals_say_how_many_colors_they_have() {
        let check = |colorterm, term, expect| {
            assert_eq!(
                terminal_colors(colorterm, term),
                expect,
                "{colorterm} {term}"
            );
        };
        check("truecolor", "xterm-256color", Colors::True);
        check("24bit", "screen", Colors::True);
        check("", "xterm-direct", Colors::True);
        check("", "tmux-256color", Colors::Ansi256);
        check("yes", "xterm", Colors::Ansi16);
        check("", "", Colors::Ansi16);
    }

    #[test]
    fn columns_must_be_a_positive_number() {
        let values = ["60", " 132 ", "0", "", "-1", "wide"];
        let expected = [Some(60), Some(132), None, None, None, None];
        assert_eq!(values.map(columns), expected);
    }
}
