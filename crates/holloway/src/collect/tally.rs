//! What became of the words of streams.

use std::collections::BTreeMap;

use holloway_format::raw::Ring;
use holloway_format::{Damage, DamagedFile};
use holloway_report::{SAMPLE, SAMPLED, grouped, plural};

/// Words of streams, by what became of them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Fed to the analysis.
    pub(crate) analysed: u64,
    /// Not of the sample.
    pub(crate) left_out: u64,
    /// Written over, dropped by their thread, or taken by a collector that wrote nothing of it.
    pub(crate) lost: u64,
    /// Streams that went on after what was made of them was handed over with activations open.
    pub(crate) cut: u64,
}

impl Tally {
    /// Whether words are missing, or were left out.
    pub(crate) fn is_partial(self) -> bool {
        self.lost > 0 || self.left_out > 0
    }

    /// What is missing, in words, and which of these rings. `written`: of a trace, how many paths of each thread are written down;
    /// `None` where that is not known, as of other kinds: then missing words have numbers, and paths have none.
    pub(crate) fn damage(
        self,
        rings: &[Ring<'_>],
        written: Option<&BTreeMap<u32, u64>>,
    ) -> Vec<Damage> {
        let Self {
            analysed,
            left_out,
            lost,
            cut,
        } = self;
        let lost = (lost > 0).then(|| {
            let are = if lost == 1 { "is" } else { "are" };
            format!(
                "{} {are} missing: not taken in time, or not written down by their collector{}",
                plural(lost, "path"),
                which(rings, written, lost)
            )
        });
        let sample = (left_out > 0).then(|| {
            let share = 100.0 * analysed as f64 / (analysed as f64 + left_out as f64);
            format!(
                "{SAMPLE}: {share:.1} % of what ran was analysed {SAMPLED}, counts are of that part"
            )
        });
        let cut = (cut > 0).then(|| {
            let times = plural(cut, "time");
            format!("the process outlived its run: its streams were taken in parts, no sequence spans where one ends ({times})")
        });
        let said = lost.into_iter().chain(sample).chain(cut);
        said.map(|what| Damage::of_file(DamagedFile::Profile, 0, what))
            .collect()
    }
}

/// Rings that are named.
const NAMED: usize = 3;
/// Words that a thread begins with.
const BEGINNING: u64 = 2;

/// Which paths are missing: by their numbers among their threads', if these account for all that are, else from which word on.
fn which(rings: &[Ring<'_>], written: Option<&BTreeMap<u32, u64>>, lost: u64) -> String {
    let missing = rings.iter().map(|ring| Missing::of(ring, written?));
    let missing: Option<Vec<Missing>> = missing.collect();
    let is_all = |all: &Vec<Missing>| {
        let sum = |sum: u64, one: &Missing| {
            let both = one.unwritten.saturating_add(one.dropped);
            sum.saturating_add(both)
        };
        all.iter().fold(0, sum) == lost
    };
    let ends: Vec<String> = match missing.filter(is_all) {
        Some(all) => all.iter().filter_map(Missing::shown).collect(),
        None => rings.iter().filter_map(dropped_words).collect(),
    };
    let named = ends.iter().take(NAMED).map(|one| format!("; {one}"));
    let named: String = named.collect();
    match ends.len().saturating_sub(NAMED) {
        0 => named,
        1 => format!("{named}; and some of 1 more thread"),
        more => format!("{named}; and some of {} more threads", grouped(more as u64)),
    }
}

/// What is missing of a ring of which only one thread appended, and only paths.
struct Missing {
    thread: u32,
    /// Paths that are written down. Those that follow are not, though they were taken.
    written: u64,
    unwritten: u64,
    /// Paths before the first that was dropped.
    kept: u64,
    dropped: u64,
}

impl Missing {
    fn of(ring: &Ring<'_>, written: &BTreeMap<u32, u64>) -> Option<Self> {
        let is_plain = ring.owners <= 1 && ring.controls == BEGINNING;
        if !is_plain || ring.left_out > 0 || ring.taken_holes > 0 {
            return None;
        }
        let paths = |at: u64| (at.saturating_sub(ring.origin) / 4).saturating_sub(BEGINNING);
        // What a collector took leaves zeros.
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

    fn shown(&self) -> Option<String> {
        let first = grouped(self.written + 1);
        let last = grouped(self.written + self.unwritten);
        let behind = format!(
            "from {} on ({})",
            grouped(self.kept + 1),
            grouped(self.dropped)
        );
        let unwritten = match self.unwritten {
            0 => String::new(),
            1 => format!("its path {first}"),
            _ => format!("its paths {first} to {last}"),
        };
        let which = match (self.unwritten, self.dropped) {
            (0, 0) => return None,
            (0, _) => format!("all its paths {behind}"),
            (_, 0) => unwritten,
            _ => format!("{unwritten}, and all {behind}"),
        };
        Some(format!("of thread {} {which}", self.thread))
    }
}

/// From which word on all of a ring's are missing: they are all that its threads appended, from 1.
fn dropped_words(ring: &Ring<'_>) -> Option<String> {
    let first = grouped(ring.dropped_from()?);
    let words = plural((ring.cursor - ring.end()) / 4, "word");
    let thread = ring.tid;
    Some(match ring.owners {
        0 | 1 => format!("of thread {thread} all {words} from its word {first} on"),
        owners => {
            let before = grouped(owners - 1); // in the same ring
            format!(
                "of thread {thread} and {before} before it all {words} from their word {first} on"
            )
        }
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use holloway_abi::{CHUNK, KIND_TRACE, PAGE};
    use holloway_format::{ProfileHead, RawProfile};
    use holloway_testkit::raw::RawWriter;

    use super::*;

    /// Words of a ring: all, of which so many end no path; those taken, and those kept.
    #[derive(Clone, Copy)]
    struct Words {
        all: u64,
        controls: u64,
        taken: u64,
        kept: u64,
    }

    /// What is said of rings of threads 7, 8, … of which `lost` paths are missing; of each so many are written down.
    fn said(lost: u64, rings: &[Words], written: Option<u64>) -> String {
        let head = ProfileHead {
            kind: KIND_TRACE,
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
        let tally = Tally {
            lost,
            ..Tally::default()
        };
        let written = written.map(|paths| (7..).zip(vec![paths; rings.len()]).collect());
        let damage = tally.damage(&read, written.as_ref());
        let said: String = damage.into_iter().map(|one| one.what).collect();
        match said.split_once("collector") {
            Some((_, which)) => which.to_owned(),
            None => said,
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
        assert_eq!(said(0, &[ring(2)], Some(0)), "");
        let one = said(8, &[ring(2)], Some(0));
        assert_eq!(one, "; of thread 7 all 8 words from its word 3 on");
        // Of the second nothing was dropped.
        let some = [2, 10, 3, 4, 5, 6].map(ring);
        let expect = "; of thread 7 all 8 words from its word 3 on; of thread 9 all 7 words from its word 4 on; of thread 10 all 6 words from its word 5 on; \
                      and some of 2 more threads";
        assert_eq!(said(8, &some, Some(0)), expect);
        assert_eq!(said(8, &[ring(10)], Some(0)), "");
        let thousands = Words {
            all: 3000,
            kept: 1000,
            ..ring(0)
        };
        let expect = "; of thread 7 all 2,000 words from its word 1,001 on";
        assert_eq!(said(2000, &[thousands], Some(0)), expect);
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
            assert_eq!(said(lost, &[ring], Some(written)), expect);
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
        assert_eq!(said(2, &[whole], Some(998)), expect);
        // Another path is missing, from where is not known; words are not paths; paths stand elsewhere too.
        let words = "; of thread 7 all 1,498 words from its word 1,503 on";
        assert_eq!(said(dropped + 1, &[ring], Some(1000)), words);
        let caught = Words {
            controls: BEGINNING + 4,
            ..ring
        };
        assert_eq!(said(dropped, &[caught], Some(1000)), words);
        assert_eq!(said(dropped, &[ring], None), words);
    }
}
