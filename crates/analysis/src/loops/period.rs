//! Periods: sequences of paths that repeat in a loop.
//!
//! A *period* u consists of one or more paths. Its figure is the number of turns that begin two
//! repetitions of u. Each turn that starts a rotation of u counts once. If u repeats n times, all
//! turns except those of the last two repetitions count. Among the periods with the highest figure,
//! the shortest wins.
//!
//! Sequences of up to K paths are counted. So for a period of up to K/2 paths, the number of double
//! repetitions is known. For a longer period of p ≤ K paths, the counts give a *lower bound*. Let W
//! be K paths of u's repetition, and V the last K−1 of them. Wherever W ran, V ran. Then u
//! continues if the next path is the path that u predicts. V ran c(V) times, and c(W') of these
//! runs continued in this way, where W' is the window that begins with V. So all but c(V) − c(W')
//! of W's runs continued by one path. A window of K paths is 2p − K paths shorter than two
//! repetitions of u. Each of these paths costs one subtraction:
//!
//! > runs of u u ≥ c(W₀) − Σ (c(Vⱼ) − c(Wⱼ)), j from 1 to 2p − K
//!
//! The windows are numbered by where in u they begin. If the Vⱼ occur only in u's repetition, the
//! bound is exact. In streams without order the subtractions leave nothing, so the search never
//! finds a period that does not exist. It misses a period whose windows of K−1 paths also run often
//! elsewhere.
//!
//! Example, K = 2, a b a b a b c: W₀ = a b (3 times), W₁ = b a (2); V₁ = b (3), V₂ = a (3). a b a b
//! ran at least 3 − (3−2) − (3−3) = 2 times, which is the true number.
//!
//! Limit: a window that ran less often than the report requires (`LoopCount::least`) counts as 0.
//! The longer the sequences may be, the lower this requirement is, so with a K of hundreds the
//! search for a long period takes seconds.
//!
//! Cost: a few steps for each sequence that ran often enough for a period worth reporting, and a
//! lookup for each path of each period.

use holloway_flow::PathId;
use holloway_format::Count;
use std::cmp::Ordering;
use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use super::counts::LoopCount;
use super::finding::{Finding, OFTEN, share};
use super::kipf::{Kipf, KipfNode};

/// Returns the period that holds for the most turns, if its share is large enough to report.
pub(super) fn period(loop_count: &LoopCount, kipf: &Kipf) -> Option<Finding> {
    let starts = loop_count.starts();
    let longest = kipf.nodes().last().map_or(0, |node| node.level as usize);
    let windows = Windows::new(kipf, loop_count);
    let mut best: Option<Repetition> = None;
    for unit in units(kipf, longest, starts) {
        let repetition = windows.repetition(&unit, longest);
        let key =
            |repetition: &Repetition| (repetition.total, std::cmp::Reverse(repetition.unit.len()));
        if best
            .as_ref()
            .is_none_or(|best| key(&repetition) > key(best))
        {
            best = Some(repetition);
        }
    }
    let best = best?;
    let share = share(best.total.min(starts), starts);
    (share >= OFTEN).then(|| Finding::Period {
        paths: best
            .unit
            .into_iter()
            .map(|path| PathId(path.into()))
            .collect(),
        share,
    })
}

/// A repeating sequence.
struct Repetition {
    /// Number of turns that begin two repetitions of a rotation of the sequence.
    total: Count,
    /// The rotation that does so most often.
    unit: Vec<u32>,
}

/// Returns the candidate periods: units whose repetition contains a frequent sequence. A sequence
/// is frequent if its period would be worth reporting. Each unit is represented by the smallest of
/// its rotations.
fn units(kipf: &Kipf, longest: usize, starts: Count) -> BTreeSet<Vec<u32>> {
    let often = |count: Count, period: usize| {
        u128::from(count) * period as u128 * 1000 >= u128::from(starts) * u128::from(OFTEN)
    };
    let mut found = BTreeSet::new();
    let mut sequence = Sequence::default();
    let mut open = kipf.roots().to_vec();
    while let Some(place) = open.pop() {
        let node = &kipf.nodes()[place as usize];
        // Longer sequences run at most as often.
        if !often(node.count, longest) {
            continue;
        }
        open.extend(kipf.children(place));
        let length = node.level as usize;
        sequence.push_after(length - 1, node.label);
        let doubled = Some(sequence.period()).filter(|period| 2 * period == length);
        let periods = sequence.periods();
        let long = periods
            .take_while(|_| length == longest)
            .filter(|period| 2 * period > length);
        for period in doubled.into_iter().chain(long) {
            let unit = &sequence.paths[..period];
            if often(node.count, period) && is_primitive(unit) {
                found.insert(smallest_rotation(unit));
            }
        }
    }
    found
}

/// A sequence of paths that grows and shrinks at its end.
#[derive(Default)]
struct Sequence {
    paths: Vec<u32>,
    /// For each nonempty prefix: the length of its longest border, a proper prefix that is also its
    /// suffix (Knuth, Morris, Pratt).
    borders: Vec<usize>,
}

impl Sequence {
    /// Keeps the first `kept` paths and appends a path.
    fn push_after(&mut self, kept: usize, path: u32) {
        self.paths.truncate(kept);
        self.borders.truncate(kept);
        let mut border = self.borders.last().copied().unwrap_or(0);
        while border > 0 && self.paths[border] != path {
            border = self.borders[border - 1];
        }
        let continues = kept > 0 && self.paths[border] == path;
        self.paths.push(path);
        self.borders.push(border + usize::from(continues));
    }

    /// The periods of the sequence, smallest first: the shifts at which it matches itself. The
    /// largest is the sequence's length.
    fn periods(&self) -> impl Iterator<Item = usize> {
        let longest = self.borders.last().copied();
        let borders = std::iter::successors(longest, |&border| {
            (border > 0).then(|| self.borders[border - 1])
        });
        borders.map(|border| self.paths.len() - border)
    }

    /// The smallest period.
    fn period(&self) -> usize {
        self.periods().next().unwrap_or(0)
    }
}

/// Whether a sequence is not a repetition of a shorter sequence.
fn is_primitive(unit: &[u32]) -> bool {
    (1..unit.len())
        .filter(|size| unit.len().is_multiple_of(*size))
        .all(|size| unit[size..] != unit[..unit.len() - size])
}

/// Returns the smallest rotation. Compares two rotations at a time: the larger one is discarded,
/// with all rotations that start in the part where both are equal.
fn smallest_rotation(unit: &[u32]) -> Vec<u32> {
    let (mut first, mut second, mut equal) = (0, 1, 0);
    let at = |start: usize, step: usize| unit[(start + step) % unit.len()];
    while first.max(second) < unit.len() && equal < unit.len() {
        match at(first, equal).cmp(&at(second, equal)) {
            Ordering::Equal => {
                equal += 1;
                continue;
            }
            Ordering::Greater => first += equal + 1,
            Ordering::Less => second += equal + 1,
        }
        second += usize::from(first == second);
        equal = 0;
    }
    let first = first.min(second);
    [&unit[first..], &unit[..first]].concat()
}

/// Finds sequences, by their prefix and last path.
struct Windows<'a> {
    kipf: &'a Kipf,
    below: FxHashMap<(Option<u32>, u32), u32>,
    /// By node: the node of its sequence without the first path.
    rest: Vec<Option<u32>>,
    turns: FxHashSet<PathId>,
}

impl<'a> Windows<'a> {
    fn new(kipf: &'a Kipf, loop_count: &LoopCount) -> Windows<'a> {
        let nodes = (0u32..).zip(kipf.nodes());
        let mut windows = Windows {
            kipf,
            below: nodes
                .map(|(place, node)| ((node.parent, node.label), place))
                .collect(),
            rest: Vec::with_capacity(kipf.nodes().len()),
            turns: loop_count.turns.iter().map(|turn| turn.0).collect(),
        };
        // Parents before children.
        for node in kipf.nodes() {
            let rest = node.parent.and_then(|parent| {
                let rest = windows.rest[parent as usize];
                windows.below.get(&(rest, node.label)).copied()
            });
            windows.rest.push(rest);
        }
        windows
    }

    fn node(&self, place: u32) -> &KipfNode {
        &self.kipf.nodes()[place as usize]
    }

    fn find(&self, mut sequence: impl Iterator<Item = u32>) -> Option<u32> {
        sequence
            .try_fold(None, |node, label| {
                self.below.get(&(node, label)).copied().map(Some)
            })
            .flatten()
    }

    /// Returns how many turns begin two repetitions of a rotation of the unit: a lower bound, or
    /// the exact number if sequences of that length were counted.
    fn repetition(&self, unit: &[u32], longest: usize) -> Repetition {
        let period = unit.len();
        let length = longest.min(2 * period);
        let windows = self.unit_windows(unit, length);
        let counts = windows.iter().map(|window| {
            let node = window.map(|place| self.node(place));
            node.map_or(Count::ZERO, |node| node.count)
        });
        let counts: Vec<Count> = counts.collect();
        let departures: Vec<Count> = (0..period)
            .map(|at| self.departures(windows[at], counts[(at + 1) % period]))
            .collect();
        // The lost runs of the windows of K paths, for each rotation's start; no sum overflows in
        // u128.
        let departures = |at: usize| u128::from(departures[at % period]);
        let steps = 2 * period - length;
        let mut lost: u128 = (0..steps).map(departures).sum();
        let (mut total, mut most) = (Count::ZERO, (Count::ZERO, 0));
        for at in 0..period {
            if self.turns.contains(&PathId(unit[at].into())) {
                let lost = Count(u64::try_from(lost).unwrap_or(u64::MAX));
                let certain = counts[at].saturating_sub(lost);
                total = total.saturating_add(certain);
                if certain > most.0 {
                    most = (certain, at);
                }
            }
            lost = lost + departures(at + steps) - departures(at);
        }
        Repetition {
            total,
            unit: [&unit[most.1..], &unit[..most.1]].concat(),
        }
    }

    /// How often the last K−1 paths of a window did not continue to the next window; `next` is the
    /// count of the next window.
    fn departures(&self, window: Option<u32>, next: Count) -> Count {
        let rest = window.and_then(|place| self.rest[place as usize]);
        let ran = rest.map_or(Count(u64::MAX), |rest| {
            let rest = self.node(rest);
            rest.count.saturating_add(rest.missed)
        });
        ran.saturating_sub(next)
    }

    /// Returns the windows of a unit's repetition, by their start in the unit. If the unit is
    /// longer than half a window and one window is missing, returns no window at all.
    fn unit_windows(&self, unit: &[u32], length: usize) -> Vec<Option<u32>> {
        let mut windows: Vec<Option<u32>> = Vec::with_capacity(unit.len());
        for at in 0..unit.len() {
            let before = windows.last().copied().flatten();
            let window = match before.and_then(|place| self.rest[place as usize]) {
                Some(rest) => {
                    let last = unit[(at + length - 1) % unit.len()];
                    self.below.get(&(Some(rest), last)).copied()
                }
                None => self.find((0..length).map(|step| unit[(at + step) % unit.len()])),
            };
            if window.is_none() && length < 2 * unit.len() {
                return vec![None; unit.len()];
            }
            windows.push(window);
        }
        windows
    }
}

#[cfg(test)]
mod tests {
    use super::{Sequence, is_primitive, smallest_rotation};

    #[test]
    fn periods_of_a_sequence() {
        let check = |paths: &[u32], expect: &[usize]| {
            let mut sequence = Sequence::default();
            for (kept, &path) in paths.iter().enumerate() {
                // The next call removes this path again.
                sequence.push_after(kept, 9);
                sequence.push_after(kept, path);
            }
            assert_eq!(sequence.periods().collect::<Vec<_>>(), expect);
            assert_eq!(sequence.period(), expect[0]);
        };
        check(&[1, 2, 3], &[3]);
        check(&[1, 1, 2, 1, 1], &[3, 4, 5]);
        check(&[1, 1, 1], &[1, 2, 3]);
        check(&[7], &[1]);
    }

    #[test]
    fn units_are_not_repetitions() {
        assert!(is_primitive(&[1]) && is_primitive(&[1, 2, 1]) && is_primitive(&[1, 1, 2]));
        assert!(!is_primitive(&[1, 1]) && !is_primitive(&[1, 2, 1, 2]));
    }

    #[test]
    fn the_smallest_rotation_is_found() {
        for number in 0..243 {
            let digit = |at: u32| number / 3u32.pow(at) % 3;
            let unit: Vec<u32> = (0..5).map(digit).collect();
            let rotations = (0..5).map(|at| [&unit[at..], &unit[..at]].concat());
            assert_eq!(Some(smallest_rotation(&unit)), rotations.min());
        }
        assert_eq!(smallest_rotation(&[4]), [4]);
    }
}
