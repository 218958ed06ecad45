//! Tables: columns as wide as their widest cell, headed faintly.

use std::io;

use unicode_width::UnicodeWidthStr;

use super::paint::{Ink, Line, Page};

/// How a column is set.
#[derive(Clone, Copy)]
pub(super) enum Align {
    Left,
    Right,
}

/// Rows under headings.
pub(super) struct Table<'a> {
    columns: &'a [(&'a str, Align)],
    rows: Vec<Vec<(Ink, String)>>,
}

impl<'a> Table<'a> {
    pub(super) fn new(columns: &'a [(&'a str, Align)]) -> Table<'a> {
        Table {
            columns,
            rows: Vec::new(),
        }
    }

    /// Adds a row: a cell for each column.
    pub(super) fn row(&mut self, cells: Vec<(Ink, String)>) {
        debug_assert_eq!(cells.len(), self.columns.len(), "a cell for each column");
        self.rows.push(cells);
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
        for row in [&heads].into_iter().chain(&self.rows) {
            let mut line = Line::new();
            for ((&(_, align), (ink, cell)), &width) in self.columns.iter().zip(row).zip(&widths) {
                line.put(Ink::Plain, "  ");
                match align {
                    Align::Left => line.left(*ink, cell, width),
                    Align::Right => line.right(*ink, cell, width),
                };
            }
            page.line(&line)?;
        }
        Ok(())
    }
}
