//! Ties: neighboring ranks whose order may be chance. The table marks them, and a line below it
//! lists them.
//!
//! ```text
//!  ≈  ranks 2 to 4, 4 to 9 can't be told apart by 68 to 102 samples each: …
//! ```

use holloway_format::Count;
use std::io;
use std::ops::Range;

use super::report::Report;
use crate::numbers::grouped;
use crate::terminal::paint::{Ink, Line};
use crate::terminal::sheet::Sheet;

/// Most ties that are named. The others are only counted.
const NAMED: usize = 4;
/// Least N of a proposed `--burst N`.
const LEAST: f64 = 100.0;

/// A path's rank, marked if the path belongs to a tie.
pub(super) fn rank(place: usize, ties: &[Range<usize>]) -> String {
    let is_tie = ties.iter().any(|tie| tie.contains(&place));
    let tie = if is_tie { "≈" } else { "" };
    format!("{tie}{}", place + 1)
}

/// Lists the ties, and what would resolve them.
pub(super) fn write(
    sheet: &mut Sheet<'_>,
    report: &Report<'_>,
    ties: &[Range<usize>],
) -> io::Result<()> {
    let within = ties.iter().flat_map(Range::clone);
    let Some(samples) = samples(report, within) else {
        return Ok(());
    };
    let mut head = Line::new();
    head.up_to(2).put(Ink::Faint, "≈  ");
    let text = format!(
        "ranks {} can't be told apart by {samples} each: {}",
        named(ties),
        way_out(report)
    );
    sheet.page.wrapped(head, Ink::Alarm, &text)
}

/// The number of samples of paths: `2 samples`, `68 to 102 samples`. `None` if there are no paths.
pub(super) fn samples(
    report: &Report<'_>,
    places: impl Iterator<Item = usize> + Clone,
) -> Option<String> {
    let samples = places.map(|place| report.ranking.paths[place].samples());
    let (least, most) = (samples.clone().min()?, samples.max()?);
    Some(match least == most {
        true => format!("{} samples", grouped(least)),
        false => format!("{} to {} samples", grouped(least), grouped(most)),
    })
}

/// `2 to 4, 4 to 6, 8 and 9`.
fn named(ties: &[Range<usize>]) -> String {
    let ranks = ties.iter().take(NAMED);
    let mut ranks: Vec<String> = ranks
        .map(|tie| match tie.len() {
            2 => format!("{} and {}", tie.start + 1, tie.end),
            _ => format!("{} to {}", tie.start + 1, tie.end),
        })
        .collect();
    if ties.len() > NAMED {
        ranks.push(match ties.len() - NAMED {
            1 => "1 more row of them".to_owned(),
            more => format!("{more} more rows of them"),
        });
    }
    ranks.join(", ")
}

/// How to get more samples.
pub(super) fn way_out(report: &Report<'_>) -> String {
    if report.run.is_exact {
        return "all of their executions were timed".to_owned();
    }
    let stats = &report.run.stats;
    let passed = stats.begun.to_f64() / stats.samples.max(Count(1)).to_f64();
    let fewer = 10f64.powf((passed / 10.0).log10().round()).max(LEAST);
    match fewer < passed / 2.0 {
        true => format!("run it for longer, or with --burst {fewer}"),
        false => "run it for longer".to_owned(),
    }
}
