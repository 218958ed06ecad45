//! The changes from one run to another, of the functions that the user chose, and their words.

use holloway_analysis::RunProfile;
use holloway_analysis::diff::{Diff, Pairing, Trend, diff};
use holloway_analysis::overlap::Both;
use holloway_flow::PathId;

use crate::filter::Filter;
use crate::options::Options;
use holloway_abi::Unit;
use holloway_analysis::Function;

/// The changes from one run to another, of the functions that the options choose.
pub struct Changes<'a> {
    /// The runs.
    pub(crate) runs: Both<&'a RunProfile>,
    /// The changes.
    pub(crate) diff: Diff,
}

impl<'a> Changes<'a> {
    /// Compares two runs. [`Options::function`] and [`Options::code`] limit the comparison to some
    /// functions, and [`Options::path`] limits the paths.
    pub fn new(runs: Both<&'a RunProfile>, options: &Options<'_>) -> Changes<'a> {
        let names = Filter::new(options);
        let keep =
            |function: &Function| names.matches(&function.map.linkage_name, &function.map.name);
        let mut diff = diff(runs, &keep, &|function| names.name(function));
        if diff.unit == Unit::Paths {
            diff.parts.retain(|part| {
                let function = runs[part.side].function(part.function);
                names.keeps_path(function, PathId(part.number))
            });
        }
        Changes { runs, diff }
    }

    /// Whether any counts differ.
    pub fn is_different(&self) -> bool {
        self.diff.is_different()
    }
}

/// The word for a trend. A function that was only moved or renamed has none.
pub(crate) fn trend_word(trend: Option<Trend>) -> &'static str {
    match trend {
        Some(Trend::New) => "new",
        Some(Trend::Gone) => "gone",
        Some(Trend::Hotter) => "hotter",
        Some(Trend::Colder) => "colder",
        Some(Trend::Shifted) => "shifted",
        None => "equal",
    }
}

/// The word for how a function was found in the other run.
pub(crate) fn pairing_word(pairing: Pairing) -> &'static str {
    match pairing {
        Pairing::Same => "same",
        Pairing::Moved => "moved",
        Pairing::Renamed => "renamed",
        Pairing::Changed => "changed",
        Pairing::Absent => "absent",
    }
}
