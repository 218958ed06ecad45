//! A function's numbered graph, and the edge and block counts that follow from its path counts.
//!
//! Paths sorted by number are sorted by the edges they take (Ball, Larus 1996, section 3.2; the same fact makes
//! regeneration work), so one walk (`walk.rs`) over them visits each shared beginning once, and into every edge came what
//! was counted below it.
//!
//! A *left path* ends with an exit edge: its frame was left by a call in its last block. Its counter says how often
//! the call was *reached* that way, so it is what came into the visit of that block; from the visit's other paths follows
//! how often control went on. The difference is the number of left paths, negative where a call came back more often than
//! it was reached (a fork's child in the frames of its parent). Into every other visit came what went on from it.
//!
//! Example: b0 calls and goes on to b1 or b2; counters: b0 left 10, b0 b1 5, b0 b2 3. Ten calls reached, eight went on:
//! the left path ran twice.
//!
//! Cost: the number of distinct path prefixes, not the sum of path lengths.

use std::cmp::Ordering;

use holloway_flow::{BlockId, DagEdge, DagEdgeKind, EdgeId, Numbering, Path, PathId};
use holloway_format::{DagKind, EdgeKind, EdgeMap, FunctionMap};

use crate::flow::{Flow, Through, add, clamped};
use crate::misfit::Misfit;
use crate::walk::{Dictionary, Visit, Walk, What};

/// The numbered graph of a function.
#[derive(Debug)]
pub struct Graph {
    numbering: Numbering,
    dictionary: Dictionary,
}

/// A path that ran, without its blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counted {
    /// Its number.
    pub path: PathId,
    /// Times it ran.
    pub count: u64,
    /// Instructions of one run.
    pub instructions: u64,
    /// Edges of one run, the one that ends it among them.
    pub edges: u32,
}

/// What path counters say.
#[derive(Debug)]
pub(crate) struct Tally {
    /// Counts of all edges and blocks.
    pub(crate) flow: Flow,
    /// Paths that ran, with the times they did, by number.
    pub(crate) paths: Vec<(u64, u64)>,
    /// Left paths entered again behind the call more often than left, with how much more, by number.
    pub(crate) reentries: Vec<(u64, u64)>,
}

impl Graph {
    /// Builds and checks the graph of a function whose indices are [checked](check_indices).
    ///
    /// # Errors
    /// Says what in the map is inconsistent.
    pub(crate) fn new(map: &FunctionMap) -> Result<Graph, Misfit> {
        let edges: Vec<(DagEdge, u64)> = map
            .dag
            .iter()
            .map(|edge| {
                let (from, to) = (BlockId(edge.from), BlockId(edge.to));
                let kind = dag_kind(edge.kind);
                (DagEdge { from, to, kind }, edge.value)
            })
            .collect();
        let (entry, exit) = (BlockId(map.entry), BlockId(map.exit));
        let numbering = Numbering::from_parts(entry, exit, edges).map_err(Misfit::NoNumbering)?;
        if numbering.path_count() != map.path_count {
            return Err(Misfit::PathCount {
                numbered: numbering.path_count(),
                stated: map.path_count,
            });
        }
        Ok(Graph {
            dictionary: Dictionary::new(map, numbering.path_count()),
            numbering,
        })
    }

    /// Paths of the function.
    pub fn path_count(&self) -> u64 {
        self.numbering.path_count()
    }

    /// The path of a number, or nothing beyond [`path_count`](Self::path_count).
    pub fn path(&self, id: PathId) -> Option<Path> {
        self.numbering.regenerate(id)
    }

    /// The number of a path, if it is one of this graph.
    pub(crate) fn number(&self, path: &Path) -> Option<PathId> {
        self.numbering.number_of(path)
    }

    /// Whether any path can be left in a call: then its counter is not yet its count.
    pub(crate) fn can_be_left(&self) -> bool {
        self.dictionary.can_be_left()
    }

    /// Whether a path ends in a call that did not come back.
    pub(crate) fn is_left(&self, id: PathId) -> bool {
        self.can_be_left() && self.dictionary.is_left(id.0)
    }

    /// What counters of left paths say where every call came back: as often reached as gone on from. `counters`, sorted by number, have none of left paths.
    pub(crate) fn closed(&self, map: &FunctionMap, counters: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let mut closed = Vec::new();
        let mut climbed = |done: &Visit| {
            let left = self.dictionary.left_at(done).filter(|_| done.on > 0);
            closed.extend(left.map(|path| (path, done.on)));
        };
        let mut walk = Walk::of_counts(&self.dictionary, map);
        for &(path, count) in counters {
            walk.to(path, &mut climbed);
            walk.count(count);
        }
        walk.finish(&mut climbed);
        closed.sort_unstable();
        closed
    }

    /// Counts of all paths, edges and blocks, from the counters of all paths, which are sorted by number.
    pub(crate) fn tally(&self, map: &FunctionMap, counters: &[(u64, u64)]) -> Tally {
        let (mut paths, mut reentries) = (Vec::with_capacity(counters.len()), Vec::new());
        let (mut dag, mut calls) = (vec![0; map.dag.len()], 0);
        let mut walk = Walk::of_counters(&self.dictionary, map);
        let mut climbed = |done: &Visit| {
            match done.edge {
                Some(edge) => add(&mut dag[edge as usize], done.came()),
                None => calls = done.came(),
            }
            if let Some(path) = done.left {
                match done.reached.cmp(&done.on) {
                    Ordering::Greater => paths.push((path, done.reached - done.on)),
                    Ordering::Less => reentries.push((path, done.on - done.reached)),
                    Ordering::Equal => {}
                }
            } else if done.is_end && done.what != What::Left {
                paths.push((done.base, done.on));
            }
        };
        for &(path, count) in counters {
            walk.to(path, &mut climbed);
            walk.count(count);
        }
        walk.finish(&mut climbed);
        paths.sort_unstable();
        reentries.sort_unstable();
        let flow = flow(map, &dag, calls);
        Tally {
            flow,
            paths,
            reentries,
        }
    }

    /// Tells the length of each path in `paths`, which are sorted by number.
    pub fn measure(&self, map: &FunctionMap, paths: &[(u64, u64)], mut each: impl FnMut(Counted)) {
        let mut walk = Walk::of_counts(&self.dictionary, map);
        for &(path, count) in paths {
            let end = walk.to(path, &mut |_| {});
            each(Counted {
                path: PathId(path),
                count,
                instructions: end.instructions,
                edges: end.edges,
            });
        }
    }

    /// Runs of each edge of the dag on the paths, which are sorted by number.
    pub(crate) fn dag_counts(&self, map: &FunctionMap, paths: &[(u64, u64)]) -> Vec<u64> {
        let mut dag = vec![0; map.dag.len()];
        let mut climbed = |done: &Visit| {
            if let Some(edge) = done.edge {
                add(&mut dag[edge as usize], done.came());
            }
        };
        let mut walk = Walk::of_counts(&self.dictionary, map);
        for &(path, count) in paths {
            walk.to(path, &mut climbed);
            walk.count(count);
        }
        walk.finish(&mut climbed);
        dag
    }
}

/// Real edges from dag edges; exit edges by conservation.
fn flow(map: &FunctionMap, dag: &[u64], calls: u64) -> Flow {
    let mut edges = vec![0; map.edges.len()];
    for (edge, &count) in map.dag.iter().zip(dag) {
        match edge.kind {
            DagKind::Edge(real) | DagKind::Back(real) | DagKind::Cut(real) => {
                edges[real as usize] = clamped(count.into());
            }
            DagKind::Start(_) => {}
        }
    }
    let through = Through::new(map, &edges, calls);
    for (edge, count) in map.edges.iter().zip(&mut edges) {
        if edge.kind == EdgeKind::Exit {
            *count = through.lost(edge.from as usize);
        }
    }
    Flow::of_edges(map, edges, calls)
}

/// Checks that the blocks and edges a map refers to are there, so that everything after can index them.
///
/// # Errors
/// Says which isn't.
pub(crate) fn check_indices(map: &FunctionMap) -> Result<(), Misfit> {
    let ends = map.edges.iter().flat_map(|edge| [edge.from, edge.to]);
    let blocks = ends.chain([map.entry, map.exit]);
    let mut blocks = blocks.chain(map.leaks.iter().copied());
    let missing = |block: &u32| *block as usize >= map.blocks.len();
    if let Some(block) = blocks.find(missing) {
        return Err(Misfit::NoBlock { block });
    }
    let astray = |edge: &EdgeMap| edge.kind == EdgeKind::Exit && edge.to != map.exit;
    if let Some(edge) = map.edges.iter().position(astray) {
        return Err(Misfit::ExitElsewhere { edge });
    }
    for (index, edge) in map.dag.iter().enumerate() {
        let start = matches!(edge.kind, DagKind::Start(head) if missing(&head));
        if start || map.implied_ends(edge.kind) != Some((edge.from, edge.to)) {
            return Err(Misfit::MisplacedDagEdge { edge: index });
        }
    }
    Ok(())
}

fn dag_kind(kind: DagKind) -> DagEdgeKind {
    match kind {
        DagKind::Edge(real) => DagEdgeKind::Edge(EdgeId(real)),
        DagKind::Back(real) => DagEdgeKind::Back(EdgeId(real)),
        DagKind::Cut(real) => DagEdgeKind::Cut(EdgeId(real)),
        DagKind::Start(head) => DagEdgeKind::Start(BlockId(head)),
    }
}
