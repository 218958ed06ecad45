//! `--collect variation` and `--collect times`: how long paths took, a few of them or all, all
//! threads of a recording together.

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

/// The kind.
pub(super) static TIMINGS: SingleFile<Timings> = SingleFile::new();

/// The timings of the streams that were handed over.
#[derive(Default)]
pub(super) struct Timings {
    times: PathTimes,
    /// The timings that an earlier collector stored.
    earlier: Option<VariationProfile>,
}

impl Sums for Timings {
    const EXTENSION: &'static str = extension(Kind::Variation);
    type Content = VariationProfile;
    type Ring = TimingsRing;

    fn resume(mut earlier: VariationProfile, recording: &Recording) -> Self {
        let stats = &mut earlier.head.stats;
        // Known anew, from all that was appended.
        stats.lost_words = 0;
        let samples = [stats.samples.0, stats.damaged.0, stats.strangers];
        let samples = samples.into_iter().fold(0, u64::saturating_add);
        recording.know(samples.saturating_mul(SAMPLE_WORDS as u64));
        Self {
            earlier: Some(earlier),
            ..Self::default()
        }
    }

    fn ring(_recording: Arc<Recording>, words: Words, sums: Arc<Mutex<Self>>) -> TimingsRing {
        // The probes' bias as the earlier part told it, for streams whose beginning is gone.
        let earlier = locked(&sums)
            .earlier
            .as_ref()
            .map(|earlier| earlier.head.stats);
        let bias = earlier.map_or(Cycles::ZERO, |stats| stats.least_bias);
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
        let now = variation::seal(head, words, &self.times);
        match self.earlier.clone() {
            Some(mut earlier) => {
                variation::join(&mut earlier, now);
                earlier
            }
            None => now,
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

/// The timings of one ring's streams.
pub(super) struct TimingsRing {
    builder: VariationBuilder,
    sums: Arc<Mutex<Timings>>,
}

impl RingAnalysis for TimingsRing {
    fn feed(&mut self, at: u64, words: &[u32]) {
        self.builder.feed(at, words);
    }

    fn hand_over(&mut self) {
        let times = self.builder.take();
        locked(&self.sums).times.merge(&times);
    }
}
