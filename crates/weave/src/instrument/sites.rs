//! Assigns the probes of a function's edges to positions in its LLVM blocks.
//!
//! Several probes may be inserted before one instruction. They run in this order: first the edge
//! into the block, then the cut and exit edges inside the block, then the edge out of the block.

use holloway_flow::{Action, CountBase, EdgeId, EdgeProbe, Probes};

use crate::error::Defect;
use crate::lower::{LoweredFunction, Site};

/// The actions of one edge before one instruction of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    /// The index of the instruction in its block.
    pub(crate) index: usize,
    pub(crate) actions: Vec<Action>,
    /// How the counts among the actions are recorded.
    pub(crate) destination: Destination,
}

/// How a count is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// As usual for the kind of collection: by a counter, or by a word in the thread's ring.
    Usual,
    /// By a counter next to the ring. The path may be left in a call, and then the probe could not
    /// append a word after the call.
    RingCounter,
    /// By a counter next to the ring if the path starts at the function's entry, else by a word in
    /// the ring. The probe decides by the path register. Every path on this edge leaves the
    /// function.
    RingCounterFromEntry,
}

impl Stop {
    /// A stop whose counts are recorded as usual.
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

/// Assigns the probes of edges to LLVM blocks. `destination` returns how the counts of an edge are
/// recorded.
///
/// # Errors
/// If a probe is on an edge that can carry no probe, or if the stops of a block are out of order.
/// Both are bugs.
pub(crate) fn sites(
    lowered: &LoweredFunction<'_>,
    probes: &Probes,
    destination: impl Fn(EdgeId) -> Destination,
) -> Result<Sites, Defect> {
    let blocks = &lowered.parts.blocks;
    let mut top: Sites = vec![Vec::new(); blocks.len()];
    let mut stops_inside: Sites = vec![Vec::new(); blocks.len()];
    top[0].push(Stop::new(blocks[0].top, probes.entry.clone()));
    for (id, probe) in &probes.edges {
        let stop = |index, actions| Stop {
            index,
            actions,
            destination: destination(*id),
        };
        match lowered.edges[id.index()].site {
            Site::Top { block } => top[block].push(stop(blocks[block].top, all_actions(probe))),
            Site::Inside {
                block,
                path_ends_at,
                path_starts_at,
            } => {
                stops_inside[block].push(stop(path_ends_at, probe.before.clone()));
                stops_inside[block].push(stop(path_starts_at, probe.after.clone()));
            }
            Site::At { block, index } | Site::Bottom { block, index } => {
                stops_inside[block].push(stop(index, all_actions(probe)));
            }
            Site::None => return Err(Defect::ProbeWithoutPlace(*id)),
        }
    }
    let mut sites = Vec::with_capacity(blocks.len());
    // The ids of a block's edges increase from its top to its bottom, so its stops are in order.
    for (mut stops, stops_inside) in top.into_iter().zip(stops_inside) {
        stops.extend(stops_inside);
        stops.retain(|stop| !stop.actions.is_empty());
        if !stops.is_sorted_by_key(|stop| stop.index) {
            return Err(Defect::UnsortedProbes);
        }
        sites.push(stops);
    }
    Ok(sites)
}

/// The actions of a probe for the path that ends and for the path that starts.
fn all_actions(probe: &EdgeProbe) -> Vec<Action> {
    probe.before.iter().chain(&probe.after).copied().collect()
}

/// The lowest increment of a count that adds it to the path register, or 0 if none is negative.
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

/// Sites that count the same paths with increments of at least 0. If the lowest increment is -n,
/// the path register starts lower by n and each increment is raised by n.
pub(super) fn with_nonnegative_increments(sites: &Sites) -> Sites {
    shifted(sites, lowest_increment(sites))
}

/// Sites that count the same paths with `shift` added to each number to which the path register is
/// set, and subtracted from each increment that is added to the register.
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
