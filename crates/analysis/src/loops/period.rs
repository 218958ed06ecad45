//! Finds *periods*: sequences of paths that repeat in a loop.
//!
//! A period u consists of p paths. Its figure is the number of turns that begin u u, two
//! repetitions of u. Turns that begin two repetitions of a rotation of u count too. So if u repeats
//! n times in a row, about (n − 2) × p turns count. Among the periods with the highest figure, the
//! shortest wins.
//!
//! Sequences of up to K paths are counted. For a period of p ≤ K/2 paths, the number of executions
//! of u u is one of these counts. For a longer period of p ≤ K paths, the counts give a *lower
//! bound*:
//!
//! - Let window Wⱼ be the K paths of the endless repetition of u from path j of u on. c(Wⱼ) is its
//!   count.
//! - Let Vⱼ be the first K − 1 paths of Wⱼ. They are also the last K − 1 paths of Wⱼ₋₁.
//! - After c(Wⱼ) of the c(Vⱼ) executions of Vⱼ, the next path was the path that u predicts. So at
//!   most c(Vⱼ) − c(Wⱼ) executions of Wⱼ₋₁ did not continue with this path.
//! - u u is 2p − K paths longer than W₀. Each of these paths costs one such subtraction:
//!
//! > executions of u u ≥ c(W₀) − Σ (c(Vⱼ) − c(Wⱼ)), j from 1 to 2p − K
//!
//! If the Vⱼ occur only in the repetition of u, the bound is exact. In streams without order the
//! bound is 0, so the search never finds a period that does not exist. It misses a period if its
//! windows of K − 1 paths also run often outside of the repetition.
//!
//! Example, K = 2, a b a b a b c: W₀ = a b (3 times), W₁ = b a (2); V₁ = b (3), V₂ = a (3). a b a b
//! ran at least 3 − (3−2) − (3−3) = 2 times, which is the true number.
//!
//! Limit: a window that ran less often than a report requires (`LoopCount::min_sequence_count`)
//! counts as 0. A larger K lowers this requirement, so with a K of hundreds the search takes
//! seconds.
//!
//! Cost: a few steps for each sequence that ran often enough for a period worth reporting, and a
//! lookup for each path of each candidate period.

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
    let max_len = kipf.nodes().last().map_or(0, |node| node.level as usize);
    let windows = Windows::new(kipf, loop_count);
    let mut best: Option<Repetition> = None;
    for unit in units(kipf, max_len, starts) {
        let repetition = windows.repetition(&unit, max_len);
        let figure_then_shortest =
            |repetition: &Repetition| (repetition.turns, std::cmp::Reverse(repetition.unit.len()));
        if best
            .as_ref()
            .is_none_or(|best| figure_then_shortest(&repetition) > figure_then_shortest(best))
        {
            best = Some(repetition);
        }
    }
    let best = best?;
    let share = share(best.turns.min(starts), starts);
    (share >= OFTEN).then(|| Finding::Period {
        paths: best
            .unit
            .into_iter()
            .map(|path| PathId(path.into()))
            .collect(),
        share,
    })
}

/// A repeating sequence: its *unit* of paths, and how often the unit repeats.
struct Repetition {
    /// Number of turns that begin two repetitions of a rotation of the unit.
    turns: Count,
    /// The rotation of the unit that begins two repetitions most often.
    unit: Vec<u32>,
}

/// Returns the units of all candidate periods. A unit is a candidate if a frequent sequence of the
/// path forest is two repetitions of the unit, or a sequence of the maximum length `max_len` from a
/// longer repetition. A sequence is frequent if its period would be worth reporting. Each unit is
/// represented by the smallest of its rotations.
fn units(kipf: &Kipf, max_len: usize, starts: Count) -> BTreeSet<Vec<u32>> {
    let is_frequent = |count: Count, period: usize| {
        u128::from(count) * period as u128 * 1000 >= u128::from(starts) * u128::from(OFTEN)
    };
    let mut units = BTreeSet::new();
    let mut sequence = Sequence::default();
    let mut worklist = kipf.roots().to_vec();
    while let Some(index) = worklist.pop() {
        let node = &kipf.nodes()[index as usize];
        // Longer sequences run at most as often.
        if !is_frequent(node.count, max_len) {
            continue;
        }
        worklist.extend(kipf.children(index));
        let length = node.level as usize;
        sequence.push_after(length - 1, node.label);
        let half_length = Some(sequence.period()).filter(|period| 2 * period == length);
        let longer_than_half = sequence
            .periods()
            .take_while(|_| length == max_len)
            .filter(|period| 2 * period > length);
        for period in half_length.into_iter().chain(longer_than_half) {
            let unit = &sequence.paths[..period];
            if is_frequent(node.count, period) && is_primitive(unit) {
                units.insert(smallest_rotation(unit));
            }
        }
    }
    units
}

/// A sequence of paths that grows and shrinks at its end.
#[derive(Default)]
struct Sequence {
    paths: Vec<u32>,
    /// For each nonempty prefix: the length of its longest border. A border is a proper prefix that
    /// is also a suffix (Knuth, Morris, Pratt).
    borders: Vec<usize>,
}

impl Sequence {
    /// Removes all paths after the first `length` paths, and appends a path.
    fn push_after(&mut self, length: usize, path: u32) {
        self.paths.truncate(length);
        self.borders.truncate(length);
        let mut border = self.borders.last().copied().unwrap_or(0);
        while border > 0 && self.paths[border] != path {
            border = self.borders[border - 1];
        }
        let continues = length > 0 && self.paths[border] == path;
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

/// Returns the smallest rotation. Compares two candidate rotations, given by their starts `first`
/// and `second`, whose first `equal` paths are equal. The larger candidate is discarded, with all
/// rotations that start in its equal part.
fn smallest_rotation(unit: &[u32]) -> Vec<u32> {
    let (mut first, mut second, mut equal) = (0, 1, 0);
    let path = |start: usize, offset: usize| unit[(start + offset) % unit.len()];
    while first.max(second) < unit.len() && equal < unit.len() {
        match path(first, equal).cmp(&path(second, equal)) {
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

/// Finds the windows of a repetition in a path forest.
struct Windows<'a> {
    kipf: &'a Kipf,
    /// By parent and label: the node.
    nodes: FxHashMap<(Option<u32>, u32), u32>,
    /// By node: the node of its sequence without the first path; `None` if the sequence has one
    /// path or is not in the forest.
    without_first: Vec<Option<u32>>,
    /// The paths that are turns of the loop.
    turns: FxHashSet<PathId>,
}

impl<'a> Windows<'a> {
    fn new(kipf: &'a Kipf, loop_count: &LoopCount) -> Windows<'a> {
        let indexed_nodes = (0u32..).zip(kipf.nodes());
        let mut windows = Windows {
            kipf,
            nodes: indexed_nodes
                .map(|(index, node)| ((node.parent, node.label), index))
                .collect(),
            without_first: Vec::with_capacity(kipf.nodes().len()),
            turns: loop_count.turns.iter().map(|turn| turn.0).collect(),
        };
        // Parents come before children.
        for node in kipf.nodes() {
            let without_first = node.parent.and_then(|parent| {
                let parent_without_first = windows.without_first[parent as usize];
                let key = (parent_without_first, node.label);
                windows.nodes.get(&key).copied()
            });
            windows.without_first.push(without_first);
        }
        windows
    }

    fn node(&self, index: u32) -> &KipfNode {
        &self.kipf.nodes()[index as usize]
    }

    fn find(&self, mut sequence: impl Iterator<Item = u32>) -> Option<u32> {
        sequence
            .try_fold(None, |node, label| {
                self.nodes.get(&(node, label)).copied().map(Some)
            })
            .flatten()
    }

    /// Returns how many turns begin two repetitions of a rotation of the unit: a lower bound, or
    /// the exact number if sequences of two repetitions were counted. `max_len` is the length of
    /// the longest counted sequences.
    fn repetition(&self, unit: &[u32], max_len: usize) -> Repetition {
        let period = unit.len();
        let window_len = max_len.min(2 * period);
        let windows = self.unit_windows(unit, window_len);
        let counts = windows.iter().map(|window| {
            let node = window.map(|index| self.node(index));
            node.map_or(Count::ZERO, |node| node.count)
        });
        let counts: Vec<Count> = counts.collect();
        let departures: Vec<Count> = (0..period)
            .map(|start| self.departures(windows[start], counts[(start + 1) % period]))
            .collect();
        let departures = |start: usize| u128::from(departures[start % period]);
        // Number of paths by which two repetitions are longer than a window, and the departures on
        // these paths for the current rotation. In u128, the sum does not overflow.
        let missing_paths = 2 * period - window_len;
        let mut departed: u128 = (0..missing_paths).map(departures).sum();
        let mut turns = Count::ZERO;
        let (mut best_count, mut best_start) = (Count::ZERO, 0);
        for start in 0..period {
            if self.turns.contains(&PathId(unit[start].into())) {
                let departed = Count(u64::try_from(departed).unwrap_or(u64::MAX));
                let count = counts[start].saturating_sub(departed);
                turns = turns.saturating_add(count);
                if count > best_count {
                    (best_count, best_start) = (count, start);
                }
            }
            departed = departed + departures(start + missing_paths) - departures(start);
        }
        Repetition {
            turns,
            unit: [&unit[best_start..], &unit[..best_start]].concat(),
        }
    }

    /// How often the paths of a window without the first did not continue to the next window: the
    /// difference c(V) − c(W) of the module's documentation. `next_count` is the count of the next
    /// window.
    fn departures(&self, window: Option<u32>, next_count: Count) -> Count {
        let without_first = window.and_then(|index| self.without_first[index as usize]);
        let max_count = without_first.map_or(Count(u64::MAX), |index| {
            let node = self.node(index);
            node.count.saturating_add(node.missed)
        });
        max_count.saturating_sub(next_count)
    }

    /// Returns the windows of a unit's repetition, by their start in the unit. A window is `None`
    /// if the forest does not contain it. If the unit is longer than half a window and one window
    /// is missing, all windows are `None`.
    fn unit_windows(&self, unit: &[u32], window_len: usize) -> Vec<Option<u32>> {
        let mut windows: Vec<Option<u32>> = Vec::with_capacity(unit.len());
        for start in 0..unit.len() {
            let previous = windows.last().copied().flatten();
            let window = match previous.and_then(|index| self.without_first[index as usize]) {
                Some(prefix) => {
                    let last_path = unit[(start + window_len - 1) % unit.len()];
                    self.nodes.get(&(Some(prefix), last_path)).copied()
                }
                None => {
                    self.find((0..window_len).map(|offset| unit[(start + offset) % unit.len()]))
                }
            };
            if window.is_none() && window_len < 2 * unit.len() {
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
            for (length, &path) in paths.iter().enumerate() {
                // The next call removes this path again.
                sequence.push_after(length, 9);
                sequence.push_after(length, path);
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
            let digit = |index: u32| number / 3u32.pow(index) % 3;
            let unit: Vec<u32> = (0..5).map(digit).collect();
            let rotations = (0..5).map(|start| [&unit[start..], &unit[..start]].concat());
            assert_eq!(Some(smallest_rotation(&unit)), rotations.min());
        }
        assert_eq!(smallest_rotation(&[4]), [4]);
    }
}
