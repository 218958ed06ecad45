//! Draws a path's times as a histogram. The horizontal axis has the cycles over the base time. Each
//! column ends at √2 times the end of the previous column. The bars count samples. The line below
//! the axis shows which times make up the net variation.
//!
//! ```text
//!      840 ┤███
//!          ┤███
//!          ┤███▄▂▁      ▁▁
//!        0 └┬─┬───────┬──────
//!           0 8       128
//!      net  ▁▁▁▂▁▁      ▅█      cycles over the base
//! ```
//! The first column counts all times less than 8 cycles over the base, because probes cannot
//! distinguish smaller differences.

use holloway_format::Count;
use std::io;

use holloway_analysis::variation::RankedPath;

use crate::numbers::grouped;
use crate::terminal::paint::{Ink, Line};
use crate::terminal::sheet::Sheet;

/// Rows of bars.
const ROWS: usize = 5;
/// Number of heights of a bar within a row.
const LEVELS: usize = 8;
const BARS: [char; LEVELS + 1] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Upper end of the first column, in cycles over the base.
const FIRST_COLUMN_END: f64 = 8.0;
/// Number of columns from one labeled tick to the next: two powers of two.
const COLUMNS_PER_TICK: usize = 4;
/// Maximum width of a label on the axis.
const LABEL_WIDTH: usize = 4;
/// Terminal columns to the left of the bars.
const LEFT_MARGIN: usize = 16;
const UNIT: &str = "cycles over the base";

/// A column of the histogram.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
struct Column {
    samples: Count,
    /// Sum of these samples' cycles over the base time.
    over_base: f64,
}

/// Writes the histogram of a path's times.
pub(super) fn write(sheet: &mut Sheet<'_>, rank: &RankedPath) -> io::Result<()> {
    let room = sheet.page.width().saturating_sub(LEFT_MARGIN + 1).max(1);
    let columns = columns(rank);
    let width = if 2 * columns.len() <= room { 2 } else { 1 };
    let columns = merge_last(columns, room / width);
    let largest_count = columns
        .iter()
        .map(|column| column.samples)
        .max()
        .unwrap_or_default();
    let levels: Vec<usize> = columns
        .iter()
        .map(|column| {
            level(
                column.samples.to_f64(),
                largest_count.to_f64(),
                ROWS * LEVELS,
            )
        })
        .collect();
    for row in (0..ROWS).rev() {
        let label = if row + 1 == ROWS {
            grouped(largest_count)
        } else {
            String::new()
        };
        let bars = levels.iter().map(|level| {
            let filled = level.saturating_sub(row * LEVELS).min(LEVELS);
            BARS[filled].to_string().repeat(width)
        });
        let mut line = Line::new();
        line.right(Ink::Faint, &label, LEFT_MARGIN - 2)
            .put(Ink::Faint, " ┤")
            .put(Ink::Number, &bars.collect::<String>());
        sheet.page.line(&line)?;
    }
    axis(sheet, columns.len(), width)?;
    let largest_sum = columns
        .iter()
        .map(|column| column.over_base)
        .fold(0.0, f64::max);
    let bars = columns.iter().map(|column| {
        let filled = level(column.over_base, largest_sum, LEVELS);
        BARS[filled].to_string().repeat(width)
    });
    let mut line = Line::new();
    line.right(Ink::Faint, "net", LEFT_MARGIN - 1)
        .put(Ink::Plain, " ")
        .put(Ink::Outcome, &bars.collect::<String>());
    sheet.page.line(&line)
}

/// Writes the axis with its ticks, and the labels of the ticks below it.
fn axis(sheet: &mut Sheet<'_>, columns: usize, width: usize) -> io::Result<()> {
    let is_tick = |column: usize| column == 0 || column % COLUMNS_PER_TICK == 1;
    let ticks = (0..columns).map(|column| {
        let mark = if is_tick(column) { "┬" } else { "─" };
        format!("{mark}{}", "─".repeat(width - 1))
    });
    let mut line = Line::new();
    line.right(Ink::Faint, "0", LEFT_MARGIN - 2)
        .put(Ink::Faint, &format!(" └{}", ticks.collect::<String>()));
    sheet.page.line(&line)?;
    let mut labels = Line::new();
    labels.up_to(LEFT_MARGIN);
    for column in (0..columns).filter(|column| is_tick(*column)) {
        let start = LEFT_MARGIN + column * width;
        let text = label(low_end(column));
        // A label that would overlap the previous label is left out: for example at the first tick
        // after 0, or in a narrow chart.
        if labels.width() <= start {
            labels
                .up_to(start)
                .put(Ink::Faint, &text)
                .put(Ink::Plain, " ");
        }
    }
    let end = (LEFT_MARGIN + columns * width + 2).max(labels.width() + 2);
    if end + UNIT.len() <= sheet.page.width() {
        labels.up_to(end).put(Ink::Faint, UNIT);
    }
    sheet.page.line(&labels)
}

/// The smallest time that a column counts, in cycles over the base.
fn low_end(column: usize) -> f64 {
    match column.checked_sub(1) {
        None => 0.0,
        Some(step) => FIRST_COLUMN_END * (step as f64 / 2.0).exp2(),
    }
}

fn column_of(over_base: f64) -> usize {
    if over_base < FIRST_COLUMN_END {
        return 0;
    }
    // Adding half a cycle keeps rounding errors from moving a power of two into the column below.
    1 + (2.0 * ((over_base + 0.5) / FIRST_COLUMN_END).log2()) as usize
}

fn columns(rank: &RankedPath) -> Vec<Column> {
    let times = &rank.times;
    let mut columns = vec![Column::default(); 2];
    for bucket in times.buckets() {
        let middle = bucket.middle().clamp(times.least(), times.largest());
        let over_base = middle.saturating_sub(rank.base).to_f64();
        let index = column_of(over_base);
        if columns.len() <= index {
            columns.resize(index + 1, Column::default());
        }
        columns[index].samples += bucket.count;
        columns[index].over_base += over_base * bucket.count.to_f64();
    }
    columns
}

/// Returns at most `limit` columns. The last of them also counts the samples of the columns beyond.
fn merge_last(mut columns: Vec<Column>, limit: usize) -> Vec<Column> {
    let limit = limit.max(1);
    if columns.len() > limit {
        let beyond = columns.split_off(limit);
        let last = columns.last_mut().expect("at least one column remains");
        for column in beyond {
            last.samples += column.samples;
            last.over_base += column.over_base;
        }
    }
    columns
}

/// The height of a bar, in levels. A bar that is not empty has at least one level.
fn level(value: f64, largest: f64, levels: usize) -> usize {
    if value <= 0.0 || largest <= 0.0 {
        return 0;
    }
    ((value / largest * levels as f64).round() as usize).clamp(1, levels)
}

/// `128`, `2k`, `33k`, `2M`: at most four columns.
fn label(cycles: f64) -> String {
    let mut number = cycles;
    for prefix in ["", "k", "M", "G", "T", "P"] {
        if number < 999.5 {
            return format!("{number:.0}{prefix}");
        }
        number /= 1000.0;
    }
    "?".repeat(LABEL_WIDTH)
}

#[cfg(test)]
mod tests {
    use super::{Column, column_of, label, level, low_end, merge_last};
    use holloway_format::Count;

    #[test]
    fn columns_are_half_powers_of_two() {
        let all = [0.0, 7.0, 8.0, 11.0, 12.0, 15.0, 16.0, 31.0, 32.0, 1024.0];
        assert_eq!(all.map(column_of), [0, 0, 1, 2, 2, 2, 3, 4, 5, 15]);
        assert_eq!([0, 1, 3, 15].map(low_end), [0.0, 8.0, 16.0, 1024.0]);
        let labels = [8.0, 2048.0, 32_768.0, 999_999.0, 2_097_152.0].map(label);
        assert_eq!(labels, ["8", "2k", "33k", "1M", "2M"]);
    }

    #[test]
    fn bars_and_columns_lose_no_samples() {
        assert_eq!(
            [0.0, 1.0, 999.0, 1000.0].map(|samples| level(samples, 1000.0, 8)),
            [0, 1, 8, 8]
        );
        let column = Column {
            samples: Count(2),
            over_base: 3.0,
        };
        let merged = Column {
            samples: Count(4),
            over_base: 6.0,
        };
        assert_eq!(merge_last(vec![column; 3], 2), [column, merged]);
    }
}
