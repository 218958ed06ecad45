//! The streams of a run that questions are asked of.

use std::cmp::Reverse;

use holloway_analysis::Note;
use holloway_analysis::note::Account;
use holloway_analysis::trace::code::Code;
use holloway_analysis::trace::{Checked, Extent, Trace};
use holloway_format::trace::TracePosition;

/// Streams of a run.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// Those that are asked.
    pub streams: &'a [Stream<'a>],
    /// What could not be read of the run, or was not recorded.
    pub damage: &'a [Note],
    /// The processes whose traces were held against their profiles, for
    /// [`Question::Verify`](super::Question::Verify).
    pub accounts: &'a [Account],
}

/// What one thread did in one image of one process.
#[derive(Clone, Copy)]
pub struct Stream<'a> {
    /// File name of the program or shared object.
    pub image: &'a str,
    /// Process id.
    pub process: u32,
    /// Thread id.
    pub thread: u32,
    /// Which it is, from 1, where several threads had this id one after the other.
    pub nth: Option<u32>,
    /// The functions of the image.
    pub code: &'a Code<'a>,
    /// The events. Where they were only checked, the grammar is empty.
    pub trace: &'a Trace,
    /// The extent of the events, if not all were read. Then [`Question::Cat`](super::Question::Cat)
    /// is the only question that may be asked.
    pub part: Option<Extent>,
    /// Bytes of the trace's blocks in its file, if it comes from one.
    pub file_bytes: Option<u64>,
    /// Whether the file's blocks stand for the recorded events, if that was checked. Then
    /// [`Question::Verify`](super::Question::Verify) is the only question that may be asked.
    pub checked: Option<&'a Checked>,
    /// What could not be read and is missing here.
    pub damage: &'a [Note],
}

impl Stream<'_> {
    /// Number of events.
    pub(crate) fn events(&self) -> u64 {
        self.part().events
    }

    /// What was read.
    pub(crate) fn part(&self) -> Extent {
        self.part.unwrap_or_else(|| Extent {
            before: TracePosition::default(),
            events: match self.checked {
                Some(checked) => checked.events,
                None => self.trace.grammar.len(),
            },
        })
    }

    /// The terminals from an event that was read on.
    pub(crate) fn terminals_from(&self, position: u64) -> impl Iterator<Item = u32> + '_ {
        let start = self.part().before.events;
        self.trace
            .grammar
            .expand_from(position.saturating_sub(start))
    }

    /// The thread as options name it: `32173`, `32173#2`.
    pub(crate) fn thread_name(&self) -> String {
        match self.nth {
            Some(nth) => format!("{}#{nth}", self.thread),
            None => self.thread.to_string(),
        }
    }

    /// Image, process and thread, in words.
    pub(crate) fn title(&self) -> String {
        let Stream { image, process, .. } = self;
        format!("{image}, process {process}, thread {}", self.thread_name())
    }
}

/// Indices of the `most` longest streams, longest first. If there are no more than `most`, of all
/// in the order given.
pub(crate) fn longest(streams: &[Stream<'_>], most: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..streams.len()).collect();
    if streams.len() > most {
        places.sort_by_key(|&place| Reverse(streams[place].trace.grammar.len()));
        places.truncate(most);
    }
    places
}
