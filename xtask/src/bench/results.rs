//! Everything that one run of the benchmarks measured.

use super::builds::Builds;
use super::exact::Check;
use super::rounds::Row;

/// The results of a run.
#[derive(Debug)]
pub(crate) struct Results {
    /// Processor, cores, kernel.
    pub(crate) machine: String,
    /// The day of the run (UTC), as in 2026-11-20.
    pub(crate) date: String,
    /// Whether inputs were small and rounds few.
    pub(crate) quick: bool,
    /// The suite.
    pub(crate) suite: Vec<Row>,
    /// The tight loops.
    pub(crate) micro: Vec<Row>,
    /// Counted calls of threads, compared with the number of calls made.
    pub(crate) exact: Vec<Check>,
    /// Build times, if they were measured.
    pub(crate) builds: Option<Builds>,
}
