//! Estimates how many samples of a path may have been interrupted: by an interrupt, or by a
//! hypervisor that gave the processor to another machine.
//!
//! Nothing in a sample shows that it was interrupted. But interruptions follow the clock, not the
//! path. A path's *exposure* is the time in which an interruption lengthens a sample: the number of
//! its samples times their median, with the probe between the two clock readings. The number of
//! interruptions in an exposure has a Poisson distribution. Its mean follows from the rate of
//! interruptions, which is the larger of two:
//! - [`PER_SECOND`] are the 250 timer ticks of most kernels, and 1,000 samples of CPU time.
//! - The other paths meet the same interruptions. So their [long](MIN_COST) samples per exposure
//!   (the 25 % quantile over the paths, weighted by exposure) show the rate on this machine. Under
//!   some hypervisors, it is 20 times as high. Of `n` long samples, only `n − 2√n` count, because a
//!   few may be chance.
//!
//! [`max_interruptions`] is the number that fewer than one path in a thousand exceeds. Up to this
//! many bursts may be long because of interruptions, so the longest samples of that many bursts
//! prove nothing about the path.
//!
//! Worked example: 250 samples of 2,600 cycles are 650,000 cycles, or 0.25 ms at 2.6 GHz: 0.31
//! interruptions on average. More than 2 occur with a probability of 0.0040, and more than 3 with a
//! probability of 0.0003, so up to 3 samples may have been interrupted. The five samples of the
//! paper's example take 840 cycles together, so none may have been interrupted.

use super::others::Others;
use super::run::VariationRun;
use holloway_format::{Count, Cycles, Distribution};

/// Maximum number of interruptions in a second, if the other paths do not show more.
const PER_SECOND: f64 = 1250.0;
/// Cycles in a second, if the run was too short to measure them.
const FREQUENCY: f64 = 3e9;
/// The accepted probability that a path meets more interruptions than assumed.
const MAX_PROBABILITY: f64 = 1e-3;
/// Maximum number of bursts left out. The time of more interruptions hardly depends on chance, and
/// [`super::machine`] compares it with the time of other paths.
const MAX_LEFT_OUT: u64 = 16;
/// An interruption takes at least this many cycles: the processor enters and leaves the kernel or
/// the hypervisor.
const MIN_COST: Cycles = Cycles(1000);
/// Standard errors of the number of long samples that are attributed to chance.
const ERRORS: f64 = 2.0;

/// The interruptions that the samples of a run's paths may have met.
pub(super) struct Interruptions {
    /// The least rate, per cycle.
    least: f64,
    /// The rates in the paths.
    rates: Others,
}

impl Interruptions {
    /// Estimates the rates from the paths' samples: the times of each path, and its exposure.
    pub(super) fn new<'a>(
        run: &VariationRun,
        paths: impl Iterator<Item = (&'a Distribution, Cycles)>,
    ) -> Interruptions {
        let rates = paths.map(|(times, exposure)| {
            let usual = exposure.to_f64() / times.count().to_f64();
            let is_long = |time: Cycles| time.to_f64() > 2.0 * usual + MIN_COST.to_f64();
            let long = times.buckets().filter(|bucket| is_long(bucket.middle()));
            let long: Count = long.map(|bucket| bucket.count).sum();
            let surely = (long.to_f64() - ERRORS * long.to_f64().sqrt()).max(0.0);
            (exposure > Cycles::ZERO).then(|| (surely / exposure.to_f64(), exposure.to_f64()))
        });
        Interruptions {
            least: PER_SECOND / run.frequency().unwrap_or(FREQUENCY),
            rates: Others::new(rates),
        }
    }

    /// The maximum number of a path's bursts that were interrupted.
    pub(super) fn max_bursts(&self, path: usize, exposure: Cycles) -> Count {
        let shown = self.rates.quantile_without(path).unwrap_or(0.0);
        Count(max_interruptions(exposure.to_f64() * shown.max(self.least)))
    }
}

/// The maximum number of interruptions in a path's samples, if `mean` interruptions are expected.
fn max_interruptions(mean: f64) -> u64 {
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
