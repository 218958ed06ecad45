//! The number of samples that something outside the program may have interrupted without a trace:
//! an interrupt, or a hypervisor that gave the processor to another machine.
//!
//! No mark shows such a sample. But interruptions follow the clock, not the path. A path that does
//! not vary was timed for `T` cycles in total: the number of its samples times their median. It
//! meets as many interruptions as occur in `T` cycles. At most [`PER_SECOND`] are assumed, which is
//! the fastest timer tick that Linux is built with. Their number has a Poisson distribution.
//! [`max_interruptions`] is the number that fewer than one path in a thousand exceeds. This many of
//! a path's longest samples, counted in bursts, prove nothing about the path.
//!
//! Worked example: 250 samples of 2,600 cycles are 650,000 cycles, or 0.25 ms at 2.6 GHz: 0.25
//! interruptions on average. More than 2 occur with a probability of 0.0022, more than 3 with
//! 0.0001, so up to 3 samples may have been interrupted. The five samples of the paper's example
//! take 840 cycles together: none.

use super::run::VariationRun;

/// Maximum number of interruptions in a second.
const PER_SECOND: f64 = 1000.0;
/// Cycles in a second, if the run was too short to measure them.
const FREQUENCY: f64 = 3e9;
/// The accepted probability that a path meets more interruptions than assumed.
const CHANCE: f64 = 1e-3;
/// Maximum number of samples left out. With more interruptions, their sum hardly depends on chance,
/// and is compared with the sum of other paths ([`super::machine`]).
const MAX_LEFT_OUT: u64 = 16;

/// Maximum number of interruptions in a cycle of a run.
pub(super) fn rate(run: &VariationRun) -> f64 {
    PER_SECOND / run.frequency().unwrap_or(FREQUENCY)
}

/// The number of interruptions that a path may have met if it meets `mean` of them on average.
pub(super) fn max_interruptions(mean: f64) -> u64 {
    let mut exactly = (-mean).exp();
    let mut more = 1.0 - exactly;
    for number in 0..MAX_LEFT_OUT {
        if more <= CHANCE {
            return number;
        }
        exactly *= mean / (number + 1) as f64;
        more -= exactly;
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
