//! Questions on traces (Larus 1999). [`terminal::trace`](crate::terminal::trace) and
//! [`json::trace`](crate::json::trace) write the answers, each with two functions:
//!
//! - `write(question, run, options, out)`: each stream's answer, and what is missing in the run;
//! - `diff(pairs, how, options, out)`: streams of two runs compared, pair by pair.
//!
//! Of [`Options`](crate::Options), `top`, `color`, `width`, `cwd` and `source` have an effect.
//!
//! [`Pattern`](holloway_analysis::trace::pattern::Pattern) reads the patterns and names of
//! questions. A name is a function's as shown, or its end behind a `::`, either without arguments
//! and generic parameters; or its linkage name.

pub(crate) mod answer;
pub(crate) mod compare;
mod excerpt;
mod labels;
mod names;
mod question;
mod stream;
pub(crate) mod sums;

pub(crate) use labels::LabeledStream;
pub use question::{AskError, Comparison, Cost, Hot, Least, Method, Question};
pub(crate) use stream::longest;
pub use stream::{Run, Stream};
