//! How long the executions of a path took.

use crate::variation::distribution::Distribution;

/// The timings of a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathTimings {
    /// Its number.
    pub path: u64,
    /// Of samples that nothing disturbed, as far as is known.
    pub calm: Timing,
    /// Of samples whose thread was preempted or moved.
    pub disturbed: Timing,
    /// Samples whose time can't be told.
    pub unknown: u64,
    /// Paths that were timed in these samples, all together: callees.
    pub nested: u64,
    /// How the calm samples came, where they were taken in bursts.
    pub bursts: Bursts,
}

impl PathTimings {
    /// All samples.
    pub fn samples(&self) -> u64 {
        let [calm, disturbed] = [&self.calm, &self.disturbed].map(|one| one.whole.count());
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

/// What a path's samples of each burst come to: those of one burst are no strangers to each other. Of a burst with n samples that took t together:
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
    /// Another burst: its samples, and what they took together.
    pub fn record(&mut self, samples: u64, time: u64) {
        let (samples, time) = (u128::from(samples), u128::from(time));
        self.add(&Bursts {
            squares: time * time,
            products: samples * time,
            counts: samples * samples,
        });
    }

    /// Adds another's.
    pub fn add(&mut self, other: &Bursts) {
        self.squares = self.squares.saturating_add(other.squares);
        self.products = self.products.saturating_add(other.products);
        self.counts = self.counts.saturating_add(other.counts);
    }

    /// The sum of (t - n base)².
    pub fn squares_over(&self, base: u64) -> f64 {
        let base = base as f64;
        let [squares, products, counts] =
            [self.squares, self.products, self.counts].map(|sum| sum as f64);
        (squares - 2.0 * base * products + base * base * counts).max(0.0)
    }
}

/// How long a path took, in cycles less the probe's bias.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// With all that it called.
    pub whole: Distribution,
    /// Without woven code that it called, in the samples of which that is known; nothing: in all of them it is the same as `whole`.
    pub own: Option<Box<Distribution>>,
}

impl Timing {
    /// A sample: how long it took, and without woven code that it called, where that is known.
    pub fn record(&mut self, whole: u64, own: Option<u64>) {
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

    /// Without woven code that it called, in the samples of which that is known.
    pub fn own(&self) -> &Distribution {
        self.own.as_deref().unwrap_or(&self.whole)
    }
}
