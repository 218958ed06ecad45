//! Ranks paths by their net variation (Perelman, Chilimbi, Calder 2005, section 5.1). Paths whose
//! net variation is certain come first.
//!
//! A path's *base time* is the 5 % quantile of its samples (`above`). The paper takes the smallest
//! sample, and so does this quantile for up to 20 samples. A path's *net variation* is the time of
//! all its executions above the base time: the samples' times above the base time, scaled from
//! samples to executions. The paper does not define the scaling. Here each sample of a process
//! represents the same number of executions: the paths begun in the process, divided by its
//! samples. The scaled time of a path is limited to the time of the run.
//!
//! A path's *share* is its net variation divided by the cycles of all threads. A thread's cycles
//! extend from its first to its last sample, without the time of probes. The shares of all paths
//! together can exceed 1, for two reasons. A caller's time includes its callees' time. And the
//! processor overlaps the execution of neighboring paths, but not of timed ones. Paths with fewer
//! than two samples are not ranked, but counted.
//!
//! Worked example (the paper's data, one sample for each execution): 100, 130, 100, 400, 110: base
//! time 100, net variation 30 + 300 + 10 = 340.
//!
//! Differences that the clock cannot resolve are not variation. The clock advances in steps, so two
//! equal times may be read up to a step apart, and the time of probes varies. The *resolution*
//! covers both, and each thread measures it. The *window* is how far above the base time a time
//! still counts as the base time. Usually the window is one resolution. A base time of only one or
//! two samples may be a resolution too short, so its window is twice as wide. If n other paths were
//! timed inside a path, the time of their probes varies too, so the window is 1 + √n times as wide.
//! The time of samples inside the window above the base is reported separately
//! ([`RankedPath::unresolved`]). With a clock of single cycles, this time and the net variation add
//! up to the paper's net variation.
//!
//! # Certainty
//! Things outside the program make paths slow, too:
//! - *Interruptions* stop a path for a while. The longest samples, as many as may have been
//!   interrupted, count only as long as the longest of the other samples (`interruptions`).
//! - *Sharing* the machine slows all code. The losses of the run's other paths show by how much
//!   (`machine`).
//!
//! The samples of at least the two shortest and the two longest bursts are left out (`above`). A
//! path's net variation is certain if the remaining samples still exceed both effects. Paths with
//! certain net variation are ranked by it, as in the paper. The other paths come after them, each
//! with the reason ([`Certainty`]).
//!
//! Cost: linear in the paths, except for sorting.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use holloway_format::{Count, Cycles, Distribution};

use super::above::{self, Evidence, TimeAbove, burst_factor, samples_of_bursts};
use super::interruptions::Interruptions;
use super::machine::MachineNoise;
pub use super::ranked_path::{Certainty, RankedPath};
use super::run::{TimedPath, VariationRun};
use crate::run::FunctionId;

/// If the paths of a function take more than this multiple of the run's time, its activations
/// overlap. Estimates from samples may exceed the run slightly.
const OVERLAP: f64 = 1.5;
/// Minimum number of samples that can show variation.
const MIN_SAMPLES: Count = Count(2);

/// Which time of a path is ranked.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Time {
    /// The time with all callees, as in the paper.
    #[default]
    Inclusive,
    /// The time without instrumented callees. A sample counts only if every instrumented path
    /// inside it was timed too.
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
    pub paths: Vec<RankedPath>,
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
    /// The number of these paths that have two or more samples, but fewer than two with a known
    /// exclusive time.
    pub without_own: u64,
    /// Number of samples of all paths that were preempted or moved.
    pub disturbed: Count,
    /// The widest window of a path inside which no other path was timed, in cycles.
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
        probe: run.stats.largest_bias,
    };
    let paths = || {
        let functions = run.functions.iter();
        functions.flat_map(|timed| timed.paths.iter().map(|path| (timed.id, path)))
    };
    let samples: Vec<Samples> = paths()
        .map(|(_, path)| Samples::new(path, &weights))
        .collect();
    let exposures = samples.iter().map(|path| (&path.times, path.exposure));
    let interruptions = Interruptions::new(run, exposures);
    let mut evidence = Vec::new();
    for (index, ((function, path), samples)) in paths().zip(samples).enumerate() {
        let interrupted = interruptions.max_bursts(index, samples.exposure);
        let ranked = ranked_path(function, path, samples, interrupted, &weights);
        ranking.add(path, ranked, &weights, &mut evidence);
    }
    ranking.decide_certainty(&evidence);
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
    /// Cycles of a probe between the two clock readings of a sample.
    probe: Cycles,
}

/// The samples of a path that count.
struct Samples {
    times: Distribution,
    /// The average number of other paths that were timed inside the path.
    nested: f64,
    /// Cycles of the probes inside a sample, its own included.
    probes: Cycles,
    /// Cycles in which an interruption makes a sample longer, without the cycles that it takes.
    exposure: Cycles,
}

impl Samples {
    fn new(path: &TimedPath, weights: &Weights) -> Samples {
        let times = times(path, weights.options);
        let timings = &path.timings;
        let nested = timings.nested.to_f64() / timings.samples().max(Count(1)).to_f64();
        let probes = Cycles((weights.probe.to_f64() * (1.0 + nested)) as u64);
        let usual = (times.quantile(0.5).max(weights.floor) + probes).to_f64();
        Samples {
            exposure: Cycles((usual * times.count().to_f64()) as u64),
            times,
            nested,
            probes,
        }
    }
}

/// A path's evidence, and the factor from the cycles of its samples to the cycles of all its
/// executions.
type PathEvidence = (Option<Evidence>, f64);

impl Ranking {
    fn add(
        &mut self,
        path: &TimedPath,
        (ranked, path_evidence): (RankedPath, PathEvidence),
        weights: &Weights,
        evidence: &mut Vec<PathEvidence>,
    ) {
        self.disturbed += ranked.disturbed;
        if ranked.samples() >= MIN_SAMPLES {
            self.paths.push(ranked);
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

    /// Decides for each path whether its net variation is certain, and how much of it.
    fn decide_certainty(&mut self, evidence: &[PathEvidence]) {
        let ranks = self.paths.iter().zip(evidence);
        let noise =
            MachineNoise::new(ranks.map(|(path, (path_evidence, _))| (path, *path_evidence)));
        for (index, (path, (path_evidence, scale))) in
            self.paths.iter_mut().zip(evidence).enumerate()
        {
            let (certainty, certain_cycles) = match path.is_steady() {
                false => noise.certainty(index, *path_evidence),
                true => (Certainty::Steady, 0.0),
            };
            path.certainty = certainty;
            path.certain_net = (certain_cycles * scale).min(path.net);
            self.certain += usize::from(path.is_certain());
        }
    }

    fn sort(&mut self) {
        let id = |path: &RankedPath| (path.function, path.path);
        self.paths.sort_by(|a, b| {
            (b.is_certain().cmp(&a.is_certain()))
                .then_with(|| larger(a.net, b.net))
                .then_with(|| id(a).cmp(&id(b)))
        });
        let order = |weight: &dyn Fn(&RankedPath) -> f64| {
            let mut order: Vec<usize> = (0..self.paths.len()).collect();
            let weight_of = |index: usize| weight(&self.paths[index]);
            // A stable sort: of equal paths, the path with more variation comes first.
            order.sort_by(|&a, &b| larger(weight_of(a), weight_of(b)));
            order
        };
        let (by_count, by_total) = (order(&|path| path.executions), order(&|path| path.total));
        (self.by_count, self.by_total) = (by_count, by_total);
    }

    /// Net variation of the first paths, in cycles.
    pub fn net(&self, first: usize) -> f64 {
        // Not `sum`: the sum of no numbers is -0.
        let nets = self.paths.iter().take(first).map(|path| path.net);
        nets.fold(0.0, |sum, net| sum + net)
    }

    /// Net variation of the paths for which it is certain, in cycles.
    pub fn certain_net(&self) -> f64 {
        self.net(self.certain)
    }

    /// Cycles above the base times that the clock cannot resolve, and the number of paths that vary
    /// only by such cycles.
    pub fn unresolved(&self) -> (f64, usize) {
        let cycles = self.paths.iter().map(|path| path.unresolved).sum();
        let paths = self.paths.iter().filter(|path| !path.is_resolved());
        (cycles, paths.count())
    }

    /// These cycles as a share of the run's cycles.
    pub fn share(&self, cycles: f64) -> f64 {
        match self.cycles {
            Cycles::ZERO => 0.0,
            run_cycles => cycles / run_cycles.to_f64(),
        }
    }

    /// The functions whose paths take longer, all their executions together, than half again the
    /// run, even if each path is faster by its error than estimated. Either such a function calls
    /// itself, so the time of inner calls is also in the outer ones. Or the processor overlaps
    /// executions of its paths, and the clock measures them one by one.
    pub fn overlapping(&self) -> BTreeSet<FunctionId> {
        let mut totals: BTreeMap<FunctionId, f64> = BTreeMap::new();
        for path in &self.paths {
            // Not `total`, which is limited to the time of the run.
            let certain = (1.0 - path.error).max(0.0);
            *totals.entry(path.function).or_default() +=
                certain * path.executions * path.times.mean();
        }
        let limit = OVERLAP * self.cycles.to_f64();
        totals.retain(|_, total| *total > limit);
        totals.into_keys().collect()
    }

    /// Indices of the first paths that are not among the same number of first paths in the order
    /// `by`.
    pub fn missed<'a>(&'a self, first: usize, by: &'a [usize]) -> impl Iterator<Item = usize> + 'a {
        let first = first.min(self.paths.len());
        (0..first).filter(move |index| !by[..first].contains(index))
    }
}

/// Computes the statistics of a path. Its certainty is decided after those of all other paths are
/// known.
fn ranked_path(
    function: FunctionId,
    path: &TimedPath,
    samples: Samples,
    interrupted_bursts: Count,
    weights: &Weights,
) -> (RankedPath, PathEvidence) {
    let Samples {
        times,
        nested,
        probes,
        ..
    } = samples;
    let timings = &path.timings;
    let all_samples = timings.calm.inclusive.count() + timings.disturbed.inclusive.count();
    let with_exclusive_time =
        timings.calm.exclusive_times().count() + timings.disturbed.exclusive_times().count();
    let base = above::base(&times);
    let widest = Cycles((weights.window.to_f64() * (1.0 + nested.sqrt())) as u64);
    let window = above::window(&times, base, widest);
    let burst_factor = match weights.is_exact {
        true => 1.0,
        false => burst_factor(path, base),
    };
    let interrupted = samples_of_bursts(interrupted_bursts, burst_factor);
    let above = TimeAbove::new(&times, base, window, interrupted);
    let samples = times.count().max(Count(1)).to_f64();
    let scale = scale(path, samples, above.total, weights.cycles);
    let evidence = Evidence::new(
        &times,
        (base, window, weights.floor, probes),
        (interrupted_bursts, burst_factor),
    );
    let rank = RankedPath {
        function,
        path: timings.path,
        disturbed: timings.disturbed.inclusive.count(),
        with_untimed_callees: all_samples.saturating_sub(with_exclusive_time),
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

/// Returns the factor from the time of a path's samples (`total` cycles) to the time of all its
/// executions. The scaled time is limited to the time of the run. Without this limit, it may be
/// longer if there are few samples, or if activations of a recursive function overlap.
fn scale(path: &TimedPath, samples: f64, total: f64, cycles: Cycles) -> f64 {
    let scale = path.executions / samples;
    match scale * total > cycles.to_f64() {
        true => cycles.to_f64() / total,
        false => scale,
    }
}

/// The times to rank.
fn times(path: &TimedPath, options: RankOptions) -> Distribution {
    let times_of = |timing: &holloway_format::Timing| match options.time {
        Time::Inclusive => timing.inclusive.clone(),
        Time::Exclusive => timing.exclusive_times().clone(),
    };
    let mut times = times_of(&path.timings.calm);
    if options.disturbed == Disturbed::Included {
        times.merge(&times_of(&path.timings.disturbed));
    }
    times
}

/// Orders larger numbers first.
pub(super) fn larger(a: f64, b: f64) -> Ordering {
    b.total_cmp(&a)
}
