//! How long paths took: the timings of one process and image (Perelman, Chilimbi, Calder 2005), and their file `*.hwv`.
//!
//! Of each path a [`Timing`] is kept for samples that nothing disturbed, and one for those whose thread was preempted, or moved to another
//! processor, on the way.

mod distribution;
mod file;

pub use distribution::{BUCKETS, Bucket, Distribution, Sums, bounds, bucket_of};
pub(crate) use file::repair;
pub use file::{
    VARIATION_MAGIC, VARIATION_VERSION, peek_variation, read_variation, write_variation,
};

use holloway_abi::Kind;

use crate::damage::Damage;

/// Numbers of a [`VariationStats`].
const VARIATION_NUMBERS: usize = 25;

/// What is known of a file without its timings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VariationHead {
    /// Build id of the image.
    pub build_id: [u8; 16],
    /// Image name.
    pub image: String,
    /// Path of the image's file.
    pub image_path: String,
    /// [`Kind::Variation`] or [`Kind::Times`].
    pub kind: Kind,
    /// Process id.
    pub pid: u32,
    /// Parent's process id.
    pub ppid: u32,
    /// Threads whose streams were read.
    pub threads: u32,
    /// Child of a fork.
    pub forked: bool,
    /// Numbers.
    pub stats: VariationStats,
}

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

impl VariationStats {
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

/// The timings of one process and image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VariationProfile {
    /// Whose they are.
    pub head: VariationHead,
    /// Functions with samples, ascending by module and function.
    pub functions: Vec<FunctionTimings>,
    /// What could not be read.
    pub damage: Vec<Damage>,
}

/// The timings of one function's paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionTimings {
    /// Module in the image's map.
    pub module: u32,
    /// Function in the module's map.
    pub function: u32,
    /// Hash of the function's graph in the map.
    pub hash: u64,
    /// Paths with samples, ascending by number.
    pub paths: Vec<PathTimings>,
}

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
