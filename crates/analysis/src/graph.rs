//! A function's numbered graph, and the edge and block counts that follow from its path counts.
//!
//! Paths sorted by number are sorted by the edges they take, as words in a dictionary are by their letters: at each
//! block the edges split the numbers below it into intervals (Ball, Larus 1996, section 3.2; the same fact makes
//! regeneration work). So one walk over the sorted paths visits each shared beginning once: the walk keeps the path
//! it is at as a stack, and only climbs as far back as the next path differs.
//!
//! Cost: the number of distinct path prefixes, not the sum of path lengths; searches of a block's edges are binary.

use holloway_flow::{BlockId, DagEdge, DagEdgeKind, EdgeId, Numbering, Path, PathId};
use holloway_format::{DagKind, FunctionMap};

/// The numbered graph of a function.
#[derive(Debug)]
pub struct Graph {
    numbering: Numbering,
    root: u32,
    /// Where the edges of each block start in `out`; one more than blocks.
    first: Vec<u32>,
    out: Vec<Out>,
}

/// A DAG edge as the walk needs it; those of a block lie together, by value.
#[derive(Clone, Copy, Debug)]
struct Out {
    value: u64,
    to: u32,
    dag: u32,
    /// Starts a path at a loop head: what stands before it isn't run.
    start: bool,
}

/// How often each edge and each block of a function ran.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flow {
    /// By edge of the map.
    pub edges: Vec<u64>,
    /// By block of the map; the exit's is the number of times the function was left.
    pub blocks: Vec<u64>,
    /// Times the function was entered.
    pub calls: u64,
    /// Instructions run, of blocks that paths ran through.
    pub instructions: u64,
}

impl Flow {
    /// The counts of a function that never ran.
    pub fn zero(map: &FunctionMap) -> Flow {
        Flow {
            edges: vec![0; map.edges.len()],
            blocks: vec![0; map.blocks.len()],
            calls: 0,
            instructions: 0,
        }
    }
}

impl Graph {
    /// Builds and checks the graph of a function whose indices are [checked](check_indices).
    ///
    /// # Errors
    /// Says what in the map is inconsistent.
    pub(crate) fn new(map: &FunctionMap) -> Result<Graph, String> {
        let blocks = map.blocks.len() as u32;
        let mut edges = Vec::with_capacity(map.dag.len());
        for edge in &map.dag {
            let kind = match edge.kind {
                DagKind::Edge(real) => DagEdgeKind::Edge(EdgeId(real)),
                DagKind::Back(real) => DagEdgeKind::Back(EdgeId(real)),
                DagKind::Cut(real) => DagEdgeKind::Cut(EdgeId(real)),
                DagKind::Start(head) => DagEdgeKind::Start(BlockId(head)),
            };
            edges.push((
                DagEdge {
                    from: BlockId(edge.from),
                    to: BlockId(edge.to),
                    kind,
                },
                edge.value,
            ));
        }
        let (entry, exit) = (BlockId(map.entry), BlockId(map.exit));
        let (first, out) = by_block(&edges, blocks);
        let numbering = Numbering::from_parts(entry, exit, edges)
            .map_err(|error| format!("its map is no numbering: {error}"))?;
        if numbering.path_count() != map.path_count {
            let found = numbering.path_count();
            return Err(format!(
                "its map numbers {found} paths and says {}",
                map.path_count
            ));
        }
        Ok(Graph {
            numbering,
            root: entry.0,
            first,
            out,
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

    /// Counts of all edges and blocks, from the counts of all paths, which are sorted by number.
    pub fn flow(&self, map: &FunctionMap, counts: &[(u64, u64)]) -> Flow {
        let mut flow = Flow::zero(map);
        let mut dag = vec![0; map.dag.len()];
        self.walk(map, counts, &mut dag, |_, count, instructions| {
            flow.instructions = flow
                .instructions
                .saturating_add(instructions.saturating_mul(count));
        });
        let mut total: u64 = counts
            .iter()
            .fold(0, |sum, &(_, count)| sum.saturating_add(count));
        for (edge, &count) in map.dag.iter().zip(&dag) {
            match edge.kind {
                DagKind::Edge(real) | DagKind::Back(real) | DagKind::Cut(real) => {
                    add(&mut flow.edges[real as usize], count);
                }
                DagKind::Start(_) => total = total.saturating_sub(count),
            }
        }
        flow.calls = total;
        add(&mut flow.blocks[self.root as usize], total);
        for (edge, &count) in map.edges.iter().zip(&flow.edges) {
            add(&mut flow.blocks[edge.to as usize], count);
        }
        flow
    }

    /// Tells the instructions of each counted path: (number, times run, instructions of one run), by number.
    pub fn instructions(
        &self,
        map: &FunctionMap,
        counts: &[(u64, u64)],
        mut each: impl FnMut(PathId, u64, u64),
    ) {
        let mut dag = vec![0; map.dag.len()];
        self.walk(map, counts, &mut dag, |path, count, instructions| {
            each(PathId(path), count, instructions);
        });
    }

    /// Visits sorted paths as a dictionary; adds to `dag` the runs of each DAG edge.
    fn walk(
        &self,
        map: &FunctionMap,
        counts: &[(u64, u64)],
        dag: &mut [u64],
        mut leaf: impl FnMut(u64, u64, u64),
    ) {
        let mut stack: Vec<Visit> = Vec::new();
        let root = Visit {
            block: self.root,
            base: 0,
            end: self.path_count(),
            edge: None,
            count: 0,
            instructions: u64::from(map.blocks[self.root as usize].instructions),
        };
        for &(path, count) in counts {
            while stack.last().is_some_and(|visit| path >= visit.end) {
                climb(&mut stack, dag);
            }
            if stack.is_empty() {
                stack.push(root);
            }
            let mut at = *stack.last().expect("a root was pushed");
            while let Some(next) = self.descend(map, at, path) {
                stack.push(next);
                at = next;
            }
            leaf(path, count, at.instructions);
            let last = stack.last_mut().expect("a root was pushed");
            add(&mut last.count, count);
        }
        while !stack.is_empty() {
            climb(&mut stack, dag);
        }
    }

    /// The edge that `path` takes out of `at`, as the place it leads to.
    fn descend(&self, map: &FunctionMap, at: Visit, path: u64) -> Option<Visit> {
        let block = at.block as usize;
        let out = &self.out[self.first[block] as usize..self.first[block + 1] as usize];
        let rest = path - at.base;
        let taken = out
            .partition_point(|edge| edge.value <= rest)
            .checked_sub(1)?;
        let edge = out[taken];
        let end = out
            .get(taken + 1)
            .map_or(at.end, |next| at.base + next.value);
        let before = if edge.start { 0 } else { at.instructions };
        let instructions = before + u64::from(map.blocks[edge.to as usize].instructions);
        Some(Visit {
            block: edge.to,
            base: at.base + edge.value,
            end,
            edge: Some(edge.dag),
            count: 0,
            instructions,
        })
    }
}

/// A block on the path the walk is at, reached by `edge`; numbers `base..end` lie below it.
#[derive(Clone, Copy)]
struct Visit {
    block: u32,
    base: u64,
    end: u64,
    edge: Option<u32>,
    count: u64,
    instructions: u64,
}

fn climb(stack: &mut Vec<Visit>, dag: &mut [u64]) {
    let done = stack.pop().expect("climbing from a visit");
    if let Some(edge) = done.edge {
        add(&mut dag[edge as usize], done.count);
    }
    if let Some(parent) = stack.last_mut() {
        add(&mut parent.count, done.count);
    }
}

fn add(sum: &mut u64, count: u64) {
    *sum = sum.saturating_add(count);
}

/// Checks that the blocks and edges a map refers to are there, so that everything after can index them.
///
/// # Errors
/// Says which isn't.
pub(crate) fn check_indices(map: &FunctionMap) -> Result<(), String> {
    let ends = map.edges.iter().flat_map(|edge| [edge.from, edge.to]);
    let missing = |block: &u32| *block as usize >= map.blocks.len();
    if let Some(block) = ends.chain([map.entry, map.exit]).find(missing) {
        return Err(format!("no block b{block} in its map"));
    }
    for (index, edge) in map.dag.iter().enumerate() {
        let start = matches!(edge.kind, DagKind::Start(head) if missing(&head));
        if start || map.implied_ends(edge.kind) != Some((edge.from, edge.to)) {
            return Err(format!(
                "edge d{index} of its map is not between the blocks it stands for"
            ));
        }
    }
    Ok(())
}

fn by_block(edges: &[(DagEdge, u64)], blocks: u32) -> (Vec<u32>, Vec<Out>) {
    let mut order: Vec<u32> = (0..edges.len() as u32).collect();
    order.sort_by_key(|&dag| (edges[dag as usize].0.from.0, edges[dag as usize].1));
    let mut first = vec![0; blocks as usize + 1];
    for (edge, _) in edges {
        first[edge.from.0 as usize + 1] += 1;
    }
    for block in 0..blocks as usize {
        first[block + 1] += first[block];
    }
    let out = order
        .iter()
        .map(|&dag| {
            let (edge, value) = &edges[dag as usize];
            Out {
                value: *value,
                to: edge.to.0,
                dag,
                start: matches!(edge.kind, DagEdgeKind::Start(_)),
            }
        })
        .collect();
    (first, out)
}
