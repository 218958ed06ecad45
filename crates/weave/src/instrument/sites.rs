//! What happens where: the probes of a function's edges, sorted into its LLVM blocks.
//!
//! The order of several probes before one instruction is that in which they are reached: the edge into the block,
//! the cuts and exit edges inside, the edge out.

use holloway_flow::{Action, EdgeId, EdgeProbe, Probes};

use crate::lower::{Lowered, Site};

/// Actions before one instruction of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    /// Before which instruction.
    pub(crate) index: usize,
    pub(crate) actions: Vec<Action>,
}

/// By LLVM block: the stops in the order they are reached.
pub(crate) type Sites = Vec<Vec<Stop>>;

/// Sorts the probes.
///
/// # Errors
/// Where a probe stands on an edge that has no place for one.
pub(crate) fn sites(lowered: &Lowered<'_>, probes: &Probes) -> Result<Sites, String> {
    let blocks = &lowered.layout.blocks;
    let mut top: Vec<Vec<Action>> = vec![Vec::new(); blocks.len()];
    let mut inside: Sites = vec![Vec::new(); blocks.len()];
    top[0].extend(&probes.entry);
    for (id, probe) in &probes.edges {
        match lowered.edges[id.index()].site {
            Site::Top { block } => top[block].extend(both(probe)),
            Site::Inside {
                block,
                before,
                after,
            } => {
                inside[block].push(Stop {
                    index: before,
                    actions: probe.before.clone(),
                });
                inside[block].push(Stop {
                    index: after,
                    actions: probe.after.clone(),
                });
            }
            Site::At { block, index } | Site::Bottom { block, index } => {
                inside[block].push(Stop {
                    index,
                    actions: both(probe).collect(),
                });
            }
            Site::None => return Err(no_place(*id)),
        }
    }
    let mut sites = Vec::with_capacity(blocks.len());
    // Edge ids grow along a block, so its stops are in order.
    for ((block, top), inside) in blocks.iter().zip(top).zip(inside) {
        let mut stops = vec![Stop {
            index: block.top,
            actions: top,
        }];
        stops.extend(inside);
        stops.retain(|stop| !stop.actions.is_empty());
        if !stops.is_sorted_by_key(|stop| stop.index) {
            return Err("the probes of a block are out of order".into());
        }
        sites.push(stops);
    }
    Ok(sites)
}

fn both(probe: &EdgeProbe) -> impl Iterator<Item = Action> {
    probe.before.iter().chain(&probe.after).copied()
}

fn no_place(edge: EdgeId) -> String {
    format!("a probe was planned on {edge}, which has no place for one")
}
