//! All slabs met, as a trie: a node is a slab, or the beginning of one.
//!
//! A step looks at the node that came next last time. If that has another label: a node with one child has no other, so it gets a second one; the
//! children of a node with several are in one hash table for the whole trie. A whole slab has no children: what
//! came next there is the first node of the next slab. Where paths follow one another at random, a step is too often wrong; there whole
//! slabs are looked up by a hash of their words, in a table that forgets.
//!
//! Cost: a step that is as last time reads one node of 16 bytes; 18 to 36 bytes more for each child of a node that has several.

/// A node by its place; 0: nothing, the beginning of an activation.
pub(super) type Slab = u32;

/// Words of the whole slabs that are remembered: 512 KiB of them, half of a core's own cache.
const REMEMBERED: usize = 1 << 17;

#[derive(Clone, Copy, Debug)]
struct Node {
    label: u32,
    /// What came next last time; of a node with one child: that.
    next: Slab,
    parent: Slab,
    depth: u16,
    /// Its children are in the table.
    many: bool,
    /// It is as long as a slab can be.
    whole: bool,
}

/// The trie.
#[derive(Debug)]
pub(super) struct Slabs {
    /// Longest slab.
    most: usize,
    nodes: Vec<Node>,
    /// By word.
    roots: Vec<Slab>,
    children: Children,
    /// Steps that were not as last time, and whole slabs that were not remembered.
    pub(super) misses: u64,
    remembered: Remembered,
}

impl Slabs {
    /// Slabs of at most `most` words below `end`.
    pub(super) fn new(most: usize, end: u32) -> Slabs {
        let none = Node {
            label: u32::MAX,
            next: 0,
            parent: 0,
            depth: u16::MAX,
            many: false,
            whole: false,
        };
        Slabs {
            most,
            nodes: vec![none],
            roots: vec![0; end as usize],
            children: Children::default(),
            misses: 0,
            remembered: Remembered::new(most),
        }
    }

    /// How many nodes there are.
    pub(super) fn len(&self) -> usize {
        self.nodes.len() - 1
    }

    /// The slab of one path.
    #[inline(always)]
    pub(super) fn first(&mut self, label: u32) -> Slab {
        match self.roots.get(label as usize) {
            Some(&root) if root != 0 => root,
            _ => self.root(label),
        }
    }

    /// The slab with one path more, and whether it is whole; after a whole one the next slab's first.
    #[inline(always)]
    pub(super) fn step(&mut self, slab: Slab, label: u32) -> (Slab, bool) {
        let next = self.nodes[slab as usize].next;
        let node = &self.nodes[next as usize];
        if node.label == label {
            return (next, node.whole);
        }
        let next = self.step_elsewhere(slab, label);
        (next, self.is_whole(next))
    }

    #[inline(never)]
    fn step_elsewhere(&mut self, slab: Slab, label: u32) -> Slab {
        self.misses += 1;
        let next = if self.is_whole(slab) {
            self.first(label)
        } else {
            self.child(slab, label)
        };
        self.nodes[slab as usize].next = next;
        next
    }

    /// Whether it is as long as a slab can be.
    #[inline(always)]
    pub(super) fn is_whole(&self, slab: Slab) -> bool {
        self.nodes[slab as usize].whole
    }

    /// Number of its paths.
    pub(super) fn paths(&self, slab: Slab) -> usize {
        usize::from(self.nodes[slab as usize].depth.wrapping_add(1))
    }

    /// The whole slab of these words.
    #[inline]
    pub(super) fn whole(&mut self, words: &[u32]) -> Slab {
        let place = self.remembered.place(words);
        let known = self.remembered.slab(place, words);
        if known != 0 {
            return known;
        }
        self.learn(place, words)
    }

    #[inline(never)]
    fn learn(&mut self, place: usize, words: &[u32]) -> Slab {
        self.misses += 1;
        let mut slab = self.first(words[0]);
        for &word in &words[1..] {
            slab = self.child(slab, word);
        }
        self.remembered.put(place, words, slab);
        slab
    }

    #[cold]
    fn root(&mut self, label: u32) -> Slab {
        let index = label as usize;
        if index >= self.roots.len() {
            self.roots.resize(index + 1, 0);
        }
        self.roots[index] = self.push(0, label, 0);
        self.roots[index]
    }

    fn child(&mut self, from: Slab, label: u32) -> Slab {
        let node = self.nodes[from as usize];
        let known = if node.many {
            self.children.find(from, label)
        } else {
            (self.nodes[node.next as usize].label == label).then_some(node.next)
        };
        known.unwrap_or_else(|| {
            let child = self.push(from, label, node.depth + 1);
            self.attach(from, child);
            child
        })
    }

    fn push(&mut self, parent: Slab, label: u32, depth: u16) -> Slab {
        let slab = Slab::try_from(self.nodes.len()).expect("fewer than 2^32 nodes");
        self.nodes.push(Node {
            label,
            next: 0,
            parent,
            depth,
            many: false,
            whole: usize::from(depth) + 1 == self.most,
        });
        slab
    }

    fn attach(&mut self, from: Slab, child: Slab) {
        let Node {
            next: only, many, ..
        } = self.nodes[from as usize];
        if !many && only != 0 {
            self.nodes[from as usize].many = true;
            self.children
                .insert(from, self.nodes[only as usize].label, only);
        }
        if many || only != 0 {
            self.children
                .insert(from, self.nodes[child as usize].label, child);
        }
        self.nodes[from as usize].next = child;
    }

    /// The first so many paths of a slab, and what `each` is told of the others.
    pub(super) fn cut(&self, slab: Slab, paths: usize, mut each: impl FnMut(u32)) -> Slab {
        let mut slab = slab;
        while self.paths(slab) > paths {
            each(self.nodes[slab as usize].label);
            slab = self.nodes[slab as usize].parent;
        }
        slab
    }

    /// Forgets the nodes that neither are to be kept nor come before such; gives the new place of each. The order stays.
    pub(super) fn compact(&mut self, mut keep: Vec<bool>) -> Vec<Slab> {
        keep[0] = true;
        for slab in (1..keep.len()).rev() {
            if keep[slab] {
                keep[self.nodes[slab].parent as usize] = true;
            }
        }
        let mut places: Vec<Slab> = vec![0; keep.len()];
        let nodes = std::mem::take(&mut self.nodes);
        self.nodes.push(nodes[0]);
        self.children = Children::default();
        self.remembered = Remembered::new(self.most);
        for (slab, node) in nodes.iter().enumerate().skip(1) {
            if node.parent == 0 {
                self.roots[node.label as usize] = 0;
            }
            if !keep[slab] {
                continue;
            }
            places[slab] = match places[node.parent as usize] {
                0 => self.root(node.label),
                parent => {
                    let child = self.push(parent, node.label, node.depth);
                    self.attach(parent, child);
                    child
                }
            };
        }
        places
    }

    /// All nodes in preorder, children by label.
    pub(super) fn in_order(&self) -> Vec<Slab> {
        let mut order: Vec<(u64, Slab)> = (0..)
            .zip(&self.nodes)
            .skip(1)
            .map(|(slab, node)| (u64::from(node.parent) << 32 | u64::from(node.label), slab))
            .collect();
        order.sort_unstable();
        let mut first = vec![0; self.nodes.len() + 1];
        for node in &self.nodes[1..] {
            first[node.parent as usize + 1] += 1;
        }
        for place in 1..first.len() {
            first[place] += first[place - 1];
        }
        let children = |slab: Slab| {
            order[first[slab as usize]..first[slab as usize + 1]]
                .iter()
                .rev()
        };
        let mut open: Vec<Slab> = children(0).map(|(_, slab)| *slab).collect();
        let mut list = Vec::with_capacity(self.len());
        while let Some(slab) = open.pop() {
            list.push(slab);
            open.extend(children(slab).map(|(_, slab)| *slab));
        }
        list
    }

    /// The words of a slab.
    pub(super) fn words(&self, slab: Slab, words: &mut Vec<u32>) {
        words.clear();
        self.cut(slab, 0, |word| words.push(word));
        words.reverse();
    }

    /// The node's label and the slab without it.
    pub(super) fn last(&self, slab: Slab) -> (u32, Slab) {
        let node = &self.nodes[slab as usize];
        (node.label, node.parent)
    }
}

/// Whole slabs that were looked up, one a place: the next one of the same place takes it.
#[derive(Debug)]
struct Remembered {
    most: usize,
    slabs: Vec<Slab>,
    words: Vec<u32>,
}

impl Remembered {
    fn new(most: usize) -> Remembered {
        Remembered {
            most,
            slabs: Vec::new(),
            words: Vec::new(),
        }
    }

    #[inline]
    fn place(&mut self, words: &[u32]) -> usize {
        if self.slabs.is_empty() {
            let places = (REMEMBERED / self.most).max(1 << 6).next_power_of_two();
            self.slabs = vec![0; places];
            self.words = vec![0; places * self.most];
        }
        let mut hash = 0u64;
        for &word in words {
            hash = hash.rotate_left(11) ^ u64::from(word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
        let hash = (hash ^ hash >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (hash >> 32) as usize & (self.slabs.len() - 1)
    }

    #[inline]
    fn slab(&self, place: usize, words: &[u32]) -> Slab {
        let held = &self.words[place * self.most..][..self.most];
        let mut differs = 0;
        for (one, other) in held.iter().zip(words) {
            differs |= one ^ other;
        }
        if differs == 0 { self.slabs[place] } else { 0 }
    }

    fn put(&mut self, place: usize, words: &[u32], slab: Slab) {
        self.slabs[place] = slab;
        self.words[place * self.most..][..self.most].copy_from_slice(words);
    }
}

/// The children of nodes that have several: open addressing, at most two thirds full. What is asked stands in the slots: the
/// nodes are looked at neither in a search nor when the table grows.
#[derive(Clone, Default, Debug)]
struct Children {
    slots: Vec<Slot>,
    used: usize,
}

/// A child, or a free slot where `child` is 0.
#[derive(Clone, Copy, Default, Debug)]
struct Slot {
    parent: Slab,
    label: u32,
    child: Slab,
}

impl Children {
    fn start(&self, parent: Slab, label: u32) -> usize {
        let key = u64::from(parent) << 32 | u64::from(label);
        let hash = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (hash >> 32) as usize & (self.slots.len() - 1)
    }

    #[inline]
    fn find(&self, parent: Slab, label: u32) -> Option<Slab> {
        let mut at = self.start(parent, label);
        loop {
            let slot = self.slots[at];
            if slot.child == 0 {
                return None;
            }
            if (slot.parent, slot.label) == (parent, label) {
                return Some(slot.child);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    /// Adds a child that is not in it.
    fn insert(&mut self, parent: Slab, label: u32, child: Slab) {
        if 3 * (self.used + 1) > 2 * self.slots.len() {
            let more = (2 * self.slots.len()).max(64);
            let old = std::mem::replace(&mut self.slots, vec![Slot::default(); more]);
            for slot in old.into_iter().filter(|slot| slot.child != 0) {
                self.place(slot);
            }
        }
        self.used += 1;
        self.place(Slot {
            parent,
            label,
            child,
        });
    }

    fn place(&mut self, slot: Slot) {
        let mut at = self.start(slot.parent, slot.label);
        while self.slots[at].child != 0 {
            at = (at + 1) & (self.slots.len() - 1);
        }
        self.slots[at] = slot;
    }
}
