//! How often each edge and each block of a function ran, whatever was counted in it.
//!
//! From edge counters (`Flow::of_counters`): the edges off a spanning tree were counted, the others
//! follow by conservation of flow (Burger, Dybvig 1998, section 2.1;
//! [`holloway_flow::EdgeCounters`]). From path counts: [`graph`](crate::graph). Both give the same
//! numbers for the same run.
//!
//! An *exit edge* ([`EdgeKind::Exit`]) says how often a call in its block did not come back, net: a call that comes back
//! once more (`setjmp`, a fork's child in frames it never entered) counts against it, so it may be negative. Every other
//! edge was taken some number of times, which is never negative. Where it comes out so, the process was killed between two
//! of the function's counters.
//!
//! Cost: linear in edges.

use holloway_flow::{BlockId, Cfg, Edge, EdgeCounters, EdgeId};
use holloway_format::{BlockMap, EdgeKind, EdgeMap, FunctionMap, Outcome};

use crate::misfit::Misfit;

/// How often each edge and each block of a function ran.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flow {
    /// By edge of the map: times taken; of an exit edge, times left less times entered again.
    pub edges: Vec<i64>,
    /// By block of the map; the exit's is the number of times the function was left.
    pub blocks: Vec<u64>,
    /// Times the function was entered.
    pub calls: u64,
    /// By block: times it was left in the call that it begins with, where paths end before calls (traces).
    pub left: Vec<u64>,
    /// By block: instructions behind that call, of these runs.
    pub not_run: Vec<u64>,
    /// Instructions run: of each block as often as it was reached.
    pub instructions: u64,
}

impl Flow {
    /// The counts of a function that never ran.
    pub fn zero(map: &FunctionMap) -> Flow {
        Flow {
            edges: vec![0; map.edges.len()],
            blocks: vec![0; map.blocks.len()],
            calls: 0,
            left: vec![0; map.blocks.len()],
            not_run: vec![0; map.blocks.len()],
            instructions: 0,
        }
    }

    /// Counts of all edges and blocks from those of the counted edges (counter, count), and how many edges other than exit
    /// edges came out negative; they are 0 here.
    ///
    /// # Errors
    /// Says what in the map is inconsistent.
    pub(crate) fn of_counters(
        map: &FunctionMap,
        counts: &[(u64, u64)],
    ) -> Result<(Flow, usize), Misfit> {
        let cfg = graph_of(map)?;
        let ids = |edges: &[u32]| edges.iter().copied().map(EdgeId).collect();
        let counters = EdgeCounters::from_parts(&cfg, ids(&map.counted), ids(&map.tree))
            .map_err(Misfit::NoFlow)?;
        let mut by_counter = vec![0; map.counted.len()];
        for &(counter, count) in counts {
            if let Some(slot) = by_counter.get_mut(counter as usize) {
                *slot = count;
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
        Ok((Flow::of_edges(map, flow.edges, calls), negative))
    }

    /// Blocks and instructions follow from all edges and the calls.
    pub(crate) fn of_edges(map: &FunctionMap, edges: Vec<i64>, calls: u64) -> Flow {
        let through = Through::new(map, &edges, calls);
        let mut blocks = through.reached();
        let exit = map.exit as usize;
        let left: i128 = map
            .edges
            .iter()
            .zip(&edges)
            .filter(|(edge, _)| edge.to == map.exit)
            .map(|(_, &count)| i128::from(count))
            .sum();
        blocks[exit] = u64::try_from(left.max(0)).unwrap_or(u64::MAX);
        let left = through.left_at_once(map);
        let not_run = not_run(map, &left);
        let counts = blocks.iter().zip(&not_run);
        let instructions = map.blocks.iter().zip(counts);
        let instructions = instructions.map(|(block, (&count, &not_run))| {
            count
                .saturating_mul(block.instructions.into())
                .saturating_sub(not_run)
        });
        let instructions = instructions.fold(0, u64::saturating_add);
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

/// By block: instructions behind the call that it begins with, of as many runs as it was left in that.
fn not_run(map: &FunctionMap, left: &[u64]) -> Vec<u64> {
    let behind = |block: &BlockMap| u64::from(block.instructions).saturating_sub(1);
    let blocks = map.blocks.iter().zip(left);
    blocks
        .map(|(block, &left)| left.saturating_mul(behind(block)))
        .collect()
}

/// Whether paths that take this edge end before a call, which the block behind it begins with.
pub(crate) fn is_before_call(edge: &EdgeMap) -> bool {
    edge.kind == EdgeKind::Cut && edge.outcome == Outcome::Split
}

/// How often blocks were entered and gone on from, exit edges apart.
pub(crate) struct Through {
    into: Vec<u64>,
    on: Vec<u64>,
}

impl Through {
    pub(crate) fn new(map: &FunctionMap, edges: &[i64], calls: u64) -> Through {
        let mut through = Through {
            into: vec![0; map.blocks.len()],
            on: vec![0; map.blocks.len()],
        };
        add(&mut through.into[map.entry as usize], calls);
        let plain = map.edges.iter().zip(edges);
        for (edge, &count) in plain.filter(|(edge, _)| edge.kind != EdgeKind::Exit) {
            let count = u64::try_from(count).unwrap_or(0);
            add(&mut through.into[edge.to as usize], count);
            add(&mut through.on[edge.from as usize], count);
        }
        through
    }

    /// Times each block was reached: what came in, or what went on where that is more, as behind a call that came back
    /// more than once.
    pub(crate) fn reached(&self) -> Vec<u64> {
        let both = self.into.iter().zip(&self.on);
        both.map(|(&into, &on)| into.max(on)).collect()
    }

    /// Times a block was entered by an edge, or by a call.
    pub(crate) fn came(&self, block: usize) -> u64 {
        self.into[block]
    }

    /// By block: times it was left in the call that it begins with.
    fn left_at_once(&self, map: &FunctionMap) -> Vec<u64> {
        let mut left = vec![0; map.blocks.len()];
        if map.edges.iter().any(|edge| edge.kind == EdgeKind::Exit) {
            return left;
        }
        for edge in map.edges.iter().filter(|edge| is_before_call(edge)) {
            let block = edge.to as usize;
            left[block] = self.into[block].saturating_sub(self.on[block]);
        }
        left
    }

    /// Times a block was entered in the middle: gone on from more often than come into.
    pub(crate) fn again(&self, block: usize) -> u64 {
        self.on[block].saturating_sub(self.into[block])
    }

    /// What came into a block and didn't go on; negative where more went on.
    pub(crate) fn lost(&self, block: usize) -> i64 {
        clamped(i128::from(self.into[block]) - i128::from(self.on[block]))
    }
}

/// The nearest count there is.
pub(crate) fn clamped(count: i128) -> i64 {
    count.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

/// Adds up; sums that don't fit stay at the largest.
pub(crate) fn add(sum: &mut u64, count: u64) {
    *sum = sum.saturating_add(count);
}

/// The graph of a map whose indices were checked.
///
/// # Errors
/// Says why it is none that calls can run through.
pub(crate) fn graph_of(map: &FunctionMap) -> Result<Cfg, Misfit> {
    graph(map, holloway_flow::EdgeKind::Cut)
}

/// The same with paths that run through where they are cut: its loops are those of the code, wherever paths end.
pub(crate) fn uncut_graph_of(map: &FunctionMap) -> Result<Cfg, Misfit> {
    graph(map, holloway_flow::EdgeKind::Plain)
}

fn graph(map: &FunctionMap, cut: holloway_flow::EdgeKind) -> Result<Cfg, Misfit> {
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
