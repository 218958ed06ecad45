//! Ranks paths whose time varies (Perelman, Chilimbi, Calder 2005): code that is usually fast but
//! sometimes slow.
//!
//! - [`VariationBuilder`] reads the samples of a thread's stream into [`Timings`].
//! - [`Timings::merge`] adds the timings of several threads.
//! - [`seal`] converts timings to the form that a file stores, and [`join`] adds later timings.
//! - [`VariationRun`] joins the files of a run.
//! - [`mod@rank`] ranks paths as in the paper, and [`Ranking::ties`] finds neighbors whose order
//!   may be chance.
//! - [`spread`] divides the differences between a function's path times by their reasons.
//! - [`advice`] suggests loads to prefetch.
//! - [`stability`] compares the paths that vary in several runs.

mod above;
pub mod advice;
mod builder;
mod interruptions;
mod machine;
mod others;
pub mod rank;
mod ranked_path;
mod run;
mod sealed;
pub mod spread;
pub mod stability;
mod ties;

pub use builder::{Timings, VariationBuilder};
pub use rank::{RankOptions, Ranking, rank};
pub use ranked_path::{Certainty, RankedPath};
pub use run::{TimedFunction, TimedPath, VariationRun};
pub use sealed::{join, paths, seal};
