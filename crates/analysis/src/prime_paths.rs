//! Prime paths of a function (Ammann, Offutt 2016, section 7.2.1), and which of them ran.
//!
//! A path is *simple* if no block occurs twice on it, except that the first may be the last. A
//! *prime path* is a simple path that is no part of another simple path. So prime paths go around
//! loops: into a loop, around it from each of its blocks, and out of it.
//!
//! # The graph
//! Blocks are merged as compilers do: a block with one successor and this successor, if it has no
//! other predecessor, are one node. So the count does not depend on how a compiler divides straight
//! code. Blocks without code are left out: those in which two ways only meet, and those that only
//! exist so that an edge can carry a probe. A block that is only a `break` or a `goto` is a node.
//! Unwinding, calls that never return, and frames that are left in a call are left out, too
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
    out: BTreeMap<u32, Steps>,
}

/// The blocks that follow a block, each with whether a path ends on the way.
type Steps = BTreeMap<u32, bool>;

impl Nodes {
    fn new(map: &FunctionMap) -> Self {
        let steps = Blocks::new(map).steps();
        let mut before: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (&block, next) in &steps {
            for &to in next.keys() {
                before.entry(to).or_default().push(block);
            }
        }
        // The block whose node goes on with this block.
        let continued = |block: u32| match before.get(&block).map(Vec::as_slice) {
            Some(&[only]) if steps[&only].len() == 1 && only != block => Some(only),
            Some(_) | None => None,
        };
        let is_first = |block: u32| block == map.entry || continued(block).is_none();
        let mut out = BTreeMap::new();
        for &first in steps.keys().filter(|&&block| is_first(block)) {
            let (mut last, mut has_cut) = (first, false);
            let next = loop {
                let next = &steps[&last];
                match next.first_key_value() {
                    Some((&to, &is_cut)) if next.len() == 1 && !is_first(to) => {
                        (last, has_cut) = (to, has_cut | is_cut);
                    }
                    Some(_) | None => break next,
                }
            };
            let next = next.iter().map(|(&to, &is_cut)| (to, is_cut | has_cut));
            out.insert(first, next.collect());
        }
        let mut firsts = vec![false; map.blocks.len()];
        for &first in out.keys() {
            firsts[first as usize] = true;
        }
        Self {
            is_first: firsts,
            out,
        }
    }
}

/// The blocks of a function and the edges that prime paths may contain.
struct Blocks<'a> {
    map: &'a FunctionMap,
    /// By block: the numbers of its edges.
    out: Vec<Vec<u32>>,
    /// By block: the numbers of the edges that lead to it.
    into: Vec<Vec<u32>>,
    /// The edges that end a path.
    cuts: BTreeSet<u32>,
}

impl<'a> Blocks<'a> {
    fn new(map: &'a FunctionMap) -> Self {
        let dag = map.dag.iter();
        let cuts = dag.filter_map(|edge| match edge.kind {
            DagKind::Back(real) | DagKind::Cut(real) => Some(real),
            DagKind::Edge(_) | DagKind::Start(_) => None,
        });
        let mut blocks = Self {
            map,
            out: vec![Vec::new(); map.blocks.len()],
            into: vec![Vec::new(); map.blocks.len()],
            cuts: cuts.collect(),
        };
        for (number, edge) in (0u32..).zip(&map.edges) {
            if is_walked(map, edge) {
                blocks.out[edge.from as usize].push(number);
                blocks.into[edge.to as usize].push(number);
            }
        }
        blocks
    }

    fn edge(&self, number: u32) -> &'a EdgeMap {
        &self.map.edges[number as usize]
    }

    /// The next blocks of each block that is reached, without the empty ones.
    fn steps(&self) -> BTreeMap<u32, Steps> {
        let mut steps: BTreeMap<u32, Steps> = BTreeMap::new();
        let mut worklist = vec![self.map.entry];
        while let Some(block) = worklist.pop() {
            if steps.contains_key(&block) {
                continue;
            }
            let mut next = Steps::new();
            for &number in &self.out[block as usize] {
                let (to, has_cut) = self.follow(number);
                *next.entry(to).or_default() |= has_cut;
            }
            worklist.extend(next.keys());
            steps.insert(block, next);
        }
        steps
    }

    /// The first block behind an edge that is not empty, with whether a path ends on the way.
    fn follow(&self, mut number: u32) -> (u32, bool) {
        let mut has_cut = self.cuts.contains(&number);
        let mut passed = BTreeSet::new();
        loop {
            let to = self.edge(number).to;
            match self.jump(to) {
                // A cycle of empty blocks is a loop that does nothing: its blocks are nodes.
                Some(jump) if passed.insert(to) => {
                    number = jump;
                    has_cut |= self.cuts.contains(&jump);
                }
                Some(_) | None => return (to, has_cut),
            }
        }
    }

    /// The only edge of an empty block: it has no code, and its jump is no statement. A statement
    /// that jumps (`break`, `goto`) has a place of its own. If a block only carries a probe, its
    /// jump has the place of the branch before it. If ways meet in a block, its jump has no place,
    /// or it goes back to a loop and has the place of the jump that enters the loop.
    fn jump(&self, block: u32) -> Option<u32> {
        let content = &self.map.blocks[block as usize];
        let &[jump] = self.out[block as usize].as_slice() else {
            return None;
        };
        let place = self.edge(jump).place;
        let is_place = |&other: &u32| other != jump && self.edge(other).place == place;
        let is_statement = match self.into[block as usize].as_slice() {
            [before] => !is_place(before),
            _ => place.is_some() && !self.into[self.edge(jump).to as usize].iter().any(is_place),
        };
        let has_code = content.instructions > 0 || !content.places.is_empty();
        (block != self.map.entry && !has_code && !is_statement).then_some(jump)
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
