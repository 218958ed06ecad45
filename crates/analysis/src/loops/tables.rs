//! The counts that are kept while a stream is read: pairs of neighboring slabs, not nodes of the
//! forest.
//!
//! All prefixes of a slab run as often as the slab itself below the slab before it. So the k-1
//! steps of the paper (Figure 6), each with a count in the forest, become one count of a pair here.
//! The last, shorter slab of an activation is a slab like the others.
//!
//! The forest is made only at the end ([`Tables::forest`]): slabs are sorted by their words
//! ([`SortedSlabs`]), pairs are sorted by their slabs, and one pass over both produces the forest.
//!
//! Example, k = 3, stream a b a b a: the slabs are ab, ab, a. The counted pairs are (none, ab),
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

/// The counted slabs and pairs may produce this many times as many nodes as the limit allows,
/// because nodes share prefixes. With a factor twice as large, bzip2 at k = 8 loses 21 % of
/// its paths instead of 34 % in about the same time, and takes 112 bytes per node instead of 64.
const NODE_FACTOR: usize = 2;

/// Maximum weight of the counts, whatever the limit, so that indices of nodes and of their words
/// fit into 32 bits.
const MAX_WEIGHT: usize = 1 << 30;

/// Slabs, and how often each slab followed each other slab.
#[derive(Debug)]
pub(super) struct Tables {
    k: u32,
    pub(super) slabs: Slabs,
    pairs: Pairs,
    /// Number of activations of just one path, by word.
    singles: Vec<u64>,
    dropped: Vec<u64>,
    losses: Losses,
}

/// The counts for k = 2, where each slab is one word.
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
    pairs: u32,
    /// The sum of the pairs' counts.
    count: u64,
    /// The first half of the second slab's paths.
    slab: SlabId,
}

/// The position of an activation in its slabs.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Position {
    /// The last complete slab.
    before: SlabId,
    /// The slab in progress. If it is complete, it is already counted, and `before` is the same
    /// slab.
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

    /// Returns the tables that counting the same stream with k = 2 would have produced.
    pub(super) fn from_successors(counted: SuccessorCounts<'_>) -> Tables {
        let mut tables = Tables {
            dropped: counted.dropped,
            losses: counted.losses,
            ..Tables::new(2, counted.singles.len() as u32)
        };
        tables.singles = counted.singles;
        let trie = &mut tables.slabs;
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
        // With k > 2, a complete slab has at least two paths, so this slab is incomplete.
        Position {
            before: SlabId::NONE,
            slab,
        }
    }

    /// Counts the next path of an activation.
    #[inline(always)]
    pub(super) fn step(&mut self, at: Position, word: u32) -> Position {
        let (slab, is_complete) = self.slabs.step(at.slab, word);
        if !is_complete {
            return Position {
                before: at.before,
                slab,
            };
        }
        self.pairs.add(at.before, slab);
        Position { before: slab, slab }
    }

    /// Counts the next complete slabs of an activation, at most [`LOOKUP_BATCH`]. The activation
    /// must be at the end of a slab.
    #[inline]
    pub(super) fn count_slabs(&mut self, at: Position, words: &[u32]) -> Position {
        let mut slabs = [SlabId::NONE; LOOKUP_BATCH];
        let mut before = at.before;
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
    pub(super) fn begins(&self, at: Position) -> bool {
        at.before == at.slab
    }

    /// Ends an activation: counts its last slab.
    #[inline(always)]
    pub(super) fn end(&mut self, at: Position) {
        if at.before != at.slab {
            self.pairs.add(at.before, at.slab);
        }
    }

    /// Merges the counts when they may exceed the limit's memory, and then drops cold counts.
    /// `open` contains the positions of the open activations.
    pub(super) fn keep_within<'a>(
        &mut self,
        limits: Limits,
        open: impl Iterator<Item = &'a mut Position>,
    ) {
        let max = limits
            .nodes
            .max(MIN_NODES)
            .saturating_mul(NODE_FACTOR)
            .min(MAX_WEIGHT);
        if self.pairs.is_full(max / 4) || self.slabs.weight() > max {
            self.pairs.merge_log();
            if self.max_nodes() + self.slabs.weight() > max {
                self.prune(max / 2, open.collect());
            }
        }
    }

    /// Maximum number of forest nodes that the pairs produce.
    fn max_nodes(&mut self) -> usize {
        let pairs = self.pairs.merge_log().iter();
        let paths = pairs.map(|(pair, _)| self.slabs.paths(slabs(*pair).1));
        paths.sum()
    }

    fn prune(&mut self, max: usize, mut open: Vec<&mut Position>) {
        loop {
            let threshold = self.pairs.median();
            self.halve(threshold);
            let keep = self.in_use(&open);
            let is_within = self.max_nodes() + self.slabs.kept_weight(&keep) <= max;
            if is_within || self.pairs.merge_log().is_empty() {
                self.remove_slabs(&keep, &mut open);
                break;
            }
        }
        self.losses.prunings += 1;
    }

    /// Drops the second half of the second slab, in all pairs with a count of at most `least`.
    fn halve(&mut self, threshold: u64) {
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
            cold_pairs.slab = self.slabs.shorten(SlabId(slab), paths / 2, |word| {
                self.dropped[word as usize] += cold_pairs.count;
                losses.nodes += u64::from(cold_pairs.pairs);
                losses.words += cold_pairs.count;
            });
            losses.slabs += if cold_pairs.slab == SlabId::NONE {
                cold_pairs.count
            } else {
                0
            };
        }
        self.pairs
            .replace_slabs(|slab, count| match count <= threshold {
                true => cold[slab.index()].slab,
                false => slab,
            });
    }

    /// By slab: whether a pair or an open activation contains the slab, or a slab that begins with
    /// it.
    fn in_use(&mut self, open: &[&mut Position]) -> Vec<bool> {
        let mut keep = vec![false; self.slabs.len() + 1];
        let pairs = self.pairs.merge_log().iter().map(|(pair, _)| slabs(*pair));
        let open = open.iter().map(|at| (at.before, at.slab));
        for (before, slab) in pairs.chain(open) {
            keep[before.index()] = true;
            keep[slab.index()] = true;
        }
        self.slabs.keep_ancestors(&mut keep);
        keep
    }

    /// Removes the slabs that are not marked in `keep`.
    fn remove_slabs(&mut self, keep: &[bool], open: &mut [&mut Position]) {
        let places = self.slabs.compact(keep);
        let place = |slab: SlabId| places[slab.index()];
        self.pairs.renumber(place);
        for at in open {
            (at.before, at.slab) = (place(at.before), place(at.slab));
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

    /// Lists all slabs in order, and below each complete slab the slabs that followed it.
    fn nodes(&mut self) -> Vec<Node> {
        let singles = self.single_slabs();
        let pairs = self.pairs.merge_log();
        let sorted = SortedSlabs::new(&self.slabs, pairs, &singles);
        let mut counts = vec![0; sorted.order.len() + 1];
        for (slab, count) in singles {
            counts[sorted.rank(slab) as usize] += count;
        }
        let same = |a: &(u64, u64), b: &(u64, u64)| slabs(a.0).0 == slabs(b.0).0;
        let groups = pairs.chunk_by(same);
        let mut groups: Vec<_> = groups
            .map(|group| (sorted.rank(slabs(group[0].0).0), group))
            .collect();
        groups.sort_unstable_by_key(|(before, _)| *before);
        let ranked = |&(key, count): &(u64, u64)| (sorted.rank(slabs(key).1), count);
        let mut groups = groups.into_iter().peekable();
        while let Some((_, group)) = groups.next_if(|(before, _)| *before == 0) {
            for (slab, count) in group.iter().map(ranked) {
                counts[slab as usize] += count;
            }
        }
        let (mut listing, mut places) = (Vec::new(), Vec::new());
        let (mut after, mut below) = (Vec::new(), Vec::new());
        for (rank, count) in (0u32..).zip(counts).skip(1) {
            let words = sorted.words(rank);
            list(&mut listing, &mut places, 0, words, count);
            after.clear();
            while let Some((_, group)) = groups.next_if(|(before, _)| *before == rank) {
                after.extend(group.iter().map(ranked));
            }
            after.sort_unstable();
            below.clear();
            for &(slab, count) in &after {
                let slab = sorted.words(slab);
                list(&mut listing, &mut below, words.len(), slab, count);
            }
        }
        listing
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

/// Counts all prefixes of a sequence below a node at depth `depth - 1`. `places` contains the nodes
/// of the previously listed sequence, which precedes this one in order.
fn list(nodes: &mut Vec<Node>, places: &mut Vec<usize>, depth: usize, words: &[u32], count: u64) {
    let pairs = places.iter().zip(words);
    let same = pairs.take_while(|(place, word)| nodes[**place].label == **word);
    places.truncate(same.count());
    for &place in places.iter() {
        nodes[place].count += count;
    }
    for (depth, &label) in (depth + places.len()..).zip(&words[places.len()..]) {
        places.push(nodes.len());
        nodes.push(Node {
            count,
            label,
            depth: depth as u16,
        });
    }
}
