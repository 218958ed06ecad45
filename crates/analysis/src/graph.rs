//! A function's numbered graph. Derives edge and block counts from path counts.
//!
//! Paths that are sorted by number are also sorted by their edges (Ball, Larus 1996, section 3.2;
//! path regeneration uses the same fact). So one walk (`walk.rs`) over the sorted paths visits each
//! shared prefix once. The count of an edge is the sum of the counts of the paths through it.
//!
//! A *visit* is a block reached by one path prefix. A *left path* ends with an exit edge: its frame
//! was left in a call in its last block. The counter of a left path says how often control
//! *reached* that call along the path, which is the number of entries into the last visit. The
//! other paths through the visit say how often control continued after the call. The difference is
//! the number of executions of the left path. It is negative if the call came back more often than
//! it was reached, for example if a fork's child returns into the frames of its parent. In every
//! other visit, control continues as often as it enters.
//!
//! Example: b0 makes a call and leads to b1 or b2. The left path's counter is 10, the counter of
//! path b0 b1 is 5, and the counter of b0 b2 is 3. The call was reached ten times and control
//! continued eight times, so the left path ran twice.
//!
//! Cost: the number of distinct path prefixes, not the sum of path lengths.

use std::cmp::Ordering;

use holloway_flow::{BlockId, DagEdge, DagEdgeKind, EdgeId, Numbering, Path, PathId};
use holloway_format::{Count, DagKind, EdgeKind, EdgeMap, FunctionMap};

use crate::flow::{BlockFlow, Flow, add, clamped};
use crate::misfit::Misfit;
use crate::walk::{Dictionary, EdgeRole, Visit, Walk};

/// The numbered graph of a function.
#[derive(Debug)]
pub struct Graph {
    numbering: Numbering,
    dictionary: Dictionary,
}

/// A path that ran, with its length but without its blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MeasuredPath {
    /// The path number.
    pub path: PathId,
    /// Executions of the path.
    pub count: Count,
    /// Instructions of one execution.
    pub instructions: u64,
    /// Edges of one execution, including the edge that ends the path.
    pub edges: u32,
}

/// A prefix of the paths that ran: the paths run the same edges up to a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Prefix {
    /// The block that the prefix leads to. It may be the exit.
    pub(crate) block: u32,
    /// DAG edges of the prefix.
    pub(crate) depth: usize,
    /// The last DAG edge, or `None` for the empty prefix.
    pub(crate) edge: Option<u32>,
    /// Executions of the paths that begin with the prefix.
    pub(crate) count: Count,
}

/// Counts derived from path counters.
#[derive(Debug)]
pub(crate) struct Tally {
    /// Counts of all edges and blocks.
    pub(crate) flow: Flow,
    /// (path number, executions) of the paths that ran, by number.
    pub(crate) paths: Vec<(PathId, Count)>,
    /// (path number, excess) of the left paths whose call came back more often than it was reached,
    /// by number. The excess is the number of returns minus the number of times it was reached.
    pub(crate) reentries: Vec<(PathId, Count)>,
}

impl Graph {
    /// Builds and checks the graph of a function whose indices are [checked](check_indices).
    ///
    /// # Errors
    /// If the map is inconsistent.
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

    /// The numbering of the paths.
    pub(crate) fn numbering(&self) -> &Numbering {
        &self.numbering
    }

    /// Number of paths of the function.
    pub fn path_count(&self) -> u64 {
        self.numbering.path_count()
    }

    /// Returns the path with this number, or `None` if the number is not below
    /// [`path_count`](Self::path_count).
    pub fn path(&self, id: PathId) -> Option<Path> {
        self.numbering.regenerate(id)
    }

    /// Returns the number of a path, if this graph has the path.
    pub(crate) fn number(&self, path: &Path) -> Option<PathId> {
        self.numbering.number_of(path)
    }

    /// Whether any path can be left in a call. The counter of such a path is not yet its count.
    pub(crate) fn has_left_paths(&self) -> bool {
        self.dictionary.has_left_paths()
    }

    /// Whether a path is a left path: it ends in a call that did not come back.
    pub(crate) fn is_left(&self, id: PathId) -> bool {
        self.has_left_paths() && self.dictionary.is_left(id)
    }

    /// Returns the counters that left paths would have if every call had come back: each call would
    /// be reached as often as control continues after it.
    ///
    /// `counters` are sorted by number and contain no left paths.
    pub(crate) fn left_counters_if_all_returned(
        &self,
        map: &FunctionMap,
        counters: &[(PathId, Count)],
    ) -> Vec<(PathId, Count)> {
        let mut left_counters = Vec::new();
        let mut finished = |visit: &Visit| {
            let path = self.dictionary.left_path_at(visit);
            let path = path.filter(|_| visit.continued > Count::ZERO);
            left_counters.extend(path.map(|path| (path, visit.continued)));
        };
        let mut walk = Walk::over_counts(&self.dictionary, map);
        for &(path, count) in counters {
            walk.walk_to(path, &mut finished);
            walk.count(count);
        }
        walk.finish(&mut finished);
        left_counters.sort_unstable();
        left_counters
    }

    /// Derives the counts of all paths, edges, and blocks from the path counters, which are sorted
    /// by number.
    pub(crate) fn tally(&self, map: &FunctionMap, counters: &[(PathId, Count)]) -> Tally {
        let (mut paths, mut reentries) = (Vec::with_capacity(counters.len()), Vec::new());
        let (mut dag, mut calls) = (vec![Count::ZERO; map.dag.len()], Count::ZERO);
        let mut walk = Walk::over_counters(&self.dictionary, map);
        let mut finished = |visit: &Visit| {
            match visit.edge {
                Some(edge) => add(&mut dag[edge as usize], visit.entries()),
                None => calls = visit.entries(),
            }
            if let Some(path) = visit.left_path {
                match visit.reached.cmp(&visit.continued) {
                    Ordering::Greater => paths.push((path, visit.reached - visit.continued)),
                    Ordering::Less => reentries.push((path, visit.continued - visit.reached)),
                    Ordering::Equal => {}
                }
            } else if visit.is_end && visit.role != EdgeRole::Exit {
                paths.push((PathId(visit.base), visit.continued));
            }
        };
        for &(path, count) in counters {
            walk.walk_to(path, &mut finished);
            walk.count(count);
        }
        walk.finish(&mut finished);
        paths.sort_unstable();
        reentries.sort_unstable();
        let flow = flow_of_dag(map, &dag, calls);
        Tally {
            flow,
            paths,
            reentries,
        }
    }

    /// Calls `visit` with the length of each path in `paths`. The paths are sorted by number.
    pub fn measure(
        &self,
        map: &FunctionMap,
        paths: &[(PathId, Count)],
        mut visit: impl FnMut(MeasuredPath),
    ) {
        let mut walk = Walk::over_counts(&self.dictionary, map);
        for &(path, count) in paths {
            let end = walk.walk_to(path, &mut |_| {});
            visit(MeasuredPath {
                path,
                count,
                instructions: end.instructions,
                edges: end.edges,
            });
        }
    }

    /// Calls `visit` for each prefix of these paths, which are sorted by number. All longer
    /// prefixes that begin with a prefix are visited before it.
    pub(crate) fn prefixes(
        &self,
        map: &FunctionMap,
        paths: impl IntoIterator<Item = (PathId, Count)>,
        mut visit: impl FnMut(Prefix),
    ) {
        let mut finished = |finished: &Visit| {
            visit(Prefix {
                block: finished.block,
                depth: finished.depth,
                edge: finished.edge,
                count: finished.entries(),
            });
        };
        let mut walk = Walk::over_counts(&self.dictionary, map);
        for (path, count) in paths {
            walk.walk_to(path, &mut finished);
            walk.count(count);
        }
        walk.finish(&mut finished);
    }

    /// Returns the executions of each DAG edge on these paths, which are sorted by number.
    pub(crate) fn dag_counts(&self, map: &FunctionMap, paths: &[(PathId, Count)]) -> Vec<Count> {
        let mut dag = vec![Count::ZERO; map.dag.len()];
        let mut finished = |visit: &Visit| {
            if let Some(edge) = visit.edge {
                add(&mut dag[edge as usize], visit.entries());
            }
        };
        let mut walk = Walk::over_counts(&self.dictionary, map);
        for &(path, count) in paths {
            walk.walk_to(path, &mut finished);
            walk.count(count);
        }
        walk.finish(&mut finished);
        dag
    }
}

/// Derives the counts of real edges from DAG edges. The counts of exit edges follow by conservation
/// of flow.
fn flow_of_dag(map: &FunctionMap, dag: &[Count], calls: Count) -> Flow {
    let mut edges = vec![0; map.edges.len()];
    for (edge, &count) in map.dag.iter().zip(dag) {
        match edge.kind {
            DagKind::Edge(map_edge) | DagKind::Back(map_edge) | DagKind::Cut(map_edge) => {
                edges[map_edge as usize] = clamped(count.into());
            }
            DagKind::Start(_) => {}
        }
    }
    let block_flow = BlockFlow::new(map, &edges, calls);
    for (edge, count) in map.edges.iter().zip(&mut edges) {
        if edge.kind == EdgeKind::Exit {
            *count = block_flow.net_left(edge.from as usize);
        }
    }
    Flow::of_edges(map, edges, calls)
}

/// Checks that all blocks and edges that a map refers to exist, so that later code can index them.
///
/// # Errors
/// If a block is missing, or if an edge does not join the blocks that it should join.
pub(crate) fn check_indices(map: &FunctionMap) -> Result<(), Misfit> {
    let ends = map.edges.iter().flat_map(|edge| [edge.from, edge.to]);
    let blocks = ends.chain([map.entry, map.exit]);
    let mut blocks = blocks.chain(map.leaks.iter().copied());
    let missing = |block: &u32| *block as usize >= map.blocks.len();
    if let Some(block) = blocks.find(missing) {
        return Err(Misfit::NoBlock { block });
    }
    let ends_elsewhere = |edge: &EdgeMap| edge.kind == EdgeKind::Exit && edge.to != map.exit;
    if let Some(edge) = map.edges.iter().position(ends_elsewhere) {
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
        DagKind::Edge(map_edge) => DagEdgeKind::Edge(EdgeId(map_edge)),
        DagKind::Back(map_edge) => DagEdgeKind::Back(EdgeId(map_edge)),
        DagKind::Cut(map_edge) => DagEdgeKind::Cut(EdgeId(map_edge)),
        DagKind::Start(head) => DagEdgeKind::Start(BlockId(head)),
    }
}
