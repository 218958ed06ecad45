//! Totals of a process's samples, and its losses.

use crate::result_file::Numbers;
use crate::units::{Count, Cycles};

/// Number of fields of [`VariationStats`].
pub(super) const VARIATION_NUMBERS: usize = 25;

/// Totals of a process's samples, and its losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VariationStats {
    /// Number of samples.
    pub samples: Count,
    /// Number of paths that began up to the last sample of each thread, timed or not.
    pub begun: Count,
    /// Cycles from the first to the last sample (or clock reading) of each thread, summed over the
    /// threads, without the cycles of probes.
    pub cycles: Cycles,
    /// Number of clock readings. A clock reading has the time stamp counter and the time in
    /// nanoseconds.
    pub clocks: Count,
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
    pub least_bias: Cycles,
    /// Largest bias of a probe in any thread, in cycles.
    pub largest_bias: Cycles,
    /// Cycles of probes between the first and the last clock reading, summed over the threads.
    pub probes: Cycles,
    /// Involuntary context switches between the first and the last clock reading, summed over the
    /// threads.
    pub switches: Count,
    /// Number of samples in which the thread was preempted.
    pub preempted: Count,
    /// Number of samples that ended on another processor, whether the thread was preempted or not.
    pub migrated: Count,
    /// Number of samples during which untimed woven code ran.
    pub called: Count,
    /// Number of samples for which it is unknown whether the thread was preempted.
    pub unwatched: Count,
    /// Number of incomplete samples.
    pub cut_samples: Count,
    /// Number of holes: words of rings that were reserved but never written.
    pub holes: u64,
    /// Number of words that stand for no path of the map, and of operands without a control word.
    pub strangers: u64,
    /// Number of gaps where words are missing.
    pub gaps: u64,
    /// Number of words that are known to be lost.
    pub lost_words: u64,
    /// Number of samples whose time is unknown.
    pub unknown: Count,
    /// Largest resolution of all threads, in cycles. The resolution is the largest difference that
    /// two measurements of the same time may have.
    pub resolution: Cycles,
    /// Cycles between the first and the last clock reading, summed over the threads, without the
    /// cycles of probes. It covers the same span as `probes`.
    pub clocked: Cycles,
    /// Number of samples and clock readings with a wrong checksum. They are left out.
    pub damaged: Count,
}

impl Numbers<VARIATION_NUMBERS> for VariationStats {
    fn numbers(&mut self) -> [&mut u64; VARIATION_NUMBERS] {
        [
            &mut self.samples.0,
            &mut self.begun.0,
            &mut self.cycles.0,
            &mut self.clocks.0,
            &mut self.first_stamp,
            &mut self.first_nanoseconds,
            &mut self.last_stamp,
            &mut self.last_nanoseconds,
            &mut self.least_bias.0,
            &mut self.largest_bias.0,
            &mut self.probes.0,
            &mut self.switches.0,
            &mut self.preempted.0,
            &mut self.migrated.0,
            &mut self.called.0,
            &mut self.unwatched.0,
            &mut self.cut_samples.0,
            &mut self.holes,
            &mut self.strangers,
            &mut self.gaps,
            &mut self.lost_words,
            &mut self.unknown.0,
            &mut self.resolution.0,
            &mut self.clocked.0,
            &mut self.damaged.0,
        ]
    }
}

impl VariationStats {
    /// Adds a clock reading: time stamp counter, nanoseconds, bias of the probe, resolution.
    pub fn clock(&mut self, stamp: u64, nanoseconds: u64, bias: Cycles, resolution: Cycles) {
        let reading = VariationStats {
            clocks: Count(1),
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
            .filter(|stats| stats.clocks > Count::ZERO)
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
        sum.least_bias = biases.min().unwrap_or_default();
        let biases = with_clock.iter().map(|stats| stats.largest_bias);
        sum.largest_bias = biases.max().unwrap_or_default();
        sum.resolution = self.resolution.max(other.resolution);
        *self = sum;
    }
}
