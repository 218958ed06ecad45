//! Statistics about the words of streams: how many were analyzed, left out, or lost, and which
//! paths are missing.

use std::collections::BTreeMap;

use holloway_format::damage::{MissingPart, MissingPaths, Percent, Sample};
use holloway_format::raw::Ring;
use holloway_format::{Count, Damage, Fact, WriteFailure};

/// Statistics about the words of streams.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamStats {
    /// Words that were analyzed.
    pub(crate) analyzed: u64,
    /// Words that `--sample` left out.
    pub(crate) left_out: u64,
    /// Lost paths. Their words were overwritten, dropped by their thread, or taken by a collector
    /// that did not store their analysis.
    pub(crate) lost: u64,
    /// Streams that continued after their analysis was stored with open activations.
    pub(crate) cut: u64,
}

impl StreamStats {
    /// Returns whether words were lost or left out.
    pub(crate) fn is_partial(self) -> bool {
        self.lost > 0 || self.left_out > 0
    }

    /// Returns facts about lost and left-out words. For a trace, `stored` has the number of stored
    /// paths of each thread, so the facts can say which paths are missing. For other kinds,
    /// `stored` is `None`, and the facts say which words are missing. `failure` is the reason that
    /// the program recorded, if there is one.
    pub(crate) fn damage(
        self,
        rings: &[Ring<'_>],
        stored: Option<&BTreeMap<u32, Count>>,
        failure: Option<WriteFailure>,
    ) -> Vec<Damage> {
        let Self {
            analyzed,
            left_out,
            lost,
            cut,
        } = self;
        let missing = (lost > 0).then(|| {
            Fact::MissingPaths(MissingPaths {
                failure,
                ..missing_paths(rings, stored, lost)
            })
        });
        let sample = (left_out > 0).then(|| {
            let analyzed = Percent::of(analyzed, left_out);
            Fact::Sample(Sample::Streams { analyzed })
        });
        let parts = (cut > 0).then_some(Fact::StreamsInParts { cuts: cut });
        let facts = missing.into_iter().chain(sample).chain(parts);
        facts.map(Damage::of_streams).collect()
    }
}

/// The maximum number of rings in a fact. Only the number of the other rings is given.
const MAX_LISTED: usize = 3;
/// The number of words before the first path of a thread: [`WORD_OWNER`](holloway_abi::WORD_OWNER)
/// and its operand.
const WORDS_BEFORE_PATHS: u64 = 2;

/// Finds out which paths are missing. If the missing paths of all rings are known and add up to
/// `lost`, the result has their numbers. Otherwise it has, for each ring, the word from which all
/// words are missing.
fn missing_paths(
    rings: &[Ring<'_>],
    stored: Option<&BTreeMap<u32, Count>>,
    lost: u64,
) -> MissingPaths {
    let of_rings = rings.iter().map(|ring| RingLosses::new(ring, stored?));
    let of_rings: Option<Vec<RingLosses>> = of_rings.collect();
    let is_complete = |losses: &Vec<RingLosses>| {
        let add = |sum: u64, ring: &RingLosses| {
            sum.saturating_add(ring.not_stored.saturating_add(ring.dropped))
        };
        losses.iter().fold(0, add) == lost
    };
    let mut parts: Vec<MissingPart> = match of_rings.filter(is_complete) {
        Some(losses) => losses.iter().filter_map(RingLosses::part).collect(),
        None => rings.iter().filter_map(dropped_words).collect(),
    };
    let more_threads = parts.len().saturating_sub(MAX_LISTED) as u64;
    parts.truncate(MAX_LISTED);
    MissingPaths {
        paths: lost,
        parts,
        more_threads,
        failure: None,
    }
}

/// The lost paths of a ring with a single owner, which appended no control word after its
/// beginning. The paths are, in order: `stored` paths, `not_stored` paths, paths that are still in
/// the ring, and `dropped` paths.
struct RingLosses {
    thread: u32,
    /// The number of paths in the stored trace.
    stored: u64,
    /// The number of paths that a collector took but did not store.
    not_stored: u64,
    /// The number of paths before the first dropped path.
    before_dropped: u64,
    /// The number of paths that the thread dropped.
    dropped: u64,
}

impl RingLosses {
    fn new(ring: &Ring<'_>, stored: &BTreeMap<u32, Count>) -> Option<Self> {
        let has_only_paths = ring.owners <= 1 && ring.controls == WORDS_BEFORE_PATHS;
        if !has_only_paths || ring.left_out > 0 || ring.taken_holes > 0 {
            return None;
        }
        let paths_before = |position: u64| {
            let words = position.saturating_sub(ring.origin) / 4;
            words.saturating_sub(WORDS_BEFORE_PATHS)
        };
        // A collector replaces the words that it takes by zeros.
        let zeros = ring.words().take_while(|&word| word == 0).count() as u64;
        let taken = paths_before(ring.first().saturating_add(4 * zeros).min(ring.end()));
        let stored = stored.get(&ring.tid).map_or(0, |paths| paths.0);
        let before_dropped = paths_before(ring.end());
        Some(Self {
            thread: ring.tid,
            stored,
            not_stored: taken.checked_sub(stored)?,
            before_dropped,
            dropped: paths_before(ring.cursor) - before_dropped,
        })
    }

    fn part(&self) -> Option<MissingPart> {
        (self.not_stored > 0 || self.dropped > 0).then_some(MissingPart::Paths {
            thread: self.thread,
            unwritten_from: self.stored + 1,
            unwritten: self.not_stored,
            dropped_from: self.before_dropped + 1,
            dropped: self.dropped,
        })
    }
}

/// Returns the first word of a ring that its thread dropped, and the number of dropped words. Words
/// are numbered from 1.
fn dropped_words(ring: &Ring<'_>) -> Option<MissingPart> {
    Some(MissingPart::Words {
        thread: ring.tid,
        earlier_threads: ring.owners.saturating_sub(1),
        from: ring.dropped_from()?,
        words: (ring.cursor - ring.end()) / 4,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use holloway_abi::{CHUNK, Kind, PAGE};
    use holloway_format::{ProfileHead, RawProfile};
    use holloway_testkit::raw::RawWriter;

    use super::*;

    /// The numbers of a ring's words.
    #[derive(Clone, Copy)]
    struct Words {
        all: u64,
        /// Control words and operands.
        controls: u64,
        /// Words that a collector took.
        taken: u64,
        /// Words before the first dropped word.
        before_dropped: u64,
    }

    /// The sentences about the rings of threads 7, 8, …, which lost `lost` paths. `stored` paths of
    /// each ring are stored.
    fn loss_sentences(lost: u64, rings: &[Words], stored: Option<u64>) -> String {
        let head = ProfileHead {
            kind: Kind::Trace,
            ..ProfileHead::default()
        };
        let mut writer = RawWriter::new(head, PAGE - 64);
        for (tid, ring) in (7..).zip(rings) {
            let words = vec![5; ring.all as usize];
            let missing =
                (ring.before_dropped < ring.all).then_some(CHUNK + 4 * ring.before_dropped);
            writer.ring(tid, CHUNK, &words, missing);
        }
        let bytes = writer.finish();
        let raw = RawProfile::parse(&bytes).unwrap();
        let mut read = raw.rings().to_vec();
        assert_eq!(read.len(), rings.len());
        for (ring, words) in read.iter_mut().zip(rings) {
            ring.controls = words.controls;
            ring.taken += 4 * words.taken;
        }
        let stats = StreamStats {
            lost,
            ..StreamStats::default()
        };
        let stored = stored.map(|paths| (7..).zip(vec![Count(paths); rings.len()]).collect());
        let damage = stats.damage(&read, stored.as_ref(), None);
        let sentences: String = damage
            .into_iter()
            .map(|damage| damage.fact.to_string())
            .collect();
        match sentences.split_once("collector") {
            Some((_, losses)) => losses.to_owned(),
            None => sentences,
        }
    }

    #[test]
    fn the_first_dropped_word_of_each_ring_is_reported() {
        let ring = |before_dropped| Words {
            all: 10,
            controls: 4,
            taken: 0,
            before_dropped,
        };
        assert_eq!(loss_sentences(0, &[ring(2)], Some(0)), "");
        let sentence = loss_sentences(8, &[ring(2)], Some(0));
        assert_eq!(sentence, "; of thread 7 all 8 words from its word 3 on");
        // The second ring lost no words.
        let some = [2, 10, 3, 4, 5, 6].map(ring);
        let expect = "; of thread 7 all 8 words from its word 3 on; of thread 9 all 7 words from its word 4 on; of thread 10 all 6 words from its word 5 on; \
                      and some of 2 more threads";
        assert_eq!(loss_sentences(8, &some, Some(0)), expect);
        assert_eq!(loss_sentences(8, &[ring(10)], Some(0)), "");
        let thousands = Words {
            all: 3000,
            before_dropped: 1000,
            ..ring(0)
        };
        let expect = "; of thread 7 all 2,000 words from its word 1,001 on";
        assert_eq!(loss_sentences(2000, &[thousands], Some(0)), expect);
    }

    /// The ring has no control words except for the beginning of its thread.
    #[test]
    fn missing_paths_of_a_trace_have_numbers() {
        let ring = Words {
            all: 3000,
            controls: WORDS_BEFORE_PATHS,
            taken: 1000 + WORDS_BEFORE_PATHS,
            before_dropped: 1500 + WORDS_BEFORE_PATHS,
        };
        let dropped = 3000 - ring.before_dropped;
        let check = |stored: u64, expect: &str| {
            let lost = 1000 - stored + dropped;
            assert_eq!(loss_sentences(lost, &[ring], Some(stored)), expect);
        };
        let all = "from 1,501 on (1,498)";
        check(
            0,
            &format!("; of thread 7 its paths 1 to 1,000, and all {all}"),
        );
        check(999, &format!("; of thread 7 its path 1,000, and all {all}"));
        check(1000, &format!("; of thread 7 all its paths {all}"));
        let nothing_dropped = Words {
            before_dropped: ring.all,
            ..ring
        };
        let expect = "; of thread 7 its paths 999 to 1,000";
        assert_eq!(loss_sentences(2, &[nothing_dropped], Some(998)), expect);
        // In these cases, only words have numbers. First, it is unknown where one more lost path
        // was.
        let words = "; of thread 7 all 1,498 words from its word 1,503 on";
        assert_eq!(loss_sentences(dropped + 1, &[ring], Some(1000)), words);
        // The ring has other control words.
        let caught = Words {
            controls: WORDS_BEFORE_PATHS + 4,
            ..ring
        };
        assert_eq!(loss_sentences(dropped, &[caught], Some(1000)), words);
        // The kind does not store the number of paths.
        assert_eq!(loss_sentences(dropped, &[ring], None), words);
    }
}
