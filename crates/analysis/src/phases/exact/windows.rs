//! Divides a trace into windows, and counts the paths of each window.
//!
//! A window has a fixed number of branches, and ends with the path that completes them. So windows
//! are a little longer than asked for.
//!
//! Cost: a step for each event of the trace, and a few bytes for each different path of each
//! window.

use crate::branch_stream::BranchStream;
use crate::trace::Grammar;

/// The paths of a window: how often each terminal of the trace occurs, by terminal.
pub(super) type PathCounts = Vec<(u32, u64)>;

/// A window of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Window {
    /// Number of events before the window.
    pub(super) first_event: u64,
    /// Number of events of the window.
    pub(super) events: u64,
    /// Number of branches before the window.
    pub(super) first_branch: u64,
    /// Number of branches of the window.
    pub(super) branches: u64,
    pub(super) counts: PathCounts,
}

/// Divides a trace into windows of this number of branches. The last window may be shorter.
pub(super) fn windows(
    grammar: &Grammar,
    stream: &BranchStream<'_>,
    terminals: usize,
    length: u64,
) -> Vec<Window> {
    let mut windows: Vec<Window> = Vec::new();
    let branches_of: Vec<u64> = (0..terminals as u32)
        .map(|terminal| stream.of_terminal(terminal).len() as u64)
        .collect();
    let mut counts = vec![0u64; terminals];
    let mut seen: Vec<u32> = Vec::new();
    let (mut events, mut branches) = (0u64, 0u64);
    let mut close =
        |events: &mut u64, branches: &mut u64, seen: &mut Vec<u32>, counts: &mut [u64]| {
            seen.sort_unstable();
            let last = windows.last();
            let (first_event, first_branch) = last.map_or((0, 0), |last: &Window| {
                (
                    last.first_event + last.events,
                    last.first_branch + last.branches,
                )
            });
            let taken = seen.drain(..);
            windows.push(Window {
                first_event,
                events: std::mem::take(events),
                first_branch,
                branches: std::mem::take(branches),
                counts: taken
                    .map(|terminal| (terminal, std::mem::take(&mut counts[terminal as usize])))
                    .collect(),
            });
        };
    for terminal in grammar.expand() {
        let count = &mut counts[terminal as usize];
        if *count == 0 {
            seen.push(terminal);
        }
        *count += 1;
        events += 1;
        branches += branches_of[terminal as usize];
        if branches >= length {
            close(&mut events, &mut branches, &mut seen, &mut counts);
        }
    }
    if events > 0 {
        close(&mut events, &mut branches, &mut seen, &mut counts);
    }
    windows
}

/// Joins each two adjacent windows. The last window of an odd number stays alone.
pub(super) fn join_pairs(windows: &[Window]) -> Vec<Window> {
    let pairs = windows.chunks(2).map(|pair| match pair {
        [first, second] => Window {
            events: first.events + second.events,
            branches: first.branches + second.branches,
            counts: sum(&first.counts, &second.counts),
            ..*first
        },
        alone => alone[0].clone(),
    });
    pairs.collect()
}

/// Adds counts, both by terminal.
fn sum(first: &PathCounts, second: &PathCounts) -> PathCounts {
    let mut sum: PathCounts = first.iter().chain(second).copied().collect();
    sum.sort_unstable();
    sum.dedup_by(|later, kept| {
        let is_same = later.0 == kept.0;
        if is_same {
            kept.1 += later.1;
        }
        is_same
    });
    sum
}

/// The shares of the paths in a window's instructions. A window without instructions has no share.
pub(super) fn shares(counts: &PathCounts, instructions: &[u64]) -> Vec<(u32, f32)> {
    let cost =
        |&(terminal, count): &(u32, u64)| count as f64 * instructions[terminal as usize] as f64;
    let all: f64 = counts.iter().map(cost).sum();
    let shares = counts
        .iter()
        .map(|count| (count.0, (cost(count) / all) as f32));
    shares.filter(|(_, share)| *share > 0.0).collect()
}

/// The distance of two windows, from 0 to 1: the sum over paths of the larger share minus the
/// share, or 1 minus their overlap.
pub(super) fn distance(first: &[(u32, f32)], second: &[(u32, f32)]) -> f32 {
    let (mut first, mut second) = (first.iter().peekable(), second.iter().peekable());
    let mut overlap = 0.0;
    while let (Some(&&(a, share)), Some(&&(b, other))) = (first.peek(), second.peek()) {
        if a == b {
            overlap += share.min(other);
        }
        if a <= b {
            first.next();
        }
        if b <= a {
            second.next();
        }
    }
    (1.0 - overlap).clamp(0.0, 1.0)
}

/// The distance of two windows, as [`distance`]. `first` has the shares of all paths. This takes a
/// step without a branch for each path of the other window.
pub(super) fn distance_to(first: &[f32], second: &[(u32, f32)]) -> f32 {
    let shares = second.iter();
    let overlap: f32 = shares
        .map(|&(path, share)| first[path as usize].min(share))
        .sum();
    (1.0 - overlap).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::{distance, distance_to};

    #[test]
    fn both_distances_are_equal() {
        let windows: [&[(u32, f32)]; 4] = [
            &[(0, 0.5), (2, 0.25), (3, 0.25)],
            &[(0, 0.1), (1, 0.6), (3, 0.3)],
            &[(2, 1.0)],
            &[],
        ];
        for first in windows {
            let mut row = [0.0; 4];
            first
                .iter()
                .for_each(|&(path, share)| row[path as usize] = share);
            for second in windows {
                assert_eq!(distance_to(&row, second), distance(first, second));
            }
        }
        assert_eq!(distance(windows[0], windows[0]), 0.0);
        assert_eq!(distance(windows[1], windows[2]), 1.0);
    }
}
