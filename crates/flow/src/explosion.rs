//! Cutting where paths explode (PP, section 4.2: edges are removed where too many paths leave a
//! vertex).
//!
//! The paper cuts the edges of the vertex at which a limit is passed. That alone cuts again at
//! every vertex above, for the edges left over still lead to almost as many paths. What keeps cuts
//! few is to cut *whole levels*: where more than a threshold of paths lead on from a join, either
//! the join's only way out is cut (one cut), or all ways into it; everything above then sees one
//! path there. How low the threshold must be for the sum over all starts to stay within the limit
//! depends on the graph, so thresholds are tried, each in one pass: the powers of two up to the
//! limit. The attempt with the fewest cuts wins, and cuts of it that turn out not to be needed are
//! taken back, the heaviest first. Dummies as for back edges make the sums exact in any case.
//!
//! Example: 62 diamonds in a row are 2^62 paths; at a limit of 2^31 − 1 two levels are cut, which
//! leaves pieces of 29, 29 and 4 diamonds. Cost: at most 64 passes over the edges, and only in
//! functions that explode.

use crate::cfg::{Cfg, EdgeKind};
use crate::dag::{Dag, Role};
use crate::ids::{BlockId, EdgeId};
use crate::numbering::TooManyPaths;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// Steps that taking back needless cuts may cost, in edges looked at.
const RESTORE_BUDGET: usize = 4_000_000;

/// Cuts plain edges of `dag` until there are at most `limit` paths.
pub(crate) fn cut(
    cfg: &Cfg,
    dag: &mut Dag,
    weights: &[u64],
    limit: u64,
) -> Result<(), TooManyPaths> {
    let mut counter = Counter::new(cfg, dag);
    let mut cuts = vec![false; cfg.edges().len()];
    let mut least = counter.count(&cuts);
    if least <= limit {
        return Ok(());
    }
    let mut best: Option<(usize, Vec<bool>)> = None;
    // Powers of two whatever the limit, so that a higher limit never finds less.
    let powers = (0..u64::BITS).rev().map(|power| 1u64 << power);
    for threshold in powers.filter(|&power| power <= limit).chain([0]) {
        counter.attempt(threshold, &mut cuts);
        let total = counter.count(&cuts);
        least = least.min(total);
        let count = cuts.iter().filter(|cut| **cut).count();
        if total <= limit && best.as_ref().is_none_or(|best| count < best.0) {
            best = Some((count, cuts.clone()));
        }
    }
    let Some((count, mut cuts)) = best else {
        return Err(TooManyPaths { least, limit });
    };
    counter.restore(&mut cuts, count, weights, limit);
    for index in (0..cuts.len()).filter(|&index| cuts[index]) {
        dag.cut(EdgeId::new(index));
    }
    Ok(())
}

/// Counts paths under a set of cuts, saturating.
struct Counter<'a> {
    cfg: &'a Cfg,
    dag: &'a Dag,
    /// NumPaths of each block.
    paths: Vec<u64>,
    /// Blocks at which paths start.
    head: Vec<bool>,
    /// How many edges kept in the dag lead to each block.
    joins: Vec<u32>,
}

impl<'a> Counter<'a> {
    fn new(cfg: &'a Cfg, dag: &'a Dag) -> Self {
        let blocks = cfg.block_count() as usize;
        let mut joins = vec![0u32; blocks];
        for (index, edge) in cfg.edges().iter().enumerate() {
            joins[edge.to.index()] += u32::from(dag.role(EdgeId::new(index)) == Role::Inside);
        }
        Self {
            cfg,
            dag,
            paths: vec![0; blocks],
            head: vec![false; blocks],
            joins,
        }
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
        let edge = self.cfg.edge(id);
        edge.kind == EdgeKind::Plain
            && edge.to != self.cfg.exit()
            && self.dag.role(id) == Role::Inside
            && self.paths[edge.to.index()] > 0
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
                match successors {
                    &[only] if self.can_cut(only) && !cuts[only.index()] => {
                        cuts[only.index()] = true;
                        sum = 1;
                    }
                    _ => level[block.index()] = true,
                }
            }
            self.paths[block.index()] = sum;
        }
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

    /// Takes back cuts that are not needed, the heaviest edge first.
    fn restore(&mut self, cuts: &mut [bool], count: usize, weights: &[u64], limit: u64) {
        if count.saturating_mul(cuts.len()) > RESTORE_BUDGET {
            return;
        }
        let mut candidates: Vec<usize> = (0..cuts.len()).filter(|&index| cuts[index]).collect();
        candidates.sort_by_key(|&index| Reverse(weights.get(index).copied().unwrap_or(0)));
        for index in candidates {
            cuts[index] = false;
            cuts[index] = self.count(cuts) > limit;
        }
    }
}
