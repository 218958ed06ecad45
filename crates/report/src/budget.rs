//! Checks a run against a *budget*: limits on figures of the run.
//!
//! [`Limit`] is a limit, [`Measure`] the figure that it limits. [`check`] computes the figure and
//! says whether it keeps the limit. The results are written as [`text`], [`json`], [`junit`] (for
//! CI systems), or [`annotations`] (of GitHub).

mod check;
mod json;
mod junit;
mod limit;
mod measure;
mod results;
mod text;

pub use check::{BudgetError, Runs, check};
pub use json::json;
pub use junit::junit;
pub use limit::{Checked, Limit, NotMeasured, Number, Value};
pub use measure::Measure;
pub use results::{Out, Results};
pub use text::{annotations, text};
