//! A walk over sorted paths as over the words of a dictionary: each shared beginning is visited once.
//!
//! At each block the edges split the numbers below it into intervals, so paths sorted by number are sorted by the edges
//! they take. The walk keeps the path it is at as a stack, and only climbs as far back as the next path differs; what
//! is done with, and what was counted below it, it tells in passing.
//!
//! Cost: the number of distinct path prefixes; searches of a block's edges are binary.

use holloway_format::{DagKind, EdgeKind, FunctionMap};

use crate::flow::add;

/// The edges of a dag by block and value.
#[derive(Debug)]
pub(crate) struct Dictionary {
    root: u32,
    path_count: u64,
    /// Where the edges of each block start in `out`; one more than blocks.
    first: Vec<u32>,
    out: Vec<Out>,
    /// By block: the value of its exit edge.
    left: Vec<Option<u64>>,
    /// Whether there is any.
    can_be_left: bool,
}

/// A DAG edge as the walk needs it; those of a block lie together, by value.
#[derive(Clone, Copy, Debug)]
struct Out {
    value: u64,
    to: u32,
    dag: u32,
    what: What,
}

/// What an edge is to the walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// Run inside a path, or ends one.
    Step,
    /// Starts a path at a loop head: what stands before it isn't run.
    Start,
    /// Ends a left path: an exit edge.
    Left,
}

impl Dictionary {
    /// Of a map whose dag is a numbering of so many paths.
    pub(crate) fn new(map: &FunctionMap, path_count: u64) -> Dictionary {
        let (first, out) = by_block(map);
        let mut left = vec![None; map.blocks.len()];
        for (block, value) in left.iter_mut().enumerate() {
            let mut edges = out[first[block] as usize..first[block + 1] as usize].iter();
            *value = edges
                .find(|edge| edge.what == What::Left)
                .map(|edge| edge.value);
        }
        Dictionary {
            root: map.entry,
            path_count,
            first,
            out,
            can_be_left: left.iter().any(Option::is_some),
            left,
        }
    }

    /// Whether any path can be left in a call: then its counter is not yet its count.
    pub(crate) fn can_be_left(&self) -> bool {
        self.can_be_left
    }

    /// Whether a path ends with an exit edge.
    pub(crate) fn is_left(&self, path: u64) -> bool {
        let (mut block, mut rest) = (self.root, path);
        let mut what = What::Step;
        if path >= self.path_count {
            return false;
        }
        loop {
            let out = self.out(block);
            let taken = out.partition_point(|edge| edge.value <= rest);
            let Some(edge) = taken.checked_sub(1).map(|taken| out[taken]) else {
                return what == What::Left;
            };
            (block, rest, what) = (edge.to, rest - edge.value, edge.what);
        }
    }

    /// The left path that ends at a visit's block, where one can.
    pub(crate) fn left_at(&self, visit: &Visit) -> Option<u64> {
        let value = self.left[visit.block as usize]?;
        Some(visit.base + value)
    }

    fn out(&self, block: u32) -> &[Out] {
        let block = block as usize;
        &self.out[self.first[block] as usize..self.first[block + 1] as usize]
    }
}

fn by_block(map: &FunctionMap) -> (Vec<u32>, Vec<Out>) {
    let mut order: Vec<u32> = (0..map.dag.len() as u32).collect();
    order.sort_by_key(|&dag| (map.dag[dag as usize].from, map.dag[dag as usize].value));
    let mut first = vec![0; map.blocks.len() + 1];
    for edge in &map.dag {
        first[edge.from as usize + 1] += 1;
    }
    for block in 0..map.blocks.len() {
        first[block + 1] += first[block];
    }
    let what = |kind| match kind {
        DagKind::Start(_) => What::Start,
        DagKind::Edge(real) if map.edges[real as usize].kind == EdgeKind::Exit => What::Left,
        DagKind::Edge(_) | DagKind::Back(_) | DagKind::Cut(_) => What::Step,
    };
    let out = order
        .iter()
        .map(|&dag| {
            let edge = map.dag[dag as usize];
            Out {
                value: edge.value,
                to: edge.to,
                dag,
                what: what(edge.kind),
            }
        })
        .collect();
    (first, out)
}

/// Where a walk is.
pub(crate) struct Walk<'a> {
    dictionary: &'a Dictionary,
    map: &'a FunctionMap,
    /// By block: the value of its exit edge; empty where numbers are counts, so that left paths are like others.
    left: &'a [Option<u64>],
    stack: Vec<Visit>,
}

/// A block on the path the walk is at, reached by `edge`; numbers `base..end` lie below it.
#[derive(Clone, Copy)]
pub(crate) struct Visit {
    block: u32,
    pub(crate) base: u64,
    end: u64,
    pub(crate) edge: Option<u32>,
    pub(crate) what: What,
    /// Nothing follows: the exit.
    pub(crate) is_end: bool,
    /// The left path that ends here, where one can.
    pub(crate) left: Option<u64>,
    /// What the counter of the left path says.
    pub(crate) reached: u64,
    /// What went on from here, or ended.
    pub(crate) on: u64,
    pub(crate) instructions: u64,
    pub(crate) edges: u32,
}

impl Visit {
    /// What came into it.
    pub(crate) fn came(&self) -> u64 {
        if self.left.is_some() {
            self.reached
        } else {
            self.on
        }
    }
}

impl<'a> Walk<'a> {
    /// A walk over what counters say.
    pub(crate) fn of_counters(dictionary: &'a Dictionary, map: &'a FunctionMap) -> Walk<'a> {
        Walk::new(dictionary, map, &dictionary.left)
    }

    /// A walk over what ran.
    pub(crate) fn of_counts(dictionary: &'a Dictionary, map: &'a FunctionMap) -> Walk<'a> {
        Walk::new(dictionary, map, &[])
    }

    fn new(dictionary: &'a Dictionary, map: &'a FunctionMap, left: &'a [Option<u64>]) -> Walk<'a> {
        let root = Visit {
            block: dictionary.root,
            base: 0,
            end: dictionary.path_count,
            edge: None,
            what: What::Step,
            is_end: false,
            left: left.get(dictionary.root as usize).copied().flatten(),
            reached: 0,
            on: 0,
            instructions: u64::from(map.blocks[dictionary.root as usize].instructions),
            edges: 0,
        };
        Walk {
            dictionary,
            map,
            left,
            stack: vec![root],
        }
    }

    /// Goes to the end of a path, not before the last one; says `climbed` of each visit that is done.
    pub(crate) fn to(&mut self, path: u64, climbed: &mut impl FnMut(&Visit)) -> Visit {
        while self.stack.last().is_some_and(|visit| path >= visit.end) {
            self.climb(climbed);
        }
        let mut at = *self.stack.last().expect("the root holds every path");
        while let Some(next) = self.descend(at, path) {
            self.stack.push(next);
            at = next;
        }
        at
    }

    /// Counts the path that the walk is at.
    pub(crate) fn count(&mut self, count: u64) {
        let end = self.stack.last_mut().expect("the root holds every path");
        add(&mut end.on, count);
    }

    pub(crate) fn finish(mut self, climbed: &mut impl FnMut(&Visit)) {
        while !self.stack.is_empty() {
            self.climb(climbed);
        }
    }

    fn climb(&mut self, climbed: &mut impl FnMut(&Visit)) {
        let done = self.stack.pop().expect("climbing from a visit");
        climbed(&done);
        if let Some(parent) = self.stack.last_mut() {
            match done.what {
                What::Left if parent.left.is_some() => add(&mut parent.reached, done.came()),
                What::Step | What::Left => add(&mut parent.on, done.came()),
                What::Start => {}
            }
        }
    }

    /// The edge that `path` takes out of `at`, as the place it leads to.
    fn descend(&self, at: Visit, path: u64) -> Option<Visit> {
        let out = self.dictionary.out(at.block);
        let rest = path - at.base;
        let taken = out
            .partition_point(|edge| edge.value <= rest)
            .checked_sub(1)?;
        let edge = out[taken];
        let base = at.base + edge.value;
        let end = out
            .get(taken + 1)
            .map_or(at.end, |next| at.base + next.value);
        let left = self.left.get(edge.to as usize).copied().flatten();
        let before = match edge.what {
            What::Start => (0, 0),
            What::Step | What::Left => (at.instructions, at.edges + 1),
        };
        Some(Visit {
            block: edge.to,
            base,
            end,
            edge: Some(edge.dag),
            what: edge.what,
            is_end: self.dictionary.out(edge.to).is_empty(),
            left: left.map(|value| base + value),
            reached: 0,
            on: 0,
            instructions: before.0 + u64::from(self.map.blocks[edge.to as usize].instructions),
            edges: before.1,
        })
    }
}
