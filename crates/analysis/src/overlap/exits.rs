//! Finds differences that frames left in calls may explain, because only one of two runs counts
//! them.

use holloway_abi::Unit;
use holloway_flow::PathId;
use holloway_format::{Count, EdgeKind};

use super::groups::{Group, PairOfGroups};
use super::sides::Both;
use crate::run::Function;

/// The frames of a function that only one of two runs counts.
#[derive(Clone, Copy)]
pub(crate) struct Exits {
    /// Their number. Each of them accounts for at most one path, and a path runs an edge at most
    /// once. It is 0 if the runs differ, but both copies or neither count these frames: then exits
    /// in other functions change only the totals, so only equal counts are explained. It is `None`
    /// if exits explain nothing.
    left_frames: Option<Count>,
}

impl Exits {
    /// `runs_differ` says whether only one of the runs counts such frames.
    pub(crate) fn new(runs_differ: bool, groups: &PairOfGroups<'_>) -> Exits {
        let [a, b] = groups.0;
        let left_frames = if a.has_exits() == b.has_exits() {
            runs_differ.then_some(Count::ZERO)
        } else {
            let [a, b] = groups.0.map(Group::left_frames);
            Some(a.saturating_add(b))
        };
        Exits { left_frames }
    }

    /// Whether these frames may explain a difference between the counts of a path or an edge.
    pub(crate) fn may_explain(
        self,
        unit: Unit,
        function: &Function,
        number: u64,
        counts: Both<Count>,
    ) -> bool {
        let Some(left_frames) = self.left_frames else {
            return false;
        };
        let common = counts.iter().all(|&count| count > Count::ZERO);
        match unit {
            Unit::Edges => counts[0].0.abs_diff(counts[1].0) <= left_frames.0,
            Unit::Paths => {
                let explained = left_frames > Count::ZERO && !common;
                counts[0] == counts[1] || explained && is_left(function, PathId(number))
            }
        }
    }
}

/// Whether a path ends with an exit edge.
fn is_left(function: &Function, path: PathId) -> bool {
    let path = function.graph().and_then(|graph| graph.path(path));
    let end = path.map(|path| path.end.edge().index());
    end.is_some_and(|edge| function.map.edges[edge].kind == EdgeKind::Exit)
}
