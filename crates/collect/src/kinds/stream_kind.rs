//! The host's part of a kind of collection: the traits that each file of `kinds/` implements.

use std::collections::BTreeMap;
use std::sync::Arc;

use holloway_analysis::stream::Words;
use holloway_format::{
    Damage, FormatError, FunctionCounts, ImageMap, LoopsProfile, Profile, ProfileHead, RawProfile,
    VariationProfile,
};

use crate::error::StoreError;
use crate::recording::Recording;
use crate::side_files::SideFiles;

/// A kind whose woven code counts in counters: its profile holds everything.
pub(crate) trait CounterKind: Sync {
    /// Reads a raw or a sealed profile.
    ///
    /// # Errors
    /// The bytes are no profile of this kind.
    fn read(&self, bytes: &[u8], map: &ImageMap) -> Result<Profile, FormatError>;
}

/// A kind whose woven code appends to streams, which are analyzed on the host.
pub(crate) trait StreamKind: Sync {
    /// The files beside the profile.
    fn files(&self) -> SideFiles;

    /// Starts the analysis of a recording's streams.
    fn start(&self, recording: Arc<Recording>, words: Words) -> Arc<dyn ProcessAnalysis>;

    /// Continues the analysis after a collector that is gone, with what its files hold.
    fn resume(&self, recording: Arc<Recording>, words: Words) -> Resumed;

    /// Reads the contents of the files of a process whose profile is `head`. `contents` are the
    /// files that count.
    fn read(&self, contents: Vec<Vec<u8>>, map: &ImageMap) -> Option<StreamData>;

    /// Reads which process and build a file belongs to.
    ///
    /// # Errors
    /// The file is damaged from its beginning.
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

/// Whether an earlier analysis left files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Earlier {
    /// It left none.
    Nothing,
    /// It left files.
    Files,
}

/// The process and the build that a file beside a profile belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The build.
    pub(crate) build_id: [u8; 16],
    /// The process's id.
    pub(crate) process: u32,
}

/// The analysis of all streams of one recording. Workers share it.
pub(crate) trait ProcessAnalysis: Send + Sync {
    /// Starts the analysis of one ring. The words before the first change of owners are `thread`'s.
    fn ring(&self, thread: u32) -> Box<dyn RingAnalysis>;

    /// Takes the counts that threads made inline, behind the words of their rings. They replace
    /// the counts that were taken before.
    fn take_inline_counts(&self, raw: &RawProfile<'_>) -> InlineCounts;

    /// Stores the results so far, while the process runs on. Gives the summary, if it is
    /// known before the end.
    ///
    /// # Errors
    /// The run's directory cannot be written.
    fn keep(&self) -> Result<Option<Summary>, StoreError>;

    /// Ends the files that are open. Nothing more is fed, unless it goes to another
    /// [destination](Self::redirect).
    ///
    /// # Errors
    /// The run's directory cannot be written.
    fn close(&self) -> Result<(), StoreError>;

    /// From now on, the words of the raw profile are fed, and their analysis goes elsewhere.
    ///
    /// # Errors
    /// The run's directory cannot be written.
    fn redirect(&self, destination: Destination) -> Result<(), StoreError>;

    /// Stores the final result, which counts beside the sealed profile.
    ///
    /// # Errors
    /// The run's directory cannot be written.
    fn seal(&self) -> Result<Summary, StoreError>;

    /// The result, without storing it.
    fn result(&self) -> (StreamData, Summary);

    /// Paths that are stored in earlier files, by thread, if the kind knows that.
    fn stored_paths(&self) -> Option<BTreeMap<u32, u64>>;
}

/// The analysis of one ring, by the worker that reads the ring.
pub(crate) trait RingAnalysis: Send {
    /// Feeds words. The first word is at position `at`.
    fn feed(&mut self, at: u64, words: &[u32]);

    /// Hands everything over to the recording's analysis. More words may follow.
    fn hand_over(&mut self);
}

/// Where the analysis of a raw profile's words goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// The second file beside the profile.
    SecondFile,
    /// Memory: nothing is stored.
    Memory,
}

/// Whether threads counted anything inline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InlineCounts {
    /// They did not.
    None,
    /// They did.
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
    /// How often paths followed one another.
    Loops(LoopsProfile),
    /// Files of traces.
    Trace(Vec<Vec<u8>>),
    /// How long paths took.
    Timings(VariationProfile),
}
