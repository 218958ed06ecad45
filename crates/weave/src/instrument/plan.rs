//! Plans one function: makes its graph, and chooses its counters and probes. Paths are numbered as
//! by Ball and Larus (1996), and the edges to count are chosen as by Burger and Dybvig (1998). Both
//! algorithms are in `holloway_flow`.
//!
//! Some edges are pinned: they can carry no probe, for example edges of computed gotos. There are
//! two problems with them:
//! - Edge counters are needed on all edges off a spanning tree. If pinned edges close a cycle, one
//!   of them is off the tree. Then the function's paths are counted instead of its edges.
//! - If pinned edges form a directed cycle, paths cannot be numbered. Then the blocks on the cycle
//!   are cut before their terminators, and planning starts again. Each round cuts at least one more
//!   block, so planning ends.

use holloway_abi::{InlineCounts, Timing};
use holloway_flow::{BlockId, Dag, EdgeCounters, Numbering, Probes};
use holloway_format::Counters;
use holloway_llvm::Function;

use super::bursts::leaves::check_length;
use super::duplication::copy_obstacle;
use super::values::has_values;
use super::weights::weights;
use super::{edges, paths};
use crate::lower::{CallAttributes, LoweredFunction, LoweringOptions, lower};
use crate::options::{EarlyBuild, ModuleOptions};
use crate::reason::Reason;

/// The plan of a function, before the weaver inserts code.
pub(crate) struct Plan<'m> {
    pub(crate) lowered: LoweredFunction<'m>,
    pub(crate) counts: PlannedCounts,
    pub(crate) probes: Probes,
    /// By edge of the graph: how often control takes it, measured or estimated.
    pub(super) weights: Vec<u64>,
}

/// The counters of a function: for paths or for edges.
pub(crate) enum PlannedCounts {
    Paths(Box<Numbering>),
    Edges(EdgeCounters),
}

/// Plans a function's probes.
///
/// # Errors
/// Returns the reason if the function cannot be profiled.
pub(crate) fn plan<'m>(
    function: Function<'m>,
    attributes: &CallAttributes,
    options: &ModuleOptions,
) -> Result<Plan<'m>, Reason> {
    let traits = options.collect.traits();
    let mut blocks_to_cut = Vec::new();
    loop {
        let lowering = LoweringOptions::new(options, &blocks_to_cut);
        let lowered = lower(function, attributes, lowering)?;
        if traits.timing == Timing::Bursts
            && let Some(obstacle) = copy_obstacle(&lowered.parts, attributes)
        {
            return Err(Reason::NotCopyable(obstacle));
        }
        let weights = weights(&lowered, options.guide.as_ref());
        if traits.inline_counts == InlineCounts::Edges
            && let Some(counters) = edges::counters(&lowered, &weights)
        {
            return Ok(Plan {
                probes: counters.probes(),
                counts: PlannedCounts::Edges(counters),
                lowered,
                weights,
            });
        }
        match Dag::new(&lowered.cfg) {
            Ok(dag) => return Plan::of_paths(lowered, &dag, weights, options),
            Err(cycle) => {
                let old_len = blocks_to_cut.len();
                let blocks = cycle.blocks.iter();
                blocks_to_cut.extend(blocks.map(|block| lowered.nodes[block.index()].block));
                blocks_to_cut.sort_unstable();
                blocks_to_cut.dedup();
                if blocks_to_cut.len() == old_len {
                    return Err(Reason::CycleWithoutProbe);
                }
            }
        }
    }
}

impl<'m> Plan<'m> {
    fn of_paths(
        lowered: LoweredFunction<'m>,
        dag: &Dag,
        weights: Vec<u64>,
        options: &ModuleOptions,
    ) -> Result<Self, Reason> {
        let numbering = paths::number(&lowered.cfg, dag, &weights, options);
        let numbering = numbering.map_err(Reason::TooManyPaths)?;
        if numbering.path_count() == 0 {
            return Err(Reason::NoPathEnds);
        }
        if options.collect.traits().timing == Timing::Bursts {
            check_length(&lowered.parts, &numbering)?;
        }
        // A timed path must end exactly where the path ends, not as soon as only one path is
        // possible. Listing every part as a leak forces that.
        let parts = 0..u32::try_from(lowered.nodes.len()).expect("the nodes were counted");
        let leaks: Vec<BlockId> = match options.collect.is_timed() {
            true => parts.map(BlockId).collect(),
            false => lowered.leaks.clone(),
        };
        let probes = Probes::new(&lowered.cfg, &numbering, &weights, &leaks);
        Ok(Self {
            probes: probes.map_err(Reason::PinnedIncrement)?,
            counts: PlannedCounts::Paths(Box::new(numbering)),
            lowered,
            weights,
        })
    }

    /// The function's counters. `offset` is the module's next free offset, in bytes.
    pub(crate) fn counters(&self, offset: u64, options: &ModuleOptions) -> Counters {
        match &self.counts {
            PlannedCounts::Paths(numbering) => match numbering.path_count() {
                len if len <= options.array_limit || options.collect.is_stream() => {
                    Counters::Array { offset, len }
                }
                _ => Counters::Hash { offset },
            },
            PlannedCounts::Edges(counters) => Counters::Edges {
                offset,
                len: counters.counted().len() as u64,
                has_values: is_training(options) && has_values(self.lowered.parts.function),
            },
        }
    }
}

/// Whether a build is for training, on code before or after the optimizer.
fn is_training(options: &ModuleOptions) -> bool {
    match options.early {
        Some(EarlyBuild::Training | EarlyBuild::Optimized(_)) => true,
        Some(EarlyBuild::Plain) | None => false,
    }
}
