//! The probes of a function's edges, sorted into its LLVM blocks.
//!
//! Several probes may stand before one instruction. Their order is the order in which control
//! reaches them: the edge into the block, the cuts and exit edges inside, the edge out.

use holloway_flow::{Action, CountBase, EdgeId, EdgeProbe, Probes};

use crate::error::Defect;
use crate::lower::{LoweredFunction, Site};

/// The actions of one edge before one instruction of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    /// Position of the instruction in its block.
    pub(crate) index: usize,
    pub(crate) actions: Vec<Action>,
    /// Where the counts among the actions go.
    pub(crate) destination: Destination,
}

/// Where a count goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// Where the kind of collection puts counts: a counter, or a word in the thread's ring.
    Usual,
    /// A counter next to the ring: the path may be left in a call, and then nothing could be
    /// appended after the call.
    RingCounter,
    /// A counter next to the ring if the path starts at the function's entry, else a word in the
    /// ring. Only the path register tells which of the two. Every path on this edge leaves the
    /// function.
    RingCounterFromEntry,
}

impl Stop {
    /// Actions whose counts go to the usual destination.
    pub(crate) fn new(index: usize, actions: Vec<Action>) -> Self {
        Self {
            index,
            actions,
            destination: Destination::Usual,
        }
    }
}

/// By LLVM block: the stops in the order in which control reaches them.
pub(crate) type Sites = Vec<Vec<Stop>>;

/// Sorts the probes of edges into blocks. `destination` says where the counts of an edge go.
///
/// # Errors
/// [`Defect::ProbeWithoutPlace`], [`Defect::UnsortedProbes`].
pub(crate) fn sites(
    lowered: &LoweredFunction<'_>,
    probes: &Probes,
    destination: impl Fn(EdgeId) -> Destination,
) -> Result<Sites, Defect> {
    let blocks = &lowered.parts.blocks;
    let mut top: Sites = vec![Vec::new(); blocks.len()];
    let mut inside: Sites = vec![Vec::new(); blocks.len()];
    top[0].push(Stop::new(blocks[0].top, probes.entry.clone()));
    for (id, probe) in &probes.edges {
        let stop = |index, actions| Stop {
            index,
            actions,
            destination: destination(*id),
        };
        match lowered.edges[id.index()].site {
            Site::Top { block } => top[block].push(stop(blocks[block].top, both(probe))),
            Site::Inside {
                block,
                path_ends_at,
                path_starts_at,
            } => {
                inside[block].push(stop(path_ends_at, probe.before.clone()));
                inside[block].push(stop(path_starts_at, probe.after.clone()));
            }
            Site::At { block, index } | Site::Bottom { block, index } => {
                inside[block].push(stop(index, both(probe)));
            }
            Site::None => return Err(Defect::ProbeWithoutPlace(*id)),
        }
    }
    let mut sites = Vec::with_capacity(blocks.len());
    // Edge ids grow along a block, so its stops are in order.
    for (mut stops, inside) in top.into_iter().zip(inside) {
        stops.extend(inside);
        stops.retain(|stop| !stop.actions.is_empty());
        if !stops.is_sorted_by_key(|stop| stop.index) {
            return Err(Defect::UnsortedProbes);
        }
        sites.push(stops);
    }
    Ok(sites)
}

fn both(probe: &EdgeProbe) -> Vec<Action> {
    probe.before.iter().chain(&probe.after).copied().collect()
}

/// The lowest increment that is added to the path register, or 0 if none is negative.
pub(super) fn lowest_increment(sites: &Sites) -> i64 {
    let actions = sites.iter().flatten().flat_map(|stop| &stop.actions);
    let increments = actions.filter_map(|action| match action {
        Action::Count {
            base: CountBase::Register,
            increment,
        } => Some(*increment),
        _ => None,
    });
    increments.min().unwrap_or(0).min(0)
}

/// The same counts with increments of at least 0: the path register starts lower by the lowest
/// increment, and each increment is raised by as much.
pub(super) fn with_nonnegative_increments(sites: &Sites) -> Sites {
    shifted(sites, lowest_increment(sites))
}

/// The same counts with `shift` added to each setting of the path register, and taken off each
/// increment that is added to the register.
pub(super) fn shifted(sites: &Sites, shift: i64) -> Sites {
    let mut sites = sites.clone();
    let stops = sites.iter_mut().flatten();
    for action in stops.flat_map(|stop| &mut stop.actions) {
        match action {
            Action::Set(number) => *number = number.wrapping_add(shift),
            Action::Count {
                base: CountBase::Register,
                increment,
            } => *increment = increment.wrapping_sub(shift),
            _ => {}
        }
    }
    sites
}
