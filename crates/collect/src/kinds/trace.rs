//! The kind `--collect trace`: records all paths of each thread in order. The trace is compressed
//! to grammars, and written block by block.
//!
//! A collector writes the file `.hwt` while the process runs. Sealing writes the words that are
//! still in the raw profile into a second file, `.rest.hwt`.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, OnceLock};

use holloway_abi::Kind;
use holloway_analysis::block_addresses::AddressLookup;
use holloway_analysis::stream::Words;
use holloway_analysis::trace::{Limits, Recorded, TraceBuilder};
use holloway_format::trace::TraceFile;
use holloway_format::{Count, Damage, Fact, FormatError, ImageMap, ProfileHead, RawProfile};

use super::stream_kind::{
    Destination, Earlier, InlineCounts, Owner, ProcessAnalysis, Resumed, RingAnalysis, StreamData,
    StreamKind, Summary,
};
use super::trace_writer::{Target, ThreadStream, TraceOutput};
use crate::addresses::block_addresses;
use crate::error::StoreError;
use crate::live_phases::RingPhases;
use crate::lock::locked;
use crate::memory::Share;
use crate::recording::{Origin, Recording};
use crate::side_files::{ProfileState, SecondFile, SideFiles, extension};
use crate::thread_traces::{self, PathCounts, TraceSelection};

/// The only value of [`Trace`].
pub(super) static TRACE: Trace = Trace;

const FILES: SideFiles = SideFiles {
    extension: extension(Kind::Trace),
    second: SecondFile::Continuation,
};

/// Bytes of memory per symbol of a growing trace, if paths follow one another at random.
const SYMBOL_BYTES: u64 = 64;

/// The kind that records all paths in order.
pub(super) struct Trace;

impl StreamKind for Trace {
    fn files(&self) -> SideFiles {
        FILES
    }

    fn start(&self, recording: Arc<Recording>, words: Words) -> Arc<dyn ProcessAnalysis> {
        Arc::new(TraceStreams::new(recording, words))
    }

    fn resume(&self, recording: Arc<Recording>, words: Words) -> Resumed {
        let files = FILES.read(&recording.profile, ProfileState::Raw);
        let earlier = match files.is_empty() {
            true => Earlier::Nothing,
            false => Earlier::Files,
        };
        let analysis = Arc::new(TraceStreams::new(recording, words));
        Resumed { analysis, earlier }
    }

    fn read(&self, contents: Vec<Vec<u8>>, _map: &ImageMap) -> Option<StreamData> {
        Some(StreamData::Trace(contents))
    }

    fn owner(
        &self,
        bytes: &[u8],
        _map: &ImageMap,
        _head: &ProfileHead,
    ) -> Result<Owner, FormatError> {
        let head = TraceFile::read(bytes)?.head;
        Ok(Owner {
            build_id: head.build_id,
            process: head.process,
        })
    }
}

/// The traces of one recording.
struct TraceStreams {
    recording: Arc<Recording>,
    words: Words,
    /// The addresses of blocks, for phases. Read when the first ring needs them.
    addresses: OnceLock<AddressLookup>,
    shared: Arc<Mutex<SharedTraces>>,
}

/// The state that the rings of a recording share.
struct SharedTraces {
    output: TraceOutput,
    /// How often each path ran in the recorded events.
    counts: PathCounts,
    /// The number of paths of each thread in the files of an earlier collector.
    stored: BTreeMap<u32, Count>,
}

impl TraceStreams {
    fn new(recording: Arc<Recording>, words: Words) -> Self {
        let shared = SharedTraces {
            output: TraceOutput::new(Target::FirstFile),
            counts: PathCounts::new(),
            stored: BTreeMap::new(),
        };
        Self {
            recording,
            words,
            addresses: OnceLock::new(),
            shared: Arc::new(Mutex::new(shared)),
        }
    }

    /// The detector of phases for a ring of a running process, if the user asked for phases.
    fn phases(&self, thread: u32) -> Option<RingPhases> {
        let notify = self.recording.settings.phases?;
        if self.recording.origin != Origin::Live {
            return None;
        }
        let map = self.words.image();
        let addresses = self
            .addresses
            .get_or_init(|| block_addresses(&self.recording.head, map));
        let words = self.words.clone();
        Some(RingPhases::new(words, addresses, thread, notify))
    }

    /// Adds the counts in the files of an earlier collector. Returns the damage of the files.
    fn add_stored(&self, files: &[Vec<u8>]) -> Vec<Damage> {
        let traces = thread_traces::read(files, &self.recording.head, TraceSelection::Check);
        let counts = thread_traces::path_counts(&traces);
        let paths = counts
            .values()
            .fold(Count::ZERO, |sum, count| sum.saturating_add(*count));
        self.recording.count_known(paths.0);
        self.recording.count_analyzed(paths.0);
        let mut shared = locked(&self.shared);
        thread_traces::add(&mut shared.counts, counts);
        for trace in &traces {
            let paths = shared.stored.entry(trace.thread).or_default();
            *paths = paths.saturating_add(trace.paths());
        }
        // All threads of a file report the file's damage, so equal facts are listed once, sorted by
        // their text.
        let facts = traces.into_iter().flat_map(|trace| trace.damage);
        let facts: BTreeMap<String, Fact> = facts.map(|fact| (fact.to_string(), fact)).collect();
        facts.into_values().map(Damage::of_streams).collect()
    }

    fn stored_files(&self) -> Vec<Vec<u8>> {
        FILES.read(&self.recording.profile, ProfileState::Raw)
    }

    fn summary(&self, damage: Vec<Damage>) -> Summary {
        let counts = &locked(&self.shared).counts;
        Summary {
            functions: thread_traces::by_function(counts, self.words.image()),
            damage,
        }
    }

    fn write_error(&self, source: io::Error) -> StoreError {
        StoreError::WriteTrace {
            profile: self.recording.profile.clone(),
            source,
        }
    }
}

impl ProcessAnalysis for TraceStreams {
    fn ring(&self, thread: u32) -> Box<dyn RingAnalysis> {
        let share = self.recording.settings.memory.share();
        let limits = limits(share.capacity(SYMBOL_BYTES));
        Box::new(TraceRing {
            builder: TraceBuilder::new(self.words.clone(), limits),
            phases: self.phases(thread),
            stream: ThreadStream { thread, id: None },
            recording: Arc::clone(&self.recording),
            shared: Arc::clone(&self.shared),
            share,
        })
    }

    fn take_inline_counts(&self, _raw: &RawProfile<'_>) -> InlineCounts {
        InlineCounts::None
    }

    fn keep(&self) -> Result<Option<Summary>, StoreError> {
        // Each block is written as soon as it is complete.
        Ok(None)
    }

    fn close(&self) -> Result<(), StoreError> {
        let finished = locked(&self.shared).output.finish();
        finished.map(drop).map_err(|error| self.write_error(error))
    }

    fn redirect(&self, destination: Destination) -> Result<(), StoreError> {
        let target = match destination {
            Destination::SecondFile => {
                let removed = FILES.remove_second(&self.recording.profile);
                removed.map_err(|error| self.write_error(error))?;
                Target::SecondFile
            }
            Destination::Memory => Target::Memory,
        };
        locked(&self.shared).output = TraceOutput::new(target);
        Ok(())
    }

    fn seal(&self) -> Result<Summary, StoreError> {
        self.close()?;
        let damage = match self.recording.origin {
            Origin::Live => Vec::new(),
            Origin::Resumed => self.add_stored(&self.stored_files()),
        };
        Ok(self.summary(damage))
    }

    fn result(&self) -> (StreamData, Summary) {
        let mut files = self.stored_files();
        let damage = self.add_stored(&files);
        let finished = locked(&self.shared).output.finish();
        files.extend(finished.ok().flatten());
        (StreamData::Trace(files), self.summary(damage))
    }

    fn stored_paths(&self) -> Option<BTreeMap<u32, Count>> {
        Some(locked(&self.shared).stored.clone())
    }
}

/// The analysis of one ring.
struct TraceRing {
    builder: TraceBuilder,
    /// Finds phases while the program runs (`--phases`).
    phases: Option<RingPhases>,
    stream: ThreadStream,
    recording: Arc<Recording>,
    shared: Arc<Mutex<SharedTraces>>,
    share: Share,
}

impl TraceRing {
    fn record(&mut self, recorded: Vec<Recorded>) {
        if !recorded.is_empty() {
            let recording = &self.recording;
            let head = thread_traces::head(&recording.head);
            let output = &mut locked(&self.shared).output;
            output.record(&recording.profile, FILES, &head, recorded, &mut self.stream);
        }
    }
}

impl RingAnalysis for TraceRing {
    fn feed(&mut self, position: u64, words: &[u32]) {
        self.builder
            .set_limits(limits(self.share.capacity(SYMBOL_BYTES)));
        self.builder.feed(position, words);
        let recorded = self.builder.take();
        self.record(recorded);
        if let Some(phases) = &mut self.phases {
            phases.feed(&self.recording.head, position, words);
        }
    }

    fn hand_over(&mut self) {
        let recorded = self.builder.flush();
        self.record(recorded);
        let counts = self.builder.counts();
        thread_traces::add(&mut locked(&self.shared).counts, counts);
    }
}

/// Returns the limits of a trace builder if `fitting` symbols fit in its share of the memory. The
/// default limits are never exceeded, because more symbols would hardly improve the compression.
/// The symbols of blocks that are being built or written need additional memory.
fn limits(fitting: usize) -> Limits {
    let default = Limits::default();
    let pieces = default.pieces.min(fitting);
    Limits {
        block: default.block.min(pieces / 8),
        pieces,
    }
}
