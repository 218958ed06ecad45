//! The fate of the words of streams: how many were analyzed, left out, or lost.

use std::collections::BTreeMap;

use holloway_format::damage::{MissingPart, MissingPaths, Percent, Sample};
use holloway_format::raw::Ring;
use holloway_format::{Damage, Fact};

/// Words of streams, by their fate.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamStats {
    /// Words that were analyzed.
    pub(crate) analyzed: u64,
    /// Words that are not in the sample.
    pub(crate) left_out: u64,
    /// Paths whose words were written over, dropped by their thread, or taken by a collector that
    /// stored nothing of them.
    pub(crate) lost: u64,
    /// Streams that went on after their analysis was stored with open activations.
    pub(crate) cut: u64,
}

impl StreamStats {
    /// Whether words are missing, or were left out.
    pub(crate) fn is_partial(self) -> bool {
        self.lost > 0 || self.left_out > 0
    }

    /// The facts about missing words, and the rings that miss them. For a trace, `written` tells
    /// how many paths of each thread are stored; for other kinds it is none. Then missing words
    /// have numbers, and paths have none.
    pub(crate) fn damage(
        self,
        rings: &[Ring<'_>],
        written: Option<&BTreeMap<u32, u64>>,
    ) -> Vec<Damage> {
        let Self {
            analyzed,
            left_out,
            lost,
            cut,
        } = self;
        let missing = (lost > 0).then(|| Fact::MissingPaths(missing_paths(rings, written, lost)));
        let sample = (left_out > 0).then(|| {
            let analyzed = Percent::of(analyzed, left_out);
            Fact::Sample(Sample::Streams { analyzed })
        });
        let parts = (cut > 0).then_some(Fact::StreamsInParts { cuts: cut });
        let facts = missing.into_iter().chain(sample).chain(parts);
        facts.map(Damage::of_streams).collect()
    }
}

/// Rings that are named; of more, only the number is given.
const NAMED: usize = 3;
/// Words that a thread begins with.
const BEGINNING: u64 = 2;

/// Which paths are missing. Their numbers among their threads' paths, if these account for all of
/// them; else the word from which on they are missing.
fn missing_paths(
    rings: &[Ring<'_>],
    written: Option<&BTreeMap<u32, u64>>,
    lost: u64,
) -> MissingPaths {
    let missing = rings.iter().map(|ring| Missing::new(ring, written?));
    let missing: Option<Vec<Missing>> = missing.collect();
    let is_all = |all: &Vec<Missing>| {
        let sum = |sum: u64, ring: &Missing| {
            let both = ring.unwritten.saturating_add(ring.dropped);
            sum.saturating_add(both)
        };
        all.iter().fold(0, sum) == lost
    };
    let mut parts: Vec<MissingPart> = match missing.filter(is_all) {
        Some(all) => all.iter().filter_map(Missing::part).collect(),
        None => rings.iter().filter_map(dropped_words).collect(),
    };
    let more_threads = parts.len().saturating_sub(NAMED) as u64;
    parts.truncate(NAMED);
    MissingPaths {
        paths: lost,
        parts,
        more_threads,
    }
}

/// The missing paths of a ring to which only one thread appended, and only paths.
struct Missing {
    thread: u32,
    /// Paths that are stored. The paths that follow were taken, but not stored.
    written: u64,
    unwritten: u64,
    /// Paths before the first that was dropped.
    kept: u64,
    dropped: u64,
}

impl Missing {
    fn new(ring: &Ring<'_>, written: &BTreeMap<u32, u64>) -> Option<Self> {
        let is_plain = ring.owners <= 1 && ring.controls == BEGINNING;
        if !is_plain || ring.left_out > 0 || ring.taken_holes > 0 {
            return None;
        }
        let paths = |at: u64| (at.saturating_sub(ring.origin) / 4).saturating_sub(BEGINNING);
        // Words that a collector took leave zeros.
        let taken = ring.words().take_while(|&word| word == 0).count() as u64;
        let taken = paths(ring.first().saturating_add(4 * taken).min(ring.end()));
        let written = written.get(&ring.tid).copied().unwrap_or(0);
        let kept = paths(ring.end());
        Some(Self {
            thread: ring.tid,
            written,
            unwritten: taken.checked_sub(written)?,
            kept,
            dropped: paths(ring.cursor) - kept,
        })
    }

    fn part(&self) -> Option<MissingPart> {
        (self.unwritten > 0 || self.dropped > 0).then_some(MissingPart::Paths {
            thread: self.thread,
            unwritten_from: self.written + 1,
            unwritten: self.unwritten,
            dropped_from: self.kept + 1,
            dropped: self.dropped,
        })
    }
}

/// The word from which on all of a ring's words are missing. Its threads' words count from 1.
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

    /// Numbers of a ring's words: all words, words that end no path, taken words, and kept words.
    #[derive(Clone, Copy)]
    struct Words {
        all: u64,
        controls: u64,
        taken: u64,
        kept: u64,
    }

    /// The sentences about the rings of threads 7, 8, …, which miss `lost` paths. `written` paths
    /// of each ring are stored.
    fn loss_sentences(lost: u64, rings: &[Words], written: Option<u64>) -> String {
        let head = ProfileHead {
            kind: Kind::Trace,
            ..ProfileHead::default()
        };
        let mut writer = RawWriter::new(head, PAGE - 64);
        for (tid, ring) in (7..).zip(rings) {
            let words = vec![5; ring.all as usize];
            let missing = (ring.kept < ring.all).then_some(CHUNK + 4 * ring.kept);
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
        let written = written.map(|paths| (7..).zip(vec![paths; rings.len()]).collect());
        let damage = stats.damage(&read, written.as_ref());
        let sentences: String = damage
            .into_iter()
            .map(|damage| damage.fact.to_string())
            .collect();
        match sentences.split_once("collector") {
            Some((_, which)) => which.to_owned(),
            None => sentences,
        }
    }

    #[test]
    fn where_a_thread_lost_its_collector_is_said() {
        let ring = |kept| Words {
            all: 10,
            controls: 4,
            taken: 0,
            kept,
        };
        assert_eq!(loss_sentences(0, &[ring(2)], Some(0)), "");
        let sentence = loss_sentences(8, &[ring(2)], Some(0));
        assert_eq!(sentence, "; of thread 7 all 8 words from its word 3 on");
        // Of the second nothing was dropped.
        let some = [2, 10, 3, 4, 5, 6].map(ring);
        let expect = "; of thread 7 all 8 words from its word 3 on; of thread 9 all 7 words from its word 4 on; of thread 10 all 6 words from its word 5 on; \
                      and some of 2 more threads";
        assert_eq!(loss_sentences(8, &some, Some(0)), expect);
        assert_eq!(loss_sentences(8, &[ring(10)], Some(0)), "");
        let thousands = Words {
            all: 3000,
            kept: 1000,
            ..ring(0)
        };
        let expect = "; of thread 7 all 2,000 words from its word 1,001 on";
        assert_eq!(loss_sentences(2000, &[thousands], Some(0)), expect);
    }

    /// Where a ring has a thread's beginning and paths, and nothing else.
    #[test]
    fn missing_paths_of_a_trace_have_numbers() {
        let ring = Words {
            all: 3000,
            controls: BEGINNING,
            taken: 1000 + BEGINNING,
            kept: 1500 + BEGINNING,
        };
        let dropped = 3000 - ring.kept;
        let check = |written: u64, expect: &str| {
            let lost = 1000 - written + dropped;
            assert_eq!(loss_sentences(lost, &[ring], Some(written)), expect);
        };
        let all = "from 1,501 on (1,498)";
        check(
            0,
            &format!("; of thread 7 its paths 1 to 1,000, and all {all}"),
        );
        check(999, &format!("; of thread 7 its path 1,000, and all {all}"));
        check(1000, &format!("; of thread 7 all its paths {all}"));
        let whole = Words {
            kept: ring.all,
            ..ring
        };
        let expect = "; of thread 7 its paths 999 to 1,000";
        assert_eq!(loss_sentences(2, &[whole], Some(998)), expect);
        // Another path is missing, from where is not known; words are not paths; paths stand
        // elsewhere too.
        let words = "; of thread 7 all 1,498 words from its word 1,503 on";
        assert_eq!(loss_sentences(dropped + 1, &[ring], Some(1000)), words);
        let caught = Words {
            controls: BEGINNING + 4,
            ..ring
        };
        assert_eq!(loss_sentences(dropped, &[caught], Some(1000)), words);
        assert_eq!(loss_sentences(dropped, &[ring], None), words);
    }
}
