//! Questions about traces (Larus 1999). [`terminal::trace`](crate::terminal::trace) and
//! [`json::trace`](crate::json::trace) write the answers. Each has two functions:
//!
//! - `write(question, run, options, out)`: each stream's answer, and the damage of the run;
//! - `diff(pairs, how, options, out)`: a comparison of the streams of two runs, pair by pair.
//!
//! Only `top`, `color`, `width`, `cwd` and `source` of [`Options`](crate::Options) have an effect.
//!
//! [`Pattern`](holloway_analysis::trace::pattern::Pattern) reads the patterns and names of
//! questions. These names mean a function:
//!
//! - its demangled name, or the end of it after a `::`;
//! - either of them without arguments and generic parameters;
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
pub use question::{AskError, Comparison, Cost, Hot, Least, Method, Question};
pub(crate) use stream::longest;
pub use stream::{Run, Stream};
