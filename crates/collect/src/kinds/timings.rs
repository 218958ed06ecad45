//! The kinds `--collect variation` (times a few paths) and `--collect times` (times all paths). The
//! timings of all threads of a recording are merged.

use std::sync::{Arc, Mutex};

use holloway_abi::{Kind, SAMPLE_WORDS, Timing};
use holloway_analysis::stream::Words;
use holloway_analysis::variation::{self, Timings as PathTimes, VariationBuilder};
use holloway_format::damage::Sample;
use holloway_format::{
    Count, Cycles, Damage, Fact, FormatError, FunctionCounts, ImageMap, ProcessImage, ProfileHead,
    RawProfile, VariationHead, VariationProfile, VariationStats, read_variation, write_variation,
};

use super::single_file::{SingleFile, Sums};
use super::stream_kind::{InlineCounts, RingAnalysis, StreamData};
use crate::lock::locked;
use crate::recording::Recording;
use crate::side_files::extension;
use crate::stream_stats::StreamStats;

/// The implementation of both kinds.
pub(super) static TIMINGS: SingleFile<Timings> = SingleFile::new();

/// The merged timings of a recording.
#[derive(Default)]
pub(super) struct Timings {
    times: PathTimes,
    /// The timings in the file of an earlier collector.
    earlier: Option<VariationProfile>,
}

impl Sums for Timings {
    const EXTENSION: &'static str = extension(Kind::Variation);
    type Content = VariationProfile;
    type Ring = TimingsRing;

    fn resume(mut earlier: VariationProfile, recording: &Recording) -> Self {
        let stats = &mut earlier.head.stats;
        // The losses are computed again, from the number of all appended words.
        stats.lost_words = 0;
        let samples = [stats.samples.0, stats.damaged.0, stats.strangers];
        let samples = samples.into_iter().fold(0, u64::saturating_add);
        recording.count_known(samples.saturating_mul(SAMPLE_WORDS as u64));
        Self {
            earlier: Some(earlier),
            ..Self::default()
        }
    }

    fn ring(_recording: Arc<Recording>, words: Words, sums: Arc<Mutex<Self>>) -> TimingsRing {
        // A stream begins with the bias of the probes. If an earlier collector took the beginning,
        // the bias is in its file.
        let earlier_stats = locked(&sums)
            .earlier
            .as_ref()
            .map(|earlier| earlier.head.stats);
        let bias = earlier_stats.map_or(Cycles::ZERO, |stats| stats.least_bias);
        TimingsRing {
            builder: VariationBuilder::new(words).with_bias(bias),
            sums,
        }
    }

    fn take_inline_counts(&mut self, _raw: &RawProfile<'_>, _words: &Words) -> InlineCounts {
        InlineCounts::None
    }

    fn content(&self, head: &ProfileHead, words: &Words, stats: StreamStats) -> VariationProfile {
        let head = VariationHead {
            process: ProcessImage::from(head),
            kind: head.kind,
            stats: VariationStats {
                lost_words: stats.lost,
                ..VariationStats::default()
            },
        };
        let new_timings = variation::seal(head, words, &self.times);
        match self.earlier.clone() {
            Some(mut all) => {
                variation::join(&mut all, new_timings);
                all
            }
            None => new_timings,
        }
    }

    fn counts(content: &VariationProfile) -> Vec<FunctionCounts> {
        variation::paths(content).functions
    }

    fn damage(content: &VariationProfile) -> Vec<Damage> {
        let VariationStats {
            samples,
            begun,
            damaged,
            ..
        } = content.head.stats;
        let sample = match content.head.kind.traits().timing {
            Timing::Bursts => Some(Sample::TimedPaths {
                timed: samples,
                executed: begun,
            }),
            Timing::All | Timing::Untimed => None,
        };
        let damaged = (damaged > Count::ZERO).then_some(Fact::DamagedSamples { samples: damaged });
        let facts = sample.map(Fact::Sample).into_iter().chain(damaged);
        facts.map(Damage::of_streams).collect()
    }

    fn encode(content: &VariationProfile) -> Vec<u8> {
        write_variation(content)
    }

    fn decode(bytes: &[u8], map: &ImageMap) -> Result<VariationProfile, FormatError> {
        read_variation(bytes, map)
    }

    fn build_id(content: &VariationProfile) -> [u8; 16] {
        content.head.process.build_id
    }

    fn into_data(content: VariationProfile) -> StreamData {
        StreamData::Timings(content)
    }
}

/// The analysis of one ring.
pub(super) struct TimingsRing {
    builder: VariationBuilder,
    sums: Arc<Mutex<Timings>>,
}

impl RingAnalysis for TimingsRing {
    fn feed(&mut self, position: u64, words: &[u32]) {
        self.builder.feed(position, words);
    }

    fn hand_over(&mut self) {
        let times = self.builder.take();
        locked(&self.sums).times.merge(&times);
    }
}
