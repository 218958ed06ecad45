//! Checks a run against a *budget*: limits on figures of the run.
//!
//! [`Limit`] is a limit, [`Measure`] the figure that it limits. [`check`] computes the figure and
//! says whether it keeps the limit. The results are written as [`text`], [`json`], [`junit`] (for
//! CI systems), or [`annotations`] (of GitHub).

mod json;
mod junit;
mod limit;
mod measure;
mod text;

use std::io::Write;

pub use json::json;
pub use junit::junit;
pub use limit::{Checked, Limit, Number, Value};
pub use measure::{BudgetError, Measure, Runs, check};
pub use text::{annotations, text};

/// Where a check writes its results.
pub type Out<'a> = &'a mut dyn Write;

/// The results of a check.
#[derive(Debug)]
pub struct Results {
    /// The file with the limits, as the user named it.
    pub budget: String,
    /// The run, as the user named it.
    pub run: String,
    /// The limits, in the order of the file.
    pub checked: Vec<Checked>,
}

impl Results {
    /// The number of limits that the run does not keep.
    pub fn broken(&self) -> usize {
        self.checked
            .iter()
            .filter(|checked| !checked.keeps())
            .count()
    }
}
