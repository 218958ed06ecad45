//! The plan of one function: its graph, its counters, and its probes. Paths are numbered by Ball,
//! Larus 1996. Edges are chosen by Burger, Dybvig 1998. Both are in `holloway_flow`.
//!
//! Edges need counters only off a spanning tree. Some edges have no place for a counter: computed
//! gotos, and gotos of assembly, where several lead to the same labels. If such edges close a
//! cycle, the function's paths are counted instead of its edges. If such edges form a directed
//! cycle, the blocks they leave are cut before their terminators, and planning starts again. Each
//! round cuts at least one more block, so planning ends.

use holloway_abi::{InlineCounts, Timing};
use holloway_flow::{BlockId, Dag, EdgeCounters, Numbering, Probes};
use holloway_format::Counters;
use holloway_llvm::Function;

use super::bursts::duplication::copy_obstacle;
use super::bursts::leaves::check_length;
use super::weights::weights;
use super::{edges, paths};
use crate::lower::{CallAttributes, LoweredFunction, LoweringOptions, lower};
use crate::options::ModuleOptions;
use crate::reason::Reason;

/// The facts about a function before the weaver inserts code.
pub(crate) struct Plan<'m> {
    pub(crate) lowered: LoweredFunction<'m>,
    pub(crate) counts: PlannedCounts,
    pub(super) probes: Probes,
    /// By edge of the graph: how often it runs, measured or estimated.
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
/// The reason why the function can't be profiled.
pub(crate) fn plan<'m>(
    function: Function<'m>,
    attributes: &CallAttributes,
    options: &ModuleOptions,
) -> Result<Plan<'m>, Reason> {
    let traits = options.collect.traits();
    let mut split = Vec::new();
    loop {
        let lowering = LoweringOptions::new(options, &split);
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
                let known = split.len();
                let blocks = cycle.blocks.iter();
                split.extend(blocks.map(|block| lowered.nodes[block.index()].block));
                split.sort_unstable();
                split.dedup();
                if split.len() == known {
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
        // A path's time ends where the path ends, so a timed path is never decided before its end.
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

    /// The function's counters, if the module's next free offset is `offset` bytes.
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
            },
        }
    }
}
