//! The counts of a changed function: those of its unchanged edges, and a flow that fits them.
//!
//! An edge is unchanged if its ends have counterparts, and an edge connects these. It keeps its
//! count. The other edges get the cheapest flow that agrees with the counts of unchanged edges and
//! of blocks with counterparts ([`holloway_flow::inference`]). For that, a block of its own stands
//! in the middle of each unchanged edge. Where several flows fit, `balance` chooses.

use holloway_flow::inference::{Inferred, Measure, infer};
use holloway_flow::{BlockId, Cfg, Edge, EdgeKind};
use holloway_format::{Count, FunctionCode, FunctionPlan};
use rustc_hash::FxHashMap;

use super::balance::balance;
use super::blocks::{MatchedBlocks, match_blocks};

/// Functions with more edges are left out, because the inference may take long.
const MAX_EDGES: usize = 4_000;
/// The inference accepts counts up to this one.
const MAX_COUNT: u64 = 1 << 30;
/// The cost of changing a count by one execution.
const CHANGE: u32 = 10;

/// The counts of a changed function.
#[derive(Debug)]
pub(super) struct ChangedCounts {
    /// Without targets and unpredictable branches.
    pub(super) function: FunctionPlan,
    /// The old executions on unchanged edges, and the calls of the function.
    pub(super) kept: Count,
}

/// Gives the counts of a function to its new code. `None` if blocks with less than half of its
/// executions have certain counterparts.
pub(super) fn changed_counts(old: &FunctionPlan, new: &FunctionCode) -> Option<ChangedCounts> {
    let with_code = |calls, edges: Vec<Count>| FunctionPlan {
        code: Some(new.clone()),
        ..FunctionPlan::new(calls, edges)
    };
    if !old.ran() {
        return Some(ChangedCounts {
            function: with_code(Count::ZERO, vec![Count::ZERO; new.edges.len()]),
            kept: Count::ZERO,
        });
    }
    let code = old.code.as_ref()?;
    if code.edges.len().max(new.edges.len()) > MAX_EDGES {
        return None;
    }
    let MatchedBlocks {
        counterparts,
        is_certain,
    } = match_blocks(code, new);
    let executions = block_executions(code, old);
    let sum = |blocks: &mut dyn Iterator<Item = usize>| -> u128 {
        blocks.map(|block| u128::from(executions[block])).sum()
    };
    let inner = 1..executions.len().saturating_sub(1);
    let all = sum(&mut inner.clone());
    let found = sum(&mut inner.filter(|&block| is_certain[block]));
    if 2 * found < all {
        return None;
    }
    // Without any count on an edge, every flow would fit.
    let unchanged = unchanged_edges(code, new, &counterparts, old);
    if unchanged.iter().flatten().all(|&count| count == 0) {
        return None;
    }
    let kept = unchanged.iter().flatten();
    let kept = kept.fold(old.calls, |sum, &count| sum.saturating_add(Count(count)));
    let mut blocks = vec![None; new.blocks.len()];
    for (block, counterpart) in counterparts.iter().enumerate() {
        if let Some(new) = counterpart {
            blocks[*new] = Some(executions[block]);
        }
    }
    let edges = fitting_flow(new, &blocks, &unchanged)?;
    Some(ChangedCounts {
        function: with_code(old.calls, edges),
        kept,
    })
}

/// The executions of each block: the flow into it, or out of it if it has none.
fn block_executions(code: &FunctionCode, counts: &FunctionPlan) -> Vec<u64> {
    let mut inward = vec![0u64; code.blocks.len()];
    let mut outward = inward.clone();
    for (edge, &(from, to)) in code.edges.iter().enumerate() {
        let Count(count) = counts.count(edge);
        for sum in [&mut outward[from as usize], &mut inward[to as usize]] {
            *sum = sum.saturating_add(count);
        }
    }
    if let Some(entry) = inward.first_mut() {
        *entry = counts.calls.0;
    }
    let sides = inward.into_iter().zip(outward);
    sides.map(|(inward, outward)| inward.max(outward)).collect()
}

/// The count of each unchanged edge of the new code.
fn unchanged_edges(
    old: &FunctionCode,
    new: &FunctionCode,
    counterparts: &[Option<usize>],
    counts: &FunctionPlan,
) -> Vec<Option<u64>> {
    let mut by_ends: FxHashMap<(usize, usize), Vec<usize>> = FxHashMap::default();
    for (edge, &(from, to)) in new.edges.iter().enumerate() {
        let ends = (from as usize, to as usize);
        by_ends.entry(ends).or_default().push(edge);
    }
    // Parallel edges correspond in order.
    by_ends.values_mut().for_each(|edges| edges.reverse());
    let mut unchanged = vec![None; new.edges.len()];
    for (edge, &(from, to)) in old.edges.iter().enumerate() {
        let ends = [from, to].map(|block| counterparts[block as usize]);
        if let [Some(from), Some(to)] = ends
            && let Some(new) = by_ends.get_mut(&(from, to)).and_then(Vec::pop)
        {
            unchanged[new] = Some(counts.count(edge).0);
        }
    }
    unchanged
}

/// The count of each edge: its own, if it is unchanged, else that of a flow that fits. `None` if
/// the code is no graph.
fn fitting_flow(
    code: &FunctionCode,
    blocks: &[Option<u64>],
    unchanged: &[Option<u64>],
) -> Option<Vec<Count>> {
    let largest = blocks.iter().chain(unchanged).flatten().max();
    let scale = largest.map_or(1, |largest| largest.div_ceil(MAX_COUNT).max(1));
    let measure = |count: Option<u64>| match count {
        Some(count) => Measure::Executions {
            count: count / scale,
            increase: CHANGE,
            decrease: CHANGE,
        },
        None => Measure::Unknown,
    };
    let mut measures: Vec<Measure> = blocks.iter().map(|&count| measure(count)).collect();
    let block_id = |block: usize| u32::try_from(block).ok().map(BlockId);
    let edge = |from, to| Edge {
        from,
        to,
        kind: EdgeKind::Plain,
    };
    let (mut edges, mut seconds) = (Vec::new(), Vec::new());
    for (&(from, to), &count) in code.edges.iter().zip(unchanged) {
        let (from, to) = (BlockId(from), BlockId(to));
        if count.is_some() {
            let middle = block_id(measures.len())?;
            measures.push(measure(count));
            edges.push(edge(from, middle));
            seconds.push(edge(middle, to));
        } else {
            edges.push(edge(from, to));
        }
    }
    edges.append(&mut seconds);
    let exit = block_id(code.blocks.len().checked_sub(1)?)?;
    let costs = vec![0; edges.len()];
    let cfg = Cfg::new(u32::try_from(measures.len()).ok()?, BlockId(0), exit, edges).ok()?;
    let Inferred { edges, .. } = infer(&cfg, &measures, &costs);
    let counts = edges.into_iter().zip(unchanged);
    let counts = counts.map(|(inferred, unchanged)| match unchanged {
        Some(count) => Count(*count),
        None => Count(inferred.saturating_mul(scale)),
    });
    let mut counts: Vec<Count> = counts.collect();
    balance(code, blocks, unchanged, &mut counts);
    Some(counts)
}
