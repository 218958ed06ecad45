//! Totals of a process's samples, and its losses.

use crate::result_file::Numbers;

/// Number of fields of [`VariationStats`].
pub(super) const VARIATION_NUMBERS: usize = 25;

/// Totals of a process's samples, and its losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VariationStats {
    /// Number of samples.
    pub samples: u64,
    /// Number of paths that began up to the last sample of each thread, timed or not.
    pub begun: u64,
    /// Cycles from the first to the last sample (or clock reading) of each thread, summed over the
    /// threads, without the cycles of probes.
    pub cycles: u64,
    /// Number of clock readings. A clock reading has the time stamp counter and the time in
    /// nanoseconds.
    pub clocks: u64,
    /// Time stamp counter at the first reading.
    pub first_stamp: u64,
    /// Nanoseconds at the first reading.
    pub first_nanoseconds: u64,
    /// Time stamp counter at the last reading.
    pub last_stamp: u64,
    /// Nanoseconds at the last reading.
    pub last_nanoseconds: u64,
    /// Smallest bias of a probe in any thread, in cycles. The thread's bias was subtracted from
    /// each time.
    pub least_bias: u64,
    /// Largest bias of a probe in any thread, in cycles.
    pub largest_bias: u64,
    /// Cycles of probes between the first and the last clock reading, summed over the threads.
    pub probes: u64,
    /// Involuntary context switches between the first and the last clock reading, summed over the
    /// threads.
    pub switches: u64,
    /// Number of samples in which the thread was preempted.
    pub preempted: u64,
    /// Number of samples that ended on another processor, whether the thread was preempted or not.
    pub migrated: u64,
    /// Number of samples during which untimed woven code ran.
    pub called: u64,
    /// Number of samples for which it is unknown whether the thread was preempted.
    pub unwatched: u64,
    /// Number of incomplete samples.
    pub cut_samples: u64,
    /// Number of holes: words of rings that were reserved but never written.
    pub holes: u64,
    /// Number of words that stand for no path of the map, and of operands without a control word.
    pub strangers: u64,
    /// Number of gaps where words are missing.
    pub gaps: u64,
    /// Number of words that are known to be lost.
    pub lost_words: u64,
    /// Number of samples whose time is unknown.
    pub unknown: u64,
    /// Largest resolution of all threads, in cycles. The resolution is the largest difference that
    /// two measurements of the same time may have.
    pub resolution: u64,
    /// Cycles between the first and the last clock reading, summed over the threads, without the
    /// cycles of probes. It covers the same span as `probes`.
    pub clocked: u64,
    /// Number of samples and clock readings with a wrong checksum. They are left out.
    pub damaged: u64,
}

impl Numbers<VARIATION_NUMBERS> for VariationStats {
    fn numbers(&mut self) -> [&mut u64; VARIATION_NUMBERS] {
        [
            &mut self.samples,
            &mut self.begun,
            &mut self.cycles,
            &mut self.clocks,
            &mut self.first_stamp,
            &mut self.first_nanoseconds,
            &mut self.last_stamp,
            &mut self.last_nanoseconds,
            &mut self.least_bias,
            &mut self.largest_bias,
            &mut self.probes,
            &mut self.switches,
            &mut self.preempted,
            &mut self.migrated,
            &mut self.called,
            &mut self.unwatched,
            &mut self.cut_samples,
            &mut self.holes,
            &mut self.strangers,
            &mut self.gaps,
            &mut self.lost_words,
            &mut self.unknown,
            &mut self.resolution,
            &mut self.clocked,
            &mut self.damaged,
        ]
    }
}

impl VariationStats {
    /// Adds a clock reading: time stamp counter, nanoseconds, bias of the probe, resolution.
    pub fn clock(&mut self, stamp: u64, nanoseconds: u64, bias: u64, resolution: u64) {
        let reading = VariationStats {
            clocks: 1,
            first_stamp: stamp,
            first_nanoseconds: nanoseconds,
            last_stamp: stamp,
            last_nanoseconds: nanoseconds,
            least_bias: bias,
            largest_bias: bias,
            resolution,
            ..VariationStats::default()
        };
        self.add(&reading);
    }

    /// Adds another process's totals. Sums saturate.
    pub fn add(&mut self, other: &VariationStats) {
        let mut sum = *self;
        let mut other_numbers = *other;
        for (sum, number) in sum.numbers().into_iter().zip(other_numbers.numbers()) {
            *sum = sum.saturating_add(*number);
        }
        let with_clock: Vec<&VariationStats> = [&*self, other]
            .into_iter()
            .filter(|stats| stats.clocks > 0)
            .collect();
        let first = with_clock
            .iter()
            .map(|stats| (stats.first_stamp, stats.first_nanoseconds));
        (sum.first_stamp, sum.first_nanoseconds) = first.min().unwrap_or_default();
        let last = with_clock
            .iter()
            .map(|stats| (stats.last_stamp, stats.last_nanoseconds));
        (sum.last_stamp, sum.last_nanoseconds) = last.max().unwrap_or_default();
        let biases = with_clock.iter().map(|stats| stats.least_bias);
        sum.least_bias = biases.min().unwrap_or(0);
        let biases = with_clock.iter().map(|stats| stats.largest_bias);
        sum.largest_bias = biases.max().unwrap_or(0);
        sum.resolution = self.resolution.max(other.resolution);
        *self = sum;
    }
}
