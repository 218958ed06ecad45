//! The totals of a process's samples.

use crate::result_file::Numbers;

/// Number of fields of [`VariationStats`].
pub(super) const VARIATION_NUMBERS: usize = 25;

/// What all samples of a process come to, and what was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VariationStats {
    /// Samples read.
    pub samples: u64,
    /// Paths that began up to the last sample of each thread, timed or not.
    pub begun: u64,
    /// Cycles from the first to the last sample (or reading of the clock) of each thread, all threads together, without what probes took.
    pub cycles: u64,
    /// Readings of the clock.
    pub clocks: u64,
    /// Time stamp counter at the first of them.
    pub first_stamp: u64,
    /// Nanoseconds then.
    pub first_nanoseconds: u64,
    /// Time stamp counter at the last of them.
    pub last_stamp: u64,
    /// Nanoseconds then.
    pub last_nanoseconds: u64,
    /// Least bias of a probe, in cycles, of all threads; it is subtracted from all times.
    pub least_bias: u64,
    /// Largest bias.
    pub largest_bias: u64,
    /// Cycles that probes took between first and last reading of the clock, all threads together.
    pub probes: u64,
    /// Involuntary context switches between first and last reading of the clock, all threads together.
    pub switches: u64,
    /// Samples in which the thread was preempted.
    pub preempted: u64,
    /// Samples that ended on another processor, whether preempted or not.
    pub migrated: u64,
    /// Samples in which woven code ran that was not timed.
    pub called: u64,
    /// Samples of which can't be told whether the thread was preempted.
    pub unwatched: u64,
    /// Samples that are not whole.
    pub cut_samples: u64,
    /// Places never written.
    pub holes: u64,
    /// Words that stand for no path, and operands of nothing.
    pub strangers: u64,
    /// Times that words were missing.
    pub gaps: u64,
    /// Words of streams that are known to be lost, as far as they could be counted.
    pub lost_words: u64,
    /// Samples whose time can't be told.
    pub unknown: u64,
    /// How far apart two times of the same length may come out, in cycles: the largest of all threads.
    pub resolution: u64,
    /// Cycles between first and last reading of the clock, all threads together, without what probes took: what `probes` goes with.
    pub clocked: u64,
    /// Samples, and readings of the clock, whose check is wrong: they are left out.
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
    /// Another reading of the clock: time stamp counter, nanoseconds, bias of the probe, resolution.
    pub fn clock(&mut self, stamp: u64, nanoseconds: u64, bias: u64, resolution: u64) {
        let more = VariationStats {
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
        self.add(&more);
    }

    /// Adds another's numbers; sums stay at their maximum.
    pub fn add(&mut self, other: &VariationStats) {
        let mut sum = *self;
        let mut more = *other;
        for (sum, number) in sum.numbers().into_iter().zip(more.numbers()) {
            *sum = sum.saturating_add(*number);
        }
        let known: Vec<&VariationStats> = [&*self, other]
            .into_iter()
            .filter(|one| one.clocks > 0)
            .collect();
        let first = known
            .iter()
            .map(|one| (one.first_stamp, one.first_nanoseconds));
        (sum.first_stamp, sum.first_nanoseconds) = first.min().unwrap_or_default();
        let last = known
            .iter()
            .map(|one| (one.last_stamp, one.last_nanoseconds));
        (sum.last_stamp, sum.last_nanoseconds) = last.max().unwrap_or_default();
        let biases = known.iter().map(|one| one.least_bias);
        sum.least_bias = biases.min().unwrap_or(0);
        let biases = known.iter().map(|one| one.largest_bias);
        sum.largest_bias = biases.max().unwrap_or(0);
        sum.resolution = self.resolution.max(other.resolution);
        *self = sum;
    }
}
