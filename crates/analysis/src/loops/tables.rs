//! What is counted while a stream is read: pairs of neighbouring slabs, not nodes of the forest.
//!
//! All prefixes of a slab are counted as often as the slab is under the one before it, so the paper's k-1 steps with counts in the forest
//! (Figure 6) are one count here: of the pair. What an activation's last, shorter slab holds is a slab like others. The forest
//! is only made at the end ([`Tables::forest`]): slabs are sorted by their words ([`Spelt`]), pairs by slabs, and a pass over both lists it.
//!
//! Example, k = 3, stream a b a b a: slabs ab, ab, a; counted are (none, ab), (ab, ab), (ab, a), once each.
//!
//! Cost: a step in the trie of slabs for a path (or a look-up for a whole slab), a count for a slab.

use super::forest::{Losses, Node, SlabForest};
use super::limits::{LEAST, Limits};
use super::pairs::{Pairs, pair, slabs};
use super::slab::Slab;
use super::slabs::{Slabs, TOGETHER};
use super::spelt::Spelt;

/// Nodes that may come of what is counted for each that the limit lets be: they have prefixes in common. With twice as many, bzip2 at k = 8 loses
/// 21 % of its paths in place of 34 in about the same time, and takes 112 bytes a node in place of 64.
const NODES: usize = 2;

/// What may be counted whatever the limit, so that places of nodes and of their words fit 32 bits.
const MOST: usize = 1 << 30;

/// Slabs, and how often each came after which.
#[derive(Debug)]
pub(super) struct Tables {
    k: u32,
    pub(super) slabs: Slabs,
    pairs: Pairs,
    /// Activations of one path, by word.
    alone: Vec<u64>,
    dropped: Vec<u64>,
    losses: Losses,
}

/// What was counted where a slab is a word.
pub(super) struct Counted<'a> {
    /// Pairs of words, the one before 0 where there is none.
    pub(super) pairs: &'a [(u64, u64)],
    pub(super) alone: Vec<u64>,
    pub(super) dropped: Vec<u64>,
    pub(super) losses: Losses,
}

/// What becomes of the cold pairs whose second slab is the same one.
#[derive(Clone, Copy, Default, Debug)]
struct Half {
    pairs: u32,
    /// The sum of their counts.
    count: u64,
    /// The first half of its paths.
    slab: Slab,
}

/// Where an activation is.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Position {
    /// The last whole slab.
    before: Slab,
    /// The slab that has begun; a whole one is counted and the one before, too.
    slab: Slab,
}

impl Tables {
    /// Of words below `end`.
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

    /// The same as if they had been counted here, with k = 2.
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

    /// Counts an activation of one path.
    #[inline(always)]
    pub(super) fn alone(&mut self, word: u32) {
        self.alone[word as usize] += 1;
    }

    /// An activation's first path.
    #[inline(always)]
    pub(super) fn first(&mut self, word: u32) -> Position {
        let slab = self.slabs.first(word);
        // A slab has two paths at least.
        Position { before: 0, slab }
    }

    /// Its next one.
    #[inline(always)]
    pub(super) fn step(&mut self, at: Position, word: u32) -> Position {
        let (slab, is_whole) = self.slabs.step(at.slab, word);
        self.at(at.before, slab, is_whole)
    }

    /// Its next whole slabs, [`TOGETHER`] at most, where one is at its end.
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

    /// Whether a slab begins with the next path.
    #[inline(always)]
    pub(super) fn begins(&self, at: Position) -> bool {
        at.before == at.slab
    }

    /// The activation is over.
    #[inline(always)]
    pub(super) fn end(&mut self, at: Position) {
        if at.before != at.slab {
            self.pairs.add(at.before, at.slab);
        }
    }

    /// Counts together what may be more than the limit's memory holds, and then drops what is cold. `open` are the positions of activations that go on.
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

    /// Nodes that the forest may have.
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

    /// Of pairs counted `least` times or less, the second half of the second slab goes.
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

    /// By slab, whether there is a pair of it or of one that it begins.
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

    /// Forgets the slabs that are not to be kept.
    fn forget(&mut self, keep: &[bool], open: &mut [&mut Position]) {
        let places = self.slabs.compact(keep);
        let place = |slab: Slab| places[slab as usize];
        self.pairs.rename(place);
        for at in open {
            (at.before, at.slab) = (place(at.before), place(at.slab));
        }
    }

    /// The forest.
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

    /// All slabs in order, and below each whole one those that came after it.
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

    /// The slabs of activations of one path.
    fn single(&mut self) -> Vec<(Slab, u64)> {
        let alone = std::mem::take(&mut self.alone);
        let alone = (0u32..).zip(alone).filter(|(_, count)| *count > 0);
        let slabs = &mut self.slabs;
        alone
            .map(|(word, count)| (slabs.first(word), count))
            .collect()
    }
}

/// Counts all prefixes of a sequence below what is `depth` deep. `places` are the nodes of the one listed before, which comes first.
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
