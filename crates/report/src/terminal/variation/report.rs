//! A ranking of timed paths, with functions that format its figures.

use holloway_analysis::Function;
use holloway_analysis::trail::Trail;
use holloway_analysis::variation::RankOptions;
use holloway_analysis::variation::VariationRun;
use holloway_analysis::variation::rank::{Disturbed, RankedPath, Ranking};
use holloway_format::{Count, Cycles};

use crate::numbers::{grouped, one_decimal, seconds, short};
use crate::terminal::sheet::Sheet;
use crate::variation::{lines, trail_of};

/// A run of timed paths and its ranking, as the variation view shows it.
pub(super) struct Report<'a> {
    pub(super) run: &'a VariationRun,
    pub(super) ranking: &'a Ranking,
    /// Cycles per second, if known.
    pub(super) frequency: Option<f64>,
    pub(super) rank_options: RankOptions,
}

impl Report<'_> {
    /// The cycles of a sample. Times of 0 and 1 are shown as `≤12` if the clock cannot distinguish
    /// times of up to 12 cycles from 0.
    pub(super) fn cycles(&self, cycles: Cycles) -> String {
        match cycles {
            Cycles(0 | 1) => format!("≤{}", grouped(self.ranking.floor)),
            cycles => short(cycles.to_f64()),
        }
    }

    /// The cycles of a sample, or the most that they can be.
    pub(super) fn most(&self, cycles: Cycles) -> Cycles {
        match cycles {
            Cycles(0 | 1) => self.ranking.floor,
            cycles => cycles,
        }
    }

    pub(super) fn time(&self, cycles: f64) -> String {
        time(cycles, self.frequency)
    }

    pub(super) fn share(&self, cycles: f64) -> String {
        format!("{} %", one_decimal(100.0 * self.ranking.share(cycles)))
    }

    pub(super) fn name(&self, sheet: &Sheet<'_>, rank: &RankedPath) -> String {
        let function = self.run.run.function(rank.function);
        let name = sheet.name_of_path(function, rank.path);
        format!("{name} {}", rank.path)
    }

    pub(super) fn place(&self, sheet: &Sheet<'_>, rank: &RankedPath) -> String {
        let function = self.run.run.function(rank.function);
        let trail = trail_of(function, rank.path);
        trail.map_or_else(String::new, |trail| place_of(sheet, function, &trail))
    }

    /// Number of disturbed samples that are left out of the path's times.
    pub(super) fn left_out(&self, rank: &RankedPath) -> Count {
        match self.rank_options.disturbed {
            Disturbed::LeftOut => rank.disturbed,
            Disturbed::Included => Count::ZERO,
        }
    }
}

/// Cycles as seconds, or as cycles if the clock's frequency is unknown.
pub(in crate::terminal) fn time(cycles: f64, frequency: Option<f64>) -> String {
    match frequency {
        Some(frequency) => seconds(cycles / frequency),
        None => format!("{} cycles", short(cycles)),
    }
}

/// The source lines of a path: `src/list.c:40-44`.
pub(in crate::terminal) fn place_of(
    sheet: &Sheet<'_>,
    function: &Function,
    trail: &Trail,
) -> String {
    match lines(function, trail) {
        None => "-".to_owned(),
        Some((file, first, last)) if first == last => sheet.place(file, first),
        Some((file, first, last)) => format!("{}-{last}", sheet.place(file, first)),
    }
}
