//! Analyzes the streams of one image in one process, stores the results in side files, and seals
//! the profile.
//!
//! While the process runs, the worker that reads a ring analyzes the ring's words
//! ([`RingAnalysis`](crate::kinds::stream_kind::RingAnalysis)). It hands the results over to the
//! analysis of the process ([`ProcessAnalysis`]). When the process has ended,
//! [`ProcessStreams::seal`] stores the result in a side file. Then it replaces the raw profile by a
//! sealed profile, which contains the head, how often each path ran, and the losses.
//!
//! If sealing is interrupted, no word is counted twice: see [`side_files`](crate::side_files).

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
    /// `None` if the words cannot be analyzed, because there is no path map or the kind has no
    /// streams.
    analysis: Option<Analysis>,
    /// Whether the analysis continues the side files of an earlier collector.
    earlier: Earlier,
}

/// The analysis of a process.
struct Analysis {
    kind: &'static dyn StreamKind,
    process: Arc<dyn ProcessAnalysis>,
}

/// The result of analyzing a raw profile without sealing it.
pub(crate) struct RawResult {
    /// The analyzed streams.
    pub(crate) data: Option<StreamData>,
    /// The counts of paths, and the losses.
    pub(crate) profile: Profile,
}

impl ProcessStreams {
    /// Starts the analysis of a running process, whose raw profile is the file `profile`. `words`
    /// is `None` if there is no path map.
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

    /// Starts the analysis of a raw profile without a running collector. It continues the side
    /// files of an earlier collector, if there are any.
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

    /// Returns the recording.
    pub(crate) fn recording(&self) -> &Recording {
        &self.recording
    }

    /// Starts the stream of a ring. `thread` is the ring's owner until the first control word that
    /// names another owner.
    pub(crate) fn ring(&self, thread: u32) -> RingStream {
        let analysis = self.analysis.as_ref();
        let ring = analysis.map(|analysis| analysis.process.ring(thread));
        RingStream::new(Arc::clone(&self.recording), ring)
    }

    /// Analyzes the words that are still in a raw profile: in spools and in rings. Returns the
    /// damage of the spools.
    fn absorb(&self, raw: &RawProfile<'_>) -> Vec<Damage> {
        let had_collector = raw.header().collector != 0;
        let rings = raw.ring_words();
        let damage = Mutex::new(Vec::new());
        let next = AtomicUsize::new(0);
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..workers.min(rings.len()) {
                scope.spawn(|| {
                    while let Some(ring) = rings.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let ring_damage = self.absorb_ring(ring, had_collector);
                        locked(&damage).extend(ring_damage);
                    }
                });
            }
        });
        damage.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Analyzes the words of one ring. If the process `had_collector`, the collector may have taken
    /// words out of the ring.
    fn absorb_ring(&self, ring: &RingWords<'_>, had_collector: bool) -> Vec<Damage> {
        let mut damage = Vec::new();
        let recording = &self.recording;
        let head = ring.ring.as_ref();
        let mut stream = self.ring(head.map_or(0, |head| head.tid));
        let (mut next, mut known) = (None, 0);
        for piece in ring.pieces() {
            match piece {
                Ok(piece) => {
                    // A collector that was killed may have replaced words by 0 without recording
                    // that it took them.
                    let taken = match next {
                        None if had_collector => leading_zeros(&piece.words),
                        None | Some(_) => 0,
                    };
                    let words = &piece.words[taken..];
                    let position = piece.position + 4 * taken as u64;
                    let follows_taken_words =
                        next.is_none() && head.is_some_and(|head| head.origin < position);
                    let begins_stream = words.first().is_none_or(|&word| word == WORD_OWNER);
                    if follows_taken_words && self.has_earlier_part() && !begins_stream {
                        recording.count_cut();
                    }
                    let gap = next.map_or(0, |next| position.saturating_sub(next));
                    recording.count_lost(gap / 4);
                    known += path_words(words, recording.words_per_path());
                    stream.feed(position, words);
                    next = Some(position + 4 * words.len() as u64);
                }
                Err(piece_damage) => damage.push(piece_damage),
            }
        }
        stream.hand_over();
        self.count_appended(head, known);
        if let Some(head) = head {
            // The last words may be cut off in the file, and the thread may have dropped words.
            let cut_off = head.end().saturating_sub(next.unwrap_or(head.first()));
            let dropped = head.cursor.saturating_sub(head.end());
            recording.count_lost((cut_off + dropped) / 4);
        }
        damage
    }

    /// Returns whether the words of a raw profile may continue words that were analyzed before.
    fn has_earlier_part(&self) -> bool {
        match (self.recording.origin, self.earlier) {
            (Origin::Live, _) | (Origin::Resumed, Earlier::Files) => true,
            (Origin::Resumed, Earlier::Nothing) => false,
        }
    }

    /// Adds a ring's words to the statistics of a resumed recording: all words that its owners
    /// appended, the `known` words that were read now, and the words that `--sample` left out.
    fn count_appended(&self, head: Option<&Ring<'_>>, known: u64) {
        let recording = &self.recording;
        if recording.origin == Origin::Live {
            return;
        }
        let appended = head.map_or(known, Ring::appended);
        let left_out = head.map_or(0, |head| head.left_out.min(appended));
        // Holes are no losses, except for timed paths: a sample with a hole is lost.
        let holes = match recording.head.kind.is_timed() {
            true => 0,
            false => head.map_or(0, |head| head.taken_holes),
        };
        recording.count_left_out(left_out);
        recording.count_appended(appended);
        recording.count_known(known.saturating_add(left_out).saturating_add(holes));
    }

    /// Stores the current results in the first side file.
    ///
    /// # Errors
    /// If the run's directory cannot be written.
    pub(crate) fn keep(&self) -> Result<(), StoreError> {
        let analysis = self.analysis.as_ref();
        analysis.map_or(Ok(()), |analysis| analysis.process.keep().map(drop))
    }

    /// Closes the open side files, because no more words will be collected.
    ///
    /// # Errors
    /// If the run's directory cannot be written.
    pub(crate) fn close(&self) -> Result<(), StoreError> {
        let analysis = self.analysis.as_ref();
        analysis.map_or(Ok(()), |analysis| analysis.process.close())
    }

    /// Stores the final result of a process that has ended, and replaces its raw profile by a
    /// sealed profile. All its words must have been fed, or still be in the raw profile.
    ///
    /// # Errors
    /// If the run's directory cannot be read or written.
    pub(crate) fn seal(&self) -> Result<(), StoreError> {
        let Some(analysis) = &self.analysis else {
            return Ok(());
        };
        let path = &self.recording.profile;
        let _lock = hold(path, Access::Finish);
        let raw = read_regular(path).map_err(|source| StoreError::Read {
            path: path.clone(),
            source,
        })?;
        // The file is no raw profile if another process has sealed it meanwhile.
        let Ok(raw) = RawProfile::parse(&raw) else {
            return Ok(());
        };
        let process = &analysis.process;
        let mut stored_summary = None;
        if self.recording.origin == Origin::Live {
            stored_summary = process.keep()?;
            process.close()?;
        }
        let stored_stats = self.recording.stats();
        process.redirect(Destination::SecondFile)?;
        let damage = self.absorb(&raw);
        let has_inline_counts = process.take_inline_counts(&raw) == InlineCounts::Some;
        let has_changed = has_inline_counts
            || self.recording.origin == Origin::Resumed
            || self.recording.stats() != stored_stats;
        let summary = match stored_summary.filter(|_| !has_changed) {
            Some(summary) => summary,
            None => process.seal()?,
        };
        let profile = self.sealed_profile(&raw, summary, damage);
        write_atomically(path, &write_sealed(&profile))?;
        analysis.kind.files().rename_second(path);
        Ok(())
    }

    /// Returns the result, including the words that are still in the raw profile. Writes no file.
    ///
    /// # Errors
    /// If the analysis fails to write. It does not fail in practice, because it writes to memory.
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

    /// Makes the sealed profile: the head, counts, and facts about losses.
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
        let stats = self.recording.stats();
        let missing = stats.damage(raw.rings(), stored.as_ref(), profile.head.failure);
        profile.damage.extend(missing);
        // The lost paths of rings that dropped words are among `missing`. So these rings are not
        // counted as lost threads, too.
        let dropped = raw.rings().iter().filter(|ring| ring.missing.is_some());
        profile.head.lost = profile.head.lost.saturating_sub(dropped.count() as u64);
        profile
    }
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

/// Counts the zeros at the beginning: holes, and words that were taken.
fn leading_zeros(words: &[u32]) -> usize {
    words.iter().take_while(|&&word| word == 0).count()
}

/// Counts the words that belong to paths. A path has `words_per_path` words, and all except the
/// first are operands. A hole counts as a word of a path.
fn path_words(words: &[u32], words_per_path: u64) -> u64 {
    let words_of_path = |&word: &u32| match word {
        0 => 1,
        word if word & OPERAND == 0 => words_per_path,
        _ => 0,
    };
    words.iter().map(words_of_path).sum()
}
