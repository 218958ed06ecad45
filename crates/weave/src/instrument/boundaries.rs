//! Finds the path boundaries in each block: where one timed path ends and the next begins.
//!
//! In other kinds, the probe that counts a path may come before the path's end, as soon as only one
//! path is possible (`holloway_flow::Probes`). For timed kinds the planner assumes that every path
//! may be left in every block, so nothing is counted early. So each `Count` is the end of a path.

use holloway_flow::Action;

use super::sites::Sites;
use crate::lower::FunctionParts;

/// The end of a path, and the start of the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PathBoundary {
    /// The path ends before this instruction.
    pub(super) end: usize,
    /// The next path begins before this instruction. `None` if control leaves the function.
    pub(super) begin: Option<usize>,
}

/// By block: the boundary of each `Count`, in order.
pub(super) fn path_boundaries(parts: &FunctionParts<'_>, sites: &Sites) -> Vec<Vec<PathBoundary>> {
    let blocks = parts.blocks.iter().zip(sites);
    let boundaries = blocks.map(|(info, stops)| {
        let actions = stops
            .iter()
            .flat_map(|stop| stop.actions.iter().map(move |action| (stop.index, action)));
        let counts = actions.filter(|(_, action)| matches!(action, Action::Count { .. }));
        let mut boundaries: Vec<PathBoundary> = counts
            .map(|(index, _)| {
                let mut cuts = info.cuts.iter();
                let cut = cuts.find(|cut| cut.path_ends_at == index && cut.path_starts_at > index);
                PathBoundary {
                    end: index,
                    begin: Some(cut.map_or(index, |cut| cut.path_starts_at)),
                }
            })
            .collect();
        // The count of a path that leaves the function is the last of its block, after all cuts.
        if info.block_exit.is_some()
            && let Some(last) = boundaries.last_mut()
        {
            last.begin = None;
        }
        boundaries
    });
    boundaries.collect()
}
