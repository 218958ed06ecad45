//! Prime paths of a function (Ammann, Offutt 2016, section 7.2.1), and which of them ran.
//!
//! A path is *simple* if no block occurs twice on it, except that the first may be the last. A
//! *prime path* is a simple path that is no part of another simple path. So prime paths go around
//! loops: into a loop, around it from each of its blocks, and out of it.
//!
//! # The graph
//! Blocks are merged as compilers do: a block with one successor and this successor, if it has no
//! other predecessor, are one node. Blocks that only exist so that an edge can carry a probe are
//! left out. So are unwinding, calls that never return, and frames that are left in a call
//! ([`missing_paths`](crate::missing_paths) has the same rule).
//!
//! # Finding prime paths
//! From each node, a depth-first search extends simple paths. A path that comes back to its first
//! node is prime. So is a path whose last node leads only to inner nodes of the path, and whose
//! first node is reached only from them. The search gives up after [`MAX_STEPS`] steps or
//! [`MAX_PRIME_PATHS`] paths.
//!
//! # Prime paths that ran
//! A profile of loops has every sequence of up to K consecutive paths of an activation. A prime
//! path takes each back edge once at most. So with c back edges it ran if and only if it is part of
//! a sequence of c + 1 paths. An automaton (Aho, Corasick 1975) finds all prime paths in all
//! sequences at once: it walks the forest of sequences and keeps a state for each prefix. Prime
//! paths with K or more back edges are not measured.
//!
//! Example: 0 → 1, 1 → 2 or 3, 2 → 1, and 3 returns. The prime paths are 0 1 2, 0 1 3, 1 2 1, 2 1
//! 2, and 2 1 3. The acyclic paths are 0 1 2, 0 1 3, 1 2, and 1 3. The prime path 2 1 3 ran if 1 3
//! ran right after 0 1 2 or 1 2.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use holloway_flow::{Path, PathEnd, PathId};
use holloway_format::{Count, DagKind, EdgeKind, EdgeMap, FunctionMap, Outcome};

use crate::loops::{Kipf, Sequences};
use crate::run::Function;

/// The most prime paths of a function. If it has more, they are not counted.
pub const MAX_PRIME_PATHS: usize = 10_000;
/// The most steps of the search in a function.
pub const MAX_STEPS: u64 = 2_000_000;

/// The prime paths of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PrimePaths {
    /// The prime paths, as the first blocks of their nodes.
    pub paths: Vec<Vec<u32>>,
    /// By prime path: the number of back edges and cut edges on it.
    pub crossings: Vec<usize>,
    /// By block: whether it is the first of a node.
    is_first: Vec<bool>,
}

/// The graph of nodes.
struct Nodes {
    /// By block: whether it is the first block of a node.
    is_first: Vec<bool>,
    /// By first block: the first blocks of the next nodes, with whether a path ends on the way.
    out: BTreeMap<u32, BTreeMap<u32, bool>>,
}

impl Nodes {
    fn new(map: &FunctionMap) -> Self {
        let count = map.blocks.len();
        let cuts: BTreeSet<u32> = map
            .dag
            .iter()
            .filter_map(|edge| match edge.kind {
                DagKind::Back(real) | DagKind::Cut(real) => Some(real),
                DagKind::Edge(_) | DagKind::Start(_) => None,
            })
            .collect();
        let mut out: Vec<Vec<u32>> = vec![Vec::new(); count];
        let mut into: Vec<Vec<u32>> = vec![Vec::new(); count];
        for (number, edge) in (0u32..).zip(&map.edges) {
            if is_walked(map, edge) {
                out[edge.from as usize].push(number);
                into[edge.to as usize].push(number);
            }
        }
        let edge = |number: u32| &map.edges[number as usize];
        // A block continues the node of its only predecessor, if it is the only successor, or if
        // it has no code and one successor.
        let continues = |block: u32| {
            let [before] = into[block as usize][..] else {
                return false;
            };
            let content = &map.blocks[block as usize];
            let is_empty = content.instructions == 0
                && content.places.is_empty()
                && out[block as usize].len() == 1
                && edge(out[block as usize][0]).place == edge(before).place;
            let is_line = out[edge(before).from as usize].len() == 1;
            block != map.entry && edge(before).from != block && (is_line || is_empty)
        };
        let mut reached = vec![false; count];
        let mut worklist = vec![map.entry];
        while let Some(block) = worklist.pop() {
            if !std::mem::replace(&mut reached[block as usize], true) {
                worklist.extend(out[block as usize].iter().map(|&number| edge(number).to));
            }
        }
        let is_first: Vec<bool> = (0..count as u32)
            .map(|block| reached[block as usize] && block != map.exit && !continues(block))
            .collect();
        let mut nodes = Self {
            out: BTreeMap::new(),
            is_first,
        };
        for first in 0..count as u32 {
            if nodes.is_first[first as usize] {
                let next = nodes.next(map, first, &out, &cuts);
                nodes.out.insert(first, next);
            }
        }
        nodes
    }

    /// The nodes after a node, by a walk over its blocks.
    fn next(
        &self,
        map: &FunctionMap,
        first: u32,
        out: &[Vec<u32>],
        cuts: &BTreeSet<u32>,
    ) -> BTreeMap<u32, bool> {
        let mut next = BTreeMap::new();
        let mut worklist = vec![(first, false)];
        let mut seen = BTreeSet::from([first]);
        while let Some((block, has_cut)) = worklist.pop() {
            for &number in &out[block as usize] {
                let to = map.edges[number as usize].to;
                let has_cut = has_cut || cuts.contains(&number);
                if self.is_first[to as usize] {
                    *next.entry(to).or_insert(has_cut) |= has_cut;
                } else if seen.insert(to) {
                    worklist.push((to, has_cut));
                }
            }
        }
        next
    }
}

/// Whether prime paths may contain an edge.
fn is_walked(map: &FunctionMap, edge: &EdgeMap) -> bool {
    let is_walked = match edge.outcome {
        Outcome::Unwind | Outcome::Resume | Outcome::Left | Outcome::Noreturn => false,
        Outcome::Jump
        | Outcome::True
        | Outcome::False
        | Outcome::Case(_)
        | Outcome::Default
        | Outcome::Normal
        | Outcome::Indirect
        | Outcome::AsmGoto
        | Outcome::Return
        | Outcome::TailCall
        | Outcome::Again
        | Outcome::Split
        | Outcome::Returned => true,
    };
    is_walked && edge.kind != EdgeKind::Exit && edge.to != map.exit
}

impl PrimePaths {
    /// Finds the prime paths of a function whose paths are counted. `None` if there are too many.
    pub fn new(map: &FunctionMap) -> Option<Self> {
        Self::within(map, MAX_PRIME_PATHS, MAX_STEPS)
    }

    fn within(map: &FunctionMap, max_paths: usize, max_steps: u64) -> Option<Self> {
        let nodes = Nodes::new(map);
        let mut into: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (&from, next) in &nodes.out {
            for &to in next.keys() {
                into.entry(to).or_default().push(from);
            }
        }
        let mut search = Search {
            nodes: &nodes,
            into: &into,
            on_path: vec![false; map.blocks.len()],
            path: Vec::new(),
            found: Vec::new(),
            steps: 0,
            max_paths,
            max_steps,
        };
        for &first in nodes.out.keys() {
            if !search.from(first) {
                return None;
            }
        }
        let paths = search.found;
        let crossings = paths.iter().map(|path| {
            let steps = path.windows(2);
            steps.filter(|step| nodes.out[&step[0]][&step[1]]).count()
        });
        Some(Self {
            crossings: crossings.collect(),
            paths,
            is_first: nodes.is_first,
        })
    }

    /// The nodes that a path passes, in order.
    fn nodes(&self, path: &Path) -> impl Iterator<Item = u32> {
        let blocks = path.blocks.iter().map(|block| block.0);
        blocks.filter(|&block| self.is_first[block as usize])
    }
}

struct Search<'a> {
    nodes: &'a Nodes,
    into: &'a BTreeMap<u32, Vec<u32>>,
    on_path: Vec<bool>,
    path: Vec<u32>,
    found: Vec<Vec<u32>>,
    steps: u64,
    max_paths: usize,
    max_steps: u64,
}

impl Search<'_> {
    /// Finds the prime paths from a node. Returns false if there are too many.
    fn from(&mut self, first: u32) -> bool {
        // The nodes that are still to be tried after each node of the path.
        let mut rest: Vec<Vec<u32>> = Vec::new();
        self.push(first, &mut rest);
        let mut is_within = true;
        while let Some(next) = rest.last_mut() {
            self.steps += 1;
            is_within &= self.steps <= self.max_steps && self.found.len() <= self.max_paths;
            match next.pop().filter(|_| is_within) {
                None => {
                    rest.pop();
                    let last = self.path.pop().expect("as many nodes as lists");
                    self.on_path[last as usize] = false;
                }
                Some(node) if node == first => {
                    let cycle = self.path.iter().copied().chain([first]);
                    self.found.push(cycle.collect());
                }
                Some(node) if self.on_path[node as usize] => {}
                Some(node) => self.push(node, &mut rest),
            }
        }
        is_within
    }

    fn push(&mut self, node: u32, rest: &mut Vec<Vec<u32>>) {
        self.path.push(node);
        self.on_path[node as usize] = true;
        rest.push(self.nodes.out[&node].keys().copied().collect());
        if self.is_maximal() {
            self.found.push(self.path.clone());
        }
    }

    /// Whether the path is no cycle and can be extended at neither end.
    fn is_maximal(&self) -> bool {
        let (Some(&first), Some(last)) = (self.path.first(), self.path.last()) else {
            return false;
        };
        let mut after = self.nodes.out[last].keys();
        let mut before = self.into.get(&first).into_iter().flatten();
        let is_on_path = |node: &u32| self.on_path[*node as usize];
        after.all(|node| *node != first && is_on_path(node)) && before.all(is_on_path)
    }
}

/// Finds prime paths in sequences of nodes.
pub struct Matcher<'a> {
    primes: &'a PrimePaths,
    /// By state: the state after each node.
    next: Vec<HashMap<u32, u32>>,
    /// By state: the state of the longest proper suffix.
    shorter: Vec<u32>,
    /// By state: the prime path that ends there.
    ends: Vec<Option<u32>>,
    /// By prime path: whether it ran.
    pub ran: Vec<bool>,
}

impl<'a> Matcher<'a> {
    /// Creates an automaton for the prime paths.
    pub fn new(primes: &'a PrimePaths) -> Self {
        let mut matcher = Self {
            primes,
            next: vec![HashMap::new()],
            shorter: vec![0],
            ends: vec![None],
            ran: vec![false; primes.paths.len()],
        };
        for (number, path) in (0u32..).zip(&primes.paths) {
            let mut state = 0;
            for &node in path {
                let new = matcher.next.len() as u32;
                let after = *matcher.next[state as usize].entry(node).or_insert(new);
                if after == new {
                    matcher.next.push(HashMap::new());
                    matcher.shorter.push(0);
                    matcher.ends.push(None);
                }
                state = after;
            }
            matcher.ends[state as usize] = Some(number);
        }
        let mut queue: VecDeque<u32> = matcher.next[0].values().copied().collect();
        while let Some(state) = queue.pop_front() {
            let children: Vec<(u32, u32)> = matcher.next[state as usize]
                .iter()
                .map(|(&node, &after)| (node, after))
                .collect();
            for (node, after) in children {
                let shorter = matcher.step(matcher.shorter[state as usize], node);
                matcher.shorter[after as usize] = shorter;
                queue.push_back(after);
            }
        }
        matcher
    }

    /// The state after a node.
    fn step(&self, mut state: u32, node: u32) -> u32 {
        loop {
            match self.next[state as usize].get(&node) {
                Some(&after) => return after,
                None if state == 0 => return 0,
                None => state = self.shorter[state as usize],
            }
        }
    }

    /// Walks along a path, and marks the prime paths that end on it. Returns the state after it.
    fn walk(&mut self, mut state: u32, path: &Path) -> u32 {
        let nodes: Vec<u32> = self.primes.nodes(path).collect();
        for node in nodes {
            state = self.step(state, node);
            let mut suffix = state;
            while suffix != 0 {
                if let Some(prime) = self.ends[suffix as usize] {
                    self.ran[prime as usize] = true;
                }
                suffix = self.shorter[suffix as usize];
            }
        }
        match path.end {
            PathEnd::Back(_) | PathEnd::Cut(_) => state,
            PathEnd::Exit(_) => 0,
        }
    }

    /// Marks the prime paths of a function that ran: those in its paths, and those in its sequences
    /// of paths, if these are known. Returns the longest sequence that is known.
    pub fn add(&mut self, function: &Function, sequences: Option<&Sequences>) -> usize {
        let Some(graph) = function.graph() else {
            return usize::MAX;
        };
        for &(path, _) in &function.counts {
            if let Some(path) = graph.path(path) {
                self.walk(0, &path);
            }
        }
        let longest = self
            .primes
            .crossings
            .iter()
            .max()
            .map_or(1, |most| most + 1);
        let Some(sequences) = sequences else {
            // Without sequences, no path followed another one in an activation.
            return usize::MAX;
        };
        let length = longest.min(sequences.k as usize);
        if length > 1 {
            let kipf = sequences.kipf(length as u32, Count(1));
            self.walk_sequences(&kipf, |path| graph.path(path));
        }
        sequences.k as usize
    }

    fn walk_sequences(&mut self, kipf: &Kipf, regenerate: impl Fn(PathId) -> Option<Path>) {
        let mut paths: HashMap<u32, Option<Path>> = HashMap::new();
        // Parents come before children.
        let mut states: Vec<u32> = Vec::with_capacity(kipf.nodes().len());
        for node in kipf.nodes() {
            let before = node.parent.map_or(0, |parent| states[parent as usize]);
            let path = paths
                .entry(node.label)
                .or_insert_with(|| regenerate(PathId(node.label.into())));
            let state = path.as_ref().map_or(0, |path| self.walk(before, path));
            states.push(state);
        }
    }
}
