//! Cuts edges of functions with too many paths (Ball and Larus 1996, section 4.2: edges are removed
//! where too many paths leave a vertex).
//!
//! The paper cuts the edges of the vertex at which a limit is passed. This rule alone cuts again at
//! every vertex above, because the remaining edges still lead to almost as many paths. Cutting
//! *whole levels* keeps the number of cuts small. A level begins at a join from which more than a
//! threshold of paths lead on. The cutter cuts either the join's only edge out (one cut) or all
//! edges into the join. For the blocks above the join, only one path then leads on from there. The
//! sum of the path counts at all starts must stay within the limit. How low the threshold must be
//! for that depends on the graph. So the cutter tries all powers of two up to the limit as
//! thresholds, each in one pass.
//!
//! A cut edge costs a counter update each time it runs, so cuts belong on edges that rarely run.
//! The cutter cuts no edge heavier than a *bound*. It tries bounds in rising order: 0, then powers
//! of two minus one. The least bound under which some attempt stays within the limit shows how
//! heavy the cuts must be. The cutter also tries the next few bounds, because a few heavier cuts
//! can replace many light ones. For each bound, the attempt with the least total weight wins; of
//! equal weights, the one with the fewest cuts. Afterward the cutter takes back cuts that are not
//! needed, the heaviest first. So if it is enough to cut edges that never run, only such edges are
//! cut. Cuts get dummy edges like back edges do, so the sums are exact in any case. In the programs
//! of the test `cuts_run_little`, cut edges are 0.034 % of the executed edges. Without weights they
//! would be 0.601 %.
//!
//! Example: 62 diamonds in a row have 2^62 paths. At a limit of 2^31 − 1 the cutter cuts two
//! levels, which leaves pieces of 29, 29, and 4 diamonds. If one side of each diamond never runs,
//! the cutter cuts only such sides. Cost: at most 64 passes over the edges for each of about ten
//! bounds, and only in functions with too many paths.

use crate::cfg::{Cfg, EdgeKind};
use crate::dag::{Dag, Role};
use crate::error::TooManyPaths;
use crate::ids::{BlockId, EdgeId};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// The maximum number of edges that the cutter visits under one bound to take back needless cuts.
const RESTORE_BUDGET: usize = 4_000_000;

/// The maximum number of bounds that the cutter tries, beginning with the least sufficient bound.
const MAX_BOUNDS: usize = 4;

/// Cuts plain edges of `dag` until there are at most `limit` paths.
///
/// # Errors
/// If no attempt brings the number of paths down to `limit`.
pub(crate) fn cut(
    cfg: &Cfg,
    dag: &mut Dag,
    weights: &[u64],
    limit: u64,
) -> Result<(), TooManyPaths> {
    let mut cutter = Cutter::new(cfg, dag, weights, limit);
    let mut least = cutter.count(&vec![false; cfg.edges().len()]);
    if least <= limit {
        return Ok(());
    }
    let bounds = cutter.bounds();
    let first =
        bounds.partition_point(|&bound| cutter.cheapest_attempt(bound, &mut least).is_none());
    let mut best: Option<(Cost, Vec<bool>)> = None;
    for &bound in bounds[first..].iter().take(MAX_BOUNDS) {
        let Some((_, cuts)) = cutter.cheapest_attempt(bound, &mut least) else {
            continue;
        };
        let cuts = cutter.restore(cuts);
        let cost = cutter.cost(&cuts);
        if best.as_ref().is_none_or(|best| cost < best.0) {
            best = Some((cost, cuts));
        }
        if cost.weight == 0 {
            break;
        }
    }
    let Some((_, cuts)) = best else {
        return Err(TooManyPaths { least, limit });
    };
    for index in (0..cuts.len()).filter(|&index| cuts[index]) {
        dag.cut(EdgeId::new(index));
    }
    Ok(())
}

/// The cost of a set of cuts: the total weight, then the number of cuts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Cost {
    weight: u64,
    cuts: usize,
}

/// Looks for cuts, and counts the paths that remain. Counts saturate.
struct Cutter<'a> {
    cfg: &'a Cfg,
    dag: &'a Dag,
    weights: &'a [u64],
    limit: u64,
    /// The maximum weight of an edge to cut.
    bound: u64,
    /// NumPaths of each block.
    paths: Vec<u64>,
    /// Whether paths start at each block.
    is_head: Vec<bool>,
    /// The number of edges inside paths that lead to each block.
    inner_edges_into: Vec<u32>,
}

impl<'a> Cutter<'a> {
    fn new(cfg: &'a Cfg, dag: &'a Dag, weights: &'a [u64], limit: u64) -> Self {
        let blocks = cfg.block_count() as usize;
        let mut inner_edges_into = vec![0u32; blocks];
        for (index, edge) in cfg.edges().iter().enumerate() {
            inner_edges_into[edge.to.index()] +=
                u32::from(dag.role(EdgeId::new(index)) == Role::Inside);
        }
        Self {
            cfg,
            dag,
            weights,
            limit,
            bound: u64::MAX,
            paths: vec![0; blocks],
            is_head: vec![false; blocks],
            inner_edges_into,
        }
    }

    fn weight(&self, id: EdgeId) -> u64 {
        self.weights.get(id.index()).copied().unwrap_or(0)
    }

    fn cost(&self, cuts: &[bool]) -> Cost {
        let cut = (0..cuts.len()).filter(|&index| cuts[index]);
        let weights = cut.clone().map(|index| self.weight(EdgeId::new(index)));
        Cost {
            weight: weights.fold(0u64, u64::saturating_add),
            cuts: cut.count(),
        }
    }

    /// The bounds to try, in rising order: 0 and powers of two minus one.
    fn bounds(&self) -> Vec<u64> {
        let ids = (0..self.cfg.edges().len()).map(EdgeId::new);
        let candidates = ids.filter(|&id| self.is_candidate(id));
        let bound = |weight: u64| u64::MAX.checked_shr(weight.leading_zeros()).unwrap_or(0);
        let mut bounds: Vec<u64> = candidates.map(|id| bound(self.weight(id))).collect();
        bounds.sort_unstable();
        bounds.dedup();
        bounds
    }

    /// Whether an edge may be cut at all.
    fn is_candidate(&self, id: EdgeId) -> bool {
        let edge = self.cfg.edge(id);
        edge.kind == EdgeKind::Plain
            && edge.to != self.cfg.exit()
            && self.dag.role(id) == Role::Inside
    }

    /// The cheapest attempt that stays within the limit and cuts no edge heavier than `bound`.
    /// Updates `least`, the smallest number of paths that any attempt reached.
    fn cheapest_attempt(&mut self, bound: u64, least: &mut u64) -> Option<(Cost, Vec<bool>)> {
        self.bound = bound;
        let mut cuts = vec![false; self.cfg.edges().len()];
        let mut best: Option<(Cost, Vec<bool>)> = None;
        // The powers of two do not depend on the limit, so a higher limit never finds fewer
        // solutions.
        let powers = (0..u64::BITS).rev().map(|power| 1u64 << power);
        let limit = self.limit;
        for threshold in powers.filter(|&power| power <= limit).chain([0]) {
            self.attempt(threshold, &mut cuts);
            let total = self.count(&cuts);
            *least = total.min(*least);
            let cost = self.cost(&cuts);
            if total <= limit && best.as_ref().is_none_or(|best| cost < best.0) {
                best = Some((cost, cuts.clone()));
            }
        }
        best
    }

    /// Resets the search: no path counts, and heads only at the targets of back edges and of the
    /// caller's cut edges.
    fn clear(&mut self) {
        self.paths.fill(0);
        self.paths[self.cfg.exit().index()] = 1;
        self.is_head.fill(false);
        for (index, edge) in self.cfg.edges().iter().enumerate() {
            let role = self.dag.role(EdgeId::new(index));
            self.is_head[edge.to.index()] |= matches!(role, Role::Back | Role::Cut);
        }
    }

    /// The number of paths with these edges cut.
    fn count(&mut self, cuts: &[bool]) -> u64 {
        self.clear();
        let cfg = self.cfg;
        for &block in self
            .dag
            .order()
            .iter()
            .rev()
            .filter(|&&block| block != cfg.exit())
        {
            let sum = cfg
                .successors(block)
                .iter()
                .map(|&edge| self.through(edge, cuts));
            let sum = sum.fold(0u64, u64::saturating_add);
            self.paths[block.index()] = sum;
            for &edge in cfg
                .successors(block)
                .iter()
                .filter(|edge| cuts[edge.index()])
            {
                self.is_head[cfg.edge(edge).to.index()] = true;
            }
        }
        let heads = cfg.blocks().filter(|block| self.is_head[block.index()]);
        let starts = heads.map(|block| self.paths[block.index()]);
        starts.fold(self.paths[cfg.entry().index()], u64::saturating_add)
    }

    /// The number of paths that continue through an edge.
    fn through(&self, edge: EdgeId, cuts: &[bool]) -> u64 {
        match self.dag.role(edge) {
            Role::Absent => 0,
            Role::Back | Role::Cut => 1,
            Role::Inside if cuts[edge.index()] => 1,
            Role::Inside => self.paths[self.cfg.edge(edge).to.index()],
        }
    }

    fn can_cut(&self, id: EdgeId) -> bool {
        self.is_candidate(id)
            && self.weight(id) <= self.bound
            && self.paths[self.cfg.edge(id).to.index()] > 0
    }

    /// Makes one pass of cuts at a threshold. The pass cuts a whole level at each join from which
    /// more than `threshold` paths lead on. It cuts single edges of a block from which more than
    /// eight times as many paths lead on.
    fn attempt(&mut self, threshold: u64, cuts: &mut [bool]) {
        self.clear();
        cuts.fill(false);
        let mut starts_level = vec![false; self.paths.len()];
        let block_limit = threshold.saturating_mul(8).max(1);
        let cfg = self.cfg;
        for &block in self
            .dag
            .order()
            .iter()
            .rev()
            .filter(|&&block| block != cfg.exit())
        {
            let successors = cfg.successors(block);
            for &edge in successors {
                cuts[edge.index()] = starts_level[cfg.edge(edge).to.index()] && self.can_cut(edge);
            }
            let sum = successors.iter().map(|&edge| self.through(edge, cuts));
            let mut sum = sum.fold(0u64, u64::saturating_add);
            if sum > block_limit {
                sum = self.narrow(block, threshold, cuts);
            }
            if sum > threshold && self.inner_edges_into[block.index()] > 1 {
                match self.only_jump(block) {
                    Some(edge) if self.can_cut(edge) && !cuts[edge.index()] => {
                        cuts[edge.index()] = true;
                        sum = successors.len() as u64;
                    }
                    _ => starts_level[block.index()] = true,
                }
            }
            self.paths[block.index()] = sum;
        }
    }

    /// The only edge that leaves a block, not counting its exit edge.
    fn only_jump(&self, block: BlockId) -> Option<EdgeId> {
        let successors = self.cfg.successors(block).iter();
        let mut jumps = successors.filter(|id| self.cfg.edge(**id).kind != EdgeKind::Exit);
        let first = jumps.next().copied();
        first.filter(|_| jumps.next().is_none())
    }

    /// Cuts edges of a block, the edge with the most paths first, until at most `threshold` paths
    /// remain or no edge is left.
    fn narrow(&self, block: BlockId, threshold: u64, cuts: &mut [bool]) -> u64 {
        let successors = self.cfg.successors(block);
        let mut by_path_count: Vec<EdgeId> = successors.to_vec();
        by_path_count.sort_by_key(|&edge| Reverse(self.through(edge, cuts)));
        let sum = |cuts: &[bool]| {
            let through = successors.iter().map(|&edge| self.through(edge, cuts));
            through.fold(0u64, u64::saturating_add)
        };
        let mut total = sum(cuts);
        for edge in by_path_count {
            let through = self.through(edge, cuts);
            if total <= threshold || through <= 1 {
                break;
            }
            if self.can_cut(edge) {
                cuts[edge.index()] = true;
                // A saturated sum hides how many paths remain, so count them again.
                total = if total == u64::MAX {
                    sum(cuts)
                } else {
                    total - through + 1
                };
            }
        }
        total
    }

    /// Takes back cuts that are not needed, the heaviest edge first, within the time budget.
    fn restore(&mut self, mut cuts: Vec<bool>) -> Vec<bool> {
        let mut candidates: Vec<usize> = (0..cuts.len()).filter(|&index| cuts[index]).collect();
        candidates.sort_by_key(|&index| Reverse(self.weight(EdgeId::new(index))));
        for index in candidates.into_iter().take(RESTORE_BUDGET / cuts.len()) {
            cuts[index] = false;
            cuts[index] = self.count(&cuts) > self.limit;
        }
        cuts
    }
}
