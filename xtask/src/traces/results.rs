//! The results of `cargo xtask study traces`.

use super::options::Options;
use super::{files, forests};
use holloway_tests::workload::Workload;

/// The results of the study.
#[derive(Debug)]
pub(super) struct Study {
    /// Processor, number of cores, and kernel.
    pub(super) machine: String,
    pub(super) options: Options,
    pub(super) programs: Vec<Program>,
}

/// The results for a program.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) workload: &'static Workload,
    pub(super) trace: files::Figures,
    /// The numbers of hot subpaths, as `hot` counts them.
    pub(super) hot: Vec<Vec<usize>>,
    pub(super) forests: forests::Figures,
}
