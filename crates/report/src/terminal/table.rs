//! Tables for the terminal. Each column is as wide as its widest cell and has a faint heading.
//! Neighboring columns may share a heading.

use std::io;
use std::ops::Range;

use unicode_width::UnicodeWidthStr;

use super::paint::{Ink, Line, Page};

/// The alignment of a column.
#[derive(Clone, Copy)]
pub(super) enum Align {
    Left,
    Right,
}

/// A table: rows under headings.
pub(super) struct Table<'a> {
    columns: &'a [(&'a str, Align)],
    groups: Vec<(Range<usize>, &'a str)>,
    rows: Vec<Vec<(Ink, String)>>,
    /// For each row, an additional line below it.
    notes: Vec<Option<Line>>,
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
        self.notes.push(None);
    }

    /// Adds a line below the last row.
    pub(super) fn note(&mut self, line: Line) {
        if let Some(note) = self.notes.last_mut() {
            *note = Some(line);
        }
    }

    pub(super) fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let heads: Vec<_> = self
            .columns
            .iter()
            .map(|(head, _)| (Ink::Faint, (*head).to_owned()))
            .collect();
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|column| {
                self.rows
                    .iter()
                    .chain([&heads])
                    .map(|row| row[column].1.width())
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        self.write_groups(page, &widths)?;
        let rows = self.rows.iter().zip(&self.notes);
        for (row, note) in [(&heads, &None)].into_iter().chain(rows) {
            let mut line = Line::new();
            for ((&(_, align), (ink, cell)), &width) in self.columns.iter().zip(row).zip(&widths) {
                line.put(Ink::Plain, "  ");
                match align {
                    Align::Left => line.left(*ink, cell, width),
                    Align::Right => line.right(*ink, cell, width),
                };
            }
            page.line(&line)?;
            if let Some(note) = note {
                page.line(note)?;
            }
        }
        Ok(())
    }

    fn write_groups(&self, page: &mut Page<'_>, widths: &[usize]) -> io::Result<()> {
        if self.groups.is_empty() {
            return Ok(());
        }
        let end_of_columns =
            |column: usize| -> usize { widths[..column].iter().map(|width| width + 2).sum() };
        let mut line = Line::new();
        for (columns, heading) in &self.groups {
            line.up_to(end_of_columns(columns.end).saturating_sub(heading.width()));
            line.put(Ink::Faint, heading);
        }
        page.line(&line)
    }
}
