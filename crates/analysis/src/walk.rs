//! Walks over paths that are sorted by number, and visits each shared prefix once.
//!
//! The edges out of each block divide the numbers below that block into intervals. So paths that
//! are sorted by number are also sorted by their edges, like the words of a dictionary. The walk
//! keeps the blocks of the current path as a stack of *visits*. Before the next path, it pops only
//! the visits that the next path does not share. It reports each popped visit, with the sum of the
//! counts of all paths through the visit.
//!
//! Cost: linear in the number of distinct path prefixes, with a binary search of the block's edges
//! for each.

use holloway_flow::PathId;
use holloway_format::{Count, DagKind, EdgeKind, FunctionMap};

use crate::flow::add;

/// The edges of a DAG, sorted by block and value.
#[derive(Debug)]
pub(crate) struct Dictionary {
    root: u32,
    path_count: u64,
    /// By block: the index in `out` of its first edge. A last entry marks the end.
    first: Vec<u32>,
    out: Vec<OutEdge>,
    /// By block: the value of its exit edge.
    exit_values: Vec<Option<u64>>,
    /// Whether any block has an exit edge.
    has_left_paths: bool,
}

/// The facts about a DAG edge that the walk needs. The edges of a block lie together, sorted by
/// value.
#[derive(Clone, Copy, Debug)]
struct OutEdge {
    value: u64,
    to: u32,
    dag: u32,
    role: EdgeRole,
}

/// The role of an edge in a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EdgeRole {
    /// The edge is executed, inside a path or at its end.
    Step,
    /// The edge starts a path at a loop head: the entry block before it is not executed.
    Start,
    /// An exit edge: it ends a left path.
    Exit,
}

impl Dictionary {
    /// Builds the dictionary of a map whose DAG numbers `path_count` paths.
    pub(crate) fn new(map: &FunctionMap, path_count: u64) -> Dictionary {
        let (first, out) = by_block(map);
        let mut exit_values = vec![None; map.blocks.len()];
        for (block, value) in exit_values.iter_mut().enumerate() {
            let mut edges = out[first[block] as usize..first[block + 1] as usize].iter();
            *value = edges
                .find(|edge| edge.role == EdgeRole::Exit)
                .map(|edge| edge.value);
        }
        Dictionary {
            root: map.entry,
            path_count,
            first,
            out,
            has_left_paths: exit_values.iter().any(Option::is_some),
            exit_values,
        }
    }

    /// Whether any path can be left in a call. The counter of such a path is not yet its count.
    pub(crate) fn has_left_paths(&self) -> bool {
        self.has_left_paths
    }

    /// Whether a path ends with an exit edge.
    pub(crate) fn is_left(&self, path: PathId) -> bool {
        let (mut block, mut remaining_value) = (self.root, path.0);
        let mut role = EdgeRole::Step;
        if path.0 >= self.path_count {
            return false;
        }
        loop {
            let out = self.out(block);
            let taken = out.partition_point(|edge| edge.value <= remaining_value);
            let Some(edge) = taken.checked_sub(1).map(|taken| out[taken]) else {
                return role == EdgeRole::Exit;
            };
            (block, remaining_value, role) = (edge.to, remaining_value - edge.value, edge.role);
        }
    }

    /// The number of the left path that ends at a visit's block, if the block has an exit edge.
    pub(crate) fn left_path_at(&self, visit: &Visit) -> Option<PathId> {
        let value = self.exit_values[visit.block as usize]?;
        Some(PathId(visit.base + value))
    }

    fn out(&self, block: u32) -> &[OutEdge] {
        let block = block as usize;
        &self.out[self.first[block] as usize..self.first[block + 1] as usize]
    }
}

fn by_block(map: &FunctionMap) -> (Vec<u32>, Vec<OutEdge>) {
    let mut order: Vec<u32> = (0..map.dag.len() as u32).collect();
    order.sort_by_key(|&dag| (map.dag[dag as usize].from, map.dag[dag as usize].value));
    let mut first = vec![0; map.blocks.len() + 1];
    for edge in &map.dag {
        first[edge.from as usize + 1] += 1;
    }
    for block in 0..map.blocks.len() {
        first[block + 1] += first[block];
    }
    let role = |kind| match kind {
        DagKind::Start(_) => EdgeRole::Start,
        DagKind::Edge(real) if map.edges[real as usize].kind == EdgeKind::Exit => EdgeRole::Exit,
        DagKind::Edge(_) | DagKind::Back(_) | DagKind::Cut(_) => EdgeRole::Step,
    };
    let out = order
        .iter()
        .map(|&dag| {
            let edge = map.dag[dag as usize];
            OutEdge {
                value: edge.value,
                to: edge.to,
                dag,
                role: role(edge.kind),
            }
        })
        .collect();
    (first, out)
}

/// The state of a walk: the current path.
pub(crate) struct Walk<'a> {
    dictionary: &'a Dictionary,
    map: &'a FunctionMap,
    /// By block: the value of its exit edge. Empty if the walk is over execution counts, because
    /// left paths are then counted like other paths.
    exit_values: &'a [Option<u64>],
    stack: Vec<Visit>,
}

/// A block on the current path, reached by `edge`. The paths with numbers `base..end` run through
/// this visit.
#[derive(Clone, Copy)]
pub(crate) struct Visit {
    pub(crate) block: u32,
    /// Number of visits below this visit on the stack.
    pub(crate) depth: usize,
    pub(crate) base: u64,
    end: u64,
    pub(crate) edge: Option<u32>,
    pub(crate) role: EdgeRole,
    /// Whether the block is the exit, so no edge follows.
    pub(crate) is_end: bool,
    /// The number of the left path that ends in this block, if the block has an exit edge.
    pub(crate) left_path: Option<PathId>,
    /// The counter of the left path: times that control reached its last call.
    pub(crate) reached: Count,
    /// Times that control continued from this block, or that a path ended in it.
    pub(crate) continued: Count,
    pub(crate) instructions: u64,
    pub(crate) edges: u32,
}

impl Visit {
    /// Times that control entered the visit.
    pub(crate) fn entries(&self) -> Count {
        if self.left_path.is_some() {
            self.reached
        } else {
            self.continued
        }
    }
}

impl<'a> Walk<'a> {
    /// Starts a walk over path counters. The counter of a left path says how often control reached
    /// its last call.
    pub(crate) fn over_counters(dictionary: &'a Dictionary, map: &'a FunctionMap) -> Walk<'a> {
        Walk::new(dictionary, map, &dictionary.exit_values)
    }

    /// Starts a walk over execution counts of paths.
    pub(crate) fn over_counts(dictionary: &'a Dictionary, map: &'a FunctionMap) -> Walk<'a> {
        Walk::new(dictionary, map, &[])
    }

    fn new(
        dictionary: &'a Dictionary,
        map: &'a FunctionMap,
        exit_values: &'a [Option<u64>],
    ) -> Walk<'a> {
        let root = Visit {
            block: dictionary.root,
            depth: 0,
            base: 0,
            end: dictionary.path_count,
            edge: None,
            role: EdgeRole::Step,
            is_end: false,
            left_path: exit_values
                .get(dictionary.root as usize)
                .copied()
                .flatten()
                .map(PathId),
            reached: Count::ZERO,
            continued: Count::ZERO,
            instructions: u64::from(map.blocks[dictionary.root as usize].instructions),
            edges: 0,
        };
        Walk {
            dictionary,
            map,
            exit_values,
            stack: vec![root],
        }
    }

    /// Walks to the end of a path. Its number must not be below the previous path's number. Calls
    /// `finished` for each visit that is popped.
    pub(crate) fn walk_to(&mut self, path: PathId, finished: &mut impl FnMut(&Visit)) -> Visit {
        while self.stack.last().is_some_and(|visit| path.0 >= visit.end) {
            self.pop_visit(finished);
        }
        let mut visit = *self.stack.last().expect("the root contains every path");
        while let Some(next) = self.descend(visit, path.0) {
            self.stack.push(next);
            visit = next;
        }
        visit
    }

    /// Adds to the count of the current path.
    pub(crate) fn count(&mut self, count: Count) {
        let visit = self.stack.last_mut().expect("the root contains every path");
        add(&mut visit.continued, count);
    }

    /// Pops all remaining visits.
    pub(crate) fn finish(mut self, finished: &mut impl FnMut(&Visit)) {
        while !self.stack.is_empty() {
            self.pop_visit(finished);
        }
    }

    fn pop_visit(&mut self, finished: &mut impl FnMut(&Visit)) {
        let visit = self.stack.pop().expect("a visit to pop");
        finished(&visit);
        if let Some(parent) = self.stack.last_mut() {
            match visit.role {
                EdgeRole::Exit if parent.left_path.is_some() => {
                    add(&mut parent.reached, visit.entries());
                }
                EdgeRole::Step | EdgeRole::Exit => add(&mut parent.continued, visit.entries()),
                EdgeRole::Start => {}
            }
        }
    }

    /// The visit that follows `parent` on `path`; `None` at the exit.
    fn descend(&self, parent: Visit, path: u64) -> Option<Visit> {
        let out = self.dictionary.out(parent.block);
        let remaining_value = path - parent.base;
        let taken = out
            .partition_point(|edge| edge.value <= remaining_value)
            .checked_sub(1)?;
        let edge = out[taken];
        let base = parent.base + edge.value;
        let end = out
            .get(taken + 1)
            .map_or(parent.end, |next| parent.base + next.value);
        let exit_value = self.exit_values.get(edge.to as usize).copied().flatten();
        let (instructions, edges) = match edge.role {
            EdgeRole::Start => (0, 0),
            EdgeRole::Step | EdgeRole::Exit => (parent.instructions, parent.edges + 1),
        };
        Some(Visit {
            block: edge.to,
            depth: parent.depth + 1,
            base,
            end,
            edge: Some(edge.dag),
            role: edge.role,
            is_end: self.dictionary.out(edge.to).is_empty(),
            left_path: exit_value.map(|value| PathId(base + value)),
            reached: Count::ZERO,
            continued: Count::ZERO,
            instructions: instructions + u64::from(self.map.blocks[edge.to as usize].instructions),
            edges,
        })
    }
}
