//! Ranks paths by their net variation (Perelman, Chilimbi, Calder 2005, section 5.1), as far as it
//! is certain.
//!
//! A path's *base time* is the 5 % quantile of its samples (`above`). The paper takes the smallest
//! sample, and so does this quantile for up to 20 samples. A path's *net variation* is the time of
//! all its executions above the base time: the samples' times above the base time, scaled from
//! samples to executions. The paper leaves the scaling open. Here each sample of a process stands
//! for the same number of executions: the paths begun in the process, divided by its samples. But
//! all executions of a path together take no longer than the run.
//!
//! The *share* relates to the cycles of all threads, each from its first to its last sample,
//! without the time of probes. The shares of all paths together can exceed 1, for two reasons. A
//! caller's time includes its callees' time. And a timed path does not overlap with its neighbors,
//! although the processor overlaps other paths. Paths with fewer than two samples are not ranked,
//! but counted.
//!
//! Worked example (the paper's data, one sample for each execution): 100, 130, 100, 400, 110: base
//! time 100, net variation 30 + 300 + 10 = 340.
//!
//! Differences that the clock cannot resolve are not variation. The clock advances in steps, so two
//! equal times may be read up to a step apart, and the time of probes wavers. The *resolution*
//! covers both; each thread measures it. A time within the resolution of the base counts as the
//! base time. A base time that rests on one or two samples may be a resolution too short, so there
//! the limit is twice as large. If other paths were timed inside a path, their probes waver too:
//! with n of them, the limit is 1 + √n times as large. The time of such samples above the base is
//! reported separately ([`Rank::unresolved`]). With a clock of single cycles, the sum of both is
//! the paper's net variation.
//!
//! # Certainty
//! Things outside the program make paths slow, too:
//! - *Interruptions* stop a path for a while. The longest samples, as many as may have been
//!   interrupted, count only as long as the longest of the other samples (`interruptions`).
//! - *Sharing* the machine slows all code. The losses of the run's other paths show by how much
//!   (`machine`).
//!
//! A path's net variation is certain if it exceeds both effects after the shortest and the longest
//! samples are left out, at least those of two bursts (`above`). Paths with certain net variation
//! are ranked by it, as in the paper. The other paths come after them, each with the reason
//! ([`Certainty`]).
//!
//! Cost: linear in the paths, except for sorting.

use std::cmp::Ordering;

use holloway_format::{Count, Cycles, Distribution};

use super::above::{self, Evidence, TimeAbove, burst_factor, samples_of_bursts};
use super::interruptions;
use super::machine::Machine;
pub use super::path::{Certainty, Rank};
use super::run::{TimedPath, VariationRun};
use crate::run::FunctionId;

/// Minimum number of samples that can show variation.
const MIN_SAMPLES: Count = Count(2);

/// Which time of a path is ranked.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Time {
    /// The time with all callees, as in the paper.
    #[default]
    Inclusive,
    /// The time without woven callees. Only samples count in which no woven code ran, or all of it
    /// was timed too.
    Exclusive,
}

/// The treatment of samples whose thread was preempted, or moved to another processor.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Disturbed {
    /// The samples count only as executions.
    #[default]
    LeftOut,
    /// The samples are used like all others.
    Included,
}

/// The options of a ranking.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RankOptions {
    /// Which time is ranked.
    pub time: Time,
    /// Whether disturbed samples are used.
    pub disturbed: Disturbed,
}

/// The paths of a run by net variation.
#[derive(Clone, Default, Debug)]
pub struct Ranking {
    /// Paths with certain net variation first, then the others. Within each group, larger net
    /// variation comes first, then the order is by function and number.
    pub paths: Vec<Rank>,
    /// Number of paths with certain net variation; they come first.
    pub certain: usize,
    /// Indices into `paths`, most executions first.
    pub by_count: Vec<usize>,
    /// Indices into `paths`, longest total time first.
    pub by_total: Vec<usize>,
    /// Cycles of the run, summed over all threads.
    pub cycles: Cycles,
    /// Number of paths with fewer than two samples, which are not ranked.
    pub seldom: u64,
    /// Estimated number of executions of these paths.
    pub seldom_executions: f64,
    /// The number of these paths that have two or more samples, but fewer than two with a known own
    /// time.
    pub without_own: u64,
    /// Number of samples of all paths that were preempted or moved.
    pub disturbed: Count,
    /// How far above the base a time still counts as the base time, in cycles, if no other path was
    /// timed inside it.
    pub window: Cycles,
    /// The shortest time that the clock can distinguish from 0, in cycles.
    pub floor: Cycles,
}

/// Ranks the paths of a run.
pub fn rank(run: &VariationRun, options: RankOptions) -> Ranking {
    let mut ranking = Ranking {
        cycles: run.stats.cycles,
        window: run.stats.resolution.saturating_mul(2),
        floor: run.stats.resolution.max(Cycles(1)),
        ..Ranking::default()
    };
    let weights = Weights {
        options,
        window: ranking.window,
        floor: ranking.floor,
        cycles: ranking.cycles,
        is_exact: run.is_exact,
        interruptions: interruptions::rate(run),
    };
    let mut evidence = Vec::new();
    for timed in &run.functions {
        for path in &timed.paths {
            ranking.add(timed.id, path, &weights, &mut evidence);
        }
    }
    ranking.judge(&evidence);
    ranking.sort();
    ranking
}

/// The parameters for weighting samples.
struct Weights {
    options: RankOptions,
    window: Cycles,
    floor: Cycles,
    /// Cycles of the run.
    cycles: Cycles,
    is_exact: bool,
    /// Maximum number of interruptions in a cycle.
    interruptions: f64,
}

/// A path's evidence, and the factor from the cycles of its samples to the cycles of all its
/// executions.
type PathEvidence = (Option<Evidence>, f64);

impl Ranking {
    fn add(
        &mut self,
        function: FunctionId,
        path: &TimedPath,
        weights: &Weights,
        evidence: &mut Vec<PathEvidence>,
    ) {
        let (rank, path_evidence) = rank_of(function, path, weights);
        self.disturbed += rank.disturbed;
        if rank.samples() >= MIN_SAMPLES {
            self.paths.push(rank);
            evidence.push(path_evidence);
            return;
        }
        self.seldom += 1;
        self.seldom_executions += path.executions;
        let inclusive = RankOptions {
            time: Time::Inclusive,
            ..weights.options
        };
        self.without_own += u64::from(times(path, inclusive).count() >= MIN_SAMPLES);
    }

    /// Decides for each path whether its net variation is certain.
    fn judge(&mut self, evidence: &[PathEvidence]) {
        let ranks = self.paths.iter().zip(evidence);
        let machine = Machine::new(ranks.map(|(rank, (path_evidence, _))| (rank, *path_evidence)));
        for (place, (rank, (path_evidence, scale))) in
            self.paths.iter_mut().zip(evidence).enumerate()
        {
            let (certainty, sure) = match rank.is_steady() {
                false => machine.judge(place, *path_evidence),
                true => (Certainty::Steady, 0.0),
            };
            rank.certainty = certainty;
            rank.certain_net = (sure * scale).min(rank.net);
            self.certain += usize::from(rank.is_certain());
        }
    }

    fn sort(&mut self) {
        let place = |rank: &Rank| (rank.function, rank.path);
        self.paths.sort_by(|a, b| {
            (b.is_certain().cmp(&a.is_certain()))
                .then_with(|| larger(a.net, b.net))
                .then_with(|| place(a).cmp(&place(b)))
        });
        let order = |weight: &dyn Fn(&Rank) -> f64| {
            let mut order: Vec<usize> = (0..self.paths.len()).collect();
            let weight_of = |place: usize| weight(&self.paths[place]);
            // A stable sort: of equal paths, the path with more variation comes first.
            order.sort_by(|&a, &b| larger(weight_of(a), weight_of(b)));
            order
        };
        let (by_count, by_total) = (order(&|rank| rank.executions), order(&|rank| rank.total));
        (self.by_count, self.by_total) = (by_count, by_total);
    }

    /// Net variation of the first paths, in cycles.
    pub fn net(&self, first: usize) -> f64 {
        // Not `sum`: the sum of no numbers is -0.
        let nets = self.paths.iter().take(first).map(|rank| rank.net);
        nets.fold(0.0, |sum, net| sum + net)
    }

    /// Net variation of the paths for which it is certain, in cycles.
    pub fn certain_net(&self) -> f64 {
        self.net(self.certain)
    }

    /// Cycles above the base times that the clock cannot resolve, and the number of paths that vary
    /// only by such cycles.
    pub fn unresolved(&self) -> (f64, usize) {
        let cycles = self.paths.iter().map(|rank| rank.unresolved).sum();
        let paths = self.paths.iter().filter(|rank| !rank.is_resolved());
        (cycles, paths.count())
    }

    /// The share of the run's cycles.
    pub fn share(&self, cycles: f64) -> f64 {
        match self.cycles {
            Cycles::ZERO => 0.0,
            all => cycles / all.to_f64(),
        }
    }

    /// Indices of the first paths that are not among the same number of first paths in another
    /// order.
    pub fn missed<'a>(&'a self, first: usize, by: &'a [usize]) -> impl Iterator<Item = usize> + 'a {
        let first = first.min(self.paths.len());
        (0..first).filter(move |place| !by[..first].contains(place))
    }
}

fn rank_of(function: FunctionId, path: &TimedPath, weights: &Weights) -> (Rank, PathEvidence) {
    let times = times(path, weights.options);
    let timings = &path.timings;
    let all_samples = timings.calm.inclusive.count() + timings.disturbed.inclusive.count();
    let with_own_time =
        timings.calm.exclusive_times().count() + timings.disturbed.exclusive_times().count();
    let nested = timings.nested.to_f64() / timings.samples().max(Count(1)).to_f64();
    let base = above::base(&times);
    let widest = Cycles((weights.window.to_f64() * (1.0 + nested.sqrt())) as u64);
    let window = above::window(&times, base, widest);
    let burst_factor = match weights.is_exact {
        true => 1.0,
        false => burst_factor(path, base),
    };
    let typical = times.quantile(0.5).max(weights.floor).to_f64() * times.count().to_f64();
    let bursts = Count(interruptions::max_interruptions(
        typical * weights.interruptions,
    ));
    let interrupted = samples_of_bursts(bursts, burst_factor);
    let above = TimeAbove::new(&times, base, window, interrupted);
    let samples = times.count().max(Count(1)).to_f64();
    let scale = scale(path, samples, above.total, weights.cycles);
    let evidence = Evidence::new(
        &times,
        (base, window, weights.floor),
        (bursts, burst_factor),
    );
    let rank = Rank {
        function,
        path: timings.path,
        disturbed: timings.disturbed.inclusive.count(),
        called: all_samples.saturating_sub(with_own_time),
        executions: path.executions,
        unknown: timings.unknown,
        base,
        net: scale * above.sum,
        certainty: Certainty::Steady,
        certain_net: 0.0,
        loss: (above.sum + above.unresolved) / (base.max(weights.floor).to_f64() * samples),
        interrupted,
        error: above.error(widest, (!weights.is_exact).then_some(burst_factor)),
        unresolved: scale * above.unresolved,
        window,
        nested,
        has_callees: weights.options.time == Time::Inclusive
            && (timings.calm.exclusive.is_some() || timings.disturbed.exclusive.is_some()),
        total: (scale * above.total).min(weights.cycles.to_f64()),
        times,
    };
    (rank, (evidence, scale))
}

/// Returns the factor from the cycles of samples, which took `total`, to the cycles of all
/// executions. All executions of a path take no longer than the run. A few samples scaled to all
/// executions may, and so may the overlapping activations of a recursive function.
fn scale(path: &TimedPath, samples: f64, total: f64, cycles: Cycles) -> f64 {
    let scale = path.executions / samples;
    match scale * total > cycles.to_f64() {
        true => cycles.to_f64() / total,
        false => scale,
    }
}

/// The times to rank.
fn times(path: &TimedPath, options: RankOptions) -> Distribution {
    let pick = |timing: &holloway_format::Timing| match options.time {
        Time::Inclusive => timing.inclusive.clone(),
        Time::Exclusive => timing.exclusive_times().clone(),
    };
    let mut times = pick(&path.timings.calm);
    if options.disturbed == Disturbed::Included {
        times.merge(&pick(&path.timings.disturbed));
    }
    times
}

/// Orders larger numbers first.
pub(super) fn larger(a: f64, b: f64) -> Ordering {
    b.total_cmp(&a)
}
