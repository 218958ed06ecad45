//! Where one path ends and the next begins.
//!
//! Probes of timed paths stand at the very ends of paths: every block is taken for one in which a
//! path may be left, so nothing but the exit is in the region where a path counts as decided
//! (`holloway_flow::Probes`). So each `Count` is the end of a path.

use holloway_flow::Action;

use super::sites::Sites;
use crate::lower::Layout;

/// The end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PathBoundary {
    /// It ends before this instruction.
    pub(super) end: usize,
    /// The next begins before this one; none where the function is left.
    pub(super) begin: Option<usize>,
}

/// By block: a turn for each `Count`, in their order.
pub(super) fn path_boundaries(layout: &Layout<'_>, sites: &Sites) -> Vec<Vec<PathBoundary>> {
    let blocks = layout.blocks.iter().zip(sites);
    let path_boundaries = blocks.map(|(info, stops)| {
        let actions = stops
            .iter()
            .flat_map(|stop| stop.actions.iter().map(move |action| (stop.index, action)));
        let counts = actions.filter(|(_, action)| matches!(action, Action::Count { .. }));
        let mut path_boundaries: Vec<PathBoundary> = counts
            .map(|(index, _)| {
                let mut cuts = info.cuts.iter();
                let cut = cuts.find(|cut| cut.before == index && cut.after > index);
                PathBoundary {
                    end: index,
                    begin: Some(cut.map_or(index, |cut| cut.after)),
                }
            })
            .collect();
        // What leaves the function comes behind all cuts of a block, and is always counted there.
        if info.leave.is_some()
            && let Some(last) = path_boundaries.last_mut()
        {
            last.begin = None;
        }
        path_boundaries
    });
    path_boundaries.collect()
}
