//! Computes the executions of each edge and each block of a function, no matter whether its paths
//! or its edges were counted.
//!
//! If edges were counted (`Flow::of_counters`), the edges off a spanning tree have counters, and
//! the counts of the other edges follow by conservation of flow (Burger, Dybvig 1998, section 2.1;
//! [`holloway_flow::EdgeCounters`]). If paths were counted, [`graph`](crate::graph) computes the
//! executions. Both methods give the same numbers for the same run.
//!
//! The count of an *exit edge* ([`EdgeKind::Exit`]) says how often a call in its block did not come
//! back. It is a net count: a call that comes back once more (`setjmp`, a fork's child in frames
//! that it never entered) is subtracted, so the count may be negative. The executions of any other
//! edge cannot be negative. If propagation makes such a count negative, the process was killed
//! between two of the function's counters.
//!
//! Cost: linear in edges.

use holloway_flow::{BlockId, Cfg, Edge, EdgeCounters, EdgeId};
use holloway_format::{BlockMap, Count, EdgeKind, EdgeMap, FunctionMap, Outcome};

use crate::misfit::Misfit;

/// Executions of each edge and each block of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flow {
    /// By edge of the map: executions. For an exit edge: the frames left minus the frames entered
    /// again.
    pub edges: Vec<i64>,
    /// By block of the map: executions. The exit's count is the number of times the function was
    /// left.
    pub blocks: Vec<Count>,
    /// Times the function was entered.
    pub calls: Count,
    /// By block: the frames that were left in the call that the block begins with. 0 unless paths
    /// end before calls (traces).
    pub left: Vec<Count>,
    /// By block: instructions after that call that did not run because frames were left.
    pub not_run: Vec<Count>,
    /// Executed instructions, summed over blocks: instructions times executions, minus `not_run`.
    pub instructions: Count,
}

impl Flow {
    /// The counts of a function that never ran.
    pub fn zero(map: &FunctionMap) -> Flow {
        Flow {
            edges: vec![0; map.edges.len()],
            blocks: vec![Count::ZERO; map.blocks.len()],
            calls: Count::ZERO,
            left: vec![Count::ZERO; map.blocks.len()],
            not_run: vec![Count::ZERO; map.blocks.len()],
            instructions: Count::ZERO,
        }
    }

    /// Derives the counts of all edges and blocks from edge counters (counter, count). Also returns
    /// the number of edges, other than exit edges, whose propagated count is negative. Their count
    /// is 0 in the flow.
    ///
    /// # Errors
    /// If the map is inconsistent.
    pub(crate) fn of_counters(
        map: &FunctionMap,
        counts: impl IntoIterator<Item = (u64, Count)>,
    ) -> Result<(Flow, usize), Misfit> {
        let cfg = graph_of(map)?;
        let ids = |edges: &[u32]| edges.iter().copied().map(EdgeId).collect();
        let counters = EdgeCounters::from_parts(&cfg, ids(&map.counted), ids(&map.tree))
            .map_err(Misfit::NoFlow)?;
        let mut by_counter = vec![0; map.counted.len()];
        for (counter, count) in counts {
            if let Some(sum) = by_counter.get_mut(counter as usize) {
                *sum = count.0;
            }
        }
        let mut flow = counters.propagate(&cfg, &by_counter);
        let mut negative = usize::from(flow.calls < 0);
        for (edge, count) in map.edges.iter().zip(&mut flow.edges) {
            if edge.kind != EdgeKind::Exit && *count < 0 {
                negative += 1;
                *count = 0;
            }
        }
        let calls = u64::try_from(flow.calls).unwrap_or(0);
        Ok((Flow::of_edges(map, flow.edges, Count(calls)), negative))
    }

    /// Derives the counts of blocks and instructions from the counts of all edges and the calls.
    pub(crate) fn of_edges(map: &FunctionMap, edges: Vec<i64>, calls: Count) -> Flow {
        let block_flow = BlockFlow::new(map, &edges, calls);
        let mut blocks = block_flow.reached();
        let exit = map.exit as usize;
        let exits: i128 = map
            .edges
            .iter()
            .zip(&edges)
            .filter(|(edge, _)| edge.to == map.exit)
            .map(|(_, &count)| i128::from(count))
            .sum();
        blocks[exit] = Count(u64::try_from(exits.max(0)).unwrap_or(u64::MAX));
        let left = block_flow.left_in_first_call(map);
        let not_run = not_run(map, &left);
        let counts = blocks.iter().zip(&not_run);
        let instructions = map.blocks.iter().zip(counts);
        let instructions = instructions.map(|(block, (&count, &not_run))| {
            count
                .saturating_mul(block.instructions.into())
                .saturating_sub(not_run)
        });
        let instructions = instructions.fold(Count::ZERO, Count::saturating_add);
        Flow {
            edges,
            blocks,
            calls,
            left,
            not_run,
            instructions,
        }
    }
}

/// By block: the instructions after the call that the block begins with, times the frames left in
/// that call.
fn not_run(map: &FunctionMap, left: &[Count]) -> Vec<Count> {
    let after_call = |block: &BlockMap| u64::from(block.instructions).saturating_sub(1);
    let blocks = map.blocks.iter().zip(left);
    blocks
        .map(|(block, &left)| left.saturating_mul(after_call(block)))
        .collect()
}

/// Whether this edge ends paths before a call. The target of the edge begins with the call.
pub(crate) fn is_before_call(edge: &EdgeMap) -> bool {
    edge.kind == EdgeKind::Cut && edge.outcome == Outcome::Split
}

/// The flow into and out of each block, without exit edges.
pub(crate) struct BlockFlow {
    inflow: Vec<Count>,
    outflow: Vec<Count>,
}

impl BlockFlow {
    pub(crate) fn new(map: &FunctionMap, edges: &[i64], calls: Count) -> BlockFlow {
        let mut block_flow = BlockFlow {
            inflow: vec![Count::ZERO; map.blocks.len()],
            outflow: vec![Count::ZERO; map.blocks.len()],
        };
        add(&mut block_flow.inflow[map.entry as usize], calls);
        let edges = map.edges.iter().zip(edges);
        for (edge, &count) in edges.filter(|(edge, _)| edge.kind != EdgeKind::Exit) {
            let count = u64::try_from(count).unwrap_or(0);
            add(&mut block_flow.inflow[edge.to as usize], Count(count));
            add(&mut block_flow.outflow[edge.from as usize], Count(count));
        }
        block_flow
    }

    /// Times that each block was reached: the larger of its inflow and its outflow. The outflow is
    /// larger if a call in the block came back more than once.
    pub(crate) fn reached(&self) -> Vec<Count> {
        let both = self.inflow.iter().zip(&self.outflow);
        both.map(|(&inflow, &outflow)| inflow.max(outflow))
            .collect()
    }

    /// Times that a block was entered by an edge or by a call of the function.
    pub(crate) fn entries(&self, block: usize) -> Count {
        self.inflow[block]
    }

    /// By block: the frames that were left in the call that the block begins with.
    fn left_in_first_call(&self, map: &FunctionMap) -> Vec<Count> {
        let mut left = vec![Count::ZERO; map.blocks.len()];
        if map.edges.iter().any(|edge| edge.kind == EdgeKind::Exit) {
            return left;
        }
        for edge in map.edges.iter().filter(|edge| is_before_call(edge)) {
            let block = edge.to as usize;
            left[block] = self.inflow[block].saturating_sub(self.outflow[block]);
        }
        left
    }

    /// Times that a block was entered in the middle: the excess of its outflow over its inflow.
    pub(crate) fn reentries(&self, block: usize) -> Count {
        self.outflow[block].saturating_sub(self.inflow[block])
    }

    /// The inflow of a block minus its outflow: the net number of frames left in the block.
    pub(crate) fn net_left(&self, block: usize) -> i64 {
        clamped(i128::from(self.inflow[block]) - i128::from(self.outflow[block]))
    }
}

/// Clamps a count to the range of `i64`.
pub(crate) fn clamped(count: i128) -> i64 {
    count.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

/// Adds to a sum, which saturates at the largest value.
pub(crate) fn add(sum: &mut Count, count: Count) {
    *sum = sum.saturating_add(count);
}

/// The graph of a map whose indices were checked.
///
/// # Errors
/// If the map has no valid graph.
pub(crate) fn graph_of(map: &FunctionMap) -> Result<Cfg, Misfit> {
    graph_with_cuts(map, holloway_flow::EdgeKind::Cut)
}

/// The graph with cut edges as plain edges. Its loops are the loops of the code, no matter where
/// paths end.
pub(crate) fn uncut_graph_of(map: &FunctionMap) -> Result<Cfg, Misfit> {
    graph_with_cuts(map, holloway_flow::EdgeKind::Plain)
}

fn graph_with_cuts(map: &FunctionMap, cut: holloway_flow::EdgeKind) -> Result<Cfg, Misfit> {
    let kind = |kind| match kind {
        EdgeKind::Plain => holloway_flow::EdgeKind::Plain,
        EdgeKind::Pinned => holloway_flow::EdgeKind::Pinned,
        EdgeKind::Cut => cut,
        EdgeKind::Exit => holloway_flow::EdgeKind::Exit,
    };
    let edges = map.edges.iter().map(|edge| Edge {
        from: BlockId(edge.from),
        to: BlockId(edge.to),
        kind: kind(edge.kind),
    });
    let (entry, exit) = (BlockId(map.entry), BlockId(map.exit));
    Cfg::new(map.blocks.len() as u32, entry, exit, edges.collect()).map_err(Misfit::NoGraph)
}
