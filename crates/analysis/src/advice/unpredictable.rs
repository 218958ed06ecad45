//! A branch that processors are expected to mispredict often.
//!
//! The rule is that of [`branches`](crate::branches) and [`is_unpredictable`]: at least a fifth of
//! the executions are expected to be mispredicted, with all the context that the run recorded. Runs
//! without sequences of paths know less context, so their figures are larger.
//!
//! Bound: [`MISPREDICTION`] for each expected misprediction.

use holloway_format::{Count, is_unpredictable};

use super::cost::{MISPREDICTION, Model};
use super::{Advice, Evidence, Finding};
use crate::branches::Ranking;

/// The evidence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unpredictable {
    /// Executions of the branch.
    pub executions: Count,
    /// Executions with the most frequent outcome.
    pub usual: Count,
    /// Expected mispredictions.
    pub mispredictions: Count,
    /// The context of the expected mispredictions.
    pub context: Context,
}

/// What the prediction of a branch may depend on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Context {
    /// On nothing: edges were counted.
    None,
    /// On the path so far.
    Path,
    /// Also on this many paths before it.
    PreviousPaths(usize),
}

/// Finds the unpredictable branches in a ranking of all branches.
pub fn find<'a>(evidence: &Evidence<'a>, ranking: &Ranking, model: &Model) -> Vec<Advice<'a>> {
    let branches = ranking.branches.iter();
    let hard = branches
        .filter(|branch| is_unpredictable(branch.mispredictions.expected(), branch.executions));
    let pieces = hard.map(|branch| {
        let mispredictions = branch.mispredictions.expected();
        let finding = Unpredictable {
            executions: branch.executions,
            usual: branch.outcomes[0].count,
            mispredictions,
            context: match (
                branch.mispredictions.previous.len(),
                branch.mispredictions.path,
            ) {
                (0, None) => Context::None,
                (0, Some(_)) => Context::Path,
                (paths, _) => Context::PreviousPaths(paths),
            },
        };
        Advice {
            function: evidence.run.function(branch.function),
            place: branch.place,
            finding: Finding::Unpredictable(finding),
            saving: model.saving(mispredictions.saturating_mul(MISPREDICTION)),
        }
    });
    pieces.collect()
}
