//! Cutting where paths explode (PP, section 4.2: edges are removed where too many paths leave a
//! vertex).
//!
//! The paper cuts the edges of the vertex at which a limit is passed. That alone cuts again at
//! every vertex above, for the edges left over still lead to almost as many paths. What keeps cuts
//! few is to cut *whole levels*: where more than a threshold of paths lead on from a join, either
//! the join's only way out is cut (one cut), or all ways into it; everything above then sees one
//! path there. How low the threshold must be for the sum over all starts to stay within the limit
//! depends on the graph, so thresholds are tried, each in one pass: the powers of two up to the
//! limit.
//!
//! A cut costs a counter each time it runs, so cuts should be where little runs: no edge heavier
//! than a *bound* is cut, with 0 as the least bound, then by powers of two. The least bound under
//! which the limit can be held decides what must be paid; the next few are tried as well, since a
//! few heavier cuts can spare many. In each, the attempt with the least total weight wins, of equal
//! ones that with the fewest cuts, and cuts that turn out not to be needed are taken back, the
//! heaviest first. So a function is cut along edges that never run, if that is enough. Dummies as
//! for back edges make the sums exact in any case. In the programs of the test `cuts_run_little`
//! 0.034 % of what runs is cut edges; without weights it would be 0.601 %.
//!
//! Example: 62 diamonds in a row are 2^62 paths; at a limit of 2^31 − 1 two levels are cut, which
//! leaves pieces of 29, 29 and 4 diamonds. Where one side of each diamond never runs, only such
//! sides are cut. Cost: at most 64 passes over the edges for each of some ten bounds, and only in
//! functions that explode.

use crate::cfg::{Cfg, EdgeKind};
use crate::dag::{Dag, Role};
use crate::error::TooManyPaths;
use crate::ids::{BlockId, EdgeId};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// Steps that taking back needless cuts may cost under one bound, in edges looked at.
const RESTORE_BUDGET: usize = 4_000_000;

/// How many bounds are tried from the least that suffices.
const BOUNDS: usize = 4;

/// Cuts plain edges of `dag` until there are at most `limit` paths.
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
    let first = bounds.partition_point(|&bound| cutter.best(bound, &mut least).is_none());
    let mut plan: Option<(Cost, Vec<bool>)> = None;
    for &bound in bounds[first..].iter().take(BOUNDS) {
        let Some((_, cuts)) = cutter.best(bound, &mut least) else {
            continue;
        };
        let cuts = cutter.restore(cuts);
        let cost = cutter.cost(&cuts);
        if plan.as_ref().is_none_or(|plan| cost < plan.0) {
            plan = Some((cost, cuts));
        }
        if cost.weight == 0 {
            break;
        }
    }
    let Some((_, cuts)) = plan else {
        return Err(TooManyPaths { least, limit });
    };
    for index in (0..cuts.len()).filter(|&index| cuts[index]) {
        dag.cut(EdgeId::new(index));
    }
    Ok(())
}

/// What a set of cuts costs: less is better, and of equal weights fewer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Cost {
    weight: u64,
    cuts: usize,
}

/// Counts paths under a set of cuts, saturating, and looks for cuts.
struct Cutter<'a> {
    cfg: &'a Cfg,
    dag: &'a Dag,
    weights: &'a [u64],
    limit: u64,
    /// No edge heavier than this is cut.
    bound: u64,
    /// NumPaths of each block.
    paths: Vec<u64>,
    /// Blocks at which paths start.
    head: Vec<bool>,
    /// How many edges kept in the dag lead to each block.
    joins: Vec<u32>,
}

impl<'a> Cutter<'a> {
    fn new(cfg: &'a Cfg, dag: &'a Dag, weights: &'a [u64], limit: u64) -> Self {
        let blocks = cfg.block_count() as usize;
        let mut joins = vec![0u32; blocks];
        for (index, edge) in cfg.edges().iter().enumerate() {
            joins[edge.to.index()] += u32::from(dag.role(EdgeId::new(index)) == Role::Inside);
        }
        Self {
            cfg,
            dag,
            weights,
            limit,
            bound: u64::MAX,
            paths: vec![0; blocks],
            head: vec![false; blocks],
            joins,
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

    /// Bounds worth trying, in rising order: 0 and one less than powers of two.
    fn bounds(&self) -> Vec<u64> {
        let ids = (0..self.cfg.edges().len()).map(EdgeId::new);
        let candidates = ids.filter(|&id| self.is_candidate(id));
        let bound = |weight: u64| u64::MAX.checked_shr(weight.leading_zeros()).unwrap_or(0);
        let mut bounds: Vec<u64> = candidates.map(|id| bound(self.weight(id))).collect();
        bounds.sort_unstable();
        bounds.dedup();
        bounds
    }

    /// Whether an edge could be cut at all.
    fn is_candidate(&self, id: EdgeId) -> bool {
        let edge = self.cfg.edge(id);
        edge.kind == EdgeKind::Plain
            && edge.to != self.cfg.exit()
            && self.dag.role(id) == Role::Inside
    }

    /// The best attempt that keeps the limit and cuts no edge heavier than `bound`. `least` becomes
    /// the least number of paths that was seen.
    fn best(&mut self, bound: u64, least: &mut u64) -> Option<(Cost, Vec<bool>)> {
        self.bound = bound;
        let mut cuts = vec![false; self.cfg.edges().len()];
        let mut best: Option<(Cost, Vec<bool>)> = None;
        // Powers of two whatever the limit, so that a higher limit never finds less.
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

    /// Starts again: no paths known, heads only where back and caller's cut edges lead.
    fn clear(&mut self) {
        self.paths.fill(0);
        self.paths[self.cfg.exit().index()] = 1;
        self.head.fill(false);
        for (index, edge) in self.cfg.edges().iter().enumerate() {
            let role = self.dag.role(EdgeId::new(index));
            self.head[edge.to.index()] |= matches!(role, Role::Back | Role::Cut);
        }
    }

    /// How many paths there are with these edges cut.
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
                self.head[cfg.edge(edge).to.index()] = true;
            }
        }
        let heads = cfg.blocks().filter(|block| self.head[block.index()]);
        let starts = heads.map(|block| self.paths[block.index()]);
        starts.fold(self.paths[cfg.entry().index()], u64::saturating_add)
    }

    /// How many paths go on through an edge.
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

    /// One pass that cuts whole levels where more than `threshold` paths lead on, and single edges
    /// where one block passes eight times that by its width.
    fn attempt(&mut self, threshold: u64, cuts: &mut [bool]) {
        self.clear();
        cuts.fill(false);
        let mut level = vec![false; self.paths.len()];
        let most = threshold.saturating_mul(8).max(1);
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
                cuts[edge.index()] = level[cfg.edge(edge).to.index()] && self.can_cut(edge);
            }
            let sum = successors.iter().map(|&edge| self.through(edge, cuts));
            let mut sum = sum.fold(0u64, u64::saturating_add);
            if sum > most {
                sum = self.narrow(block, threshold, cuts);
            }
            if sum > threshold && self.joins[block.index()] > 1 {
                match self.only_way(block) {
                    Some(only) if self.can_cut(only) && !cuts[only.index()] => {
                        cuts[only.index()] = true;
                        sum = successors.len() as u64;
                    }
                    _ => level[block.index()] = true,
                }
            }
            self.paths[block.index()] = sum;
        }
    }

    /// The only edge that leaves a block, but for an exit edge.
    fn only_way(&self, block: BlockId) -> Option<EdgeId> {
        let ways = self.cfg.successors(block).iter();
        let mut ways = ways.filter(|id| self.cfg.edge(**id).kind != EdgeKind::Exit);
        let only = ways.next().copied();
        only.filter(|_| ways.next().is_none())
    }

    /// Cuts a block's edges, the one with most paths first, until `threshold` is kept or none is
    /// left.
    fn narrow(&self, block: BlockId, threshold: u64, cuts: &mut [bool]) -> u64 {
        let successors = self.cfg.successors(block);
        let mut left: Vec<EdgeId> = successors.to_vec();
        left.sort_by_key(|&edge| Reverse(self.through(edge, cuts)));
        let sum = |cuts: &[bool]| {
            let through = successors.iter().map(|&edge| self.through(edge, cuts));
            through.fold(0u64, u64::saturating_add)
        };
        let mut total = sum(cuts);
        for edge in left {
            let through = self.through(edge, cuts);
            if total <= threshold || through <= 1 {
                break;
            }
            if self.can_cut(edge) {
                cuts[edge.index()] = true;
                // A saturated sum says nothing about what is left of it.
                total = if total == u64::MAX {
                    sum(cuts)
                } else {
                    total - through + 1
                };
            }
        }
        total
    }

    /// Takes back cuts that are not needed, the heaviest edge first, as many as there is time for.
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
