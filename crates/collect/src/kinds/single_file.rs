//! The common part of the kinds whose side file contains sums over all streams: loops and timings.
//!
//! A collector stores the file when the program ends. Sealing stores the file again if more words
//! were appended after that.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::{Arc, Mutex};

use holloway_analysis::stream::Words;
use holloway_format::{
    Count, Damage, FormatError, FunctionCounts, ImageMap, ProfileHead, RawProfile,
};

use super::stream_kind::{
    Destination, Earlier, InlineCounts, Owner, ProcessAnalysis, Resumed, RingAnalysis, StreamData,
    StreamKind, Summary,
};
use crate::error::StoreError;
use crate::files::write_atomically;
use crate::lock::locked;
use crate::recording::Recording;
use crate::side_files::{ProfileState, SecondFile, SideFiles};
use crate::stream_stats::StreamStats;

/// The sums over a recording's streams.
pub(crate) trait Sums: Default + Send + 'static {
    /// The extension of the file.
    const EXTENSION: &'static str;
    /// The decoded content of the file.
    type Content: Clone;
    /// The analysis of one ring, which adds to the sums.
    type Ring: RingAnalysis + 'static;

    /// Makes sums that continue the sums `earlier` in a file. Adds the words in the file to the
    /// statistics of the resumed recording.
    fn resume(earlier: Self::Content, recording: &Recording) -> Self;

    /// Starts the analysis of one ring.
    fn ring(recording: Arc<Recording>, words: Words, sums: Arc<Mutex<Self>>) -> Self::Ring;

    /// Takes the inline counts from the ring counters. They replace the inline counts that were
    /// taken before.
    fn take_inline_counts(&mut self, raw: &RawProfile<'_>, words: &Words) -> InlineCounts;

    /// Returns the current content for the file.
    fn content(&self, head: &ProfileHead, words: &Words, stats: StreamStats) -> Self::Content;

    /// Returns how often each path ran, or is estimated to have run.
    fn counts(content: &Self::Content) -> Vec<FunctionCounts>;

    /// Returns damage, and facts that limit the meaning of the counts.
    fn damage(content: &Self::Content) -> Vec<Damage>;

    /// Encodes the file.
    fn encode(content: &Self::Content) -> Vec<u8>;

    /// Decodes a file.
    ///
    /// # Errors
    /// If the bytes are no file of this kind, or belong to another image.
    fn decode(bytes: &[u8], map: &ImageMap) -> Result<Self::Content, FormatError>;

    /// Returns the build that the file belongs to.
    fn build_id(content: &Self::Content) -> [u8; 16];

    /// Converts the content for readers of the run.
    fn into_data(content: Self::Content) -> StreamData;
}

/// The implementation of a kind with the sums `S`.
pub(crate) struct SingleFile<S>(PhantomData<fn() -> S>);

impl<S> SingleFile<S> {
    /// Makes the implementation.
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }
}

/// The analysis of one recording's streams.
struct SummedStreams<S> {
    recording: Arc<Recording>,
    words: Words,
    sums: Arc<Mutex<S>>,
}

/// Returns the names of the side files.
fn files<S: Sums>() -> SideFiles {
    SideFiles {
        extension: S::EXTENSION,
        second: SecondFile::Replacement,
    }
}

impl<S: Sums> StreamKind for SingleFile<S> {
    fn files(&self) -> SideFiles {
        files::<S>()
    }

    fn start(&self, recording: Arc<Recording>, words: Words) -> Arc<dyn ProcessAnalysis> {
        Arc::new(SummedStreams {
            recording,
            words,
            sums: Arc::new(Mutex::new(S::default())),
        })
    }

    fn resume(&self, recording: Arc<Recording>, words: Words) -> Resumed {
        let contents = files::<S>().read(&recording.profile, ProfileState::Raw);
        let first = contents.first();
        let decoded = first.and_then(|bytes| S::decode(bytes, words.image()).ok());
        let earlier = match decoded {
            Some(_) => Earlier::Files,
            None => Earlier::Nothing,
        };
        let sums = decoded.map(|content| S::resume(content, &recording));
        let analysis = Arc::new(SummedStreams {
            recording,
            words,
            sums: Arc::new(Mutex::new(sums.unwrap_or_default())),
        });
        Resumed { analysis, earlier }
    }

    fn read(&self, contents: Vec<Vec<u8>>, map: &ImageMap) -> Option<StreamData> {
        let content = S::decode(contents.first()?, map).ok()?;
        Some(S::into_data(content))
    }

    fn owner(
        &self,
        bytes: &[u8],
        map: &ImageMap,
        head: &ProfileHead,
    ) -> Result<Owner, FormatError> {
        let content = S::decode(bytes, map)?;
        Ok(Owner {
            build_id: S::build_id(&content),
            process: head.pid,
        })
    }
}

impl<S: Sums> SummedStreams<S> {
    fn content(&self) -> S::Content {
        let recording = &self.recording;
        locked(&self.sums).content(&recording.head, &self.words, recording.stats())
    }

    fn store(&self, file: &Path) -> Result<Summary, StoreError> {
        let content = self.content();
        write_atomically(file, &S::encode(&content))?;
        Ok(summary::<S>(&content))
    }
}

fn summary<S: Sums>(content: &S::Content) -> Summary {
    Summary {
        functions: S::counts(content),
        damage: S::damage(content),
    }
}

impl<S: Sums> ProcessAnalysis for SummedStreams<S> {
    fn ring(&self, _thread: u32) -> Box<dyn RingAnalysis> {
        let (recording, sums) = (Arc::clone(&self.recording), Arc::clone(&self.sums));
        Box::new(S::ring(recording, self.words.clone(), sums))
    }

    fn take_inline_counts(&self, raw: &RawProfile<'_>) -> InlineCounts {
        locked(&self.sums).take_inline_counts(raw, &self.words)
    }

    fn keep(&self) -> Result<Option<Summary>, StoreError> {
        self.store(&files::<S>().first(&self.recording.profile))
            .map(Some)
    }

    fn close(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn redirect(&self, _destination: Destination) -> Result<(), StoreError> {
        // No file is open: `keep` and `seal` write whole files.
        Ok(())
    }

    fn seal(&self) -> Result<Summary, StoreError> {
        self.store(&files::<S>().second(&self.recording.profile))
    }

    fn result(&self) -> (StreamData, Summary) {
        let content = self.content();
        let summary = summary::<S>(&content);
        (S::into_data(content), summary)
    }

    fn stored_paths(&self) -> Option<BTreeMap<u32, Count>> {
        None
    }
}
