//! What became of the words of streams.

use holloway_format::raw::Ring;
use holloway_format::{Damage, DamagedFile};
use holloway_report::{SAMPLE, SAMPLED};

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
    /// What is missing, in words, and from where on in these rings.
    pub(crate) fn damage(self, rings: &[Ring<'_>]) -> Vec<Damage> {
        let Self {
            analysed,
            left_out,
            lost,
            cut,
        } = self;
        let lost = (lost > 0).then(|| {
            format!(
                "{lost} paths are missing: they were not taken in time, or their collector has not written them down{}",
                from_where(rings)
            )
        });
        let sample = (left_out > 0).then(|| {
            let share = 100.0 * analysed as f64 / (analysed as f64 + left_out as f64);
            format!(
                "{SAMPLE}: {share:.1} % of what ran was analysed {SAMPLED}, counts are of that part"
            )
        });
        let cut = (cut > 0).then(|| {
            format!("the process outlived its run: its streams were taken in parts, no sequence spans where one ends ({cut} times)")
        });
        let said = lost.into_iter().chain(sample).chain(cut);
        said.map(|what| Damage::of_file(DamagedFile::Profile, 0, what))
            .collect()
    }
}

/// Rings that are named.
const NAMED: usize = 3;

/// From which word on all of a thread's are missing: the words of a ring are all that its threads appended, from 1.
fn from_where(rings: &[Ring<'_>]) -> String {
    let ends = rings
        .iter()
        .filter_map(|ring| Some((ring, ring.dropped_from()?)));
    let ends: Vec<_> = ends.collect();
    let named = ends.iter().take(NAMED).map(|(ring, word)| {
        let tid = ring.tid;
        match ring.owners {
            0 | 1 => format!("; of thread {tid} all from its word {word} on"),
            owners => {
                let before = owners - 1; // in the same ring
                format!("; of thread {tid} and {before} before it all from their word {word} on")
            }
        }
    });
    let named: String = named.collect();
    match ends.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named}; and the ends of {more} more"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use holloway_format::abi::{CHUNK, KIND_TRACE, PAGE};
    use holloway_format::{ProfileHead, RawProfile, RawWriter};

    use super::*;

    /// Of rings, each with the last positions of what was kept and appended.
    fn said(lost: u64, rings: &[(u64, u64)]) -> Vec<String> {
        let head = ProfileHead {
            kind: KIND_TRACE,
            ..ProfileHead::default()
        };
        let mut writer = RawWriter::new(head, PAGE - 64);
        for (tid, &(kept, all)) in (7..).zip(rings) {
            let words = vec![5; (all - CHUNK) as usize / 4];
            writer.ring(tid, CHUNK, &words, (kept < all).then_some(kept));
        }
        let bytes = writer.finish();
        let raw = RawProfile::parse(&bytes).unwrap();
        assert_eq!(raw.rings().len(), rings.len());
        let tally = Tally {
            lost,
            ..Tally::default()
        };
        let damage = tally.damage(raw.rings());
        damage.into_iter().map(|one| one.what).collect()
    }

    #[test]
    fn where_a_thread_lost_its_collector_is_said() {
        assert_eq!(said(0, &[(CHUNK + 8, CHUNK + 40)]), Vec::<String>::new());
        let all = |said: Vec<String>| said.concat().split_once("; ").map(|both| both.1.to_owned());
        // Two words are kept.
        let one = all(said(8, &[(CHUNK + 8, CHUNK + 40)]));
        assert_eq!(one.as_deref(), Some("of thread 7 all from its word 3 on"));
        // Of the second nothing was dropped.
        let some = [8, 40, 12, 16, 20, 24].map(|kept| (CHUNK + kept, CHUNK + 40));
        let expect = "of thread 7 all from its word 3 on; of thread 9 all from its word 4 on; of thread 10 all from its word 5 on; \
                      and the ends of 2 more";
        assert_eq!(all(said(8, &some)).as_deref(), Some(expect));
        assert_eq!(all(said(8, &[(CHUNK + 40, CHUNK + 40)])), None);
    }
}
