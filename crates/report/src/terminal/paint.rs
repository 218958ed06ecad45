//! Writes lines of colored text, folded to the width of the terminal.
//!
//! A line that is too long continues on the next line, so no number is ever cut. Only text that
//! the reader finds elsewhere is clipped: source text at its end, and the name at the end of a
//! table's row in its middle.
//!
//! Names and source text come from files with arbitrary content. Control characters, such as those
//! of escape sequences, are replaced before they reach the terminal.

use std::io::{self, Write};

use crate::colors::{Colors, Heat};
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
    /// A count in a color that shows how hot its code is.
    Heat(Heat),
}

impl Ink {
    fn style(self, colors: Colors) -> Style {
        let color = |color: AnsiColor| Style::new().fg_color(Some(color.into()));
        match self {
            Ink::Plain => Style::new(),
            Ink::Strong => Style::new().bold(),
            Ink::Faint => Style::new().dimmed(),
            Ink::Place => color(AnsiColor::Cyan),
            Ink::Number => color(AnsiColor::Green),
            Ink::Outcome => color(AnsiColor::Yellow),
            Ink::Alarm => color(AnsiColor::Red).bold(),
            Ink::Heat(heat) => heat.style(colors),
        }
    }
}

/// What happens to a piece of text that does not fit into its line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Overflow {
    /// The words that do not fit continue on the next line.
    Fold,
    /// The end is replaced by `…`.
    Clip,
    /// The middle is replaced by `…`.
    ClipMiddle,
}

/// A piece of a line.
#[derive(Clone, Debug)]
struct Piece {
    ink: Ink,
    text: String,
    overflow: Overflow,
}

/// A line that is being composed.
#[derive(Clone, Default, Debug)]
pub(crate) struct Line {
    pieces: Vec<Piece>,
    width: usize,
    /// The beginning of the lines on which this line continues. `None` means an indent.
    continuation: Option<String>,
}

impl Line {
    pub(crate) fn new() -> Line {
        Line::default()
    }

    /// Appends text.
    pub(crate) fn put(&mut self, ink: Ink, text: &str) -> &mut Line {
        self.push(ink, text, Overflow::Fold)
    }

    /// Appends a name whose middle is clipped if it does not fit.
    pub(crate) fn put_name(&mut self, ink: Ink, text: &str) -> &mut Line {
        self.push(ink, text, Overflow::ClipMiddle)
    }

    /// Appends text whose end is clipped if it does not fit, such as source text.
    pub(crate) fn put_clipped(&mut self, ink: Ink, text: &str) -> &mut Line {
        self.push(ink, text, Overflow::Clip)
    }

    fn push(&mut self, ink: Ink, text: &str, overflow: Overflow) -> &mut Line {
        let text = clean(text);
        if !text.is_empty() {
            self.width += text.width();
            self.pieces.push(Piece {
                ink,
                text,
                overflow,
            });
        }
        self
    }

    /// Sets the beginning of the lines on which this line continues if it is too long.
    pub(crate) fn continued_by(&mut self, beginning: &str) -> &mut Line {
        self.continuation = Some(beginning.to_owned());
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
            self.push(Ink::Plain, &" ".repeat(columns), Overflow::Fold);
        }
        self
    }

    /// The pieces without the spaces at the end of the line.
    fn trimmed(&self) -> Vec<Piece> {
        let mut pieces = self.pieces.clone();
        while let Some(last) = pieces.last_mut() {
            last.text.truncate(last.text.trim_end().len());
            if !last.text.is_empty() {
                break;
            }
            pieces.pop();
        }
        pieces
    }

    /// The beginning of the lines on which this line continues.
    fn continuation(&self, page_width: usize) -> String {
        let text: String = self.pieces.iter().map(|piece| &*piece.text).collect();
        let indent = text.len() - text.trim_start_matches(' ').len();
        let indent = " ".repeat((indent + 2).min(page_width / 4));
        self.continuation.clone().unwrap_or(indent)
    }
}

/// The output, with the width of its lines.
pub(crate) struct Page<'a> {
    out: &'a mut dyn Write,
    colors: Colors,
    width: usize,
}

impl<'a> Page<'a> {
    /// A page with the colors and the width of the options.
    pub(crate) fn new(out: &'a mut dyn Write, options: &Options<'_>) -> Page<'a> {
        let &Options { colors, width, .. } = options;
        Page { out, colors, width }
    }

    /// Number of columns of the page.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The colors of the page.
    pub(crate) fn colors(&self) -> Colors {
        self.colors
    }

    /// Writes a line without trailing spaces. A line that is wider than the page is folded.
    pub(crate) fn line(&mut self, line: &Line) -> io::Result<()> {
        let mut fold = Fold {
            colors: self.colors,
            width: self.width,
            continuation: line.continuation(self.width),
            rows: vec![Row::default()],
        };
        for piece in line.trimmed() {
            fold.put(&piece);
        }
        for row in fold.rows {
            writeln!(self.out, "{}", row.text)?;
        }
        Ok(())
    }

    /// Writes `line`, followed by as many of the words as fit. The other words follow on lines that
    /// are indented by the width of `line`.
    pub(crate) fn wrapped(&mut self, mut line: Line, ink: Ink, words: &str) -> io::Result<()> {
        let mut indent = line.width();
        let mut text = String::new();
        for word in words.split(' ') {
            if !text.is_empty() && indent + text.width() + 1 + word.width() > self.width {
                self.line(line.put(ink, &text))?;
                line = Line::new();
                // A wide label would leave no room for text below it.
                if indent > self.width / 2 {
                    indent = self.width / 4;
                }
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

/// Minimum columns of a clipped text. If there are fewer in a line, the text goes on the next line.
pub(crate) const MIN_CLIPPED_WIDTH: usize = 16;

/// A row of terminal cells: the text with its colors.
#[derive(Default)]
struct Row {
    text: String,
    width: usize,
}

/// A line that is being folded into rows of at most `width` columns.
struct Fold {
    colors: Colors,
    width: usize,
    /// The beginning of all rows but the first.
    continuation: String,
    rows: Vec<Row>,
}

impl Fold {
    fn put(&mut self, piece: &Piece) {
        let width = piece.text.width();
        if width <= self.room() && !self.is_new_row() {
            return self.append(piece.ink, &piece.text);
        }
        match piece.overflow {
            Overflow::Clip | Overflow::ClipMiddle => {
                if width > self.room() && self.room() < MIN_CLIPPED_WIDTH {
                    self.next_row();
                }
                let clipped = match piece.overflow {
                    Overflow::ClipMiddle => clip_middle(&piece.text, self.room()),
                    Overflow::Clip | Overflow::Fold => clip(&piece.text, self.room()),
                };
                self.append(piece.ink, &clipped);
            }
            Overflow::Fold => self.put_words(piece),
        }
    }

    /// Appends as many words as fit into each row. Neighboring words of a row share a color.
    fn put_words(&mut self, piece: &Piece) {
        let mut words = String::new();
        for word in piece.text.split_inclusive(' ') {
            if words.is_empty() && self.is_new_row() && word == " " {
                continue;
            }
            let word_width = word.trim_end().width();
            let fits_into_a_row = word_width + self.continuation.width() <= self.width;
            if words.width() + word_width > self.room() && fits_into_a_row {
                self.append(piece.ink, words.trim_end());
                words.clear();
                self.next_row();
            }
            if word == " " && self.is_new_row() && words.is_empty() {
                continue;
            }
            words.push_str(word);
            // A word that is wider than a row is cut into rows.
            while words.trim_end().width() > self.room() {
                let (row, rest) = split_at_width(&words, self.room());
                let rest = rest.to_owned();
                self.append(piece.ink, row);
                self.next_row();
                words = rest;
            }
        }
        let room = self.room();
        if words.width() > room {
            words.truncate(words.trim_end().len());
        }
        self.append(piece.ink, &words);
    }

    fn room(&self) -> usize {
        let row = self.rows.last().expect("a fold begins with a row");
        self.width.saturating_sub(row.width)
    }

    /// Whether the last row continues the line and is still empty.
    fn is_new_row(&self) -> bool {
        let row = self.rows.last().expect("a fold begins with a row");
        self.rows.len() > 1 && row.width == self.continuation.width()
    }

    /// Begins a row, unless the last row is still empty.
    fn next_row(&mut self) {
        if self.is_new_row() {
            return;
        }
        let row = self.rows.last_mut().expect("a fold begins with a row");
        row.text.truncate(row.text.trim_end().len());
        let (text, width) = (self.continuation.clone(), self.continuation.width());
        self.rows.push(Row { text, width });
    }

    fn append(&mut self, ink: Ink, text: &str) {
        let row = self.rows.last_mut().expect("a fold begins with a row");
        row.width += text.width();
        let style = ink.style(self.colors);
        if self.colors != Colors::None && style != Style::new() && !text.is_empty() {
            row.text.push_str(&format!("{style}{text}{style:#}"));
        } else {
            row.text.push_str(text);
        }
    }
}

/// Splits a text after as many characters as fit into `width` columns, but at least one.
fn split_at_width(text: &str, width: usize) -> (&str, &str) {
    let mut columns = 0;
    for (at, c) in text.char_indices() {
        columns += c.width().unwrap_or(0);
        if columns > width && at > 0 {
            return text.split_at(at);
        }
    }
    (text, "")
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

/// Returns a name that fits unchanged, and of a longer name the beginning and the end with `…`
/// between them. The last segment stays if it takes at most two thirds of the width.
pub(crate) fn clip_middle(name: &str, width: usize) -> String {
    if name.width() <= width {
        return name.to_owned();
    }
    let room = width.saturating_sub(1);
    let segment = last_segment(name).width();
    let end = match segment <= room * 2 / 3 {
        true => segment.max(room / 2),
        false => room / 2,
    };
    let beginning = clip(name, width - end.min(width));
    let end = clip_start(name, end + 1);
    match end.strip_prefix('…') {
        Some(end) => format!("{beginning}{end}"),
        None => beginning,
    }
}

/// The last segment of a name, with the `::` before it: `::next` of `<A<b::C> as D>::next`.
fn last_segment(name: &str) -> &str {
    let (mut depth, mut start) = (0u32, 0);
    for (at, c) in name.char_indices() {
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' => depth = depth.saturating_sub(1),
            ':' if depth == 0 && name[at..].starts_with("::") => start = at,
            _ => {}
        }
    }
    &name[start..]
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
    use super::{Ink, Line, Page, clip, clip_middle, clip_start};
    use crate::colors::Colors;
    use crate::options::Options;
    use crate::source::Nothing;
    use unicode_width::UnicodeWidthStr;

    fn print(line: &Line, colors: Colors, width: usize) -> String {
        let mut out = Vec::new();
        let options = Options {
            colors,
            width,
            ..Options::new(&Nothing)
        };
        Page::new(&mut out, &options).line(line).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn cells_are_padded_and_folded() {
        let mut line = Line::new();
        line.right(Ink::Number, "12", 4)
            .put(Ink::Plain, " ")
            .left(Ink::Place, "äö", 4)
            .put(Ink::Plain, "| ");
        assert_eq!(print(&line, Colors::None, 80), "  12 äö  |\n");
        assert_eq!(print(&line, Colors::None, 9), "  12 äö\n  |\n");
    }

    #[test]
    fn long_lines_are_folded_and_only_source_text_is_clipped() {
        let check = |width, expected: &str| {
            let mut line = Line::new();
            line.put(Ink::Plain, "  ")
                .put(Ink::Number, "12,345,678")
                .put(Ink::Plain, " × 15 instructions")
                .put_clipped(Ink::Plain, "  while let Some(x) = it.next() {")
                .continued_by("  │ ");
            assert_eq!(print(&line, Colors::None, width), expected, "{width}");
        };
        let whole = "  12,345,678 × 15 instructions";
        check(80, &format!("{whole}  while let Some(x) = it.next() {{\n"));
        check(50, &format!("{whole}  while let Some(x)…\n"));
        check(
            40,
            &format!("{whole}\n  │   while let Some(x) = it.next() {{\n"),
        );
        check(
            20,
            "  12,345,678 × 15\n  │ instructions\n  │   while let Som…\n",
        );
        // A word that is wider than the page continues, too.
        check(
            9,
            "  12,345,\n  │ 678 ×\n  │ 15 in\n  │ struc\n  │ tions\n  │   wh…\n",
        );
    }

    #[test]
    fn colors_only_when_asked() {
        let mut line = Line::new();
        line.put(Ink::Alarm, "x").put(Ink::Plain, "y");
        assert_eq!(
            print(&line, Colors::Ansi16, 80),
            "\u{1b}[1m\u{1b}[31mx\u{1b}[0my\n"
        );
        assert_eq!(print(&line, Colors::None, 80), "xy\n");
    }

    #[test]
    fn source_text_cannot_drive_the_terminal() {
        assert_eq!(
            print(
                Line::new().put(Ink::Plain, "a\u{1b}[2Jb\tc"),
                Colors::None,
                80
            ),
            "a·[2Jb    c\n"
        );
    }

    #[test]
    fn names_keep_their_last_segment() {
        let check = |name: &str, width: usize, expect: &str| {
            let clipped = clip_middle(name, width);
            assert_eq!(clipped, expect);
            assert!(clipped.width() <= width);
        };
        check("app::run", 8, "app::run");
        check("app::parse::number", 16, "app::pa…::number");
        check("<a::List<T> as b::Iterator>::next", 16, "<a::List…>::next");
        check("app::a_very_long_name_of_all", 16, "app::a_v…_of_all");
        check("日本語日本語", 7, "日…語");
        check("abc", 1, "…");
        check("abc", 0, "");
    }

    #[test]
    fn clipping_counts_columns() {
        assert_eq!(clip("日本語", 5), "日本…");
        assert_eq!(clip("abc", 3), "abc");
        assert_eq!(clip("abc", 0), "");
        assert_eq!(clip_start("src/deep/file.rs:1", 10), "…file.rs:1");
    }
}
