//! Ties: neighboring ranks whose order may be chance. The table marks ties, and a line below the
//! table lists them.
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

/// Maximum number of ties that are listed. The others are only counted.
const MAX_LISTED: usize = 4;
/// Minimum N of a proposed `--burst N`.
const MIN_BURST_INTERVAL: f64 = 100.0;

/// The rank of the path at `index`, marked if the path belongs to a tie.
pub(super) fn marked_rank(index: usize, ties: &[Range<usize>]) -> String {
    let is_tie = ties.iter().any(|tie| tie.contains(&index));
    let mark = if is_tie { "≈" } else { "" };
    format!("{mark}{}", index + 1)
}

/// Writes the ties, and advice on how to resolve them.
pub(super) fn write(
    sheet: &mut Sheet<'_>,
    report: &Report<'_>,
    ties: &[Range<usize>],
) -> io::Result<()> {
    let tied = ties.iter().flat_map(Range::clone);
    let Some(samples) = samples(report, tied) else {
        return Ok(());
    };
    let mut head = Line::new();
    head.up_to(2).put(Ink::Faint, "≈  ");
    let text = format!(
        "ranks {} can't be told apart by {samples} each: {}",
        listed(ties),
        advice(report)
    );
    sheet.page.wrapped(head, Ink::Alarm, &text)
}

/// The smallest and largest number of samples of the paths at `indices`: `2 samples`,
/// `68 to 102 samples`. Returns `None` if there are no paths.
pub(super) fn samples(
    report: &Report<'_>,
    indices: impl Iterator<Item = usize> + Clone,
) -> Option<String> {
    let samples = indices.map(|index| report.ranking.paths[index].samples());
    let (fewest, most) = (samples.clone().min()?, samples.max()?);
    Some(match fewest == most {
        true => format!("{} samples", grouped(fewest)),
        false => format!("{} to {} samples", grouped(fewest), grouped(most)),
    })
}

/// The ranks of each tie: `2 to 4, 4 to 6, 8 and 9`.
fn listed(ties: &[Range<usize>]) -> String {
    let ranks = ties.iter().take(MAX_LISTED);
    let mut ranks: Vec<String> = ranks
        .map(|tie| match tie.len() {
            2 => format!("{} and {}", tie.start + 1, tie.end),
            _ => format!("{} to {}", tie.start + 1, tie.end),
        })
        .collect();
    if ties.len() > MAX_LISTED {
        ranks.push(match ties.len() - MAX_LISTED {
            1 => "1 more row of them".to_owned(),
            more => format!("{more} more rows of them"),
        });
    }
    ranks.join(", ")
}

/// Advice on how to get more samples: run longer, and a shorter `--burst` interval if the run's
/// interval was at least twice as long.
pub(super) fn advice(report: &Report<'_>) -> String {
    if report.run.is_exact {
        return "all of their executions were timed".to_owned();
    }
    let stats = &report.run.stats;
    let interval = stats.begun.to_f64() / stats.samples.max(Count(1)).to_f64();
    let power_of_ten = 10f64.powf((interval / 10.0).log10().round());
    let shorter = power_of_ten.max(MIN_BURST_INTERVAL);
    match shorter < interval / 2.0 {
        true => format!("run it for longer, or with --burst {shorter}"),
        false => "run it for longer".to_owned(),
    }
}
