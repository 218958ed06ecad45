//! A recording: the streams of one image in one process, with statistics about their words.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use holloway_abi::SAMPLE_WORDS;
use holloway_format::ProfileHead;

use crate::settings::Settings;
use crate::stream_stats::StreamStats;

/// The streams of one image in one process.
#[derive(Debug)]
pub(crate) struct Recording {
    /// The raw profile.
    pub(crate) profile: PathBuf,
    /// The head of the profile.
    pub(crate) head: ProfileHead,
    /// The settings for collecting the streams.
    pub(crate) settings: Settings,
    /// How the words reach the analysis.
    pub(crate) origin: Origin,
    /// Statistics about the words.
    pub(crate) words: WordCounters,
}

/// How the words of a recording reach the analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// This collector takes all words while the process runs.
    Live,
    /// The words are read from the raw profile. An earlier collector may have taken some of the
    /// words, and stored their analysis.
    Resumed,
}

/// Statistics about the words of a recording. Several threads add to them.
#[derive(Debug, Default)]
pub(crate) struct WordCounters {
    /// Words that were analyzed.
    pub(crate) analyzed: AtomicU64,
    /// Words that `--sample` left out.
    pub(crate) left_out: AtomicU64,
    /// Words that were lost before the collector could take them.
    pub(crate) lost: AtomicU64,
    /// Words of paths that threads appended. Counted only for a resumed recording.
    pub(crate) appended: AtomicU64,
    /// Appended words whose fate is known: they are analyzed now, an earlier collector stored their
    /// analysis, or `--sample` left them out. The other appended words of a resumed recording are
    /// lost.
    pub(crate) known: AtomicU64,
    /// Streams that continued after their analysis was stored with open activations.
    pub(crate) cut: AtomicU64,
}

impl Recording {
    /// Returns N if one of every N chunks is analyzed. All words of timed paths are analyzed:
    /// bursts are already a sample, and the kind times measures all paths.
    pub(crate) fn sample(&self) -> u64 {
        match self.head.kind.is_timed() {
            true => 1,
            false => self.settings.sample,
        }
    }

    /// Returns how many words each path appends.
    pub(crate) fn words_per_path(&self) -> u64 {
        match self.head.kind.is_timed() {
            true => SAMPLE_WORDS as u64,
            false => 1,
        }
    }

    /// Counts words that were lost before the collector could take them.
    pub(crate) fn count_lost(&self, words: u64) {
        if words > 0 {
            self.words.lost.fetch_add(words, Ordering::Relaxed);
        }
    }

    /// Counts words of paths that threads appended.
    pub(crate) fn count_appended(&self, words: u64) {
        self.words.appended.fetch_add(words, Ordering::Relaxed);
    }

    /// Counts a stream that continues without its open activations. For timed paths, this is no
    /// loss, because their analysis does not need activations.
    pub(crate) fn count_cut(&self) {
        if !self.head.kind.is_timed() {
            self.words.cut.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts words that were analyzed.
    pub(crate) fn count_analyzed(&self, words: u64) {
        self.words.analyzed.fetch_add(words, Ordering::Relaxed);
    }

    /// Counts words that `--sample` leaves out.
    pub(crate) fn count_left_out(&self, words: u64) {
        self.words.left_out.fetch_add(words, Ordering::Relaxed);
    }

    /// Counts appended words whose fate is known ([`WordCounters::known`]).
    pub(crate) fn count_known(&self, words: u64) {
        self.words.known.fetch_add(words, Ordering::Relaxed);
    }

    /// Returns the statistics. For a resumed recording, the losses are correct only after all its
    /// words have been read.
    pub(crate) fn stats(&self) -> StreamStats {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let words = &self.words;
        let lost = match self.origin {
            Origin::Live => read(&words.lost),
            Origin::Resumed => read(&words.appended).saturating_sub(read(&words.known)),
        };
        StreamStats {
            analyzed: read(&words.analyzed),
            left_out: read(&words.left_out),
            lost: lost.div_ceil(self.words_per_path()),
            cut: read(&words.cut),
        }
    }
}
