//! A path's times as a histogram. To the right: cycles over the base time, in steps of half a power
//! of two. Upwards: samples. The line below shows which times make up the net variation.
//!
//! ```text
//!      840 ┤███
//!          ┤███
//!          ┤███▄▂▁      ▁▁
//!        0 └┬─┬───────┬──────
//!           0 8       128
//!      net  ▁▁▁▂▁▁      ▅█      cycles over the base
//! ```
//! The first column holds all times less than 8 cycles over the base: probes cannot distinguish
//! smaller differences.

use holloway_format::Count;
use std::io;

use holloway_analysis::variation::Rank;

use crate::numbers::grouped;
use crate::terminal::paint::{Ink, Line};
use crate::terminal::sheet::Sheet;

/// Rows of bars.
const ROWS: usize = 5;
/// Heights of a bar within a row.
const LEVELS: usize = 8;
const BARS: [char; LEVELS + 1] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Cycles over the base that share the first column.
const NEAR: f64 = 8.0;
/// Columns between labelled ticks: two powers of two.
const TICK: usize = 4;
/// Columns of a label.
const LABEL: usize = 4;
/// Columns before the axis.
const LEFT: usize = 16;
const UNIT: &str = "cycles over the base";

/// A column of the histogram.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
struct Column {
    samples: Count,
    /// Sum of these samples' cycles over the base.
    over: f64,
}

/// Writes the histogram of a path's times.
pub(super) fn write(sheet: &mut Sheet<'_>, rank: &Rank) -> io::Result<()> {
    let room = sheet.page.width().saturating_sub(LEFT + 1).max(1);
    let all = columns(rank);
    let width = if 2 * all.len() <= room { 2 } else { 1 };
    let columns = squeezed(all, room / width);
    let most = columns
        .iter()
        .map(|column| column.samples)
        .max()
        .unwrap_or_default();
    let levels: Vec<usize> = columns
        .iter()
        .map(|column| level(column.samples.to_f64(), most.to_f64(), ROWS * LEVELS))
        .collect();
    for row in (0..ROWS).rev() {
        let label = if row + 1 == ROWS {
            grouped(most)
        } else {
            String::new()
        };
        let bars = levels.iter().map(|level| {
            let filled = level.saturating_sub(row * LEVELS).min(LEVELS);
            BARS[filled].to_string().repeat(width)
        });
        let mut line = Line::new();
        line.right(Ink::Faint, &label, LEFT - 2)
            .put(Ink::Faint, " ┤")
            .put(Ink::Number, &bars.collect::<String>());
        sheet.page.line(&line)?;
    }
    axis(sheet, columns.len(), width)?;
    let largest = columns.iter().map(|column| column.over).fold(0.0, f64::max);
    let bars = columns.iter().map(|column| {
        let filled = level(column.over, largest, LEVELS);
        BARS[filled].to_string().repeat(width)
    });
    let mut line = Line::new();
    line.right(Ink::Faint, "net", LEFT - 1)
        .put(Ink::Plain, " ")
        .put(Ink::Outcome, &bars.collect::<String>());
    sheet.page.line(&line)
}

/// The axis with its ticks, and their labels below.
fn axis(sheet: &mut Sheet<'_>, columns: usize, width: usize) -> io::Result<()> {
    let is_tick = |column: usize| column == 0 || column % TICK == 1;
    let ticks = (0..columns).map(|column| {
        let mark = if is_tick(column) { "┬" } else { "─" };
        format!("{mark}{}", "─".repeat(width - 1))
    });
    let mut line = Line::new();
    line.right(Ink::Faint, "0", LEFT - 2)
        .put(Ink::Faint, &format!(" └{}", ticks.collect::<String>()));
    sheet.page.line(&line)?;
    let mut labels = Line::new();
    labels.up_to(LEFT);
    for column in (0..columns).filter(|column| is_tick(*column)) {
        let at = LEFT + column * width;
        let text = label(low_end(column));
        // Labels may collide: at the first tick after 0, and in a narrow chart.
        if labels.width() <= at {
            labels.up_to(at).put(Ink::Faint, &text).put(Ink::Plain, " ");
        }
    }
    let end = (LEFT + columns * width + 2).max(labels.width() + 2);
    if end + UNIT.len() <= sheet.page.width() {
        labels.up_to(end).put(Ink::Faint, UNIT);
    }
    sheet.page.line(&labels)
}

/// Least cycles over the base in a column.
fn low_end(column: usize) -> f64 {
    match column.checked_sub(1) {
        None => 0.0,
        Some(step) => NEAR * (step as f64 / 2.0).exp2(),
    }
}

fn column_of(over: f64) -> usize {
    if over < NEAR {
        return 0;
    }
    // Half a cycle keeps a power of two out of the column below it.
    1 + (2.0 * ((over + 0.5) / NEAR).log2()) as usize
}

fn columns(rank: &Rank) -> Vec<Column> {
    let times = &rank.times;
    let mut columns = vec![Column::default(); 2];
    for bucket in times.buckets() {
        let middle = bucket.middle().clamp(times.least(), times.largest());
        let over = middle.saturating_sub(rank.base).to_f64();
        let place = column_of(over);
        if columns.len() <= place {
            columns.resize(place + 1, Column::default());
        }
        columns[place].samples += bucket.count;
        columns[place].over += over * bucket.count.to_f64();
    }
    columns
}

/// The first `most` columns. The last of them also holds the samples of all columns beyond.
fn squeezed(mut columns: Vec<Column>, most: usize) -> Vec<Column> {
    let most = most.max(1);
    if columns.len() > most {
        let beyond = columns.split_off(most);
        let last = columns.last_mut().expect("there is one at least");
        for column in beyond {
            last.samples += column.samples;
            last.over += column.over;
        }
    }
    columns
}

/// The height of a bar, in levels. Nonzero parts have at least one level.
fn level(part: f64, most: f64, levels: usize) -> usize {
    if part <= 0.0 || most <= 0.0 {
        return 0;
    }
    ((part / most * levels as f64).round() as usize).clamp(1, levels)
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
    "?".repeat(LABEL)
}

#[cfg(test)]
mod tests {
    use super::{Column, column_of, label, level, low_end, squeezed};
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
    fn what_is_there_is_seen() {
        assert_eq!(
            [0.0, 1.0, 999.0, 1000.0].map(|part| level(part, 1000.0, 8)),
            [0, 1, 8, 8]
        );
        let one = Column {
            samples: Count(2),
            over: 3.0,
        };
        let two = Column {
            samples: Count(4),
            over: 6.0,
        };
        assert_eq!(squeezed(vec![one; 3], 2), [one, two]);
    }
}
