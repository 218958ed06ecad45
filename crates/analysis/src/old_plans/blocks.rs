//! Finds the blocks of a function again after the function has changed.
//!
//! A block has counterparts at several levels of certainty, as in Ayupov, Panchenko, Pupyrev,
//! "Stale Profile Matching" (CC 2024). A block that is matched stays matched.
//!
//! 1. Entry and exit.
//! 2. The only block with this content and with neighbors of these contents.
//! 3. Call sites: the longest common subsequence of the called functions, in the order of the
//!    blocks.
//! 4. The only block with this content.
//!
//! The content of a block is its hash and its callees. After each level, matches spread along
//! edges: to the only neighbor with this content, and to the neighbor with this content at the same
//! place of an equal branch. At the end, the only neighbors that remain are matched, too.
//!
//! ```text
//! old   a → b → c → exit        a and c are found by their contents, x has no counterpart,
//! new   a → x → b' → c → exit   b' is the only predecessor of c that remains
//! ```
//! Cost: linear in edges for each round of spreading, and the product of the numbers of calls for
//! call sites.

use std::collections::BTreeMap;
use std::hash::Hash;

use holloway_format::{BlockCode, FunctionCode};
use rustc_hash::FxHashMap;

/// Call sites are compared only if there are at most so many pairs. A function of 1,000 calls has
/// 10^6.
const MAX_CALL_PAIRS: usize = 4_000_000;

/// The blocks that were found again.
pub(super) struct MatchedBlocks {
    /// By old block: its counterpart.
    pub(super) counterparts: Vec<Option<usize>>,
    /// By old block: whether its counterpart has the same content or calls. Entry and exit are
    /// certain.
    pub(super) is_certain: Vec<bool>,
}

/// Finds the blocks of a function again.
pub(super) fn match_blocks(old: &FunctionCode, new: &FunctionCode) -> MatchedBlocks {
    let mut matching = Matching::new(old, new);
    if old.blocks.len() < 2 || new.blocks.len() < 2 {
        return MatchedBlocks {
            is_certain: vec![false; old.blocks.len()],
            counterparts: matching.counterparts,
        };
    }
    matching.add(0, 0);
    matching.add(old.blocks.len() - 1, new.blocks.len() - 1);
    matching.add_unique(Side::surroundings);
    matching.spread();
    matching.add_call_sites();
    matching.spread();
    matching.add_unique(|side, block| side.content(block).clone());
    matching.spread();
    let is_certain = matching.counterparts.iter().map(Option::is_some).collect();
    matching.eliminate();
    MatchedBlocks {
        counterparts: matching.counterparts,
        is_certain,
    }
}

/// One of both versions of a function.
struct Side<'a> {
    code: &'a FunctionCode,
    successors: Vec<Vec<usize>>,
    predecessors: Vec<Vec<usize>>,
}

impl<'a> Side<'a> {
    fn new(code: &'a FunctionCode) -> Self {
        let mut successors = vec![Vec::new(); code.blocks.len()];
        let mut predecessors = successors.clone();
        for &(from, to) in &code.edges {
            successors[from as usize].push(to as usize);
            predecessors[to as usize].push(from as usize);
        }
        Self {
            code,
            successors,
            predecessors,
        }
    }

    fn content(&self, block: usize) -> &'a BlockCode {
        &self.code.blocks[block]
    }

    /// The content of a block, of its predecessors in any order, and of its successors.
    fn surroundings(&self, block: usize) -> (BlockCode, Vec<BlockCode>, Vec<BlockCode>) {
        let contents = |blocks: &[usize]| -> Vec<BlockCode> {
            blocks.iter().map(|&b| self.content(b).clone()).collect()
        };
        let mut before = contents(&self.predecessors[block]);
        before.sort_unstable();
        let after = contents(&self.successors[block]);
        (self.content(block).clone(), before, after)
    }

    /// The calls of the function: callee and block.
    fn calls(&self) -> Vec<(u32, usize)> {
        let blocks = self.code.blocks.iter().enumerate();
        let calls = blocks.flat_map(|(block, code)| code.callees.iter().map(move |&c| (c, block)));
        calls.collect()
    }
}

struct Matching<'a> {
    old: Side<'a>,
    new: Side<'a>,
    /// By old block.
    counterparts: Vec<Option<usize>>,
    /// By new block.
    is_taken: Vec<bool>,
}

impl<'a> Matching<'a> {
    fn new(old: &'a FunctionCode, new: &'a FunctionCode) -> Self {
        Self {
            counterparts: vec![None; old.blocks.len()],
            is_taken: vec![false; new.blocks.len()],
            old: Side::new(old),
            new: Side::new(new),
        }
    }

    fn is_free(&self, old: usize, new: usize) -> bool {
        self.counterparts[old].is_none() && !self.is_taken[new]
    }

    /// Matches two blocks, unless one of them is matched. Returns whether it did.
    fn add(&mut self, old: usize, new: usize) -> bool {
        let is_free = self.is_free(old, new);
        if is_free {
            self.counterparts[old] = Some(new);
            self.is_taken[new] = true;
        }
        is_free
    }

    /// Matches the blocks whose keys are unique among the blocks of both sides without counterpart.
    fn add_unique<K: Hash + Eq>(&mut self, key: impl Fn(&Side<'a>, usize) -> K) {
        let mut keys: FxHashMap<K, [Vec<usize>; 2]> = FxHashMap::default();
        for old in 0..self.counterparts.len() {
            if self.counterparts[old].is_none() {
                keys.entry(key(&self.old, old)).or_default()[0].push(old);
            }
        }
        for new in 0..self.is_taken.len() {
            if !self.is_taken[new] {
                keys.entry(key(&self.new, new)).or_default()[1].push(new);
            }
        }
        for (old, new) in keys.into_values().filter_map(|sides| only_pair(&sides)) {
            self.add(old, new);
        }
    }

    /// Matches the blocks of the longest common subsequence of calls.
    fn add_call_sites(&mut self) {
        let (old, new) = (self.old.calls(), self.new.calls());
        if old.len() * new.len() > MAX_CALL_PAIRS {
            return;
        }
        for (a, b) in common_subsequence(&old, &new) {
            self.add(old[a].1, new[b].1);
        }
    }

    /// The blocks with counterparts, and these.
    fn pairs(&self) -> Vec<(usize, usize)> {
        let blocks = self.counterparts.iter().enumerate();
        let pairs = blocks.filter_map(|(old, new)| new.map(|new| (old, new)));
        pairs.collect()
    }

    /// Matches neighbors of matched blocks by their contents, until there are no more.
    fn spread(&mut self) {
        let mut waiting = self.pairs();
        while let Some((old, new)) = waiting.pop() {
            let mut is_new = false;
            for (a, b) in self.similar_neighbors(old, new) {
                if self.add(a, b) {
                    waiting.push((a, b));
                    is_new = true;
                }
            }
            if is_new {
                // Fewer neighbors are left now.
                waiting.push((old, new));
            }
        }
    }

    /// Matches the only neighbors of matched blocks that remain, whatever their contents are.
    fn eliminate(&mut self) {
        loop {
            let mut found = Vec::new();
            for (old, new) in self.pairs() {
                if self.is_equal_branch(old, new) {
                    let sides = [&self.old.successors[old], &self.new.successors[new]];
                    found.extend(self.last_neighbor(sides));
                }
                let sides = [&self.old.predecessors[old], &self.new.predecessors[new]];
                if sides[0].len() == sides[1].len() {
                    found.extend(self.last_neighbor(sides));
                }
            }
            if found.is_empty() {
                return;
            }
            for (old, new) in found {
                self.add(old, new);
            }
            self.spread();
        }
    }

    /// Whether two blocks end with branches of equal form.
    fn is_equal_branch(&self, old: usize, new: usize) -> bool {
        self.old.content(old).hash == self.new.content(new).hash
            && self.old.successors[old].len() == self.new.successors[new].len()
    }

    /// The free neighbors of two matched blocks that have equal contents: those whose content no
    /// other free neighbor has, and those at the same place of an equal branch.
    fn similar_neighbors(&self, old: usize, new: usize) -> Vec<(usize, usize)> {
        let successors = [&self.old.successors[old], &self.new.successors[new]];
        let predecessors = [&self.old.predecessors[old], &self.new.predecessors[new]];
        let mut found = self.neighbors_by_content(successors);
        found.extend(self.neighbors_by_content(predecessors));
        if self.is_equal_branch(old, new) {
            let pairs = successors[0].iter().zip(successors[1]);
            found.extend(pairs.map(|(&a, &b)| (a, b)).filter(|&(a, b)| {
                self.is_free(a, b) && self.old.content(a) == self.new.content(b)
            }));
        }
        found
    }

    /// The free neighbors whose content no other free neighbor has.
    fn neighbors_by_content(&self, [old, new]: [&Vec<usize>; 2]) -> Vec<(usize, usize)> {
        let mut contents: BTreeMap<&BlockCode, [Vec<usize>; 2]> = BTreeMap::new();
        for &block in old.iter().filter(|&&b| self.counterparts[b].is_none()) {
            let content = self.old.content(block);
            contents.entry(content).or_default()[0].push(block);
        }
        for &block in new.iter().filter(|&&b| !self.is_taken[b]) {
            let content = self.new.content(block);
            contents.entry(content).or_default()[1].push(block);
        }
        contents
            .into_values()
            .filter_map(|sides| only_pair(&sides))
            .collect()
    }

    /// The only free neighbors of both sides.
    fn last_neighbor(&self, sides: [&Vec<usize>; 2]) -> Option<(usize, usize)> {
        let mut old = sides[0].iter().filter(|&&b| self.counterparts[b].is_none());
        let mut new = sides[1].iter().filter(|&&b| !self.is_taken[b]);
        match (old.next(), old.next(), new.next(), new.next()) {
            (Some(&old), None, Some(&new), None) => Some((old, new)),
            _ => None,
        }
    }
}

/// The blocks of both sides, if each side has one.
fn only_pair(sides: &[Vec<usize>; 2]) -> Option<(usize, usize)> {
    match sides.each_ref().map(Vec::as_slice) {
        [&[old], &[new]] => Some((old, new)),
        _ => None,
    }
}

/// The positions of the longest common subsequence of the calls, in order.
fn common_subsequence(old: &[(u32, usize)], new: &[(u32, usize)]) -> Vec<(usize, usize)> {
    let width = new.len() + 1;
    let at = |a: usize, b: usize| a * width + b;
    // The length for the rest of both sequences.
    let mut lengths = vec![0u32; (old.len() + 1) * width];
    for a in (0..old.len()).rev() {
        for b in (0..new.len()).rev() {
            lengths[at(a, b)] = match old[a].0 == new[b].0 {
                true => lengths[at(a + 1, b + 1)] + 1,
                false => lengths[at(a + 1, b)].max(lengths[at(a, b + 1)]),
            };
        }
    }
    let (mut a, mut b) = (0, 0);
    let mut pairs = Vec::new();
    while a < old.len() && b < new.len() {
        if old[a].0 == new[b].0 {
            pairs.push((a, b));
            (a, b) = (a + 1, b + 1);
        } else if lengths[at(a + 1, b)] >= lengths[at(a, b + 1)] {
            a += 1;
        } else {
            b += 1;
        }
    }
    pairs
}
