//! Everything that the study measured.

use super::options::Options;
use super::{files, forests};
use holloway_tests::workload::Workload;

/// The results of the study.
#[derive(Debug)]
pub(super) struct Study {
    /// Processor, cores, kernel.
    pub(super) machine: String,
    pub(super) options: Options,
    pub(super) programs: Vec<Program>,
}

/// A program's figures.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) workload: &'static Workload,
    pub(super) trace: files::Figures,
    /// The numbers of hot subpaths, as `hot` counts them.
    pub(super) hot: Vec<Vec<usize>>,
    pub(super) forests: forests::Figures,
}
