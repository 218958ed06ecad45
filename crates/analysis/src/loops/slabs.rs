//! The slabs that occurred so far. Incomplete slabs form a trie; complete slabs are stored as flat
//! word sequences.
//!
//! A slab is *complete* if it has the maximum length, K − 1 paths. A node of the trie is an
//! incomplete slab: the labels (words) from the root to the node are its paths. A *step* leads from
//! a slab to the slab that is one path longer. It first tries the node to which the last step from
//! this slab led. If that node has another label, the step is a *miss* and searches the other
//! children:
//! - If the node has one child, the step adds a second one.
//! - If the node has several children, they are in a hash table for the whole trie ([`Children`]).
//!
//! A complete slab has no children. A step from it leads to the first node of the activation's next
//! slab.
//!
//! Where paths follow each other at random, most steps are misses. There, complete slabs are looked
//! up by a hash of their words. Complete slabs are not nodes of the trie but entries of [`Flat`],
//! because most of them occur only once or twice. In the trie, each of their paths would cost one
//! cache miss.
//!
//! Cost: a step that is no miss reads one node of 20 bytes. Each child of a node with several
//! children takes 18 to 36 bytes more.

use super::children::Children;
use super::flat::{self, Flat, RecentSlabs};
use super::slab::SlabId;

/// Weight of a trie node. One unit of weight is about 13 bytes of memory.
const NODE_WEIGHT: usize = 4;
/// Weight of a flat slab without its words.
const FLAT_WEIGHT: usize = 3;
/// Number of words that have the weight 1.
const WORDS_PER_WEIGHT: usize = 3;

#[derive(Clone, Copy, Debug)]
struct Node {
    /// The word of the slab's last path.
    label: u32,
    /// The node to which the last step from this node led. In a node with one child, this is the
    /// child.
    next: SlabId,
    /// The label of `next`. A step compares this label without reading the node `next`.
    next_label: u32,
    /// In a node of the trie: the index of the parent. In a flat slab: the start of its words in
    /// [`Flat`].
    parent_or_start: u32,
    /// Number of the slab's paths − 1.
    depth: u16,
    kind: Kind,
    /// Whether the slab has the maximum length.
    is_complete: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// A node of the trie with at most one child.
    AtMostOneChild,
    /// A node of the trie with several children, which are in the hash table.
    SeveralChildren,
    /// Not a node of the trie: a complete slab, whose words are contiguous in [`Flat`].
    Flat,
}

/// Maximum number of complete slabs that are looked up in one call.
pub(super) const LOOKUP_BATCH: usize = 16;

/// All slabs, with their words.
#[derive(Debug)]
pub(super) struct Slabs {
    /// Length of a complete slab.
    max_paths: usize,
    nodes: Vec<Node>,
    /// The slab of one path, indexed by word.
    roots: Vec<SlabId>,
    children: Children,
    flat: Flat,
    /// Number of steps that led to another node than last time.
    pub(super) misses: u64,
    recent: RecentSlabs,
    /// Buffer for a slab's words.
    buffer: Vec<u32>,
}

impl Slabs {
    /// Creates a table for slabs of at most `max_paths` paths, whose words are below `end`.
    pub(super) fn new(max_paths: usize, end: u32) -> Slabs {
        let root = Node {
            label: u32::MAX,
            next: SlabId::NONE,
            next_label: u32::MAX,
            parent_or_start: 0,
            depth: u16::MAX,
            kind: Kind::AtMostOneChild,
            is_complete: false,
        };
        Slabs {
            max_paths,
            nodes: vec![root],
            roots: vec![SlabId::NONE; end as usize],
            children: Children::default(),
            flat: Flat::default(),
            misses: 0,
            recent: RecentSlabs::new(max_paths),
            buffer: Vec::new(),
        }
    }

    /// Number of slabs.
    pub(super) fn len(&self) -> usize {
        self.nodes.len() - 1
    }

    /// Memory that the slabs take, in units of about 13 bytes.
    pub(super) fn weight(&self) -> usize {
        NODE_WEIGHT * (self.len() - self.flat.len())
            + FLAT_WEIGHT * self.flat.len()
            + self.flat.word_count() / WORDS_PER_WEIGHT
    }

    /// Memory that the slabs marked in `keep` take, in the same units.
    pub(super) fn kept_weight(&self, keep: &[bool]) -> usize {
        let nodes = self.nodes.iter().zip(keep).skip(1);
        let weights = nodes
            .filter(|(_, keep)| **keep)
            .map(|(node, _)| match node.kind {
                Kind::Flat => FLAT_WEIGHT + usize::from(node.depth) / WORDS_PER_WEIGHT,
                _ => NODE_WEIGHT,
            });
        weights.sum()
    }

    /// Returns the slab of one path.
    #[inline(always)]
    pub(super) fn path_slab(&mut self, label: u32) -> SlabId {
        match self.roots.get(label as usize) {
            Some(&root) if root != SlabId::NONE => root,
            _ => self.root(label),
        }
    }

    /// Appends a path to a slab. Returns the new slab, and whether it is complete. After a complete
    /// slab, the path starts the next slab.
    #[inline(always)]
    pub(super) fn step(&mut self, slab: SlabId, label: u32) -> (SlabId, bool) {
        let node = &self.nodes[slab.index()];
        if node.next_label == label {
            return (node.next, self.is_complete(node.next));
        }
        let next = self.step_after_miss(slab, label);
        (next, self.is_complete(next))
    }

    #[inline(never)]
    fn step_after_miss(&mut self, slab: SlabId, label: u32) -> SlabId {
        self.misses += 1;
        let next = if self.is_complete(slab) {
            self.path_slab(label)
        } else {
            self.child(slab, label)
        };
        self.set_next(slab, next, label);
        next
    }

    /// Whether the slab has the maximum length.
    #[inline(always)]
    pub(super) fn is_complete(&self, slab: SlabId) -> bool {
        self.nodes[slab.index()].is_complete
    }

    /// Number of the slab's paths; 0 for [`SlabId::NONE`], whose depth is the largest `u16`.
    pub(super) fn paths(&self, slab: SlabId) -> usize {
        usize::from(self.nodes[slab.index()].depth.wrapping_add(1))
    }

    /// Returns the complete slabs that consist of these words, at most [`LOOKUP_BATCH`]. Touches
    /// the memory of all lookups before the first comparison, so that cache misses overlap.
    #[inline]
    pub(super) fn complete_slabs<'a>(
        &mut self,
        words: &[u32],
        slabs: &'a mut [SlabId; LOOKUP_BATCH],
    ) -> &'a [SlabId] {
        let mut hashes = [0; LOOKUP_BATCH];
        let chunks = || words.chunks_exact(self.max_paths).take(LOOKUP_BATCH);
        let count = chunks().len();
        for (hash, words) in hashes.iter_mut().zip(chunks()) {
            *hash = flat::hash(words);
        }
        self.recent.touch(&hashes[..count]);
        // The indices of the slabs that are not in the table of recent slabs.
        let mut not_recent = [0; LOOKUP_BATCH];
        let mut not_recent_count = 0;
        for (index, words) in chunks().enumerate() {
            let slab = self.recent.slab(hashes[index], words);
            slabs[index] = slab;
            not_recent[not_recent_count] = index;
            not_recent_count += usize::from(slab == SlabId::NONE);
        }
        let not_recent = &not_recent[..not_recent_count];
        self.flat
            .touch(not_recent.iter().map(|&index| hashes[index]));
        for &index in not_recent {
            let words = &words[index * self.max_paths..][..self.max_paths];
            slabs[index] = self.intern(hashes[index], words);
            self.recent.put(hashes[index], words, slabs[index]);
        }
        &slabs[..count]
    }

    /// Returns the flat slab of these words; adds it if it is new.
    fn intern(&mut self, hash: u32, words: &[u32]) -> SlabId {
        let known = self.flat.find(hash, words);
        if known != SlabId::NONE {
            return known;
        }
        let slab = self.next_id();
        let start = self.flat.add(hash, words, slab);
        self.nodes.push(Node {
            label: words[words.len() - 1],
            next: SlabId::NONE,
            next_label: u32::MAX,
            parent_or_start: start,
            depth: words.len() as u16 - 1,
            kind: Kind::Flat,
            is_complete: words.len() == self.max_paths,
        });
        slab
    }

    #[cold]
    fn root(&mut self, label: u32) -> SlabId {
        let index = label as usize;
        if index >= self.roots.len() {
            self.roots.resize(index + 1, SlabId::NONE);
        }
        self.roots[index] = self.push(SlabId::NONE, label, 0);
        self.roots[index]
    }

    fn child(&mut self, from: SlabId, label: u32) -> SlabId {
        let node = self.nodes[from.index()];
        let known = if node.kind == Kind::SeveralChildren {
            self.children.find(from, label)
        } else {
            (node.next_label == label).then_some(node.next)
        };
        known.unwrap_or_else(|| {
            let child = if usize::from(node.depth) + 2 == self.max_paths {
                self.complete(from, label)
            } else {
                self.push(from, label, node.depth + 1)
            };
            self.attach(from, child, label);
            child
        })
    }

    /// Returns the complete slab that consists of `from` and this label.
    fn complete(&mut self, from: SlabId, label: u32) -> SlabId {
        let mut words = std::mem::take(&mut self.buffer);
        words.clear();
        self.words(from, &mut words);
        words.push(label);
        let slab = self.intern(flat::hash(&words), &words);
        self.buffer = words;
        slab
    }

    fn next_id(&self) -> SlabId {
        SlabId(u32::try_from(self.nodes.len()).expect("fewer than 2^32 slabs"))
    }

    fn push(&mut self, parent: SlabId, label: u32, depth: u16) -> SlabId {
        let slab = self.next_id();
        self.nodes.push(Node {
            label,
            next: SlabId::NONE,
            next_label: u32::MAX,
            parent_or_start: parent.0,
            depth,
            kind: Kind::AtMostOneChild,
            is_complete: usize::from(depth) + 1 == self.max_paths,
        });
        slab
    }

    /// Adds a child to a node. From the second child on, the children are in the hash table.
    fn attach(&mut self, parent: SlabId, child: SlabId, label: u32) {
        let Node {
            next,
            next_label,
            kind,
            ..
        } = self.nodes[parent.index()];
        if kind == Kind::AtMostOneChild && next != SlabId::NONE {
            self.nodes[parent.index()].kind = Kind::SeveralChildren;
            self.children.insert(parent, next_label, next);
        }
        if kind == Kind::SeveralChildren || next != SlabId::NONE {
            self.children.insert(parent, label, child);
        }
        self.set_next(parent, child, label);
    }

    fn set_next(&mut self, from: SlabId, next: SlabId, label: u32) {
        let node = &mut self.nodes[from.index()];
        (node.next, node.next_label) = (next, label);
    }

    /// Returns the slab that consists of the first `paths` paths of a slab. Passes each path after
    /// them to `drop_path`.
    pub(super) fn shorten(
        &mut self,
        slab: SlabId,
        paths: usize,
        mut drop_path: impl FnMut(u32),
    ) -> SlabId {
        let Node {
            parent_or_start,
            kind,
            ..
        } = self.nodes[slab.index()];
        if kind == Kind::Flat {
            let mut words = std::mem::take(&mut self.buffer);
            words.clear();
            words.extend_from_slice(self.flat.words(parent_or_start, self.paths(slab)));
            words.drain(paths..).for_each(drop_path);
            let slab = match paths {
                0 => SlabId::NONE,
                _ => self.intern(flat::hash(&words), &words),
            };
            self.buffer = words;
            return slab;
        }
        let mut slab = slab;
        while self.paths(slab) > paths {
            drop_path(self.nodes[slab.index()].label);
            slab = SlabId(self.nodes[slab.index()].parent_or_start);
        }
        slab
    }

    /// Marks the ancestors of all marked nodes.
    pub(super) fn keep_ancestors(&self, keep: &mut [bool]) {
        keep[0] = true;
        for slab in (1..keep.len()).rev() {
            let Node {
                parent_or_start,
                kind,
                ..
            } = self.nodes[slab];
            if keep[slab] && kind != Kind::Flat {
                keep[parent_or_start as usize] = true;
            }
        }
    }

    /// Removes the slabs that are not marked in `keep`. Returns the new id of each slab, by old
    /// index. The order of the slabs stays the same.
    pub(super) fn compact(&mut self, keep: &[bool]) -> Vec<SlabId> {
        let mut new_ids: Vec<SlabId> = vec![SlabId::NONE; keep.len()];
        let nodes = std::mem::take(&mut self.nodes);
        let flat = std::mem::take(&mut self.flat);
        self.nodes.push(nodes[0]);
        self.children = Children::default();
        self.recent = RecentSlabs::new(self.max_paths);
        for (slab, node) in nodes.iter().enumerate().skip(1) {
            if node.kind != Kind::Flat && node.parent_or_start == 0 {
                self.roots[node.label as usize] = SlabId::NONE;
            }
            if !keep[slab] {
                continue;
            }
            new_ids[slab] = if node.kind == Kind::Flat {
                let words = flat.words(node.parent_or_start, usize::from(node.depth) + 1);
                self.intern(flat::hash(words), words)
            } else if node.parent_or_start == 0 {
                self.root(node.label)
            } else {
                let parent = new_ids[node.parent_or_start as usize];
                let child = self.push(parent, node.label, node.depth);
                self.attach(parent, child, node.label);
                child
            };
        }
        new_ids
    }

    /// Appends the words of a slab to `words`.
    pub(super) fn words(&self, slab: SlabId, words: &mut Vec<u32>) {
        let node = &self.nodes[slab.index()];
        if node.kind == Kind::Flat {
            words.extend_from_slice(self.flat.words(node.parent_or_start, self.paths(slab)));
            return;
        }
        let begin = words.len();
        let mut slab = slab;
        while slab != SlabId::NONE {
            words.push(self.nodes[slab.index()].label);
            slab = SlabId(self.nodes[slab.index()].parent_or_start);
        }
        words[begin..].reverse();
    }
}
