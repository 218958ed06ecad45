//! Paths whose time varies (Perelman, Chilimbi, Calder 2005): which code is usually fast and sometimes not, and what that costs.
//!
//! [`VariationBuilder`] reads the samples of a thread's stream as [`Timings`]; those of several threads are [merged](Timings::merge), [`seal`] makes
//! of them what is kept in a file, [`join`] adds what came later. [`VariationRun`] joins the files of a run; [`mod@rank`] answers what the paper asks of it, [`Ranking::ties`] which ranks are chance, [`spread`] why times differ, [`advice`]
//! what may be done about it, [`stability`] whether another run answers the same.

mod above;
pub mod advice;
mod builder;
mod interruptions;
mod machine;
mod path;
pub mod rank;
mod run;
mod sealed;
pub mod spread;
pub mod stability;
mod ties;

pub use builder::{Timings, VariationBuilder};
pub use path::{Certainty, Rank};
pub use rank::{How, Ranking, rank};
pub use run::{Timed, TimedPath, VariationRun};
pub use sealed::{join, paths, seal};
