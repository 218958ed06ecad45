//! The traits that the kinds of profile implement ([`CounterKind`], [`StreamKind`]), and the traits
//! of the analysis of streams.
//!
//! The analysis has two levels. A [`RingAnalysis`] analyzes the words of one ring. It hands its
//! results over to the [`ProcessAnalysis`] of the recording, which all rings share.

use std::collections::BTreeMap;
use std::sync::Arc;

use holloway_analysis::stream::Words;
use holloway_format::{
    Count, Damage, FormatError, FunctionCounts, ImageMap, LoopsProfile, Profile, ProfileHead,
    RawProfile, VariationProfile,
};

use crate::error::StoreError;
use crate::recording::Recording;
use crate::side_files::SideFiles;

/// A kind whose woven code counts in counters. The profile contains all counts.
pub(crate) trait CounterKind: Sync {
    /// Reads a raw or a sealed profile.
    ///
    /// # Errors
    /// If the bytes are no profile of this kind.
    fn read(&self, bytes: &[u8], map: &ImageMap) -> Result<Profile, FormatError>;
}

/// A kind whose woven code appends to streams. Holloway analyzes the streams.
pub(crate) trait StreamKind: Sync {
    /// Returns the names of the kind's side files.
    fn files(&self) -> SideFiles;

    /// Starts the analysis of a recording's streams.
    fn start(&self, recording: Arc<Recording>, words: Words) -> Arc<dyn ProcessAnalysis>;

    /// Continues the analysis of a collector that has ended, from the contents of its side files.
    fn resume(&self, recording: Arc<Recording>, words: Words) -> Resumed;

    /// Decodes `contents`, the bytes of the valid side files of a profile.
    fn read(&self, contents: Vec<Vec<u8>>, map: &ImageMap) -> Option<StreamData>;

    /// Reads which process and build a side file belongs to.
    ///
    /// # Errors
    /// If the beginning of the file is damaged.
    fn owner(&self, bytes: &[u8], map: &ImageMap, head: &ProfileHead)
    -> Result<Owner, FormatError>;
}

/// An analysis that continues an earlier one.
pub(crate) struct Resumed {
    /// The analysis.
    pub(crate) analysis: Arc<dyn ProcessAnalysis>,
    /// The analysis that it continues.
    pub(crate) earlier: Earlier,
}

/// Whether an earlier analysis stored side files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Earlier {
    /// No side files exist.
    Nothing,
    /// Side files exist.
    Files,
}

/// The process and the build that a side file belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The build.
    pub(crate) build_id: [u8; 16],
    /// The process id.
    pub(crate) process: u32,
}

/// The analysis of all streams of one recording. Workers share it.
pub(crate) trait ProcessAnalysis: Send + Sync {
    /// Starts the analysis of one ring. `thread` is the ring's owner until the first control word
    /// that names another owner.
    fn ring(&self, thread: u32) -> Box<dyn RingAnalysis>;

    /// Takes the inline counts from the ring counters. They replace the inline counts that were
    /// taken before.
    fn take_inline_counts(&self, raw: &RawProfile<'_>) -> InlineCounts;

    /// Stores the current results in the first side file, while the process continues. Returns the
    /// summary, if the kind can compute it before the end.
    ///
    /// # Errors
    /// If the run's directory cannot be written.
    fn keep(&self) -> Result<Option<Summary>, StoreError>;

    /// Closes the open side files. After this, no more words are fed, except after a call of
    /// [`redirect`](Self::redirect).
    ///
    /// # Errors
    /// If the run's directory cannot be written.
    fn close(&self) -> Result<(), StoreError>;

    /// Changes the destination of the analysis. The caller then feeds the words that are still in
    /// the raw profile.
    ///
    /// # Errors
    /// If the run's directory cannot be written.
    fn redirect(&self, destination: Destination) -> Result<(), StoreError>;

    /// Stores the final result in the second side file, which becomes valid with the sealed
    /// profile.
    ///
    /// # Errors
    /// If the run's directory cannot be written.
    fn seal(&self) -> Result<Summary, StoreError>;

    /// Returns the final result without storing it.
    fn result(&self) -> (StreamData, Summary);

    /// Returns the number of paths of each thread in the side files of an earlier collector. `None`
    /// if the kind does not store this number.
    fn stored_paths(&self) -> Option<BTreeMap<u32, Count>>;
}

/// The analysis of one ring, by the worker that reads the ring.
pub(crate) trait RingAnalysis: Send {
    /// Analyzes words. `position` is the position of the first word.
    fn feed(&mut self, position: u64, words: &[u32]);

    /// Hands the results so far over to the recording's analysis. More words may follow.
    fn hand_over(&mut self);
}

/// The destination of the analysis of a raw profile's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// The second side file.
    SecondFile,
    /// Memory: no file is written.
    Memory,
}

/// Whether a raw profile has inline counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InlineCounts {
    /// All inline counts are 0.
    None,
    /// Some inline counts are not 0.
    Some,
}

/// Counts and facts about a recording's streams, for the sealed profile.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summary {
    /// How often each path ran, or is estimated to have run.
    pub(crate) functions: Vec<FunctionCounts>,
    /// Damage, and facts that limit the meaning of the counts.
    pub(crate) damage: Vec<Damage>,
}

/// The analyzed streams of one recording.
#[derive(Clone, Debug)]
pub(crate) enum StreamData {
    /// Slab forests: how often paths followed one another.
    Loops(LoopsProfile),
    /// The contents of the trace files.
    Trace(Vec<Vec<u8>>),
    /// The durations of paths.
    Timings(VariationProfile),
}
