//! Keeps slab forests within a limit: cold nodes go on the fly (left open in the paper, section 4, discussion 2).
//!
//! Every path is counted in one node, under all its sequences at once. Of a node that goes, its count is added to its label's. So for a
//! sequence of paths that ends with the path r, the forest's count is too small by at most what was dropped of r: exact where nothing of r was
//! dropped, and sequences of one path are always exact. A node that comes back after it was dropped needs no mark: the bound is its label's.
//!
//! While it grows, the colder half of the slabs counted lose the second halves of their paths ([`Tables::prune`](super::tables::Tables::prune)): what then is the same
//! again counts together, and what stays cold is halved again. A forest that is made keeps the nodes that are counted most and their ancestors.
//!
//! Cost: linear.

use super::forest::{Node, SlabForest};
use super::limits::LEAST;

/// Counts below are small.
const SMALL: u64 = 1 << 6;

impl SlabForest {
    /// Drops the coldest nodes, if there are more than the limit.
    pub(super) fn keep_within_limits(&mut self) {
        let limit = self.limits.nodes.max(LEAST);
        if self.nodes.len() <= limit {
            return;
        }
        let counts = self.nodes.iter().map(|node| node.count);
        let mut most = limit;
        let keep = loop {
            let least = nth(counts.clone(), self.nodes.len() - 1 - most);
            let keep = kept(&self.nodes, least);
            let stay = keep.iter().filter(|keep| **keep).count();
            if stay <= limit {
                break keep;
            }
            most /= 2;
        };
        self.compact(&keep);
        self.losses.prunings += 1;
    }

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

/// What stands at an index below their number among counts in order; of none 0.
pub(super) fn nth(counts: impl Iterator<Item = u64> + Clone, index: usize) -> u64 {
    // Most are small: those are counted, and no other is looked at.
    let mut small = [0; SMALL as usize];
    let mut below = 0;
    for count in counts.clone().filter(|count| *count < SMALL) {
        small[count as usize] += 1;
    }
    for (count, many) in (0..).zip(small) {
        below += many;
        if below > index {
            return count;
        }
    }
    let mut large: Vec<u64> = counts.filter(|count| *count >= SMALL).collect();
    if large.is_empty() {
        return 0;
    }
    let (_, &mut count, _) = large.select_nth_unstable(index - below);
    count
}

/// Which nodes stay: those counted more than `least` times, and their ancestors.
fn kept(nodes: &[Node], least: u64) -> Vec<bool> {
    let mut keep = vec![false; nodes.len()];
    // By depth: whether a node that stays was met since the last one of less depth.
    let deepest = nodes.iter().map(|node| node.depth).max().unwrap_or(0);
    let mut wanted = vec![false; usize::from(deepest) + 2];
    for (keep, node) in keep.iter_mut().zip(nodes).rev() {
        let depth = usize::from(node.depth);
        *keep = std::mem::take(&mut wanted[depth + 1]) || node.count > least;
        wanted[depth] |= *keep;
    }
    keep
}

#[cfg(test)]
mod tests {
    use super::nth;

    #[test]
    fn the_nth_of_counts_small_and_large() {
        let counts = [100, 3, u64::MAX, 70, 3, 0, 63, 64];
        let mut sorted = counts;
        sorted.sort_unstable();
        for (index, count) in sorted.into_iter().enumerate() {
            assert_eq!(nth(counts.into_iter(), index), count);
        }
        assert_eq!(nth([].into_iter(), 0), 0);
    }
}
