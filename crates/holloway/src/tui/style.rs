//! The styles of the terminal interface. Without colors, only bold, dim, and reversed text is left.

use anstyle::{AnsiColor, Color};
use holloway_report::Colors;
use holloway_report::colors::Heat;
use ratatui::style::{Color as ScreenColor, Modifier, Style};

/// The styles for the colors of a terminal.
#[derive(Clone, Copy)]
pub(super) struct Styles {
    colors: Colors,
}

impl Styles {
    pub(super) fn new(colors: Colors) -> Styles {
        Styles { colors }
    }

    /// An important name.
    pub(super) fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Text of minor importance.
    pub(super) fn faint(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// The chosen row.
    pub(super) fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// A place in the source.
    pub(super) fn place(self) -> Style {
        self.colored(ScreenColor::Cyan)
    }

    /// The path, and its decisions.
    pub(super) fn path(self) -> Style {
        self.colored(ScreenColor::Yellow)
    }

    /// A count of code of this heat, or of code that never ran.
    pub(super) fn count(self, heat: Option<Heat>) -> Style {
        let Some(heat) = heat else {
            return self.colored(ScreenColor::Red).add_modifier(Modifier::BOLD);
        };
        match heat.color(self.colors) {
            None => Style::new(),
            Some(Color::Ansi(color)) => self.colored(basic(color)),
            Some(Color::Ansi256(color)) => self.colored(ScreenColor::Indexed(color.0)),
            Some(Color::Rgb(color)) => self.colored(ScreenColor::Rgb(color.0, color.1, color.2)),
        }
    }

    fn colored(self, color: ScreenColor) -> Style {
        match self.colors {
            Colors::None => Style::new(),
            Colors::Ansi16 | Colors::Ansi256 | Colors::True => Style::new().fg(color),
        }
    }
}

fn basic(color: AnsiColor) -> ScreenColor {
    match color {
        AnsiColor::Black => ScreenColor::Black,
        AnsiColor::Red => ScreenColor::Red,
        AnsiColor::Green => ScreenColor::Green,
        AnsiColor::Yellow => ScreenColor::Yellow,
        AnsiColor::Blue => ScreenColor::Blue,
        AnsiColor::Magenta => ScreenColor::Magenta,
        AnsiColor::Cyan => ScreenColor::Cyan,
        AnsiColor::White => ScreenColor::Gray,
        AnsiColor::BrightBlack => ScreenColor::DarkGray,
        AnsiColor::BrightRed => ScreenColor::LightRed,
        AnsiColor::BrightGreen => ScreenColor::LightGreen,
        AnsiColor::BrightYellow => ScreenColor::LightYellow,
        AnsiColor::BrightBlue => ScreenColor::LightBlue,
        AnsiColor::BrightMagenta => ScreenColor::LightMagenta,
        AnsiColor::BrightCyan => ScreenColor::LightCyan,
        AnsiColor::BrightWhite => ScreenColor::White,
    }
}
