//! One image in one process, whose streams are analyzed, and the counters of their words.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use holloway_abi::SAMPLE_WORDS;
use holloway_format::ProfileHead;

use crate::settings::Settings;
use crate::stream_stats::StreamStats;

/// One image in one process.
#[derive(Debug)]
pub(crate) struct Recording {
    /// Its raw profile.
    pub(crate) profile: PathBuf,
    /// The head of the profile.
    pub(crate) head: ProfileHead,
    /// How its streams are collected.
    pub(crate) settings: Settings,
    /// The earlier analysis of its words, if any.
    pub(crate) origin: Origin,
    /// Its words, by their fate.
    pub(crate) words: WordCounters,
}

/// The earlier analysis of a recording's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Nobody: a collector takes the words while the process runs.
    Live,
    /// A collector that is gone, or nobody. The remaining words are in the raw profile.
    Resumed,
}

/// Words of a recording's streams, by their fate. Many threads count.
#[derive(Debug, Default)]
pub(crate) struct WordCounters {
    /// Analyzed.
    pub(crate) analyzed: AtomicU64,
    /// Not in the sample.
    pub(crate) left_out: AtomicU64,
    /// Lost before they could be taken.
    pub(crate) lost: AtomicU64,
    /// Words of paths that threads appended. Counted when a recording is resumed.
    pub(crate) appended: AtomicU64,
    /// Appended words that were found again: analyzed now, in a file, or left out of a sample. The
    /// others of a resumed recording are lost.
    pub(crate) known: AtomicU64,
    /// Streams that went on after their analysis was stored with open activations.
    pub(crate) cut: AtomicU64,
}

impl Recording {
    /// One chunk in so many is analyzed. Timed paths are a sample already, or all of them are
    /// wanted.
    pub(crate) fn sample(&self) -> u64 {
        match self.head.kind.is_timed() {
            true => 1,
            false => self.settings.sample,
        }
    }

    /// Words of a path that ended.
    pub(crate) fn words_per_path(&self) -> u64 {
        match self.head.kind.is_timed() {
            true => SAMPLE_WORDS as u64,
            false => 1,
        }
    }

    /// Counts words that were lost before they could be taken.
    pub(crate) fn lose(&self, words: u64) {
        if words > 0 {
            self.words.lost.fetch_add(words, Ordering::Relaxed);
        }
    }

    /// Counts words of paths that threads appended.
    pub(crate) fn append(&self, words: u64) {
        self.words.appended.fetch_add(words, Ordering::Relaxed);
    }

    /// Counts a stream that goes on without its open activations. A timed path needs none.
    pub(crate) fn cut(&self) {
        if !self.head.kind.is_timed() {
            self.words.cut.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts words that were analyzed.
    pub(crate) fn analyze(&self, words: u64) {
        self.words.analyzed.fetch_add(words, Ordering::Relaxed);
    }

    /// Counts words that are not in the sample.
    pub(crate) fn leave_out(&self, words: u64) {
        self.words.left_out.fetch_add(words, Ordering::Relaxed);
    }

    /// Counts appended words that were stored before, at least in part.
    pub(crate) fn know(&self, words: u64) {
        self.words.known.fetch_add(words, Ordering::Relaxed);
    }

    /// The words by their fate. The losses of a resumed recording are known when all its words
    /// were read.
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
