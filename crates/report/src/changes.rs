//! The changes from one run to another, of the functions that the user chose, and their words.

use holloway_analysis::RunProfile;
use holloway_analysis::diff::{Diff, Pairing, Trend, diff};
use holloway_analysis::overlap::Both;
use holloway_flow::PathId;

use crate::filter::Filter;
use crate::options::Options;
use holloway_abi::Unit;

/// The changes from one run to another, of the functions that the options choose.
pub struct Changes<'a> {
    /// The runs.
    pub(crate) runs: Both<&'a RunProfile>,
    /// The changes.
    pub(crate) diff: Diff,
    /// Whether the options choose one path.
    has_path: bool,
}

impl<'a> Changes<'a> {
    /// Compares two runs. [`Options::function`] limits the comparison to functions that have such a
    /// name in either run, and [`Options::path`] limits the paths.
    pub fn new(runs: Both<&'a RunProfile>, options: &Options<'_>) -> Changes<'a> {
        let names = Filter::new(options);
        let mut diff = diff(runs, &|function| names.keeps_name(function), &|function| {
            names.name(function)
        });
        if diff.unit == Unit::Paths {
            diff.parts.retain(|part| {
                let function = runs[part.side].function(part.function);
                names.keeps_path(function, PathId(part.number))
            });
        }
        Changes {
            runs,
            diff,
            has_path: options.path.is_some(),
        }
    }

    /// Whether any counts differ: those of the path, if the options choose one. A path of a
    /// function with other code differs.
    pub fn is_different(&self) -> bool {
        match self.has_path {
            true => !self.diff.parts.is_empty() || self.lost_path().is_some(),
            false => self.diff.is_different(),
        }
    }

    /// If the options choose a path that the other run cannot have: the function's pairing.
    pub(crate) fn lost_path(&self) -> Option<Pairing> {
        let mut functions = self.diff.functions.iter().map(|function| function.pairing);
        functions.find(|pairing| match pairing {
            Pairing::Changed | Pairing::Absent => self.has_path,
            Pairing::Same | Pairing::Moved | Pairing::Renamed => false,
        })
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
