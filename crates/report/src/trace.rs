//! Questions about traces (Larus 1999), and their answers as values.
//! [`terminal::trace`](crate::terminal::trace) and [`json::trace`](crate::json::trace) write the
//! answers. Both modules have two functions:
//!
//! - `write(question, run, options, out)` writes each stream's answer, and the damage of the run;
//! - `diff(pairs, comparison, options, out)` compares the streams of two runs, pair by pair.
//!
//! Of the [`Options`](crate::Options), only `top`, `color`, `width`, `cwd`, and `source` affect the
//! answers.
//!
//! [`Pattern`](holloway_analysis::trace::pattern::Pattern) parses the patterns and names of
//! questions. A question can name a function by:
//!
//! - its demangled name, or the end of this name after a `::`;
//! - its demangled name, or the end of this name, without arguments and generic parameters;
//! - its linkage name.

pub(crate) mod answer;
pub(crate) mod compare;
mod excerpt;
mod labels;
mod names;
mod question;
mod stream;
pub(crate) mod sums;

pub(crate) use labels::LabeledStream;
pub use question::{AskError, Comparison, Cost, HotQuestion, Method, MinCost, Question};
pub(crate) use stream::longest;
pub use stream::{Run, Stream};
