//! The data of a page besides the counts.

use super::baseline::Baseline;
use crate::phases::Phases;
use crate::trace::Stream;

/// The data of a page besides the counts.
#[derive(Clone, Default)]
pub struct Subject<'a> {
    /// The name of the run.
    pub title: String,
    /// Parts of the run that the page does not have, in sentences.
    pub notes: Vec<String>,
    /// The document of [`crate::json::loops`], if the run has loops.
    pub loops: Option<String>,
    /// The document of [`crate::json::variation`], if the run has times of paths.
    pub variation: Option<String>,
    /// The document of [`crate::json::samples`], if the run has samples.
    pub samples: Option<String>,
    /// The traces of the run's threads.
    pub traces: &'a [Stream<'a>],
    /// The phases of the longest trace.
    pub phases: Option<Phases<'a>>,
    /// The run with which the page compares its run.
    pub baseline: Option<Baseline<'a>>,
}
