//! Estimates how many samples of a path may have been interrupted: by an interrupt, or by a
//! hypervisor that gave the processor to another machine.
//!
//! Nothing in a sample shows that it was interrupted. But interruptions follow the clock, not the
//! path. A path was timed for about `T` cycles in total: the number of its samples times their
//! median. The number of interruptions in `T` cycles has a Poisson distribution. Its mean is
//! assumed to be that of [`PER_SECOND`] interruptions, the fastest timer tick that Linux is built
//! with. [`max_interruptions`] is the number that fewer than one path in a thousand exceeds. Up to
//! this many bursts may be long because of interruptions, so the longest samples of that many
//! bursts prove nothing about the path.
//!
//! Worked example: 250 samples of 2,600 cycles are 650,000 cycles, or 0.25 ms at 2.6 GHz: 0.25
//! interruptions on average. More than 2 occur with a probability of 0.0022, and more than 3 with a
//! probability of 0.0001, so up to 3 samples may have been interrupted. The five samples of the
//! paper's example take 840 cycles together, so none may have been interrupted.

use super::run::VariationRun;

/// Maximum number of interruptions in a second.
const PER_SECOND: f64 = 1000.0;
/// Cycles in a second, if the run was too short to measure them.
const FREQUENCY: f64 = 3e9;
/// The accepted probability that a path meets more interruptions than assumed.
const MAX_PROBABILITY: f64 = 1e-3;
/// Maximum number of bursts left out. The time of more interruptions hardly depends on chance, and
/// [`super::machine`] compares it with the time of other paths.
const MAX_LEFT_OUT: u64 = 16;

/// The assumed number of interruptions per cycle of a run.
pub(super) fn rate(run: &VariationRun) -> f64 {
    PER_SECOND / run.frequency().unwrap_or(FREQUENCY)
}

/// The maximum number of interruptions in a path's samples, if `mean` interruptions are expected.
pub(super) fn max_interruptions(mean: f64) -> u64 {
    let mut exactly_probability = (-mean).exp();
    let mut more_probability = 1.0 - exactly_probability;
    for number in 0..MAX_LEFT_OUT {
        if more_probability <= MAX_PROBABILITY {
            return number;
        }
        exactly_probability *= mean / (number + 1) as f64;
        more_probability -= exactly_probability;
    }
    MAX_LEFT_OUT
}

#[cfg(test)]
mod tests {
    use super::{MAX_LEFT_OUT, max_interruptions};

    #[test]
    fn fewer_than_one_path_in_a_thousand_exceed_the_maximum() {
        let numbers = [0.0, 0.0003, 0.0011, 0.04, 0.05, 0.25, 1.0, 1e3, 1e9].map(max_interruptions);
        assert_eq!(numbers, [0, 0, 1, 1, 2, 3, 5, MAX_LEFT_OUT, MAX_LEFT_OUT]);
    }
}
