//! Writes lines of colored text, clipped to the width of the terminal.
//!
//! Names and source text come from files with arbitrary content. Control characters, such as those
//! of escape sequences, are replaced before they reach the terminal.

use std::io::{self, Write};

use crate::options::Options;
use anstyle::{AnsiColor, Style};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The meaning of a piece of text. The meaning determines the color.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ink {
    /// Ordinary text.
    Plain,
    /// A heading or an important name.
    Strong,
    /// Text of minor importance.
    Faint,
    /// A place in the source.
    Place,
    /// A count or share.
    Number,
    /// A branch outcome.
    Outcome,
    /// Losses, damage, or mistakes.
    Alarm,
}

impl Ink {
    fn style(self) -> Style {
        let color = |color: AnsiColor| Style::new().fg_color(Some(color.into()));
        match self {
            Ink::Plain => Style::new(),
            Ink::Strong => Style::new().bold(),
            Ink::Faint => Style::new().dimmed(),
            Ink::Place => color(AnsiColor::Cyan),
            Ink::Number => color(AnsiColor::Green),
            Ink::Outcome => color(AnsiColor::Yellow),
            Ink::Alarm => color(AnsiColor::Red).bold(),
        }
    }
}

/// A line that is being composed.
#[derive(Clone, Default, Debug)]
pub(crate) struct Line {
    pieces: Vec<(Ink, String)>,
    width: usize,
}

impl Line {
    pub(crate) fn new() -> Line {
        Line::default()
    }

    /// Appends text.
    pub(crate) fn put(&mut self, ink: Ink, text: &str) -> &mut Line {
        let text = clean(text);
        if !text.is_empty() {
            self.width += text.width();
            self.pieces.push((ink, text));
        }
        self
    }

    /// Appends text with its left end at the current column, padded with spaces to a width.
    pub(crate) fn left(&mut self, ink: Ink, text: &str, width: usize) -> &mut Line {
        let before = self.width;
        self.put(ink, text);
        self.up_to(before + width)
    }

    /// Appends text with its right end after `width` columns, padded with spaces before it.
    pub(crate) fn right(&mut self, ink: Ink, text: &str, width: usize) -> &mut Line {
        self.pad(width.saturating_sub(clean(text).width()));
        self.put(ink, text)
    }

    /// Appends another line.
    pub(crate) fn join(&mut self, other: Line) -> &mut Line {
        self.width += other.width;
        self.pieces.extend(other.pieces);
        self
    }

    /// Pads the line with spaces up to a column. A longer line does not change.
    pub(crate) fn up_to(&mut self, column: usize) -> &mut Line {
        self.pad(column.saturating_sub(self.width))
    }

    /// Number of columns so far.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    fn pad(&mut self, columns: usize) -> &mut Line {
        if columns > 0 {
            self.width += columns;
            self.pieces.push((Ink::Plain, " ".repeat(columns)));
        }
        self
    }
}

/// The output, with the width of its lines.
pub(crate) struct Page<'a> {
    out: &'a mut dyn Write,
    color: bool,
    width: usize,
}

impl<'a> Page<'a> {
    /// A page with the colors and the width of the options.
    pub(crate) fn new(out: &'a mut dyn Write, options: &Options<'_>) -> Page<'a> {
        let &Options { color, width, .. } = options;
        Page { out, color, width }
    }

    /// Number of columns of the page.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Writes a line without trailing spaces, clipped to the page's width.
    pub(crate) fn line(&mut self, line: &Line) -> io::Result<()> {
        let mut text = String::new();
        let mut room = self.width;
        let last = line
            .pieces
            .iter()
            .rposition(|(_, piece)| !piece.trim_end().is_empty());
        for (index, (ink, piece)) in line
            .pieces
            .iter()
            .enumerate()
            .take(last.map_or(0, |last| last + 1))
        {
            let piece = if Some(index) == last {
                piece.trim_end()
            } else {
                piece
            };
            let fits = piece.width() <= room;
            let piece = if fits {
                piece.to_owned()
            } else {
                clip(piece, room)
            };
            let style = ink.style();
            if self.color && style != Style::new() {
                text.push_str(&format!("{style}{piece}{style:#}"));
            } else {
                text.push_str(&piece);
            }
            if !fits {
                break;
            }
            room -= piece.width();
        }
        writeln!(self.out, "{text}")
    }

    /// Writes `line`, followed by as many of the words as fit. The other words follow on lines that
    /// are indented by the width of `line`.
    pub(crate) fn wrapped(&mut self, mut line: Line, ink: Ink, words: &str) -> io::Result<()> {
        let indent = line.width();
        let mut text = String::new();
        for word in words.split(' ') {
            if !text.is_empty() && indent + text.width() + 1 + word.width() > self.width {
                self.line(line.put(ink, &text))?;
                line = Line::new();
                line.up_to(indent);
                text.clear();
            }
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(word);
        }
        self.line(line.put(ink, &text))
    }

    /// Writes plain text as a line.
    pub(crate) fn text(&mut self, ink: Ink, text: &str) -> io::Result<()> {
        self.line(Line::new().put(ink, text))
    }

    /// Writes an empty line.
    pub(crate) fn gap(&mut self) -> io::Result<()> {
        writeln!(self.out)
    }
}

/// Returns a text that fits unchanged, and of a longer text the beginning with `…` in the last
/// column.
pub(crate) fn clip(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut clipped = String::new();
    let mut room = width.saturating_sub(1);
    for c in text.chars() {
        let columns = c.width().unwrap_or(0);
        if columns > room {
            break;
        }
        room -= columns;
        clipped.push(c);
    }
    if width > 0 {
        clipped.push('…');
    }
    clipped
}

/// Returns a text that fits unchanged, and of a longer text the end with `…` in the first column.
pub(crate) fn clip_start(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut room = width.saturating_sub(1);
    let mut reversed: Vec<char> = Vec::new();
    for c in text.chars().rev() {
        let columns = c.width().unwrap_or(0);
        if columns > room {
            break;
        }
        room -= columns;
        reversed.push(c);
    }
    if width > 0 {
        reversed.push('…');
    }
    reversed.into_iter().rev().collect()
}

/// Replaces control characters: a tab by four spaces, others by `·`.
fn clean(text: &str) -> String {
    if !text.contains(char::is_control) {
        return text.to_owned();
    }
    text.chars()
        .fold(String::with_capacity(text.len()), |mut clean, c| {
            match c {
                '\t' => clean.push_str("    "),
                c if c.is_control() => clean.push('·'),
                c => clean.push(c),
            }
            clean
        })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::{Ink, Line, Page, clip, clip_start};
    use crate::options::Options;
    use crate::source::Nothing;

    fn print(line: &Line, color: bool, width: usize) -> String {
        let mut out = Vec::new();
        let options = Options {
            color,
            width,
            ..Options::new(&Nothing)
        };
        Page::new(&mut out, &options).line(line).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn cells_are_padded_and_clipped() {
        let mut line = Line::new();
        line.right(Ink::Number, "12", 4)
            .put(Ink::Plain, " ")
            .left(Ink::Place, "äö", 4)
            .put(Ink::Plain, "| ");
        assert_eq!(print(&line, false, 80), "  12 äö  |\n");
        assert_eq!(print(&line, false, 6), "  12 …\n");
    }

    #[test]
    fn colors_only_when_asked() {
        let mut line = Line::new();
        line.put(Ink::Alarm, "x").put(Ink::Plain, "y");
        assert_eq!(print(&line, true, 80), "\u{1b}[1m\u{1b}[31mx\u{1b}[0my\n");
        assert_eq!(print(&line, false, 80), "xy\n");
    }

    #[test]
    fn source_text_cannot_drive_the_terminal() {
        assert_eq!(
            print(Line::new().put(Ink::Plain, "a\u{1b}[2Jb\tc"), false, 80),
            "a·[2Jb    c\n"
        );
    }

    #[test]
    fn clipping_counts_columns() {
        assert_eq!(clip("日本語", 5), "日本…");
        assert_eq!(clip("abc", 3), "abc");
        assert_eq!(clip("abc", 0), "");
        assert_eq!(clip_start("src/deep/file.rs:1", 10), "…file.rs:1");
    }
}
