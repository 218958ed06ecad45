//! Paths that do not vary for certain, and the reasons: a line below the table. If no path varies
//! for certain, this line replaces the table.
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

/// The reasons, in the order of the line.
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

/// Writes the reasons if no path varies for certain.
pub(super) fn write_nothing(
    sheet: &mut Sheet<'_>,
    report: &Report<'_>,
    places: &[usize],
) -> io::Result<()> {
    let samples = ties::samples(report, places.iter().copied()).unwrap_or_default();
    let text = format!(
        "{} with {samples} each: {}; {}",
        plural(places.len() as u64, "path"),
        reasons(report, places),
        ties::way_out(report)
    );
    let mut line = Line::new();
    line.up_to(2);
    sheet.page.wrapped(line, Ink::Plain, &text)
}

/// Writes how many paths are not in the table, and the reasons.
pub(super) fn write_others(
    sheet: &mut Sheet<'_>,
    report: &Report<'_>,
    places: &[usize],
) -> io::Result<()> {
    if places.is_empty() {
        return Ok(());
    }
    let text = format!(
        "{} left out: {}",
        plural(places.len() as u64, "other path"),
        reasons(report, places)
    );
    let mut head = Line::new();
    head.up_to(2).put(Ink::Faint, "…  ");
    sheet.page.wrapped(head, Ink::Faint, &text)
}

/// `1 took as long each time, …; 2 had too few samples to tell`.
fn reasons(report: &Report<'_>, places: &[usize]) -> String {
    let certainties = places
        .iter()
        .map(|place| report.ranking.paths[*place].certainty);
    let parts = REASONS.iter().filter_map(|(reason, text)| {
        let paths = certainties.clone().filter(|certainty| certainty == reason);
        let paths = paths.count() as u64;
        (paths > 0).then(|| format!("{} {text}", grouped(paths)))
    });
    parts.collect::<Vec<_>>().join("; ")
}
