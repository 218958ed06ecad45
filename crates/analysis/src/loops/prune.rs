//! Keeps slab forests within a limit by dropping cold nodes (the paper leaves this open: section 4,
//! discussion 2).
//!
//! Each execution of a path is counted in exactly one node, and all sequences that end with this
//! execution are derived from the node. If a node is dropped, its count is added to the *dropped
//! count* of its label. So for a sequence that ends with the path r, the forest's count is too
//! small by at most the dropped count of r. If the dropped count of r is 0, the sequence's count is
//! exact. The counts of sequences of one path are always exact. A dropped node may be added again
//! without a mark, because the bound belongs to its label.
//!
//! There are two forms of pruning. While the forest grows, the colder half of the counted pairs
//! lose the second half of their second slab's paths
//! ([`Tables::prune`](super::tables::Tables::prune)). Pairs that become equal in this way are
//! counted together. Pairs that stay cold lose half of the remaining paths the next time. A
//! finished forest keeps its hottest nodes and their ancestors.
//!
//! Cost: linear.

use super::forest::{Node, SlabForest};
use super::limits::MIN_NODES;

/// Counts below this limit are small. [`nth_smallest`] uses an array of the frequencies of small
/// counts.
const SMALL_COUNTS: u64 = 1 << 6;

impl SlabForest {
    /// Drops the coldest nodes if there are more than the limit allows.
    pub(super) fn keep_within_limits(&mut self) {
        let limit = self.limits.nodes.max(MIN_NODES);
        if self.nodes.len() <= limit {
            return;
        }
        let counts = self.nodes.iter().map(|node| node.count);
        let mut target = limit;
        let keep = loop {
            let threshold = nth_smallest(counts.clone(), self.nodes.len() - 1 - target);
            let keep = nodes_to_keep(&self.nodes, threshold);
            let kept_count = keep.iter().filter(|keep| **keep).count();
            if kept_count <= limit {
                break keep;
            }
            // The hot nodes and their ancestors exceed the limit, so keep fewer hot nodes.
            target /= 2;
        };
        self.compact(&keep);
        self.losses.prunings += 1;
    }

    /// Removes the nodes that are not marked in `keep`.
    fn compact(&mut self, keep: &[bool]) {
        let last = self.nodes.iter().map(|node| node.label).max();
        let words = last.map_or(0, |label| label as usize + 1);
        if self.dropped.len() < words {
            self.dropped.resize(words, 0);
        }
        for (node, _) in self.nodes.iter().zip(keep).filter(|(_, keep)| !**keep) {
            self.dropped[node.label as usize] += node.count;
            self.losses.nodes += 1;
            self.losses.words += node.count;
            if self.begins_slab(node) {
                self.losses.slabs += node.count;
            }
        }
        let mut keep = keep.iter();
        self.nodes.retain(|_| keep.next() == Some(&true));
    }
}

/// Returns the count at this index of the sorted counts. The index must be below the number of
/// counts; of no counts, the result is 0.
pub(super) fn nth_smallest(counts: impl Iterator<Item = u64> + Clone, index: usize) -> u64 {
    // Most counts are small. An array of their frequencies usually gives the answer without a sort.
    let mut small = [0; SMALL_COUNTS as usize];
    let mut below = 0;
    for count in counts.clone().filter(|count| *count < SMALL_COUNTS) {
        small[count as usize] += 1;
    }
    for (count, frequency) in (0..).zip(small) {
        below += frequency;
        if below > index {
            return count;
        }
    }
    let mut large: Vec<u64> = counts.filter(|count| *count >= SMALL_COUNTS).collect();
    if large.is_empty() {
        return 0;
    }
    let (_, &mut count, _) = large.select_nth_unstable(index - below);
    count
}

/// Marks the nodes to keep: nodes with a count above `threshold`, and their ancestors.
fn nodes_to_keep(nodes: &[Node], threshold: u64) -> Vec<bool> {
    let mut keep = vec![false; nodes.len()];
    // By depth: whether a kept node of this depth belongs to the subtree that is being read. The
    // nodes are read in reverse preorder: a node comes after its subtree.
    let deepest = nodes.iter().map(|node| node.depth).max().unwrap_or(0);
    let mut has_kept_child = vec![false; usize::from(deepest) + 2];
    for (keep, node) in keep.iter_mut().zip(nodes).rev() {
        let depth = usize::from(node.depth);
        *keep = std::mem::take(&mut has_kept_child[depth + 1]) || node.count > threshold;
        has_kept_child[depth] |= *keep;
    }
    keep
}

#[cfg(test)]
mod tests {
    use super::nth_smallest;

    #[test]
    fn nth_smallest_finds_small_and_large_counts() {
        let counts = [100, 3, u64::MAX, 70, 3, 0, 63, 64];
        let mut sorted = counts;
        sorted.sort_unstable();
        for (index, count) in sorted.into_iter().enumerate() {
            assert_eq!(nth_smallest(counts.into_iter(), index), count);
        }
        assert_eq!(nth_smallest([].into_iter(), 0), 0);
    }
}
