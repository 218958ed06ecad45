//! Counts pairs of consecutive slabs while a stream is read, and makes the slab forest from these
//! counts at the end.
//!
//! In the forest, the prefixes of a slab run exactly as often below the previous slab as the slab
//! itself. So this module increments one count of a pair, where the paper's algorithm (Figure 6)
//! makes K − 1 steps with a count in the forest each. The last slab of an activation may be
//! shorter; it is counted like the others.
//!
//! [`Tables::forest`] sorts the slabs by their words ([`SortedSlabs`]) and the pairs by their
//! slabs. One pass over both lists produces the forest.
//!
//! Example, K = 3, stream a b a b a: the slabs are ab, ab, a. The counted pairs are (none, ab),
//! (ab, ab), (ab, a), once each.
//!
//! Cost: a step in the trie of slabs for each path (or a lookup for each complete slab), and a
//! count for each slab.

use super::forest::{Losses, Node, SlabForest};
use super::limits::{Limits, MIN_NODES};
use super::pairs::{Pairs, pair, slabs};
use super::slab::SlabId;
use super::slabs::{LOOKUP_BATCH, Slabs};
use super::sorted::SortedSlabs;

/// The weight of the counts may be this number times the limit of nodes, because slabs share
/// prefixes and so produce fewer nodes than they have paths. With a factor twice as large, bzip2 at
/// K = 8 loses 21 % of its paths instead of 34 % in about the same time, and takes 112 bytes per
/// node instead of 64.
const WEIGHT_PER_NODE: usize = 2;

/// Maximum weight of the counts, whatever the limit. Below it, the indices of nodes and of their
/// words fit into 32 bits.
const MAX_WEIGHT: usize = 1 << 30;

/// Slabs, and how often each slab followed each other slab.
#[derive(Debug)]
pub(super) struct Tables {
    k: u32,
    pub(super) slabs: Slabs,
    pairs: Pairs,
    /// Number of activations of just one path, by word.
    singles: Vec<u64>,
    /// Executions of paths whose sequences were dropped, by word; may be empty.
    dropped: Vec<u64>,
    losses: Losses,
}

/// The counts for K = 2, where each slab is one word. The fields are those of [`Tables`].
pub(super) struct SuccessorCounts<'a> {
    /// Pairs of words with their counts. The first word is 0 at the beginning of an activation.
    pub(super) pairs: &'a [(u64, u64)],
    pub(super) singles: Vec<u64>,
    pub(super) dropped: Vec<u64>,
    pub(super) losses: Losses,
}

/// The cold pairs that have the same second slab, and the shorter slab that replaces it.
#[derive(Clone, Copy, Default, Debug)]
struct ColdPairs {
    /// Number of these pairs.
    pairs: u32,
    /// The sum of the pairs' counts.
    count: u64,
    /// The slab of the first half of the second slab's paths; it replaces the second slab.
    shortened: SlabId,
}

/// The position of an activation in its sequence of slabs.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Position {
    /// The last complete slab.
    before: SlabId,
    /// The slab in progress. At the end of a complete slab, it is the same slab as `before`, and is
    /// already counted.
    slab: SlabId,
}

impl Tables {
    /// Creates tables for words below `end`.
    pub(super) fn new(k: u32, end: u32) -> Tables {
        Tables {
            k,
            slabs: Slabs::new(k as usize - 1, end),
            pairs: Pairs::default(),
            singles: vec![0; end as usize],
            dropped: Vec::new(),
            losses: Losses::default(),
        }
    }

    /// Creates tables for K = 2 from the counts of [`Successors`](super::successors::Successors).
    pub(super) fn from_successors(counted: SuccessorCounts<'_>) -> Tables {
        let mut tables = Tables {
            dropped: counted.dropped,
            losses: counted.losses,
            ..Tables::new(2, counted.singles.len() as u32)
        };
        tables.singles = counted.singles;
        let trie = &mut tables.slabs;
        // In the counted pairs, slab ids are words.
        let mut slab = |word: SlabId| match word {
            SlabId::NONE => SlabId::NONE,
            SlabId(word) => trie.path_slab(word),
        };
        let pairs = counted.pairs.iter().map(|&(key, count)| {
            let (before, word) = slabs(key);
            (pair(slab(before), slab(word)), count)
        });
        let pairs = pairs.collect();
        tables.pairs = Pairs::from_counts(pairs);
        tables
    }

    /// Counts an activation of just one path.
    #[inline(always)]
    pub(super) fn count_single(&mut self, word: u32) {
        self.singles[word as usize] += 1;
    }

    /// Counts the first path of an activation.
    #[inline(always)]
    pub(super) fn begin(&mut self, word: u32) -> Position {
        let slab = self.slabs.path_slab(word);
        // Here K > 2: a complete slab has at least two paths, so this slab is incomplete.
        Position {
            before: SlabId::NONE,
            slab,
        }
    }

    /// Counts the next path of an activation.
    #[inline(always)]
    pub(super) fn step(&mut self, position: Position, word: u32) -> Position {
        let before = position.before;
        let (slab, is_complete) = self.slabs.step(position.slab, word);
        if !is_complete {
            return Position { before, slab };
        }
        self.pairs.add(before, slab);
        Position { before: slab, slab }
    }

    /// Counts the next complete slabs of an activation, at most [`LOOKUP_BATCH`]. The activation
    /// must be at the end of a slab.
    #[inline]
    pub(super) fn count_slabs(&mut self, position: Position, words: &[u32]) -> Position {
        let mut slabs = [SlabId::NONE; LOOKUP_BATCH];
        let mut before = position.before;
        for &slab in self.slabs.complete_slabs(words, &mut slabs) {
            self.pairs.add(before, slab);
            before = slab;
        }
        Position {
            before,
            slab: before,
        }
    }

    /// Whether the next path begins a slab.
    #[inline(always)]
    pub(super) fn is_at_slab_end(&self, position: Position) -> bool {
        position.before == position.slab
    }

    /// Ends an activation: counts its last slab.
    #[inline(always)]
    pub(super) fn end(&mut self, position: Position) {
        if position.before != position.slab {
            self.pairs.add(position.before, position.slab);
        }
    }

    /// Merges the counts when they may exceed the limit's memory. If the merged counts still exceed
    /// it, drops cold counts. `open` contains the positions of the open activations.
    pub(super) fn keep_within<'a>(
        &mut self,
        limits: Limits,
        open: impl Iterator<Item = &'a mut Position>,
    ) {
        let max_weight = limits
            .nodes
            .max(MIN_NODES)
            .saturating_mul(WEIGHT_PER_NODE)
            .min(MAX_WEIGHT);
        if self.pairs.is_full(max_weight / 4) || self.slabs.weight() > max_weight {
            self.pairs.merge_log();
            if self.max_nodes() + self.slabs.weight() > max_weight {
                self.prune(max_weight / 2, open.collect());
            }
        }
    }

    /// Upper bound of the number of forest nodes that the pairs produce.
    fn max_nodes(&mut self) -> usize {
        let pairs = self.pairs.merge_log().iter();
        let paths = pairs.map(|(pair, _)| self.slabs.paths(slabs(*pair).1));
        paths.sum()
    }

    /// Shortens the second slabs of the colder half of the pairs, and repeats this until the weight
    /// is at most `max_weight` or no pair is left. Then removes the slabs that are no longer used.
    fn prune(&mut self, max_weight: usize, mut open: Vec<&mut Position>) {
        loop {
            let threshold = self.pairs.median();
            self.halve_cold_slabs(threshold);
            let keep = self.slabs_in_use(&open);
            let is_within = self.max_nodes() + self.slabs.kept_weight(&keep) <= max_weight;
            if is_within || self.pairs.merge_log().is_empty() {
                self.remove_slabs(&keep, &mut open);
                break;
            }
        }
        self.losses.prunings += 1;
    }

    /// In all pairs with a count of at most `threshold`, drops the second half of the second slab's
    /// paths.
    fn halve_cold_slabs(&mut self, threshold: u64) {
        // By second slab.
        let mut cold = vec![ColdPairs::default(); self.slabs.len() + 1];
        for &(key, count) in self.pairs.merge_log() {
            let is_cold = count <= threshold;
            let cold_pairs = &mut cold[slabs(key).1.index()];
            cold_pairs.pairs += u32::from(is_cold);
            cold_pairs.count += u64::from(is_cold) * count;
        }
        self.dropped.resize(self.singles.len(), 0);
        for (slab, cold_pairs) in (0..)
            .zip(&mut cold)
            .filter(|(_, cold_pairs)| cold_pairs.pairs > 0)
        {
            let (paths, losses) = (self.slabs.paths(SlabId(slab)), &mut self.losses);
            cold_pairs.shortened = self.slabs.shorten(SlabId(slab), paths / 2, |word| {
                self.dropped[word as usize] += cold_pairs.count;
                losses.nodes += u64::from(cold_pairs.pairs);
                losses.words += cold_pairs.count;
            });
            if cold_pairs.shortened == SlabId::NONE {
                losses.slabs += cold_pairs.count;
            }
        }
        self.pairs.replace_slabs(|slab, count| {
            if count <= threshold {
                cold[slab.index()].shortened
            } else {
                slab
            }
        });
    }

    /// By slab: whether a pair or an open activation contains the slab, or a slab that begins with
    /// it.
    fn slabs_in_use(&mut self, open: &[&mut Position]) -> Vec<bool> {
        let mut keep = vec![false; self.slabs.len() + 1];
        let pairs = self.pairs.merge_log().iter().map(|(pair, _)| slabs(*pair));
        let open = open.iter().map(|position| (position.before, position.slab));
        for (before, slab) in pairs.chain(open) {
            keep[before.index()] = true;
            keep[slab.index()] = true;
        }
        self.slabs.keep_ancestors(&mut keep);
        keep
    }

    /// Removes the slabs that are not marked in `keep`.
    fn remove_slabs(&mut self, keep: &[bool], open: &mut [&mut Position]) {
        let new_ids = self.slabs.compact(keep);
        let new_id = |slab: SlabId| new_ids[slab.index()];
        self.pairs.renumber(new_id);
        for position in open {
            position.before = new_id(position.before);
            position.slab = new_id(position.slab);
        }
    }

    /// Returns the forest.
    pub(super) fn forest(mut self, limits: Limits) -> SlabForest {
        let nodes = self.nodes();
        let mut forest = SlabForest {
            k: self.k,
            limits,
            nodes,
            dropped: self.dropped,
            losses: self.losses,
        };
        forest.keep_within_limits();
        forest
    }

    /// The nodes of the forest in preorder: all slabs in the order of their words, and below each
    /// complete slab the slabs that followed it.
    fn nodes(&mut self) -> Vec<Node> {
        let singles = self.single_slabs();
        let pairs = self.pairs.merge_log();
        let sorted = SortedSlabs::new(&self.slabs, pairs, &singles);
        // By rank: how often activations began with the slab.
        let mut first_counts = vec![0; sorted.order.len() + 1];
        for (slab, count) in singles {
            first_counts[sorted.rank(slab) as usize] += count;
        }
        // The pairs by the rank of their first slab.
        let have_same_first = |a: &(u64, u64), b: &(u64, u64)| slabs(a.0).0 == slabs(b.0).0;
        let groups = pairs.chunk_by(have_same_first);
        let mut groups: Vec<_> = groups
            .map(|group| (sorted.rank(slabs(group[0].0).0), group))
            .collect();
        groups.sort_unstable_by_key(|(first, _)| *first);
        let ranked_second = |&(key, count): &(u64, u64)| (sorted.rank(slabs(key).1), count);
        let mut groups = groups.into_iter().peekable();
        // Rank 0: pairs without a first slab, at the beginning of activations.
        while let Some((_, group)) = groups.next_if(|(first, _)| *first == 0) {
            for (rank, count) in group.iter().map(ranked_second) {
                first_counts[rank as usize] += count;
            }
        }
        let (mut nodes, mut slab_nodes) = (Vec::new(), Vec::new());
        // The slabs that followed the current slab: ranks and counts.
        let (mut followers, mut follower_nodes) = (Vec::new(), Vec::new());
        for (rank, count) in (0u32..).zip(first_counts).skip(1) {
            let words = sorted.words(rank);
            list(&mut nodes, &mut slab_nodes, 0, words, count);
            followers.clear();
            while let Some((_, group)) = groups.next_if(|(first, _)| *first == rank) {
                followers.extend(group.iter().map(ranked_second));
            }
            followers.sort_unstable();
            follower_nodes.clear();
            for &(follower, count) in &followers {
                let follower_words = sorted.words(follower);
                list(
                    &mut nodes,
                    &mut follower_nodes,
                    words.len(),
                    follower_words,
                    count,
                );
            }
        }
        nodes
    }

    /// Returns the slabs of activations of just one path, with their counts.
    fn single_slabs(&mut self) -> Vec<(SlabId, u64)> {
        let singles = std::mem::take(&mut self.singles);
        let singles = (0u32..).zip(singles).filter(|(_, count)| *count > 0);
        let slabs = &mut self.slabs;
        singles
            .map(|(word, count)| (slabs.path_slab(word), count))
            .collect()
    }
}

/// Adds a sequence of words below a node at depth `depth - 1`: adds `count` to the nodes of all its
/// prefixes. `sequence_nodes` contains the nodes of the previous sequence below that node, which
/// is smaller. On return, it contains the nodes of this sequence.
fn list(
    nodes: &mut Vec<Node>,
    sequence_nodes: &mut Vec<usize>,
    depth: usize,
    words: &[u32],
    count: u64,
) {
    let pairs = sequence_nodes.iter().zip(words);
    let common_prefix = pairs.take_while(|(node, word)| nodes[**node].label == **word);
    sequence_nodes.truncate(common_prefix.count());
    for &node in sequence_nodes.iter() {
        nodes[node].count += count;
    }
    let known = sequence_nodes.len();
    for (depth, &label) in (depth + known..).zip(&words[known..]) {
        sequence_nodes.push(nodes.len());
        nodes.push(Node {
            count,
            label,
            depth: depth as u16,
        });
    }
}
