//! Paths by their net variation (Perelman, Chilimbi, Calder 2005, section 5.1), as far as it is sure.
//!
//! A path's *base time* is the least of its samples. Its *net variation* is what all its executions took above that: the samples' times less
//! the base time each, scaled from samples to executions. The paper leaves the scaling open; here every sample of a process stands for as
//! many executions as paths began for each sample in it. The *share* is that of the cycles of all threads, each from its first to its last sample, without what probes
//! took; all shares together can be more than 1, since a path that is timed does not overlap with its neighbours, as the processor has others do. Paths with fewer than two samples are left out, and counted.
//!
//! Worked example (the paper's data, one sample an execution): 100, 130, 100, 400, 110: base time 100, net variation 30 + 300 + 10 = 340.
//!
//! What the clock can't tell apart is no variation. Its readings go in steps, so two times of one length come out up to a step apart, and probes waver: the *resolution*,
//! which each thread measures. The least of many times may be one such step too short, and any other one too long; so a time within twice the resolution of the base counts as the base
//! time. Where others were timed in it, their probes waver too: with n of them the window is 1 + √n times as wide. What these took above it is told apart ([`Rank::unresolved`]); with a clock of single cycles the sum of both is the paper's.
//!
//! What is *sure* of it is the net variation less one standard error (`above`), and that orders the paths: else the one sample in which a hypervisor or an
//! interrupt held the program, times the ten thousand executions that it stands for, would lead the list. Of many samples the order is that of the net variation.
//!
//! Cost: linear in the paths, but for sorting.

use std::cmp::Ordering;

use holloway_flow::PathId;
use holloway_format::Distribution;

use super::above::{Above, together};
use super::run::{TimedPath, VariationRun};
use crate::run::FunctionId;

/// Fewest samples that say something of variation.
const LEAST: u64 = 2;
/// Error, as a part of a net variation, from which on that may as well be nothing. What was met once, one slow sample, is known to ± 100 %, what was met
/// twice to ± 71 %: this lies between.
const DOUBTFUL: f64 = 0.9;
/// A low quantile: a base time that one odd sample doesn't make.
const LOW: f64 = 0.05;

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

/// A path that was ranked.
#[derive(Clone, PartialEq, Debug)]
pub struct Rank {
    /// Its function.
    pub function: FunctionId,
    /// Its number there.
    pub path: PathId,
    /// The times of its samples, in cycles.
    pub times: Distribution,
    /// Samples whose thread was preempted or moved, whether among these or left out.
    pub disturbed: u64,
    /// Samples in which woven code ran that was not timed, of all.
    pub called: u64,
    /// How often it ran, as estimated.
    pub executions: f64,
    /// Samples whose time can't be told, of all.
    pub unknown: u64,
    /// Net variation, in cycles.
    pub net: f64,
    /// Standard error of that, as a part of it: as an estimate, where not every execution was timed, and by the clock.
    pub error: f64,
    /// Cycles above the base that are none, as far as the clock can tell.
    pub unresolved: f64,
    /// How far from its base a time of its is still the base time, in cycles.
    pub window: u64,
    /// Paths that were timed in one of its executions, on average.
    pub nested: f64,
    /// Whether its time holds that of other woven code, in any sample.
    pub has_callees: bool,
    /// Time of all its executions, in cycles.
    pub total: f64,
}

impl Rank {
    /// Its base time.
    pub fn base(&self) -> u64 {
        self.times.least()
    }

    /// A base time that rests on more than one sample where there are enough: the 5 % quantile.
    pub fn low(&self) -> u64 {
        self.times.quantile(LOW)
    }

    /// Whether its time varies at all, as far as the clock can tell; or doesn't at all.
    pub fn is_resolved(&self) -> bool {
        self.net > 0.0 || self.unresolved <= 0.0
    }

    /// Net variation less its standard error, in cycles; never below 0.
    pub fn sure(&self) -> f64 {
        self.net * (1.0 - self.error).max(0.0)
    }

    /// Whether a tenth at most of its net variation is sure: most often one slow sample made it.
    pub fn is_doubtful(&self) -> bool {
        self.net > 0.0 && self.error >= DOUBTFUL
    }

    /// Samples that it was ranked by.
    pub fn samples(&self) -> u64 {
        self.times.count()
    }
}

/// The paths of a run by net variation.
#[derive(Clone, Default, Debug)]
pub struct Ranking {
    /// Those first whose net variation is surely largest ([`Rank::sure`]); of equal ones that with the larger net variation, then by function and number.
    pub paths: Vec<Rank>,
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
    /// How far from its base a time is still the base time, in cycles, where no other path was timed in it.
    pub window: u64,
}

/// Ranks the paths of a run.
pub fn rank(run: &VariationRun, how: How) -> Ranking {
    let mut ranking = Ranking {
        cycles: run.stats.cycles,
        window: run.stats.resolution.saturating_mul(2),
        ..Ranking::default()
    };
    for timed in &run.functions {
        for path in &timed.paths {
            ranking.add(timed.id, path, how, run.is_exact);
        }
    }
    ranking.sort();
    ranking
}

impl Ranking {
    fn add(&mut self, function: FunctionId, path: &TimedPath, how: How, is_exact: bool) {
        let rank = rank_of(function, path, how, self.window, is_exact);
        self.disturbed += rank.disturbed;
        if rank.samples() >= LEAST {
            self.paths.push(rank);
            return;
        }
        self.seldom += 1;
        self.seldom_executions += path.executions;
        let whole = How {
            time: Time::Inclusive,
            ..how
        };
        self.without_own += u64::from(times(path, whole).count() >= LEAST);
    }

    fn sort(&mut self) {
        let place = |rank: &Rank| (rank.function, rank.path);
        self.paths.sort_by(|a, b| {
            larger(a.sure(), b.sure())
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

    /// Cycles above the bases that are none as far as the clock can tell, and paths that have no others.
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

fn rank_of(function: FunctionId, path: &TimedPath, how: How, window: u64, is_exact: bool) -> Rank {
    let times = times(path, how);
    let of = &path.timings;
    let whole = of.calm.whole.count() + of.disturbed.whole.count();
    let known = of.calm.own().count() + of.disturbed.own().count();
    let nested = of.nested as f64 / of.samples().max(1) as f64;
    let window = (window as f64 * (1.0 + nested.sqrt())) as u64;
    let above = Above::of(&times, window);
    let each = path.executions / times.count().max(1) as f64;
    Rank {
        function,
        path: PathId(of.path),
        disturbed: of.disturbed.whole.count(),
        called: whole.saturating_sub(known),
        executions: path.executions,
        unknown: of.unknown,
        net: each * above.sum,
        error: above.error(window, (!is_exact).then(|| together(path))),
        unresolved: each * above.unresolved,
        window,
        nested,
        has_callees: how.time == Time::Inclusive
            && (of.calm.own.is_some() || of.disturbed.own.is_some()),
        total: path.executions * times.mean(),
        times,
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
