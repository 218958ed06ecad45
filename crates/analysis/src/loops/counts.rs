//! The loops of a function, with the number of executions and iterations of each.
//!
//! Each loop has one *head*: the block to which its back edges lead. An *execution* of the loop
//! begins when control enters the loop from outside. A *turn* is one time around the loop. The
//! first turn of an execution is part of a path that starts before the loop. Each other turn is a
//! path that starts at the head. A path that starts at the head and runs only the test that ends
//! the loop is no turn (`condition.rs`).

use std::collections::{BTreeMap, BTreeSet};

use holloway_flow::{Path, PathEnd, PathId, PathStart};
use holloway_format::{Count, LoopMap, Place};

use super::condition::Loops;
use super::finding::{MOST, OFTEN, Thousandths, share};
use crate::bounds::Bound;
use crate::flow::add;
use crate::run::Function;
use crate::trail::first_place;

/// How often a loop ran.
#[derive(Clone, Debug)]
pub struct LoopCount {
    /// The block that back edges lead to.
    pub head: u32,
    /// The first place of that block.
    pub place: Option<Place>,
    /// The compiler's description of the loop.
    pub described: Option<LoopMap>,
    /// Number of times that control entered the loop and ran its body. An execution whose condition
    /// failed at once does not count, if a single path enters the loop and leaves it again.
    pub executions: Count,
    /// Number of times that the body began. The tests that ended the loop do not count.
    pub iterations: Count,
    /// Paths that start at the head and run the body, with their counts, most frequent first.
    pub turns: Vec<(PathId, Count)>,
    /// Paths that enter the loop from outside and end with a back edge to its head, with their
    /// counts, most frequent first.
    pub entering: Vec<(PathId, Count)>,
    /// The head, and the blocks from which control can reach a back edge to the head without
    /// passing the head.
    pub(super) blocks: BTreeSet<u32>,
    /// The blocks between the head and the body.
    pub(super) condition: BTreeSet<u32>,
}

/// Counts the executions and iterations of a function's loops. The loops are ordered by head.
pub fn count(function: &Function) -> Vec<LoopCount> {
    let graph_loops = Loops::new(&function.map);
    let mut loops: BTreeMap<u32, LoopCount> = graph_loops
        .all()
        .iter()
        .map(|(head, blocks)| {
            let condition = graph_loops.condition(*head);
            (*head, LoopCount::new(function, *head, blocks, condition))
        })
        .collect();
    // By block: the heads of the loops to whose conditions the block belongs.
    let mut condition_loops: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for loop_count in loops.values() {
        for &block in &loop_count.condition {
            condition_loops
                .entry(block)
                .or_default()
                .push(loop_count.head);
        }
    }
    let mut head_counts: BTreeMap<u32, HeadCounts> = BTreeMap::new();
    for &(number, count) in &function.counts {
        let Some(path) = path_of(function, number) else {
            continue;
        };
        let starts_at = |head: u32| matches!(path.start, PathStart::Loop(block) if block.0 == head);
        let back = back_to(function, &path);
        let failed_heads = failed_heads(function, &path, &loops, &condition_loops);
        for block in &path.blocks {
            let Some(loop_count) = loops.get_mut(&block.0) else {
                continue;
            };
            let head_counts = head_counts.entry(block.0).or_default();
            let condition_failed = failed_heads.contains(&block.0);
            if starts_at(block.0) {
                add(&mut head_counts.starts, count);
                if !condition_failed {
                    loop_count.turns.push((number, count));
                }
            } else {
                add(&mut head_counts.entered, count);
                if condition_failed {
                    add(&mut head_counts.empty, count);
                } else if back == Some(block.0) {
                    loop_count.entering.push((number, count));
                }
            }
        }
        for head in failed_heads {
            add(&mut head_counts.entry(head).or_default().failed, count);
        }
        if let Some(head) = back {
            add(&mut head_counts.entry(head).or_default().back, count);
        }
    }
    let mut loops: Vec<LoopCount> = loops.into_values().collect();
    for loop_count in &mut loops {
        let head_counts = head_counts.remove(&loop_count.head).unwrap_or_default();
        // Paths that start at the head without a back edge come over a cut edge.
        let from_cuts = head_counts.starts.saturating_sub(head_counts.back);
        let entered = head_counts.entered.saturating_add(from_cuts);
        loop_count.executions = entered.saturating_sub(head_counts.empty);
        loop_count.iterations = entered
            .saturating_add(head_counts.back)
            .saturating_sub(head_counts.failed);
        for list in [&mut loop_count.turns, &mut loop_count.entering] {
            list.sort_by_key(|&(path, count)| (std::cmp::Reverse(count), path));
        }
    }
    loops.retain(|loop_count| loop_count.iterations > Count::ZERO);
    loops
}

/// Adds counts. The counts come from files, so a sum that overflows stays at the maximum.
pub(super) fn sum(counts: impl IntoIterator<Item = Count>) -> Count {
    counts.into_iter().fold(Count::ZERO, Count::saturating_add)
}

/// Executions of the paths that pass the head of a loop, by how they enter and leave it.
#[derive(Default)]
struct HeadCounts {
    /// Paths that entered the loop from outside.
    entered: Count,
    /// Among `entered`: paths on which the condition failed at once.
    empty: Count,
    /// Paths that start at the head.
    starts: Count,
    /// Paths that end with a back edge to the head.
    back: Count,
    /// Paths that left the loop from its condition.
    failed: Count,
}

/// Returns the heads of the loops whose condition fails on a path: the path leaves the loop from a
/// block of its condition. `condition_loops` holds the heads of loops by the blocks of their
/// conditions.
fn failed_heads(
    function: &Function,
    path: &Path,
    loops: &BTreeMap<u32, LoopCount>,
    condition_loops: &BTreeMap<u32, Vec<u32>>,
) -> Vec<u32> {
    let target = match path.end {
        PathEnd::Back(edge) | PathEnd::Cut(edge) | PathEnd::Exit(edge) => {
            function.map.edges[edge.index()].to
        }
    };
    let next_blocks = path.blocks.iter().skip(1).map(|block| block.0);
    let steps = path.blocks.iter().zip(next_blocks.chain([target]));
    let failed_heads = steps.flat_map(|(block, next)| {
        let heads = condition_loops.get(&block.0).into_iter().flatten().copied();
        heads.filter(move |head| !loops[head].blocks.contains(&next))
    });
    failed_heads.collect()
}

impl LoopCount {
    fn new(
        function: &Function,
        head: u32,
        blocks: &BTreeSet<u32>,
        condition: BTreeSet<u32>,
    ) -> LoopCount {
        let map = &function.map;
        LoopCount {
            head,
            place: first_place(&map.blocks[head as usize].places),
            described: map
                .loops
                .iter()
                .find(|described| described.head == head)
                .copied(),
            executions: Count::ZERO,
            iterations: Count::ZERO,
            turns: Vec::new(),
            entering: Vec::new(),
            blocks: blocks.clone(),
            condition,
        }
    }

    /// How far the number of executions may be off.
    pub fn executions_bound(&self, function: &Function) -> Bound {
        function.bounds().blocks[self.head as usize]
    }

    /// How far the number of iterations may be off. A missing path may leave the loop from its
    /// condition. Then the failed test looks like the beginning of an iteration, and the count is
    /// one too high.
    pub fn iterations_bound(&self, function: &Function) -> Bound {
        let edges = function.map.edges.iter().zip(&function.bounds().edges);
        let failing_edges = edges.filter(|(edge, _)| {
            self.condition.contains(&edge.from) && !self.blocks.contains(&edge.to)
        });
        let failures = Bound::of_all(failing_edges.map(|(_, bound)| *bound));
        self.executions_bound(function).and(failures.opposite())
    }

    /// Number of turns that start at the head: all turns except the first of each execution.
    pub fn starts(&self) -> Count {
        sum(self.turns.iter().map(|turn| turn.1))
    }

    /// Returns the smallest count at which a sequence of paths matters for a report about this
    /// loop. Sequences have up to `k` paths. Reports show no roots below a share of `min_share` of
    /// the turns, and no children below a share of `min_share` of their root.
    pub fn min_sequence_count(&self, k: u32, min_share: Thousandths) -> Count {
        let fraction = |total: Count, share: Thousandths| {
            Count((u128::from(total) * u128::from(share) / 1000) as u64)
        };
        let root = fraction(self.starts(), min_share);
        let shown = fraction(root, min_share);
        // Sequences of first and last turns matter only if executions are short.
        let entering = self.entering.first().map_or(Count::ZERO, |path| path.1);
        let entering = if share(entering, self.starts()) > 0 {
            fraction(entering, MOST)
        } else {
            Count(u64::MAX)
        };
        // A period of k paths contains each of its paths once.
        let period = Count(fraction(self.starts(), OFTEN).0 / u64::from(k));
        shown.min(entering).min(period).max(Count(1))
    }
}

/// The path with this number.
pub fn path_of(function: &Function, number: PathId) -> Option<Path> {
    function.graph()?.path(number)
}

/// The head of the loop whose back edge ends the path; `None` if the path ends with another edge.
pub(super) fn back_to(function: &Function, path: &Path) -> Option<u32> {
    match path.end {
        PathEnd::Back(edge) => Some(function.map.edges[edge.index()].to),
        PathEnd::Exit(_) | PathEnd::Cut(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::sum;
    use holloway_format::Count;

    #[test]
    fn sums_stay_at_the_maximum() {
        assert_eq!(sum([Count(u64::MAX), Count(1)]), Count(u64::MAX));
        assert_eq!(sum([]), Count::ZERO);
    }
}
