//! Writes the timeline of important branches (Merten et al. 1999, figure 1): a row for each
//! function, a column for each sample.

use std::collections::BTreeMap;
use std::io;

use super::{NAME_WIDTH, PhasesSheet};
use crate::numbers::{grouped, plural};
use crate::terminal::paint::{Ink, Line, clip};

/// Maximum columns of the timeline.
const MAX_COLUMNS: usize = 120;

impl PhasesSheet<'_> {
    /// Writes the timeline. Functions are in the order of their addresses. If there are more
    /// samples than columns, a column shows the maximum of several samples.
    pub(super) fn timeline(&mut self) -> io::Result<()> {
        let answer = self.phases.answer;
        let samples = &answer.timeline;
        if samples.is_empty() {
            return Ok(());
        }
        let room = self.sheet.page.width().min(NAME_WIDTH + 4 + MAX_COLUMNS);
        let room = room.saturating_sub(NAME_WIDTH + 4).max(10);
        let samples_per_column = samples.len().div_ceil(room);
        let columns = samples.len().div_ceil(samples_per_column);
        let mut rows: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (index, sample) in samples.iter().enumerate() {
            let mut marks: BTreeMap<u32, usize> = BTreeMap::new();
            for &branch in &sample.branches {
                *marks
                    .entry(answer.stream.site(branch).function)
                    .or_default() += 1;
            }
            for (function, marks) in marks {
                let row = rows.entry(function).or_insert_with(|| vec![0; columns]);
                let cell = &mut row[index / samples_per_column];
                *cell = marks.max(*cell);
            }
        }
        self.sheet.page.gap()?;
        let sampling = &answer.sampling;
        let text = format!(
            "{} of {} branches, one every {}{}; marks show how many branches of a function ran {} times or more: ░ 1, ▒ 2-3, ▓ 4-7, █ 8 or more",
            plural(samples.len() as u64, "sample"),
            grouped(sampling.length),
            grouped(sampling.period),
            match samples_per_column {
                1 => String::new(),
                count => format!(", {count} to a column"),
            },
            sampling.threshold,
        );
        self.sheet.heading("Timeline", &text)?;
        // The functions that are marked most often.
        let mut shown: Vec<u32> = rows.keys().copied().collect();
        let marks = |function: &u32| rows[function].iter().filter(|&&cell| cell > 0).count();
        shown.sort_by_key(|function| std::cmp::Reverse(marks(function)));
        let left_out = shown.len().saturating_sub(2 * self.sheet.top());
        shown.truncate(2 * self.sheet.top());
        shown.sort_unstable();
        for function in shown {
            let cells: String = rows[&function].iter().map(|&cell| glyph(cell)).collect();
            let name = clip(&self.sheet.labeled.function(function), NAME_WIDTH);
            let mut line = Line::new();
            line.put(Ink::Plain, "  ")
                .left(Ink::Strong, &name, NAME_WIDTH)
                .put(Ink::Faint, "│")
                .put_clipped(Ink::Outcome, &cells);
            self.sheet.page.line(&line)?;
        }
        if left_out > 0 {
            let text = format!("  … and {}", plural(left_out as u64, "more function"));
            self.sheet.page.text(Ink::Faint, &text)?;
        }
        Ok(())
    }
}

/// The mark for a number of branches.
fn glyph(branches: usize) -> char {
    match branches {
        0 => ' ',
        1 => '░',
        2..=3 => '▒',
        4..=7 => '▓',
        _ => '█',
    }
}
