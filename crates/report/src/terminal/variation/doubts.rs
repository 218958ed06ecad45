//! Writes how many paths have no certain net variation, and why: a line below the table. If no path
//! has certain net variation, this line replaces the table.
//!
//! ```text
//! Variation  nothing varies here
//!   2 paths with 25 to 9,999 samples each: 1 took as long each time, as far as the clock can
//!   tell; 1 lost no more of the time than any code may lose on a shared machine; run it for longer
//! ```

use std::io;

use holloway_analysis::variation::Certainty;

use super::report::Report;
use super::ties;
use crate::numbers::{grouped, plural};
use crate::terminal::paint::{Ink, Line};
use crate::terminal::sheet::Sheet;

/// The reasons, in the order in which the line lists them.
const REASONS: [(Certainty, &str); 4] = [
    (
        Certainty::Steady,
        "took as long each time, as far as the clock can tell",
    ),
    (
        Certainty::Machine,
        "lost no more of the time than any code may lose on a shared machine",
    ),
    (
        Certainty::FewBursts,
        "took longer in so few bursts that interruptions from outside may explain it",
    ),
    (Certainty::FewSamples, "had too few samples to tell"),
];

/// Writes the line that replaces the table.
pub(super) fn write_nothing(
    sheet: &mut Sheet<'_>,
    report: &Report<'_>,
    indices: &[usize],
) -> io::Result<()> {
    let samples = ties::samples(report, indices.iter().copied()).unwrap_or_default();
    let text = format!(
        "{} with {samples} each: {}; {}",
        plural(indices.len() as u64, "path"),
        reasons(report, indices),
        ties::advice(report)
    );
    let mut line = Line::new();
    line.up_to(2);
    sheet.page.wrapped(line, Ink::Plain, &text)
}

/// Writes the line below the table.
pub(super) fn write_others(
    sheet: &mut Sheet<'_>,
    report: &Report<'_>,
    indices: &[usize],
) -> io::Result<()> {
    if indices.is_empty() {
        return Ok(());
    }
    let text = format!(
        "{} left out: {}",
        plural(indices.len() as u64, "other path"),
        reasons(report, indices)
    );
    let mut head = Line::new();
    head.up_to(2).put(Ink::Faint, "…  ");
    sheet.page.wrapped(head, Ink::Faint, &text)
}

/// `1 took as long each time, …; 2 had too few samples to tell`.
fn reasons(report: &Report<'_>, indices: &[usize]) -> String {
    let certainties = indices
        .iter()
        .map(|index| report.ranking.paths[*index].certainty);
    let parts = REASONS.iter().filter_map(|(reason, text)| {
        let paths = certainties.clone().filter(|certainty| certainty == reason);
        let paths = paths.count() as u64;
        (paths > 0).then(|| format!("{} {text}", grouped(paths)))
    });
    parts.collect::<Vec<_>>().join("; ")
}
