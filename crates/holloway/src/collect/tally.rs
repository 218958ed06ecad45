//! What became of the words of streams.

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
    /// What is missing, in words.
    pub(crate) fn damage(self) -> Vec<Damage> {
        let Self {
            analysed,
            left_out,
            lost,
            cut,
        } = self;
        let lost = (lost > 0).then(|| {
            format!("{lost} paths are missing: they were not taken in time, or their collector has not written them down")
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
