//! A thread of a run whose branches a report is about.

use holloway_analysis::{Note, RunProfile};

use crate::trace::Stream;

/// A thread of a run, with what a reader must know about the run.
#[derive(Clone, Copy)]
pub struct Thread<'a> {
    /// The thread's stream.
    pub stream: &'a Stream<'a>,
    /// Number of other streams of the run that were chosen. They are not shown.
    pub other_streams: usize,
    /// Damage of the run.
    pub damage: &'a [Note],
    /// The run's counts: its CPU time, and the signal that ended the run early, if one did.
    pub profile: Option<&'a RunProfile>,
}
