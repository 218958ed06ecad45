//! The results of a run of the benchmarks.

use super::builds::Builds;
use super::exact::Check;
use super::rounds::Row;

/// The results of a run.
#[derive(Debug)]
pub(crate) struct Results {
    /// Processor, number of cores, and kernel.
    pub(crate) machine: String,
    /// The date of the run (UTC), such as 2026-11-20.
    pub(crate) date: String,
    /// Whether the run used smaller inputs and fewer rounds.
    pub(crate) quick: bool,
    /// The results of the suite.
    pub(crate) suite: Vec<Row>,
    /// The results of the tight loops.
    pub(crate) micro: Vec<Row>,
    /// The calls that profiles of threaded programs contain, compared with the calls made.
    pub(crate) exact: Vec<Check>,
    /// Build times, if they were measured.
    pub(crate) builds: Option<Builds>,
}
