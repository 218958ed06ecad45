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
use super::limits::{LEAST, Limits};
use super::pairs::{Pairs, pair, slabs};
use super::slab::Slab;
use super::slabs::{Slabs, TOGETHER};
use super::spelt::Spelt;

/// The counted slabs and pairs may produce this many times as many nodes as the limit allows,
/// because nodes share prefixes. With twice as many as allowed (2), bzip2 at k = 8 loses 21 % of
/// its paths instead of 34 % in about the same time, and takes 112 bytes per node instead of 64.
const NODES: usize = 2;

/// Maximum weight of the counts, whatever the limit, so that indices of nodes and of their words
/// fit into 32 bits.
const MOST: usize = 1 << 30;

/// Slabs, and how often each slab followed each other slab.
#[derive(Debug)]
pub(super) struct Tables {
    k: u32,
    pub(super) slabs: Slabs,
    pairs: Pairs,
    /// Number of activations of just one path, by word.
    alone: Vec<u64>,
    dropped: Vec<u64>,
    losses: Losses,
}

/// The counts for k = 2, where each slab is one word.
pub(super) struct Counted<'a> {
    /// Pairs of words with their counts. The first word is 0 at the beginning of an activation.
    pub(super) pairs: &'a [(u64, u64)],
    pub(super) alone: Vec<u64>,
    pub(super) dropped: Vec<u64>,
    pub(super) losses: Losses,
}

/// The cold pairs that have the same second slab, and the shorter slab that replaces it.
#[derive(Clone, Copy, Default, Debug)]
struct Half {
    pairs: u32,
    /// The sum of the pairs' counts.
    count: u64,
    /// The first half of the second slab's paths.
    slab: Slab,
}

/// The position of an activation in its slabs.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Position {
    /// The last complete slab.
    before: Slab,
    /// The slab in progress. If it is complete, it is already counted, and `before` is the same
    /// slab.
    slab: Slab,
}

impl Tables {
    /// Creates tables for words below `end`.
    pub(super) fn new(k: u32, end: u32) -> Tables {
        Tables {
            k,
            slabs: Slabs::new(k as usize - 1, end),
            pairs: Pairs::default(),
            alone: vec![0; end as usize],
            dropped: Vec::new(),
            losses: Losses::default(),
        }
    }

    /// Returns the tables that counting the same stream with k = 2 would have produced.
    pub(super) fn of_words(counted: Counted<'_>) -> Tables {
        let mut tables = Tables {
            dropped: counted.dropped,
            losses: counted.losses,
            ..Tables::new(2, counted.alone.len() as u32)
        };
        tables.alone = counted.alone;
        let trie = &mut tables.slabs;
        let mut slab = |word| if word == 0 { 0 } else { trie.first(word) };
        let pairs = counted.pairs.iter().map(|&(both, count)| {
            let (before, word) = slabs(both);
            (pair(slab(before), slab(word)), count)
        });
        let pairs = pairs.collect();
        tables.pairs = Pairs::of(pairs);
        tables
    }

    /// Counts an activation of just one path.
    #[inline(always)]
    pub(super) fn alone(&mut self, word: u32) {
        self.alone[word as usize] += 1;
    }

    /// Counts the first path of an activation.
    #[inline(always)]
    pub(super) fn first(&mut self, word: u32) -> Position {
        let slab = self.slabs.first(word);
        // With k > 2, a complete slab has at least two paths, so this slab is incomplete.
        Position { before: 0, slab }
    }

    /// Counts the next path of an activation.
    #[inline(always)]
    pub(super) fn step(&mut self, at: Position, word: u32) -> Position {
        let (slab, is_whole) = self.slabs.step(at.slab, word);
        self.at(at.before, slab, is_whole)
    }

    /// Counts the next complete slabs of an activation, at most [`LOOKUP_BATCH`]. The activation
    /// must be at the end of a slab.
    #[inline]
    pub(super) fn wholes(&mut self, at: Position, words: &[u32]) -> Position {
        let mut slabs = [0; TOGETHER];
        let mut before = at.before;
        for &slab in self.slabs.wholes(words, &mut slabs) {
            self.pairs.add(before, slab);
            before = slab;
        }
        Position {
            before,
            slab: before,
        }
    }

    #[inline(always)]
    fn at(&mut self, before: Slab, slab: Slab, is_whole: bool) -> Position {
        if !is_whole {
            return Position { before, slab };
        }
        self.pairs.add(before, slab);
        Position { before: slab, slab }
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
        let most = limits.nodes.max(LEAST).saturating_mul(NODES).min(MOST);
        if self.pairs.is_full(most / 4) || self.slabs.weight() > most {
            self.pairs.settle();
            if self.nodes_below() + self.slabs.weight() > most {
                self.prune(most / 2, open.collect());
            }
        }
    }

    /// Maximum number of forest nodes that the pairs produce.
    fn nodes_below(&mut self) -> usize {
        let pairs = self.pairs.settle().iter();
        let paths = pairs.map(|(pair, _)| self.slabs.paths(slabs(*pair).1));
        paths.sum()
    }

    fn prune(&mut self, most: usize, mut open: Vec<&mut Position>) {
        loop {
            let least = self.pairs.middle();
            self.halve(least);
            let keep = self.in_use(&open);
            let is_within = self.nodes_below() + self.slabs.weight_of(&keep) <= most;
            if is_within || self.pairs.settle().is_empty() {
                self.forget(&keep, &mut open);
                break;
            }
        }
        self.losses.prunings += 1;
    }

    /// Drops the second half of the second slab, in all pairs with a count of at most `least`.
    fn halve(&mut self, least: u64) {
        let mut halves = vec![Half::default(); self.slabs.len() + 1];
        for &(both, count) in self.pairs.settle() {
            let is_cold = count <= least;
            let half = &mut halves[slabs(both).1 as usize];
            half.pairs += u32::from(is_cold);
            half.count += u64::from(is_cold) * count;
        }
        self.dropped.resize(self.alone.len(), 0);
        for (slab, half) in (0..).zip(&mut halves).filter(|(_, half)| half.pairs > 0) {
            let (paths, losses) = (self.slabs.paths(slab), &mut self.losses);
            half.slab = self.slabs.cut(slab, paths / 2, |word| {
                self.dropped[word as usize] += half.count;
                losses.nodes += u64::from(half.pairs);
                losses.words += half.count;
            });
            losses.slabs += if half.slab == 0 { half.count } else { 0 };
        }
        self.pairs.change(|slab, count| match count <= least {
            true => halves[slab as usize].slab,
            false => slab,
        });
    }

    /// By slab: whether a pair or an open activation contains the slab, or a slab that begins with
    /// it.
    fn in_use(&mut self, open: &[&mut Position]) -> Vec<bool> {
        let mut keep = vec![false; self.slabs.len() + 1];
        let pairs = self.pairs.settle().iter().map(|(pair, _)| slabs(*pair));
        let open = open.iter().map(|at| (at.before, at.slab));
        for (before, slab) in pairs.chain(open) {
            keep[before as usize] = true;
            keep[slab as usize] = true;
        }
        self.slabs.keep_beginnings(&mut keep);
        keep
    }

    /// Removes the slabs that are not marked in `keep`.
    fn forget(&mut self, keep: &[bool], open: &mut [&mut Position]) {
        let places = self.slabs.compact(keep);
        let place = |slab: Slab| places[slab as usize];
        self.pairs.rename(place);
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
        let alone = self.single();
        let counted = self.pairs.settle();
        let spelt = Spelt::new(&self.slabs, counted, &alone);
        let mut firsts = vec![0; spelt.order.len() + 1];
        for (slab, count) in alone {
            firsts[spelt.rank(slab) as usize] += count;
        }
        let same = |one: &(u64, u64), other: &(u64, u64)| slabs(one.0).0 == slabs(other.0).0;
        let groups = counted.chunk_by(same);
        let mut groups: Vec<_> = groups
            .map(|group| (spelt.rank(slabs(group[0].0).0), group))
            .collect();
        groups.sort_unstable_by_key(|(before, _)| *before);
        let ranked = |&(both, count): &(u64, u64)| (spelt.rank(slabs(both).1), count);
        let mut groups = groups.into_iter().peekable();
        while let Some((_, group)) = groups.next_if(|(before, _)| *before == 0) {
            for (slab, count) in group.iter().map(ranked) {
                firsts[slab as usize] += count;
            }
        }
        let (mut listing, mut places) = (Vec::new(), Vec::new());
        let (mut after, mut below) = (Vec::new(), Vec::new());
        for (rank, count) in (0u32..).zip(firsts).skip(1) {
            let words = spelt.words(rank);
            list(&mut listing, &mut places, 0, words, count);
            after.clear();
            while let Some((_, group)) = groups.next_if(|(before, _)| *before == rank) {
                after.extend(group.iter().map(ranked));
            }
            after.sort_unstable();
            below.clear();
            for &(slab, count) in &after {
                let slab = spelt.words(slab);
                list(&mut listing, &mut below, words.len(), slab, count);
            }
        }
        listing
    }

    /// Returns the slabs of activations of just one path, with their counts.
    fn single(&mut self) -> Vec<(Slab, u64)> {
        let alone = std::mem::take(&mut self.alone);
        let alone = (0u32..).zip(alone).filter(|(_, count)| *count > 0);
        let slabs = &mut self.slabs;
        alone
            .map(|(word, count)| (slabs.first(word), count))
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
