//! Questions on traces (Larus 1999): what can be asked, and of what. The answers are written by [`terminal::trace`](crate::terminal::trace) and
//! [`json::trace`](crate::json::trace), which have the same two functions:
//!
//! - `write(question, run, options, out)`: each stream's answer, in the order given, and what is missing in the run;
//! - `diff(pairs, how, options, out)`: streams of two runs against each other, pair by pair.
//!
//! Of [`Options`](crate::Options), `top`, `color`, `width`, `cwd` and `source` count here. Patterns and names in questions are read by
//! [`Pattern`](holloway_analysis::trace::pattern::Pattern): a name is a function's as shown, its end behind a `::`, either without arguments and generic parameters,
//! or its linkage name.

pub(crate) mod answer;
pub(crate) mod compare;
mod excerpt;
mod names;
mod question;
mod sight;
mod stream;
pub(crate) mod sums;

pub use question::{AskError, Comparison, Cost, Hot, Least, Method, Question};
pub(crate) use sight::Sight;
pub(crate) use stream::longest;
pub use stream::{Run, Stream};
