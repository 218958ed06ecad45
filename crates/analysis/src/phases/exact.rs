//! The exact phases of a thread, from its whole trace: the yardstick for detectors.
//!
//! 1. The trace is divided into at most [`MAX_WINDOWS`] windows of equally many branches. Two
//!    windows are as similar as the paths that they execute: their *distance* is 1 minus their
//!    overlap, the sum over paths of the smaller share in the window's instructions.
//! 2. Small windows of programs with many paths differ by chance. So windows are joined in pairs
//!    until the median distance of adjacent windows is at most ¼, or [`MIN_WINDOWS`] would be
//!    undercut. A window size that the user chose stays.
//! 3. The windows are clustered (`clusters`). Each cluster is a phase. A single window between two
//!    others of a different phase joins the neighbor that it is more similar to: a phase lasts at
//!    least two windows.
//! 4. Each transition is moved to the path where it most likely happened. Let p be the share of a
//!    path in the executions of the phase before, and q in the phase after. The transition is
//!    between the two paths where the sum of log p before it and log q after it is largest, within
//!    the two windows around it.
//!
//! Nothing here depends on chance.
//!
//! Cost: a pass over the trace, a distance for each pair of windows, and a second pass over the
//! windows around transitions.

mod clusters;
mod windows;

use std::collections::{BTreeMap, BTreeSet};

use holloway_format::Count;

use crate::branch_stream::BranchStream;
use crate::trace::Trace;
use crate::trace::code::{Code, Event};
use clusters::Distances;
use windows::{Window, distance, distance_to, join_pairs, shares, windows};

/// Maximum number of windows, unless the user chooses their size.
pub const MAX_WINDOWS: u64 = 1000;
/// Maximum number of windows of a size that the user chose.
pub const MAX_CHOSEN_WINDOWS: u64 = 4096;
/// Number of windows that joining does not undercut.
pub const MIN_WINDOWS: usize = 50;
/// The smallest default size of a window, in branches.
const MIN_WINDOW: u64 = 1000;
/// The median distance of adjacent windows up to which they are not joined.
const MAX_NOISE: f32 = 0.25;

/// The number of a phase, in order of first appearance.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PhaseId(pub u32);

impl PhaseId {
    /// The number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A part of the run in one phase. Segments follow each other without gaps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// The phase.
    pub phase: PhaseId,
    /// Number of branches before the segment.
    pub start: Count,
    /// Number of branches before the next segment.
    pub end: Count,
}

/// A phase.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Phase {
    /// Number of its segments.
    pub segments: u64,
    /// Branches in its segments.
    pub branches: Count,
    /// Instructions of the paths in its segments.
    pub instructions: Count,
    /// The terminals of the trace in its segments, with their executions, most instructions first.
    pub paths: Vec<(u32, Count)>,
}

/// The phases of a thread.
#[derive(Clone, PartialEq, Debug)]
pub struct ExactPhases {
    /// Number of branches of a window.
    pub window: u64,
    /// Number of windows.
    pub windows: u64,
    /// The mean silhouette of the windows, before single windows join their neighbors; 0 if there
    /// is one phase.
    pub silhouette: f64,
    /// The phases.
    pub phases: Vec<Phase>,
    /// The segments, in order.
    pub segments: Vec<Segment>,
}

impl ExactPhases {
    /// Finds the phases of a thread. `window` is the number of branches of a window; `None` means
    /// the rule of this module.
    pub fn new(
        code: &Code<'_>,
        trace: &Trace,
        stream: &BranchStream<'_>,
        window: Option<u64>,
    ) -> ExactPhases {
        let events = trace.terminals.iter().map(|&terminal| code.event(terminal));
        let instructions: Vec<u64> = events.map(Event::instructions).collect();
        let size = window.unwrap_or_else(|| stream.len().div_ceil(MAX_WINDOWS).max(MIN_WINDOW));
        let all = windows(&trace.grammar, stream, trace.terminals.len(), size);
        let (factor, all) = match window {
            Some(_) => (1, all),
            None => without_noise(all, &instructions),
        };
        let vectors = all
            .iter()
            .map(|window| shares(&window.counts, &instructions));
        let vectors: Vec<_> = vectors.collect();
        let distances = distances(&vectors, trace.terminals.len());
        let (mut labels, silhouette) = distances.clusters();
        let neighbor_distance = |a: usize, b: usize| distance(&vectors[a], &vectors[b]);
        absorb_single_windows(&mut labels, &neighbor_distance);
        let labels = renumber(&labels);
        let phases = labels.iter().collect::<BTreeSet<_>>().len();
        let silhouette = if phases > 1 { silhouette } else { 0.0 };
        let mut division = Division::new(trace, stream, &all, labels);
        division.refine();
        ExactPhases {
            window: size.saturating_mul(factor),
            windows: all.len() as u64,
            silhouette,
            phases: division.phases(&instructions),
            segments: division.segments,
        }
    }

    /// The transitions: the number of branches before each, and the phases before and after it.
    pub fn transitions(&self) -> impl Iterator<Item = (Count, PhaseId, PhaseId)> + '_ {
        let pairs = self.segments.windows(2);
        pairs.map(|pair| (pair[1].start, pair[0].phase, pair[1].phase))
    }
}

/// The distances of all pairs of windows.
fn distances(vectors: &[Vec<(u32, f32)>], terminals: usize) -> Distances {
    // By terminal: its share in the window of the row, and 0 elsewhere.
    let mut row = vec![0.0f32; terminals];
    let mut before: &[(u32, f32)] = &[];
    Distances::new(vectors.len(), |a| {
        before
            .iter()
            .for_each(|&(path, _)| row[path as usize] = 0.0);
        before = &vectors[a];
        before
            .iter()
            .for_each(|&(path, share)| row[path as usize] = share);
        let distances = vectors[..a].iter().map(|other| distance_to(&row, other));
        distances.collect::<Vec<f32>>().into_iter()
    })
}

/// Joins windows until adjacent ones are similar. Also returns how many windows each of them is.
fn without_noise(mut all: Vec<Window>, instructions: &[u64]) -> (u64, Vec<Window>) {
    let mut factor = 1;
    while all.len() >= 2 * MIN_WINDOWS {
        let vectors = all
            .iter()
            .map(|window| shares(&window.counts, instructions));
        let vectors: Vec<_> = vectors.collect();
        let distances = vectors.windows(2).map(|pair| distance(&pair[0], &pair[1]));
        let mut distances: Vec<f32> = distances.collect();
        distances.sort_by(f32::total_cmp);
        if distances[distances.len() / 2] <= MAX_NOISE {
            break;
        }
        all = join_pairs(&all);
        factor *= 2;
    }
    (factor, all)
}

/// Gives a window whose neighbors have other labels the label of the nearer neighbor.
fn absorb_single_windows(labels: &mut [usize], distance: &dyn Fn(usize, usize) -> f32) {
    for index in 0..labels.len() {
        let before = index.checked_sub(1);
        let after = Some(index + 1).filter(|&after| after < labels.len());
        let neighbors: Vec<usize> = before.into_iter().chain(after).collect();
        if neighbors
            .iter()
            .all(|&other| labels[other] != labels[index])
        {
            let nearest = neighbors
                .into_iter()
                .min_by(|&a, &b| distance(index, a).total_cmp(&distance(index, b)));
            if let Some(nearest) = nearest {
                labels[index] = labels[nearest];
            }
        }
    }
}

/// Numbers the labels in order of first appearance.
fn renumber(labels: &[usize]) -> Vec<PhaseId> {
    let mut numbers: BTreeMap<usize, PhaseId> = BTreeMap::new();
    let phases = labels.iter().map(|&label| {
        let next = PhaseId(numbers.len() as u32);
        *numbers.entry(label).or_insert(next)
    });
    phases.collect()
}

/// The division of a trace into segments.
struct Division<'a> {
    trace: &'a Trace,
    stream: &'a BranchStream<'a>,
    windows: &'a [Window],
    /// By window.
    labels: Vec<PhaseId>,
    /// By phase: the executions of its terminals.
    counts: Vec<BTreeMap<u32, u64>>,
    segments: Vec<Segment>,
}

impl<'a> Division<'a> {
    fn new(
        trace: &'a Trace,
        stream: &'a BranchStream<'a>,
        windows: &'a [Window],
        labels: Vec<PhaseId>,
    ) -> Division<'a> {
        let phases = labels.iter().max().map_or(0, |last| last.index() + 1);
        let mut counts = vec![BTreeMap::new(); phases];
        let mut segments: Vec<Segment> = Vec::new();
        for (window, &phase) in windows.iter().zip(&labels) {
            for &(terminal, count) in &window.counts {
                *counts[phase.index()].entry(terminal).or_default() += count;
            }
            let (start, end) = (window.first_branch, window.first_branch + window.branches);
            match segments.last_mut().filter(|last| last.phase == phase) {
                Some(last) => last.end = Count(end),
                None => segments.push(Segment {
                    phase,
                    start: Count(start),
                    end: Count(end),
                }),
            }
        }
        Division {
            trace,
            stream,
            windows,
            labels,
            counts,
            segments,
        }
    }

    /// Moves each transition to the path where it most likely happened.
    fn refine(&mut self) {
        let known = self.counts.clone();
        let mut segment = 0;
        for after in 1..self.windows.len() {
            let (old, new) = (self.labels[after - 1], self.labels[after]);
            if old == new {
                continue;
            }
            let split = self.split(after, [&known[old.index()], &known[new.index()]]);
            self.segments[segment].end = Count(split);
            segment += 1;
            self.segments[segment].start = Count(split);
        }
    }

    /// Finds the transition around the start of a window, and moves the counts of the paths that
    /// are on its other side. Returns the number of branches before the transition. Segments have
    /// two windows or more, so transitions do not interfere.
    fn split(&mut self, after: usize, known: [&BTreeMap<u32, u64>; 2]) -> u64 {
        let [before, window] = [&self.windows[after - 1], &self.windows[after]];
        let [old, new] = known.map(Likelihood::new);
        let events = before.events + window.events;
        let (mut best, mut best_gain) = ((before.first_event, before.first_branch), 0.0);
        let (mut gain, mut branch) = (0.0, before.first_branch);
        let paths = self.trace.grammar.expand_from(before.first_event);
        for (event, terminal) in (before.first_event + 1..).zip(paths.take(events as usize)) {
            gain += old.log(terminal) - new.log(terminal);
            branch += self.stream.of_terminal(terminal).len() as u64;
            if gain > best_gain {
                (best, best_gain) = ((event, branch), gain);
            }
        }
        // The paths between the border of the windows and the transition change sides.
        let (border, (event, branch)) = (window.first_event, best);
        let (from, to) = (border.min(event), border.max(event));
        let [old, new] = [self.labels[after - 1], self.labels[after]];
        let (loses, gets) = if event > border {
            (new, old)
        } else {
            (old, new)
        };
        let moved = self
            .trace
            .grammar
            .expand_from(from)
            .take((to - from) as usize);
        for terminal in moved {
            if let Some(count) = self.counts[loses.index()].get_mut(&terminal) {
                *count -= 1;
            }
            *self.counts[gets.index()].entry(terminal).or_default() += 1;
        }
        branch
    }

    fn phases(&self, instructions: &[u64]) -> Vec<Phase> {
        let phases = self.counts.iter().zip(0..).map(|(counts, phase)| {
            let ran = counts.iter().filter(|&(_, &count)| count > 0);
            let mut paths: Vec<(u32, Count)> =
                ran.map(|(&path, &count)| (path, Count(count))).collect();
            let cost = |path: &(u32, Count)| path.1.0.saturating_mul(instructions[path.0 as usize]);
            paths.sort_by_key(|path| std::cmp::Reverse(cost(path)));
            let own = self
                .segments
                .iter()
                .filter(|segment| segment.phase == PhaseId(phase));
            let branches = own.clone().map(|segment| segment.end.0 - segment.start.0);
            Phase {
                segments: own.count() as u64,
                branches: Count(branches.sum()),
                instructions: Count(paths.iter().map(cost).sum()),
                paths,
            }
        });
        phases.collect()
    }
}

/// How likely a path is in a phase. A path that the phase does not have counts as if half of it had
/// been executed.
struct Likelihood<'a> {
    counts: &'a BTreeMap<u32, u64>,
    log_sum: f64,
}

impl<'a> Likelihood<'a> {
    fn new(counts: &'a BTreeMap<u32, u64>) -> Likelihood<'a> {
        let sum: u64 = counts.values().sum();
        Likelihood {
            counts,
            log_sum: (sum as f64 + 1.0).ln(),
        }
    }

    fn log(&self, terminal: u32) -> f64 {
        let count = self.counts.get(&terminal).copied().unwrap_or(0);
        (count as f64 + 0.5).ln() - self.log_sum
    }
}
