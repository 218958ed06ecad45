//! Finds the branches that processors are expected to mispredict often, for a build that makes
//! selects of them.
//!
//! The rule: a condition is *unpredictable* if
//! - it has at least a thousandth of the program's branch executions ([`least_executions`]), and
//! - at least a fifth of its executions is [expected to be mispredicted](crate::branches), with all
//!   the context that the run recorded ([`is_unpredictable`]).
//!
//! Edge counts have no context, and context never raises the figure. So the branches that a run of
//! edges finds are *candidates*. The previous paths of a run of loops decide about them.
//!
//! Why a thousandth: a branch comes about every 5 instructions, which take 2 cycles or more. A
//! branch with a thousandth of the executions, half of them mispredicted at 20 cycles each, costs
//! half a percent of the time or less. Less cannot be measured.
//!
//! Limits: the context begins with the activation. The first paths of a call have no previous
//! paths, though a processor may predict them by the branches of the caller. So a branch may be
//! found here and be predictable. A select is kept only if it makes the program faster.

use holloway_format::{Count, Outcome, Text, is_unpredictable};

use crate::branches::{Branch, PreviousPaths, hardest};
use crate::run::RunProfile;

/// Branch executions of a program for each execution of a branch that matters.
const LEAST_SHARE: u64 = 1000;

/// A branch that is expected to be mispredicted often.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnpredictableBranch {
    /// The linkage name of its function.
    pub function: Text,
    /// The hash of its function's graph.
    pub graph_hash: u64,
    /// The smallest number of its edges, as plans number them.
    pub edge: usize,
    /// Expected mispredictions.
    pub mispredictions: Count,
}

/// The executions of a branch that matters, given those of all branches.
pub fn least_executions(run: &RunProfile) -> Count {
    let ranking = hardest(run, None, Some(0), &|_| true);
    Count(ranking.executions.0.div_ceil(LEAST_SHARE).max(1))
}

/// The unpredictable conditions of a run with at least these executions, most mispredictions first.
pub fn unpredictable_branches(
    run: &RunProfile,
    previous_paths: Option<&PreviousPaths>,
    least_executions: Count,
) -> Vec<UnpredictableBranch> {
    let ranking = hardest(run, previous_paths, None, &|_| true);
    let branches = ranking.branches.iter();
    let hard = branches.filter(|branch| {
        branch.executions >= least_executions
            && is_unpredictable(branch.mispredictions.expected(), branch.executions)
    });
    hard.filter_map(|branch| unpredictable_branch(run, branch))
        .collect()
}

/// `None` if the branch is no condition.
fn unpredictable_branch(run: &RunProfile, branch: &Branch) -> Option<UnpredictableBranch> {
    let map = &run.functions[branch.function.index()].map;
    let edges = branch.outcomes.iter().map(|outcome| outcome.edge as usize);
    let first = edges.min()?;
    let is_condition = matches!(map.edges[first].outcome, Outcome::True | Outcome::False);
    let before = map.edges[..first].iter();
    is_condition.then(|| UnpredictableBranch {
        function: map.linkage_name.clone(),
        graph_hash: map.graph_hash(),
        edge: before.filter(|edge| edge.is_always_there()).count(),
        mispredictions: branch.mispredictions.expected(),
    })
}
