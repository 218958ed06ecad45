//! The streams of one image in one process: analyzed while the process runs, stored beside its
//! profile, and sealed.
//!
//! While the process runs, the events of a thread are with the worker that reads its ring
//! ([`RingAnalysis`](crate::kinds::stream_kind::RingAnalysis)). From there they go to the analysis
//! of the process ([`ProcessAnalysis`]). When the process has ended, the result is stored beside
//! the profile ([`ProcessStreams::seal`]), and a sealed profile replaces the raw one: its head, how
//! often each path ran, and its losses.
//!
//! No word counts twice, wherever sealing is interrupted: the analysis of words that the raw
//! profile still has goes to files that count only beside a sealed profile, so both change places
//! in one step.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use holloway_abi::{OPERAND, WORD_OWNER};
use holloway_analysis::stream::Words;
use holloway_format::raw::{Ring, RingWords};
use holloway_format::{Damage, ImageMap, Profile, ProfileHead, RawProfile, write_sealed};

use crate::error::StoreError;
use crate::files::{read_regular, write_atomically};
use crate::kinds::stream_kind::{
    Destination, Earlier, InlineCounts, ProcessAnalysis, StreamData, StreamKind, Summary,
};
use crate::kinds::stream_kind_of;
use crate::lock::{Access, hold, locked};
use crate::recording::{Origin, Recording, WordCounters};
use crate::ring_stream::RingStream;
use crate::settings::Settings;

/// The streams of one image in one process.
pub(crate) struct ProcessStreams {
    recording: Arc<Recording>,
    /// None: nothing can be analyzed, for want of a path map, or because the kind has no streams.
    analysis: Option<Analysis>,
    /// Whether files of an earlier collector are continued.
    earlier: Earlier,
}

/// The analysis of a process.
struct Analysis {
    kind: &'static dyn StreamKind,
    process: Arc<dyn ProcessAnalysis>,
}

/// The result of analyzing a raw profile that stays as it is.
pub(crate) struct RawResult {
    /// The analyzed streams.
    pub(crate) data: Option<StreamData>,
    /// Counts of paths, and losses.
    pub(crate) profile: Profile,
}

impl ProcessStreams {
    /// The streams of the raw profile at `profile`, taken while the process runs. Without a path
    /// map, `words` is none.
    pub(crate) fn live(
        profile: &Path,
        head: &ProfileHead,
        words: Option<Words>,
        settings: Settings,
    ) -> Self {
        let recording = recording(profile, head, settings, Origin::Live);
        let analysis = words
            .zip(stream_kind_of(head.kind))
            .map(|(words, kind)| Analysis {
                kind,
                process: kind.start(Arc::clone(&recording), words),
            });
        Self {
            recording,
            analysis,
            earlier: Earlier::Nothing,
        }
    }

    /// The streams of a raw profile without a live collector, continuing the files of an earlier
    /// one.
    pub(crate) fn resume(
        profile: &Path,
        head: &ProfileHead,
        map: &Arc<ImageMap>,
        settings: Settings,
    ) -> Self {
        let recording = recording(profile, head, settings, Origin::Resumed);
        let mut earlier = Earlier::Nothing;
        let analysis = stream_kind_of(head.kind).map(|kind| {
            let words = Words::new(map);
            let resumed = kind.resume(Arc::clone(&recording), words);
            earlier = resumed.earlier;
            Analysis {
                kind,
                process: resumed.analysis,
            }
        });
        Self {
            recording,
            analysis,
            earlier,
        }
    }

    /// The recording.
    pub(crate) fn recording(&self) -> &Recording {
        &self.recording
    }

    /// The stream of a ring. The words before the first change of owners are `thread`'s.
    pub(crate) fn ring(&self, thread: u32) -> RingStream {
        let analysis = self.analysis.as_ref();
        let ring = analysis.map(|analysis| analysis.process.ring(thread));
        RingStream::new(Arc::clone(&self.recording), ring)
    }

    /// Analyzes the words that a raw profile still has: in spools and in rings.
    fn absorb(&self, raw: &RawProfile<'_>) -> Vec<Damage> {
        let taker = match raw.header().collector {
            0 => Taker::Nobody,
            _ => Taker::Collector,
        };
        let rings = raw.ring_words();
        let damage = Mutex::new(Vec::new());
        let next = AtomicUsize::new(0);
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..workers.min(rings.len()) {
                scope.spawn(|| {
                    while let Some(ring) = rings.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let lost = self.absorb_ring(ring, taker);
                        locked(&damage).extend(lost);
                    }
                });
            }
        });
        damage.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn absorb_ring(&self, ring: &RingWords<'_>, taker: Taker) -> Vec<Damage> {
        let mut damage = Vec::new();
        let recording = &self.recording;
        let head = ring.ring.as_ref();
        let mut stream = self.ring(head.map_or(0, |head| head.tid));
        let (mut next, mut known) = (None, 0);
        for piece in ring.pieces() {
            match piece {
                Ok(piece) => {
                    // A killed collector may have taken words without saying so: their places are
                    // 0.
                    let taken = match (taker, next) {
                        (Taker::Collector, None) => zeros(&piece.words),
                        (Taker::Collector, Some(_)) | (Taker::Nobody, _) => 0,
                    };
                    let words = &piece.words[taken..];
                    let at = piece.at + 4 * taken as u64;
                    let continues = next.is_none() && head.is_some_and(|head| head.origin < at);
                    let begins = words.first().is_none_or(|&word| word == WORD_OWNER);
                    if continues && self.has_earlier_part() && !begins {
                        recording.cut();
                    }
                    let gap = next.map_or(0, |next| at.saturating_sub(next));
                    recording.lose(gap / 4);
                    known += path_words(words, recording.words_per_path());
                    stream.feed(at, words);
                    next = Some(at + 4 * words.len() as u64);
                }
                Err(lost) => damage.push(lost),
            }
        }
        stream.hand_over();
        self.count_appended(head, known);
        if let Some(head) = head {
            // Cut off, and dropped.
            let missing = head.end().saturating_sub(next.unwrap_or(head.first()));
            recording.lose((missing + head.cursor.saturating_sub(head.end())) / 4);
        }
        damage
    }

    /// Whether the words of a raw profile may continue words that were analyzed before.
    fn has_earlier_part(&self) -> bool {
        match (self.recording.origin, self.earlier) {
            (Origin::Live, _) | (Origin::Resumed, Earlier::Files) => true,
            (Origin::Resumed, Earlier::Nothing) => false,
        }
    }

    /// Adds a ring's words to the statistics: all words that its threads appended, the `known` words
    /// that were read, and the words that `--sample` left out.
    fn count_appended(&self, head: Option<&Ring<'_>>, known: u64) {
        let recording = &self.recording;
        if recording.origin == Origin::Live {
            return;
        }
        let appended = head.map_or(known, Ring::appended);
        let left_out = head.map_or(0, |head| head.left_out.min(appended));
        // A timed path that lacks a word is lost.
        let holes = match recording.head.kind.is_timed() {
            true => 0,
            false => head.map_or(0, |head| head.taken_holes),
        };
        recording.leave_out(left_out);
        recording.append(appended);
        recording.know(known.saturating_add(left_out).saturating_add(holes));
    }

    /// Stores the results so far beside the raw profile.
    ///
    /// # Errors
    /// The run's directory cannot be written.
    pub(crate) fn keep(&self) -> Result<(), StoreError> {
        let analysis = self.analysis.as_ref();
        analysis.map_or(Ok(()), |analysis| analysis.process.keep().map(drop))
    }

    /// Ends the files that are open: nothing more is collected.
    ///
    /// # Errors
    /// The run's directory cannot be written.
    pub(crate) fn close(&self) -> Result<(), StoreError> {
        let analysis = self.analysis.as_ref();
        analysis.map_or(Ok(()), |analysis| analysis.process.close())
    }

    /// The process has ended, and all its words are here or in the raw profile: stores the result,
    /// and replaces the raw profile by a sealed one.
    ///
    /// # Errors
    /// The run's directory cannot be read or written.
    pub(crate) fn seal(&self) -> Result<(), StoreError> {
        let Some(analysis) = &self.analysis else {
            return Ok(());
        };
        let path = &self.recording.profile;
        let _alone = hold(path, Access::Finish);
        let raw = read_regular(path).map_err(|source| StoreError::Read {
            path: path.clone(),
            source,
        })?;
        // Another process may have sealed it meanwhile.
        let Ok(raw) = RawProfile::parse(&raw) else {
            return Ok(());
        };
        let process = &analysis.process;
        let mut kept = None;
        if self.recording.origin == Origin::Live {
            kept = process.keep()?;
            process.close()?;
        }
        let taken = self.recording.stats();
        process.redirect(Destination::SecondFile)?;
        let damage = self.absorb(&raw);
        let has_inline = process.take_inline_counts(&raw) == InlineCounts::Some;
        let has_more = has_inline
            || self.recording.origin == Origin::Resumed
            || self.recording.stats() != taken;
        let summary = match kept.filter(|_| !has_more) {
            Some(kept) => kept,
            None => process.seal()?,
        };
        let profile = self.sealed_profile(&raw, summary, damage);
        write_atomically(path, &write_sealed(&profile))?;
        analysis.kind.files().rename_second(path);
        Ok(())
    }

    /// The result, including the words that the raw profile still has. Nothing is stored.
    ///
    /// # Errors
    /// None in practice: memory is the destination.
    pub(crate) fn into_result(self, raw: &RawProfile<'_>) -> Result<RawResult, StoreError> {
        let process = self.analysis.as_ref().map(|analysis| &analysis.process);
        if let Some(process) = process {
            process.redirect(Destination::Memory)?;
        }
        let damage = self.absorb(raw);
        let (data, summary) = match process {
            Some(process) => {
                process.take_inline_counts(raw);
                let (data, summary) = process.result();
                (Some(data), summary)
            }
            None => (None, Summary::default()),
        };
        let profile = self.sealed_profile(raw, summary, damage);
        Ok(RawResult { data, profile })
    }

    /// The sealed profile: counts, and facts about losses.
    fn sealed_profile(
        &self,
        raw: &RawProfile<'_>,
        summary: Summary,
        damage: Vec<Damage>,
    ) -> Profile {
        let mut profile = Profile::from_head(raw.header().profile.clone());
        profile.functions = summary.functions;
        profile.damage.extend(summary.damage);
        profile.damage.extend_from_slice(raw.damage());
        profile.damage.extend(damage);
        let analysis = self.analysis.as_ref();
        let stored = analysis.and_then(|analysis| analysis.process.stored_paths());
        let missing = self.recording.stats().damage(raw.rings(), stored.as_ref());
        profile.damage.extend(missing);
        // The paths of rings that dropped words are counted, so the rings need no mention.
        let dropped = raw.rings().iter().filter(|ring| ring.missing.is_some());
        profile.head.lost = profile.head.lost.saturating_sub(dropped.count() as u64);
        profile
    }
}

/// The processes that may have taken words out of a raw profile's rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taker {
    Nobody,
    Collector,
}

fn recording(
    profile: &Path,
    head: &ProfileHead,
    settings: Settings,
    origin: Origin,
) -> Arc<Recording> {
    Arc::new(Recording {
        profile: profile.to_owned(),
        head: head.clone(),
        settings,
        origin,
        words: WordCounters::default(),
    })
}

/// Number of places before the first word that were never written, or are free again.
fn zeros(words: &[u32]) -> usize {
    words.iter().take_while(|&&word| word == 0).count()
}

/// Number of these words that belong to paths. A path has `words_per_path` words; all but the first
/// are operands. A place that was never written counts as a word of a path.
fn path_words(words: &[u32], words_per_path: u64) -> u64 {
    let words_of_path = |&word: &u32| match word {
        0 => 1,
        word if word & OPERAND == 0 => words_per_path,
        _ => 0,
    };
    words.iter().map(words_of_path).sum()
}
