//! Compares two programs by pairs of runs: the gain with its uncertainty, and whether to keep it.
//!
//! Both runs of a pair are close in time, so a slow stretch of the machine hits both. The gain is
//! one minus the median of the pairs' ratios. Its interval is a bootstrap: the pairs are drawn
//! again, with repetition, many times; 95 % of the medians lie in the interval. The random numbers
//! have a fixed seed, so the same times give the same interval.
//!
//! Pairs of a program with itself (*A/A pairs*) tell how far the machine is to be trusted.

use crate::random::Random;

/// How often the pairs are drawn again. The ends of the interval vary by less than a tenth of its
/// width from seed to seed.
const RESAMPLES: usize = 4000;
/// The share of medians below the interval, and above it.
const TAIL: f64 = 0.025;
/// A machine whose A/A gain is larger is too noisy: 0.5 %.
pub const QUIET: f64 = 0.005;
/// The least share of executed instructions that must be saved if time cannot decide.
pub const LEAST_SAVING: f64 = 0.005;

/// The times of two programs that ran right after each other, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The time of the plain program.
    pub plain: f64,
    /// The time of the program compared with it.
    pub other: f64,
}

/// A share of the plain program's time that another program saves. Negative: it takes longer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// The gain.
    pub median: f64,
    /// The lower end of the 95 % interval.
    pub low: f64,
    /// The upper end of the 95 % interval.
    pub high: f64,
}

impl Gain {
    /// Computes the gain. Returns `None` without a pair, or if a plain time is not positive.
    pub fn of_pairs(pairs: &[Pair]) -> Option<Self> {
        let ratio = |pair: &Pair| (pair.plain > 0.0).then(|| pair.other / pair.plain);
        let ratios: Vec<f64> = pairs.iter().map(ratio).collect::<Option<_>>()?;
        if ratios.is_empty() {
            return None;
        }
        let mut random = Random::with_seed(ratios.len() as u64);
        let mut drawn = vec![0.0; ratios.len()];
        let mut medians: Vec<f64> = (0..RESAMPLES)
            .map(|_| {
                drawn
                    .iter_mut()
                    .for_each(|ratio| *ratio = ratios[random.below(ratios.len())]);
                median(&mut drawn)
            })
            .collect();
        medians.sort_unstable_by(f64::total_cmp);
        let last = RESAMPLES - 1;
        let at = |share: f64| medians[(share * last as f64).round() as usize];
        Some(Self {
            median: 1.0 - median(&mut ratios.clone()),
            low: 1.0 - at(1.0 - TAIL),
            high: 1.0 - at(TAIL),
        })
    }
}

/// The instructions that two programs execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instructions {
    /// Those of the plain program.
    pub plain: u64,
    /// Those of the program compared with it.
    pub other: u64,
}

impl Instructions {
    /// The share of the plain program's instructions that the other program saves.
    pub fn saving(&self) -> f64 {
        match self.plain {
            0 => 0.0,
            plain => 1.0 - self.other as f64 / plain as f64,
        }
    }
}

/// What a measurement says about a step of optimization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The program is faster: the whole interval is above 0.
    Faster,
    /// Time cannot decide, but the program executes fewer instructions.
    FewerInstructions,
    /// The program is slower: the whole interval is below 0.
    Slower,
    /// The interval contains 0.
    NoDifference,
    /// The machine is too noisy to decide.
    TooNoisy,
}

impl Verdict {
    /// Decides about a step. `noise` is the gain of A/A pairs.
    pub fn new(gain: Gain, noise: Gain, instructions: Option<Instructions>) -> Self {
        if is_noisy(noise) {
            return match instructions.map(|instructions| instructions.saving()) {
                Some(saving) if saving >= LEAST_SAVING => Self::FewerInstructions,
                _ => Self::TooNoisy,
            };
        }
        match gain {
            Gain { low, .. } if low > 0.0 => Self::Faster,
            Gain { high, .. } if high < 0.0 => Self::Slower,
            _ => Self::NoDifference,
        }
    }

    /// Decides about a step by time alone, because instructions do not show what it gains. `noise`
    /// is the gain of A/A pairs. On a noisy machine, the whole interval must lie beyond the
    /// interval of the noise.
    pub fn by_time(gain: Gain, noise: Gain) -> Self {
        let is_noisy = is_noisy(noise);
        let disturbance = match is_noisy {
            true => noise.low.abs().max(noise.high.abs()),
            false => 0.0,
        };
        match gain {
            Gain { low, .. } if low > disturbance => Self::Faster,
            Gain { high, .. } if high < -disturbance => Self::Slower,
            _ if is_noisy => Self::TooNoisy,
            _ => Self::NoDifference,
        }
    }

    /// Whether the step is kept.
    pub fn keeps(self) -> bool {
        match self {
            Self::Faster | Self::FewerInstructions => true,
            Self::Slower | Self::NoDifference | Self::TooNoisy => false,
        }
    }
}

/// Chooses the part of a step that is to blame if the step does not help. `gains` has, for each
/// part, what the step gains if this part is left out. Returns the part with the greatest gain,
/// among those whose gain time can tell from noise.
pub fn blamed(gains: &[Gain], noise: Gain) -> Option<usize> {
    let parts = gains.iter().enumerate();
    let helps = parts.filter(|(_, gain)| Verdict::by_time(**gain, noise).keeps());
    let best = helps.max_by(|(_, one), (_, other)| one.median.total_cmp(&other.median));
    best.map(|(part, _)| part)
}

/// Whether a machine is too noisy, by the gain of A/A pairs.
pub fn is_noisy(noise: Gain) -> bool {
    noise.median.abs() > QUIET
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        0 => f64::midpoint(values[middle - 1], values[middle]),
        _ => values[middle],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gain(others: &[f64]) -> Gain {
        let pairs = others.iter().map(|&other| Pair { plain: 1.0, other });
        Gain::of_pairs(&pairs.collect::<Vec<_>>()).expect("pairs")
    }

    #[test]
    fn the_gain_is_the_median_of_the_pairs() {
        let steady = gain(&[0.9; 5]);
        assert!((steady.median - 0.1).abs() < 1e-9);
        assert_eq!((steady.low, steady.high), (steady.median, steady.median));
        // One disturbed pair moves neither the median nor its lower end far.
        let disturbed = gain(&[0.9, 0.91, 0.89, 0.9, 3.0, 0.9, 0.9]);
        assert!((disturbed.median - 0.1).abs() < 1e-9);
        assert!(disturbed.low > 0.05, "{disturbed:?}");
        assert!(disturbed.low <= disturbed.median && disturbed.median <= disturbed.high);
    }

    #[test]
    fn the_same_pairs_give_the_same_interval() {
        let others = [0.95, 1.02, 0.97, 1.01, 0.99, 0.96];
        assert_eq!(gain(&others), gain(&others));
        assert!(gain(&others).low < 0.0 && gain(&others).high > 0.0);
    }

    #[test]
    fn without_times_there_is_no_gain() {
        assert_eq!(Gain::of_pairs(&[]), None);
        let pair = Pair {
            plain: 0.0,
            other: 1.0,
        };
        assert_eq!(Gain::of_pairs(&[pair]), None);
    }

    #[test]
    fn only_certain_gains_are_kept() {
        let quiet = gain(&[1.0; 3]);
        let noisy = gain(&[1.02; 3]);
        let fewer = |other| Some(Instructions { plain: 1000, other });
        let check = |others: &[f64], noise, instructions, expect: Verdict| {
            assert_eq!(Verdict::new(gain(others), noise, instructions), expect);
        };
        check(&[0.9; 3], quiet, None, Verdict::Faster);
        check(&[1.1; 3], quiet, fewer(900), Verdict::Slower);
        check(&[0.9, 1.0, 1.1, 1.0], quiet, None, Verdict::NoDifference);
        check(&[0.9; 3], noisy, None, Verdict::TooNoisy);
        check(&[0.9; 3], noisy, fewer(996), Verdict::TooNoisy);
        check(&[1.1; 3], noisy, fewer(990), Verdict::FewerInstructions);
    }

    #[test]
    fn the_part_whose_absence_helps_most_is_to_blame() {
        let quiet = gain(&[1.0; 3]);
        let noisy = gain(&[0.98, 1.03, 1.02]);
        let [loss, small, large] = [[1.1; 3], [0.99; 3], [0.9; 3]].map(|times| gain(&times));
        let unclear = gain(&[0.7, 1.0, 1.1, 0.9]);
        assert_eq!(blamed(&[small, large, loss, unclear], quiet), Some(1));
        assert_eq!(blamed(&[small, loss], quiet), Some(0));
        assert_eq!(blamed(&[small, loss], noisy), None);
        assert_eq!(blamed(&[unclear, loss], quiet), None);
        assert_eq!(blamed(&[], quiet), None);
    }

    #[test]
    fn time_alone_decides_what_exceeds_the_noise() {
        let quiet = gain(&[1.0; 3]);
        let noisy = gain(&[0.98, 1.03, 1.02]);
        let check = |others: &[f64], noise, expect: Verdict| {
            assert_eq!(Verdict::by_time(gain(others), noise), expect);
        };
        check(&[0.999; 3], quiet, Verdict::Faster);
        check(&[1.001; 3], quiet, Verdict::Slower);
        check(&[0.9, 1.0, 1.1, 1.0], quiet, Verdict::NoDifference);
        check(&[0.9; 3], noisy, Verdict::Faster);
        check(&[0.98; 3], noisy, Verdict::TooNoisy);
        check(&[1.02; 3], noisy, Verdict::TooNoisy);
        check(&[1.1; 3], noisy, Verdict::Slower);
    }
}
