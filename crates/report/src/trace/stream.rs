//! The streams of a run, about which questions are asked.

use std::cmp::Reverse;

use holloway_analysis::Interrupt;
use holloway_analysis::Note;
use holloway_analysis::RunProfile;
use holloway_analysis::note::Account;
use holloway_analysis::trace::code::Code;
use holloway_analysis::trace::{Checked, Extent, Trace};
use holloway_format::trace::TracePosition;

/// The streams of a run, with the run's damage.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// The streams that the question is about.
    pub streams: &'a [Stream<'a>],
    /// Damage of the run: data that could not be read or was not recorded.
    pub damage: &'a [Note],
    /// Differences between the traces and the profile of each process, for
    /// [`Question::Verify`](super::Question::Verify).
    pub accounts: &'a [Account],
    /// The signal that ended the run early, if one did.
    pub interrupt: Option<Interrupt>,
    /// The run's profile, for the CPU time: JSON answers and the text of
    /// [`Question::Stats`](super::Question::Stats) have it. `None` leaves it out.
    pub profile: Option<&'a RunProfile>,
}

/// The trace of one thread in one image of one process.
#[derive(Clone, Copy)]
pub struct Stream<'a> {
    /// File name of the program or shared object.
    pub image: &'a str,
    /// Process id.
    pub process: u32,
    /// Thread id.
    pub thread: u32,
    /// Number of the thread among the threads that had this id one after the other, from 1. `None`
    /// if only one thread had it.
    pub nth: Option<u32>,
    /// The functions of the image.
    pub code: &'a Code<'a>,
    /// The events. The grammar is empty if the events were only checked.
    pub trace: &'a Trace,
    /// The extent of the events that were read, if they are only a part of the trace. Then only
    /// [`Question::Cat`](super::Question::Cat) has an answer.
    pub part: Option<Extent>,
    /// Bytes of the trace's blocks in its file, if the trace comes from a file.
    pub file_bytes: Option<u64>,
    /// The result of the check that the file's blocks generate the recorded events, if this check
    /// was made. Then only [`Question::Verify`](super::Question::Verify) has an answer.
    pub checked: Option<&'a Checked>,
    /// Damage of this stream: events that could not be read.
    pub damage: &'a [Note],
}

impl Stream<'_> {
    /// Number of events that were read or checked.
    pub(crate) fn events(&self) -> u64 {
        self.part().events
    }

    /// The extent of the events that were read.
    pub(crate) fn part(&self) -> Extent {
        self.part.unwrap_or_else(|| Extent {
            before: TracePosition::default(),
            events: match self.checked {
                Some(checked) => checked.events.0,
                None => self.trace.grammar.len(),
            },
        })
    }

    /// The terminals from the event at `position` on. This event must be in the part that was read.
    pub(crate) fn terminals_from(&self, position: u64) -> impl Iterator<Item = u32> + '_ {
        let start = self.part().before.events;
        self.trace
            .grammar
            .expand_from(position.saturating_sub(start))
    }

    /// The thread as command line options name it: `32173`, `32173#2`.
    pub(crate) fn thread_name(&self) -> String {
        match self.nth {
            Some(nth) => format!("{}#{nth}", self.thread),
            None => self.thread.to_string(),
        }
    }

    /// The stream's image, process, and thread, in words.
    pub(crate) fn title(&self) -> String {
        let Stream { image, process, .. } = self;
        format!("{image}, process {process}, thread {}", self.thread_name())
    }
}

/// Returns the indices of the `limit` longest streams, longest first. If there are no more than
/// `limit` streams, returns all indices in ascending order.
pub(crate) fn longest(streams: &[Stream<'_>], limit: usize) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..streams.len()).collect();
    if streams.len() > limit {
        indices.sort_by_key(|&index| Reverse(streams[index].trace.grammar.len()));
        indices.truncate(limit);
    }
    indices
}
