//! How long the executions of a path took.

use crate::units::{Count, Cycles};
use crate::variation::distribution::Distribution;
use holloway_flow::PathId;

/// The timings of a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathTimings {
    /// Its number.
    pub path: PathId,
    /// Times of samples without a known disturbance.
    pub calm: Timing,
    /// Times of samples whose thread was preempted or moved.
    pub disturbed: Timing,
    /// Number of samples whose time is unknown.
    pub unknown: Count,
    /// Number of paths that were timed inside these samples: paths of callees.
    pub nested: Count,
    /// Sums over the bursts of the calm samples.
    pub bursts: Bursts,
}

impl PathTimings {
    /// Number of all samples.
    pub fn samples(&self) -> Count {
        let [calm, disturbed] = [&self.calm, &self.disturbed].map(|timing| timing.whole.count());
        calm.saturating_add(disturbed).saturating_add(self.unknown)
    }

    /// Adds another's samples.
    pub fn merge(&mut self, other: &PathTimings) {
        self.calm.merge(&other.calm);
        self.disturbed.merge(&other.disturbed);
        self.unknown = self.unknown.saturating_add(other.unknown);
        self.nested = self.nested.saturating_add(other.nested);
        self.bursts.add(&other.bursts);
    }
}

/// Sums over bursts, because the samples of one burst are not independent. For a burst with n
/// samples that took t together:
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bursts {
    /// The sum of t², over all bursts.
    pub squares: u128,
    /// The sum of n t.
    pub products: u128,
    /// The sum of n².
    pub counts: u128,
}

impl Bursts {
    /// Adds a burst: its number of samples, and the time that they took together.
    pub fn record(&mut self, samples: Count, time: Cycles) {
        let (samples, time) = (u128::from(samples), u128::from(time));
        self.add(&Bursts {
            squares: time * time,
            products: samples * time,
            counts: samples * samples,
        });
    }

    /// Adds another path's bursts.
    pub fn add(&mut self, other: &Bursts) {
        self.squares = self.squares.saturating_add(other.squares);
        self.products = self.products.saturating_add(other.products);
        self.counts = self.counts.saturating_add(other.counts);
    }

    /// The sum of (t - n base)².
    pub fn squares_over(&self, base: Cycles) -> f64 {
        let base = base.to_f64();
        let [squares, products, counts] =
            [self.squares, self.products, self.counts].map(|sum| sum as f64);
        (squares - 2.0 * base * products + base * base * counts).max(0.0)
    }
}

/// The times of a path, in cycles, less the probe's bias.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Times with all callees.
    pub whole: Distribution,
    /// Times without woven callees, of the samples that know them. None if they equal `whole` in all
    /// samples.
    pub own: Option<Box<Distribution>>,
}

impl Timing {
    /// Adds a sample: its time, and its time without woven callees, if known.
    pub fn record(&mut self, whole: Cycles, own: Option<Cycles>) {
        if self.own.is_none() && own != Some(whole) {
            self.own = Some(Box::new(self.whole.clone()));
        }
        if let (Some(known), Some(own)) = (&mut self.own, own) {
            known.record(own);
        }
        self.whole.record(whole);
    }

    /// Adds another's samples.
    pub fn merge(&mut self, other: &Timing) {
        if self.own.is_none() && other.own.is_some() {
            self.own = Some(Box::new(self.whole.clone()));
        }
        if let Some(own) = &mut self.own {
            own.merge(other.own());
        }
        self.whole.merge(&other.whole);
    }

    /// Times without woven callees, of the samples that know them.
    pub fn own(&self) -> &Distribution {
        self.own.as_deref().unwrap_or(&self.whole)
    }
}
