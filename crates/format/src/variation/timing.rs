//! The times of a path's samples.

use crate::units::{Count, Cycles};
use crate::variation::distribution::Distribution;
use holloway_flow::PathId;

/// The timings of a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathTimings {
    /// Path number.
    pub path: PathId,
    /// Times of samples without a known disturbance.
    pub calm: Timing,
    /// Times of samples whose thread was preempted or moved.
    pub disturbed: Timing,
    /// Number of samples whose time is unknown.
    pub unknown: Count,
    /// Number of paths of callees that were timed inside these samples.
    pub nested: Count,
    /// Sums over the bursts of the calm samples.
    pub bursts: Bursts,
}

impl PathTimings {
    /// Number of all samples.
    pub fn samples(&self) -> Count {
        let [calm, disturbed] =
            [&self.calm, &self.disturbed].map(|timing| timing.inclusive.count());
        calm.saturating_add(disturbed).saturating_add(self.unknown)
    }

    /// Adds the samples of the same path in another profile.
    pub fn merge(&mut self, other: &PathTimings) {
        self.calm.merge(&other.calm);
        self.disturbed.merge(&other.disturbed);
        self.unknown = self.unknown.saturating_add(other.unknown);
        self.nested = self.nested.saturating_add(other.nested);
        self.bursts.add(&other.bursts);
    }
}

/// Sums over the bursts of a path. They are necessary for error estimates, because the samples of
/// one burst are not independent of each other. In a burst, n samples of the path took t cycles
/// together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bursts {
    /// The sum of t² over all bursts.
    pub t_squared: u128,
    /// The sum of n t over all bursts.
    pub n_t: u128,
    /// The sum of n² over all bursts.
    pub n_squared: u128,
}

impl Bursts {
    /// Adds a burst: its number of samples, and the time that they took together.
    pub fn record(&mut self, samples: Count, time: Cycles) {
        let (samples, time) = (u128::from(samples), u128::from(time));
        self.add(&Bursts {
            t_squared: time * time,
            n_t: samples * time,
            n_squared: samples * samples,
        });
    }

    /// Adds the sums of other bursts.
    pub fn add(&mut self, other: &Bursts) {
        self.t_squared = self.t_squared.saturating_add(other.t_squared);
        self.n_t = self.n_t.saturating_add(other.n_t);
        self.n_squared = self.n_squared.saturating_add(other.n_squared);
    }

    /// The sum of (t - n base)² over all bursts.
    pub fn squares_over(&self, base: Cycles) -> f64 {
        let base = base.to_f64();
        let [t_squared, n_t, n_squared] =
            [self.t_squared, self.n_t, self.n_squared].map(|sum| sum as f64);
        (t_squared - 2.0 * base * n_t + base * base * n_squared).max(0.0)
    }
}

/// The times of a path's samples, in cycles, without the probe's bias.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Inclusive times: with all callees.
    pub inclusive: Distribution,
    /// Exclusive times: without woven callees. They are known only for some samples. `None` if the
    /// exclusive time of every sample is known and equal to the inclusive time.
    pub exclusive: Option<Box<Distribution>>,
}

impl Timing {
    /// Adds a sample with its inclusive time, and its exclusive time if it is known.
    pub fn record(&mut self, inclusive: Cycles, exclusive: Option<Cycles>) {
        if self.exclusive.is_none() && exclusive != Some(inclusive) {
            self.exclusive = Some(Box::new(self.inclusive.clone()));
        }
        if let (Some(times), Some(exclusive)) = (&mut self.exclusive, exclusive) {
            times.record(exclusive);
        }
        self.inclusive.record(inclusive);
    }

    /// Adds the samples of another timing.
    pub fn merge(&mut self, other: &Timing) {
        if self.exclusive.is_none() && other.exclusive.is_some() {
            self.exclusive = Some(Box::new(self.inclusive.clone()));
        }
        if let Some(exclusive) = &mut self.exclusive {
            exclusive.merge(other.exclusive_times());
        }
        self.inclusive.merge(&other.inclusive);
    }

    /// The known exclusive times.
    pub fn exclusive_times(&self) -> &Distribution {
        self.exclusive.as_deref().unwrap_or(&self.inclusive)
    }
}
