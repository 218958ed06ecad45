//! Lists the paths of a function that never ran, each next to the nearest path that ran.
//!
//! # Regular paths
//! Most possible paths are of no interest. They are left in a call, they unwind, or they end in a
//! call that never returns, such as a failed check. The other paths are *regular*. Counts and lists
//! contain only regular paths. The graph does not say which branches depend on each other, so a
//! regular path may be impossible.
//!
//! # Distance
//! The distance from a path to another path is the number of its decisions that the other path does
//! not make: it goes another way there, or never comes by. A path that starts elsewhere is one
//! farther. The *nearest* path that ran has the smallest distance. Of equally near paths, the one
//! that ran most often is taken.
//!
//! # Which paths are listed
//! If a function has at most [`MAX_LISTED`] regular paths, all that never ran are listed. Otherwise
//! the list has the neighbors of the most frequent paths: a neighbor takes another way at one
//! decision and then follows the path again as soon as it can, with as few decisions as possible.
//! So the list has every path at distance 1 from these.
//!
//! Cost: with few paths, the number of regular paths times the paths that ran. Otherwise, for each
//! of the [`MAX_ORIGINS`] most frequent paths, the size of the graph and the neighbors' lengths.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use holloway_flow::{Path, PathId, PathStart};
use holloway_format::{Count, DagKind, EdgeKind, FunctionMap, Outcome};

use crate::run::Function;
use crate::trail::is_choice;

/// Functions with at most this number of regular paths have complete lists.
pub const MAX_LISTED: u64 = 2048;
/// The most frequent paths whose neighbors are listed.
pub const MAX_ORIGINS: usize = 64;

/// The regular paths of a function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PathCoverage {
    /// Regular paths that ran.
    pub ran: u64,
    /// Regular paths. Saturates.
    pub possible: u64,
    /// Paths that never ran, the nearest first.
    pub missing: Vec<MissingPath>,
    /// Whether the list has all regular paths that never ran.
    pub is_complete: bool,
}

/// A path that never ran.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissingPath {
    /// The path.
    pub path: PathId,
    /// The nearest path that ran.
    pub nearest: Nearest,
}

/// The nearest path that ran.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Nearest {
    /// The path.
    pub path: PathId,
    /// Its executions.
    pub count: Count,
    /// The distance to it.
    pub distance: usize,
    /// The edges that the missing path takes at the decisions that the nearest path does not make,
    /// in order.
    pub departures: Vec<u32>,
}

/// Computes the coverage of a function's regular paths. `ran` are the paths that ran, by number, in
/// any copy of the function. `max` limits the list. Empty if the function has no
/// [`graph`](Function::graph).
pub fn path_coverage(
    function: &Function,
    ran: &BTreeMap<PathId, Count>,
    max: usize,
) -> PathCoverage {
    let Some(graph) = function.graph() else {
        return PathCoverage::default();
    };
    let regular = RegularPaths::new(&function.map);
    let mut executed: Vec<Executed> = ran
        .iter()
        .filter_map(|(&path, &count)| {
            let regenerated = graph.path(path)?;
            Some(Executed {
                path,
                count,
                edges: edges(&regenerated).collect(),
                start: regenerated.start,
            })
        })
        .collect();
    let is_regular = |path: &Executed| path.edges.iter().all(|&edge| regular.allows(edge));
    let mut coverage = PathCoverage {
        ran: executed.iter().filter(|path| is_regular(path)).count() as u64,
        possible: regular.count(),
        ..PathCoverage::default()
    };
    if max == 0 {
        return coverage;
    }
    // The most frequent path comes first, so that it wins among equally near ones.
    executed.sort_by_key(|path| (Reverse(path.count), path.path));
    let candidates = match coverage.possible {
        0..=MAX_LISTED => {
            coverage.is_complete = true;
            regular.all()
        }
        _ => {
            let origins = executed.iter().filter(|path| is_regular(path));
            regular.neighbors(origins, graph).into_iter().collect()
        }
    };
    let never_ran = candidates
        .into_iter()
        .filter(|path| !ran.contains_key(path));
    let missing = never_ran.filter_map(|path| {
        let regenerated = graph.path(path)?;
        let nearest = nearest(&function.map, &regenerated, &executed)?;
        Some(MissingPath { path, nearest })
    });
    coverage.missing = missing.collect();
    coverage.missing.sort_by_key(|missing| {
        let nearest = &missing.nearest;
        (nearest.distance, Reverse(nearest.count), missing.path)
    });
    coverage.is_complete &= coverage.missing.len() <= max;
    coverage.missing.truncate(max);
    coverage
}

/// The number of regular paths of a function whose paths are counted. Saturates.
pub(crate) fn regular_path_count(map: &FunctionMap) -> u64 {
    RegularPaths::new(map).count()
}

/// A path that ran.
struct Executed {
    path: PathId,
    count: Count,
    edges: HashSet<u32>,
    start: PathStart,
}

/// The edges of a path, with the edge that ends it.
fn edges(path: &Path) -> impl Iterator<Item = u32> {
    let end = path.end.edge();
    path.edges.iter().copied().chain([end]).map(|edge| edge.0)
}

/// Finds the nearest of the paths that ran.
fn nearest(map: &FunctionMap, missing: &Path, executed: &[Executed]) -> Option<Nearest> {
    let is_decision = |edge: &u32| is_choice(map.edges[*edge as usize].outcome);
    let decisions: Vec<u32> = edges(missing).filter(is_decision).collect();
    let distance = |path: &Executed| {
        let departures = decisions.iter().filter(|edge| !path.edges.contains(edge));
        departures.count() + usize::from(path.start != missing.start)
    };
    // `min_by_key` returns the first of equally near paths.
    let path = executed.iter().min_by_key(|path| distance(path))?;
    let departs = |edge: &u32| !path.edges.contains(edge);
    Some(Nearest {
        path: path.path,
        count: path.count,
        distance: distance(path),
        departures: decisions.iter().copied().filter(departs).collect(),
    })
}

/// The graph of the regular paths of a function.
struct RegularPaths<'a> {
    map: &'a FunctionMap,
    /// By edge: whether regular paths may contain it.
    allowed: Vec<bool>,
    /// By block: the dag edges that regular paths may take, by number.
    out: Vec<Vec<u32>>,
    /// By block: the number of ways to the exit.
    ways: Vec<u64>,
}

impl<'a> RegularPaths<'a> {
    fn new(map: &'a FunctionMap) -> Self {
        let mut regular = Self {
            map,
            allowed: map.edges.iter().map(is_regular).collect(),
            out: Vec::new(),
            ways: Vec::new(),
        };
        // A path that ends at a cut is regular only if control can go on from there.
        loop {
            regular.find_ways();
            let dead_ends: Vec<u32> = map
                .dag
                .iter()
                .filter_map(|edge| match edge.kind {
                    DagKind::Back(real) | DagKind::Cut(real) => Some(real),
                    DagKind::Edge(_) | DagKind::Start(_) => None,
                })
                .filter(|&real| {
                    let to = map.edges[real as usize].to;
                    regular.allows(real) && regular.ways[to as usize] == 0
                })
                .collect();
            if dead_ends.is_empty() {
                return regular;
            }
            for edge in dead_ends {
                regular.allowed[edge as usize] = false;
            }
        }
    }

    /// Finds the dag edges of regular paths, and counts the ways to the exit.
    fn find_ways(&mut self) {
        self.out = vec![Vec::new(); self.map.blocks.len()];
        self.ways = vec![0; self.map.blocks.len()];
        for (number, edge) in (0u32..).zip(&self.map.dag) {
            let is_allowed = match edge.kind {
                DagKind::Start(_) => true,
                DagKind::Edge(real) | DagKind::Back(real) | DagKind::Cut(real) => {
                    self.allowed[real as usize]
                }
            };
            if is_allowed {
                self.out[edge.from as usize].push(number);
            }
        }
        self.count_ways();
    }

    /// Counts the ways from each block to the exit, and removes the edges to blocks without one.
    fn count_ways(&mut self) {
        for block in self.reverse_topological_order() {
            let ways = match block == self.map.exit {
                true => 1,
                false => {
                    let out = self.out[block as usize].iter();
                    let ways = out.map(|&edge| self.ways[self.map.dag[edge as usize].to as usize]);
                    ways.fold(0, u64::saturating_add)
                }
            };
            self.ways[block as usize] = ways;
        }
        for out in &mut self.out {
            out.retain(|&edge| self.ways[self.map.dag[edge as usize].to as usize] > 0);
        }
    }

    /// The blocks, each after all blocks that its dag edges lead to.
    fn reverse_topological_order(&self) -> Vec<u32> {
        let mut remaining: Vec<usize> = self.out.iter().map(Vec::len).collect();
        let mut into: Vec<Vec<u32>> = vec![Vec::new(); self.out.len()];
        for &edge in self.out.iter().flatten() {
            let edge = &self.map.dag[edge as usize];
            into[edge.to as usize].push(edge.from);
        }
        let ends = (0u32..).zip(&remaining).filter(|&(_, &out)| out == 0);
        let mut order: Vec<u32> = ends.map(|(block, _)| block).collect();
        let mut next = 0;
        while let Some(&block) = order.get(next) {
            next += 1;
            for &from in &into[block as usize] {
                remaining[from as usize] -= 1;
                if remaining[from as usize] == 0 {
                    order.push(from);
                }
            }
        }
        order
    }

    fn allows(&self, edge: u32) -> bool {
        self.allowed[edge as usize]
    }

    fn count(&self) -> u64 {
        self.ways[self.map.entry as usize]
    }

    /// All regular paths, by a depth-first search.
    fn all(&self) -> Vec<PathId> {
        let mut paths = Vec::new();
        let mut stack = vec![(self.map.entry, 0)];
        while let Some((block, number)) = stack.pop() {
            if block == self.map.exit {
                paths.push(PathId(number));
            }
            for &edge in &self.out[block as usize] {
                let edge = &self.map.dag[edge as usize];
                stack.push((edge.to, number + edge.value));
            }
        }
        paths
    }

    /// The neighbors of the first of these paths.
    fn neighbors<'e>(
        &self,
        executed: impl Iterator<Item = &'e Executed>,
        graph: &crate::graph::Graph,
    ) -> HashSet<PathId> {
        let dag_edges = self.dag_edges();
        let mut neighbors = HashSet::new();
        for executed in executed.take(MAX_ORIGINS) {
            let Some(path) = graph.path(executed.path) else {
                continue;
            };
            let route = self.route(&path, &dag_edges);
            let back = self.ways_back(&route);
            let mut number = 0;
            for &taken in &route {
                let edge = &self.map.dag[taken as usize];
                let others = self.out[edge.from as usize].iter();
                let others = others.filter(|&&other| {
                    let is_start =
                        |edge: u32| matches!(self.map.dag[edge as usize].kind, DagKind::Start(_));
                    other != taken && !is_start(other) && !is_start(taken)
                });
                for &other in others {
                    let neighbor = self.follow(other, number, &route, &back);
                    neighbors.extend(neighbor);
                }
                number += edge.value;
            }
        }
        neighbors
    }

    /// The dag edge of each end of a path, and of each inner edge.
    fn dag_edges(&self) -> HashMap<(DagRole, u32), u32> {
        let dag = (0u32..).zip(&self.map.dag);
        dag.map(|(number, edge)| match edge.kind {
            DagKind::Edge(real) => ((DagRole::Inner, real), number),
            DagKind::Start(block) => ((DagRole::Start, block), number),
            DagKind::Back(real) | DagKind::Cut(real) => ((DagRole::End, real), number),
        })
        .collect()
    }

    /// The dag edges of a path.
    fn route(&self, path: &Path, dag_edges: &HashMap<(DagRole, u32), u32>) -> Vec<u32> {
        let start = match path.start {
            PathStart::Entry => None,
            PathStart::Loop(block) => Some((DagRole::Start, block.0)),
        };
        let inner = path.edges.iter().map(|edge| (DagRole::Inner, edge.0));
        let end = path.end.edge().0;
        let end = match path.end {
            holloway_flow::PathEnd::Exit(_) => (DagRole::Inner, end),
            holloway_flow::PathEnd::Back(_) | holloway_flow::PathEnd::Cut(_) => (DagRole::End, end),
        };
        let keys = start.into_iter().chain(inner).chain([end]);
        keys.filter_map(|key| dag_edges.get(&key).copied())
            .collect()
    }

    /// By block off a route: the dag edge with the fewest decisions on the way back to the route.
    /// The exit is on every route.
    fn ways_back(&self, route: &[u32]) -> HashMap<u32, u32> {
        let on_route = self.blocks_of(route);
        let mut into: HashMap<u32, Vec<u32>> = HashMap::new();
        for &edge in self.out.iter().flatten() {
            let to = self.map.dag[edge as usize].to;
            into.entry(to).or_default().push(edge);
        }
        // A breadth-first search in which blocks without a decision cost nothing.
        let mut distances: HashMap<u32, usize> = on_route.iter().map(|&block| (block, 0)).collect();
        let mut back: HashMap<u32, u32> = HashMap::new();
        let mut blocks: Vec<u32> = on_route.iter().copied().collect();
        blocks.sort_unstable();
        let mut queue: VecDeque<(u32, usize)> =
            blocks.into_iter().map(|block| (block, 0)).collect();
        while let Some((block, distance)) = queue.pop_front() {
            if distances[&block] < distance {
                continue;
            }
            for &edge in into.get(&block).map_or(&[][..], Vec::as_slice) {
                let from = self.map.dag[edge as usize].from;
                let cost = usize::from(self.out[from as usize].len() > 1);
                let known = distances.get(&from).copied().unwrap_or(usize::MAX);
                if on_route.contains(&from) || known <= distance + cost {
                    continue;
                }
                distances.insert(from, distance + cost);
                back.insert(from, edge);
                match cost {
                    0 => queue.push_front((from, distance)),
                    _ => queue.push_back((from, distance + cost)),
                }
            }
        }
        back
    }

    fn blocks_of(&self, route: &[u32]) -> HashSet<u32> {
        let ends = route.iter().map(|&edge| &self.map.dag[edge as usize]);
        ends.flat_map(|edge| [edge.from, edge.to]).collect()
    }

    /// The path that takes `edge` after the dag edges with the sum `number`, and then goes back to
    /// the route.
    fn follow(
        &self,
        edge: u32,
        number: u64,
        route: &[u32],
        back: &HashMap<u32, u32>,
    ) -> Option<PathId> {
        let next: HashMap<u32, u32> = route
            .iter()
            .map(|&edge| (self.map.dag[edge as usize].from, edge))
            .collect();
        let (mut edge, mut number) = (edge, number);
        loop {
            let taken = &self.map.dag[edge as usize];
            number += taken.value;
            if taken.to == self.map.exit {
                return Some(PathId(number));
            }
            edge = *next.get(&taken.to).or_else(|| back.get(&taken.to))?;
        }
    }
}

/// What a dag edge is on a path.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum DagRole {
    Start,
    Inner,
    End,
}

/// Whether regular paths may contain an edge.
fn is_regular(edge: &holloway_format::EdgeMap) -> bool {
    let is_regular = match edge.outcome {
        Outcome::Unwind | Outcome::Noreturn | Outcome::Resume | Outcome::Left => false,
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
    is_regular && edge.kind != EdgeKind::Exit
}
