//! How long the paths of one image took in one process, all threads together.

use std::path::Path;

use holloway_analysis::stream::Words;
use holloway_analysis::variation::{self, Timings as Sums};
use holloway_format::{
    ImageMap, ProcessImage, ProfileHead, VariationHead, VariationProfile, VariationStats,
    read_variation,
};

use super::tally::Tally;
use crate::images;

/// Extension of timings.
pub(crate) const TIMINGS: &str = "hwv";
/// The same with what the raw profile still had when it was sealed: it counts, in place of the other, from then on.
pub(crate) const SEALED_TIMINGS: &str = "sealed.hwv";

/// The timings of the streams, as far as they were read.
#[derive(Default)]
pub(crate) struct Timings {
    sums: Sums,
    /// What was written down before.
    earlier: Option<VariationProfile>,
}

/// What lies beside a profile, a raw or a sealed one.
pub(crate) fn read(profile: &Path, is_sealed: bool, map: &ImageMap) -> Option<VariationProfile> {
    let read = |extension| images::read_regular(&profile.with_extension(extension)).ok();
    let sealed = is_sealed.then(|| read(SEALED_TIMINGS)).flatten();
    read_variation(&sealed.or_else(|| read(TIMINGS))?, map).ok()
}

/// The profile is sealed: what was made when it was gets the usual name.
pub(crate) fn settle(profile: &Path) {
    let [from, to] = [SEALED_TIMINGS, TIMINGS].map(|extension| profile.with_extension(extension));
    std::fs::rename(from, to).ok();
}

impl Timings {
    /// Goes on with what lies beside a profile.
    pub(crate) fn resume(profile: &Path, map: &ImageMap) -> Self {
        let mut earlier = read(profile, false, map);
        if let Some(earlier) = &mut earlier {
            earlier.head.stats.lost_words = 0; // known anew, from all that was appended
        }
        Self {
            earlier,
            ..Self::default()
        }
    }

    /// Whether nothing was made yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.sums.is_empty() && self.earlier.is_none()
    }

    /// Samples of which something was made before, or that were left out.
    pub(crate) fn known(&self) -> u64 {
        let earlier = self.earlier.as_ref();
        let stats = earlier.map(|earlier| earlier.head.stats);
        stats.map_or(0, |stats| {
            let all = [stats.samples, stats.damaged, stats.strangers];
            all.into_iter().fold(0, u64::saturating_add)
        })
    }

    /// The probes' bias as it was told before, for streams whose beginning is gone.
    pub(crate) fn bias(&self) -> u64 {
        let earlier = self.earlier.as_ref();
        earlier.map_or(0, |earlier| earlier.head.stats.least_bias)
    }

    /// Adds what was read of a stream.
    pub(crate) fn add(&mut self, more: &Sums) {
        self.sums.merge(more);
    }

    /// The timings of the process that `head` is of.
    pub(crate) fn profile(
        &self,
        head: &ProfileHead,
        words: &Words,
        tally: Tally,
    ) -> VariationProfile {
        let head = VariationHead {
            process: ProcessImage::from(head),
            kind: head.kind,
            stats: VariationStats {
                lost_words: tally.lost,
                ..VariationStats::default()
            },
        };
        let now = variation::seal(head, words, &self.sums);
        match self.earlier.clone() {
            Some(mut earlier) => {
                variation::join(&mut earlier, now);
                earlier
            }
            None => now,
        }
    }
}
