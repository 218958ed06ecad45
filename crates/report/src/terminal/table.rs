//! Tables for the terminal. Each column is as wide as its widest cell and has a faint heading.
//! Neighboring columns may share a heading. A row that is wider than the page takes several lines,
//! and so do the headings.

use std::io;
use std::ops::Range;

use unicode_width::UnicodeWidthStr;

use super::paint::{Ink, Line, MIN_CLIPPED_WIDTH, Page};

/// The indent of the further lines of a row that is wider than the page.
pub(super) const CONTINUED_INDENT: usize = 4;

/// The alignment of a column.
#[derive(Clone, Copy)]
pub(super) enum Align {
    Left,
    Right,
    /// A last column of names: left, and cut in the middle if it does not fit.
    Name,
}

/// A table: rows under headings.
pub(super) struct Table<'a> {
    columns: &'a [(&'a str, Align)],
    groups: Vec<(Range<usize>, &'a str)>,
    rows: Vec<Vec<(Ink, String)>>,
    /// For each row, additional lines below it.
    notes: Vec<Vec<Line>>,
}

impl<'a> Table<'a> {
    pub(super) fn new(columns: &'a [(&'a str, Align)]) -> Table<'a> {
        Table {
            columns,
            groups: Vec::new(),
            rows: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Adds a shared heading above some columns. Headings must be added in the order of their
    /// columns.
    pub(super) fn group(&mut self, columns: Range<usize>, heading: &'a str) {
        self.groups.push((columns, heading));
    }

    /// Adds a row: a cell for each column.
    pub(super) fn row(&mut self, cells: Vec<(Ink, String)>) {
        debug_assert_eq!(cells.len(), self.columns.len(), "a cell for each column");
        self.rows.push(cells);
        self.notes.push(Vec::new());
    }

    /// Adds a line below the last row.
    pub(super) fn note(&mut self, line: Line) {
        if let Some(notes) = self.notes.last_mut() {
            notes.push(line);
        }
    }

    pub(super) fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let heads: Vec<_> = self
            .columns
            .iter()
            .map(|(head, _)| (Ink::Faint, (*head).to_owned()))
            .collect();
        let mut widths: Vec<usize> = (0..self.columns.len())
            .map(|column| {
                self.rows
                    .iter()
                    .chain([&heads])
                    .map(|row| row[column].1.width())
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let breaks = self.breaks_below_groups(&mut widths, page.width());
        self.write_groups(page, &widths, &breaks)?;
        let rows = self.rows.iter().zip(&self.notes);
        for (row, notes) in [(&heads, &Vec::new())].into_iter().chain(rows) {
            for (number, columns) in breaks.iter().enumerate() {
                let mut line = Line::new();
                line.up_to(if number == 0 { 0 } else { CONTINUED_INDENT });
                for column in columns.clone() {
                    self.put_cell(&mut line, column, &row[column], widths[column]);
                }
                page.line(&line)?;
            }
            for note in notes {
                page.line(note)?;
            }
        }
        Ok(())
    }

    fn put_cell(&self, line: &mut Line, column: usize, (ink, cell): &(Ink, String), width: usize) {
        line.put(Ink::Plain, "  ");
        match self.columns[column].1 {
            Align::Left if column + 1 == self.columns.len() => line.put_clipped(*ink, cell),
            Align::Name if column + 1 == self.columns.len() => line.put_name(*ink, cell),
            Align::Left | Align::Name => line.left(*ink, cell, width),
            Align::Right => line.right(*ink, cell, width),
        };
    }

    /// Divides the columns among as many lines as a row needs. A last column of names is clipped
    /// if enough of it fits.
    fn breaks(&self, widths: &[usize], page_width: usize) -> Vec<Range<usize>> {
        let mut breaks = Vec::new();
        let (mut start, mut used) = (0, 0);
        for (column, &(_, align)) in self.columns.iter().enumerate() {
            let least = match align {
                Align::Left | Align::Name if column + 1 == widths.len() => {
                    widths[column].min(MIN_CLIPPED_WIDTH)
                }
                Align::Left | Align::Name | Align::Right => widths[column],
            };
            if column > start && used + 2 + least > page_width {
                breaks.push(start..column);
                (start, used) = (column, CONTINUED_INDENT);
            }
            used += 2 + widths[column];
        }
        breaks.push(start..self.columns.len());
        breaks
    }

    /// Divides the columns, as [`breaks`](Self::breaks) does, and widens columns below a shared
    /// heading that would touch the heading before it.
    fn breaks_below_groups(&self, widths: &mut [usize], page_width: usize) -> Vec<Range<usize>> {
        loop {
            let breaks = self.breaks(widths, page_width);
            let mut is_too_narrow = false;
            for (number, shown) in breaks.iter().enumerate() {
                let indent = if number == 0 { 0 } else { CONTINUED_INDENT };
                let mut used = 0;
                let groups = self.groups.iter().map(|(columns, heading)| {
                    let first = columns.start.max(shown.start);
                    (first, columns.end.min(shown.end), heading)
                });
                let groups: Vec<_> = groups.filter(|(first, last, _)| first < last).collect();
                for (index, &(first, last, heading)) in groups.iter().enumerate() {
                    let columns = widths[shown.start..last].iter();
                    let end = indent + columns.map(|width| width + 2).sum::<usize>();
                    // The last heading of a line may end after its columns.
                    let room = match index + 1 == groups.len() {
                        true => page_width.max(end),
                        false => end,
                    };
                    let missing = (used + heading.width()).saturating_sub(room);
                    widths[first] += missing;
                    is_too_narrow |= missing > 0;
                    used = end + missing + 2;
                }
            }
            if !is_too_narrow {
                return breaks;
            }
        }
    }

    /// Writes the shared headings. A heading whose columns are on several lines is repeated.
    fn write_groups(
        &self,
        page: &mut Page<'_>,
        widths: &[usize],
        breaks: &[Range<usize>],
    ) -> io::Result<()> {
        if self.groups.is_empty() {
            return Ok(());
        }
        for (number, shown) in breaks.iter().enumerate() {
            let indent = if number == 0 { 0 } else { CONTINUED_INDENT };
            let end_of_columns = |column: usize| -> usize {
                indent
                    + widths[shown.start..column]
                        .iter()
                        .map(|width| width + 2)
                        .sum::<usize>()
            };
            let mut line = Line::new();
            for (columns, heading) in &self.groups {
                let (first, last) = (columns.start.max(shown.start), columns.end.min(shown.end));
                if first < last {
                    line.up_to(end_of_columns(last).saturating_sub(heading.width()));
                    line.put(Ink::Faint, heading);
                }
            }
            if line.width() > 0 {
                page.line(&line)?;
            }
        }
        Ok(())
    }
}
