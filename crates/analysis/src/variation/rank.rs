//! Paths by their net variation (Perelman, Chilimbi, Calder 2005, section 5.1), as far as it is
//! certain.
//!
//! A path's *base time* is the 5 % quantile of its samples, in the paper the least: of up to 20
//! samples it is that (`above`). Its *net variation* is what all its executions took
//! above that: the samples' times above the base time, scaled from samples to executions. The paper
//! leaves the scaling open; here every sample of a process stands for as many executions as paths
//! began for each sample in it, but all executions of a path together take no longer than the run.
//! The *share* is that of the cycles of all threads, each from its first to its last sample,
//! without what probes took; the shares of all paths together can be more than 1, since a caller's
//! time holds its callees', and a path that is timed does not overlap with its neighbours, as the
//! processor has others do. Paths with fewer than two samples are left out, and counted.
//!
//! Worked example (the paper's data, one sample an execution): 100, 130, 100, 400, 110: base time
//! 100, net variation 30 + 300 + 10 = 340.
//!
//! What the clock can't tell apart is no variation. Its readings go in steps, so two times of one
//! length come out up to a step apart, and probes waver: the *resolution*, which each thread
//! measures. A time within that of the base counts as the base time. A base time that rests on one
//! or two samples may be a resolution too short, so there it is twice as much. Where others were
//! timed in it, their probes waver too: with n of them that is 1 + √n times as far. What these took
//! above it is told apart ([`Rank::unresolved`]); with a clock of single cycles the sum of both is
//! the paper's.
//!
//! # What is certain
//! Things outside the program make paths slow, too. *Interruptions* stop a path for a while: the
//! longest samples, as many as may have been interrupted, count only as long as the longest of the
//! others (`interruptions`). *Sharing* the machine slows all code: what the other paths of
//! the run lost says how much (`machine`). A path's net variation is certain if it is
//! still larger than that where the shortest and the longest samples are left out, those of two
//! bursts at least (`above`). Paths whose net variation is certain are ranked by it, as in
//! the paper; the others stand behind them, each with the reason ([`Certainty`]).
//!
//! Cost: linear in the paths, but for sorting.

use std::cmp::Ordering;

use holloway_flow::PathId;
use holloway_format::Distribution;

use super::above::{self, Above, Evidence, of_bursts, together};
use super::interruptions;
use super::machine::Machine;
pub use super::path::{Certainty, Rank};
use super::run::{TimedPath, VariationRun};
use crate::run::FunctionId;

/// Fewest samples that say something of variation.
const LEAST: u64 = 2;

/// Which time a path's is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Time {
    /// With all that it called, as in the paper.
    #[default]
    Inclusive,
    /// Without woven code that it called; of samples in which that was timed too, or didn't run.
    Exclusive,
}

/// What becomes of samples whose thread was preempted, or moved to another processor.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Disturbed {
    /// They only count as executions.
    #[default]
    LeftOut,
    /// They are samples like others.
    Included,
}

/// What is ranked.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct How {
    /// Which time.
    pub time: Time,
    /// Of which samples.
    pub disturbed: Disturbed,
}

/// The paths of a run by net variation.
#[derive(Clone, Default, Debug)]
pub struct Ranking {
    /// Those first whose net variation is certain; of these, and of the others, those with the
    /// larger one, then by function and number.
    pub paths: Vec<Rank>,
    /// How many of them come first since their net variation is certain.
    pub certain: usize,
    /// Places in `paths`, most executions first.
    pub by_count: Vec<usize>,
    /// Places in `paths`, longest total time first.
    pub by_total: Vec<usize>,
    /// Cycles of the run, all threads together.
    pub cycles: u64,
    /// Paths with fewer than two samples, which are left out.
    pub seldom: u64,
    /// How often these ran, as estimated.
    pub seldom_executions: f64,
    /// Of them, paths whose own time is known of fewer than two samples, though they have more.
    pub without_own: u64,
    /// Samples of all paths that were preempted or moved.
    pub disturbed: u64,
    /// How far from its base a time is still the base time, in cycles, where no other path was
    /// timed in it.
    pub window: u64,
    /// The shortest time that the clock can tell from none, in cycles.
    pub floor: u64,
}

/// Ranks the paths of a run.
pub fn rank(run: &VariationRun, how: How) -> Ranking {
    let mut ranking = Ranking {
        cycles: run.stats.cycles,
        window: run.stats.resolution.saturating_mul(2),
        floor: run.stats.resolution.max(1),
        ..Ranking::default()
    };
    let weights = Weights {
        how,
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

/// How samples are weighed.
struct Weights {
    how: How,
    window: u64,
    floor: u64,
    /// Cycles of the run.
    cycles: u64,
    is_exact: bool,
    /// Interruptions in a cycle, at most.
    interruptions: f64,
}

/// What speaks for a path's variation, and cycles of all executions for each of its samples'.
type Found = (Option<Evidence>, f64);

impl Ranking {
    fn add(
        &mut self,
        function: FunctionId,
        path: &TimedPath,
        weights: &Weights,
        evidence: &mut Vec<Found>,
    ) {
        let (rank, found) = rank_of(function, path, weights);
        self.disturbed += rank.disturbed;
        if rank.samples() >= LEAST {
            self.paths.push(rank);
            evidence.push(found);
            return;
        }
        self.seldom += 1;
        self.seldom_executions += path.executions;
        let whole = How {
            time: Time::Inclusive,
            ..weights.how
        };
        self.without_own += u64::from(times(path, whole).count() >= LEAST);
    }

    /// Says of each path whether its net variation is certain.
    fn judge(&mut self, evidence: &[Found]) {
        let known = self.paths.iter().zip(evidence);
        let machine = Machine::of(known.map(|(rank, (found, _))| (rank, *found)));
        for (place, (rank, (found, each))) in self.paths.iter_mut().zip(evidence).enumerate() {
            let (certainty, sure) = match rank.is_steady() {
                false => machine.judge(place, *found),
                true => (Certainty::Steady, 0.0),
            };
            rank.certainty = certainty;
            rank.sure = (sure * each).min(rank.net);
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
            let of = |place: usize| weight(&self.paths[place]);
            // Stable: of equal ones the one with more variation comes first.
            order.sort_by(|&a, &b| larger(of(a), of(b)));
            order
        };
        let (by_count, by_total) = (order(&|one| one.executions), order(&|one| one.total));
        (self.by_count, self.by_total) = (by_count, by_total);
    }

    /// Net variation of the first paths, in cycles.
    pub fn net(&self, first: usize) -> f64 {
        // No sum of none: that is -0.
        let nets = self.paths.iter().take(first).map(|one| one.net);
        nets.fold(0.0, |sum, net| sum + net)
    }

    /// Net variation of the paths of which it is certain, in cycles.
    pub fn certain_net(&self) -> f64 {
        self.net(self.certain)
    }

    /// Cycles above the bases that are none as far as the clock can tell, and paths that have no
    /// others.
    pub fn unresolved(&self) -> (f64, usize) {
        let cycles = self.paths.iter().map(|one| one.unresolved).sum();
        let paths = self.paths.iter().filter(|one| !one.is_resolved());
        (cycles, paths.count())
    }

    /// What part of the run's cycles so many are.
    pub fn share(&self, cycles: f64) -> f64 {
        match self.cycles {
            0 => 0.0,
            all => cycles / all as f64,
        }
    }

    /// Places of the first paths that are not among as many first ones of another order.
    pub fn missed<'a>(&'a self, first: usize, by: &'a [usize]) -> impl Iterator<Item = usize> + 'a {
        let first = first.min(self.paths.len());
        (0..first).filter(move |place| !by[..first].contains(place))
    }
}

fn rank_of(function: FunctionId, path: &TimedPath, weights: &Weights) -> (Rank, Found) {
    let times = times(path, weights.how);
    let of = &path.timings;
    let whole = of.calm.whole.count() + of.disturbed.whole.count();
    let known = of.calm.own().count() + of.disturbed.own().count();
    let nested = of.nested as f64 / of.samples().max(1) as f64;
    let base = above::base(&times);
    let widest = (weights.window as f64 * (1.0 + nested.sqrt())) as u64;
    let window = above::window(&times, base, widest);
    let together = match weights.is_exact {
        true => 1.0,
        false => together(path, base),
    };
    let alike = times.quantile(0.5).max(weights.floor) as f64 * times.count() as f64;
    let bursts = interruptions::most(alike * weights.interruptions);
    let interrupted = of_bursts(bursts, together);
    let above = Above::of(&times, base, window, interrupted);
    let samples = times.count().max(1) as f64;
    let each = each(path, samples, above.total, weights.cycles);
    let evidence = Evidence::of(&times, (base, window, weights.floor), (bursts, together));
    let rank = Rank {
        function,
        path: PathId(of.path),
        disturbed: of.disturbed.whole.count(),
        called: whole.saturating_sub(known),
        executions: path.executions,
        unknown: of.unknown,
        base,
        net: each * above.sum,
        certainty: Certainty::Steady,
        sure: 0.0,
        loss: (above.sum + above.unresolved) / (base.max(weights.floor) as f64 * samples),
        interrupted,
        error: above.error(widest, (!weights.is_exact).then_some(together)),
        unresolved: each * above.unresolved,
        window,
        nested,
        has_callees: weights.how.time == Time::Inclusive
            && (of.calm.own.is_some() || of.disturbed.own.is_some()),
        total: (each * above.total).min(weights.cycles as f64),
        times,
    };
    (rank, (evidence, each))
}

/// Cycles of all executions for each cycle of the samples, which took `total`. All executions of a
/// path take no longer than the run: few samples scaled to all of them may, and so may activations
/// of a function that calls itself, which overlap.
fn each(path: &TimedPath, samples: f64, total: f64, cycles: u64) -> f64 {
    let each = path.executions / samples;
    match each * total > cycles as f64 {
        true => cycles as f64 / total,
        false => each,
    }
}

/// The times that are ranked.
fn times(path: &TimedPath, how: How) -> Distribution {
    let pick = |timing: &holloway_format::Timing| match how.time {
        Time::Inclusive => timing.whole.clone(),
        Time::Exclusive => timing.own().clone(),
    };
    let mut times = pick(&path.timings.calm);
    if how.disturbed == Disturbed::Included {
        times.merge(&pick(&path.timings.disturbed));
    }
    times
}

/// Larger ones first.
pub(super) fn larger(a: f64, b: f64) -> Ordering {
    b.total_cmp(&a)
}
