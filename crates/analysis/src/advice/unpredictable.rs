//! A branch that processors are expected to mispredict often.
//!
//! The rule is that of [`branches`](crate::branches) and [`is_unpredictable`]: at least a fifth of
//! the executions are expected to be mispredicted, with all the context that the run recorded. Runs
//! without sequences of paths know less context, so their figures are larger. Copies of a branch,
//! which the optimizer or an inlined function made, are one piece of advice for each place of a
//! function.
//!
//! Bound: [`MISPREDICTION`] for each expected misprediction.

use holloway_format::{Count, Text, is_unpredictable};

use super::cost::{MISPREDICTION, Model};
use super::evidence::{Evidence, Found};
use crate::branches::{Branch, Ranking};
use crate::run::FunctionId;

/// The evidence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unpredictable {
    /// Executions of the branch.
    pub executions: Count,
    /// Executions with the most frequent outcome.
    pub usual: Count,
    /// Expected mispredictions.
    pub mispredictions: Count,
    /// Copies of the branch in the function.
    pub copies: u64,
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
pub fn find<'a>(
    evidence: &Evidence<'a>,
    ranking: &Ranking,
    model: &Model,
) -> Vec<Found<'a, Unpredictable>> {
    let branches = ranking.branches.iter();
    let hard = branches
        .filter(|branch| is_unpredictable(branch.mispredictions.expected(), branch.executions));
    // By function and place, most mispredictions first.
    let mut lines: Vec<(LineKey<'a>, &Branch, Unpredictable)> = Vec::new();
    for branch in hard {
        let function = evidence.run.function(branch.function);
        let line = branch
            .place
            .and_then(|place| evidence.users_line(function, place));
        let column = branch.place.map_or(0, |place| place.column);
        let key = (branch.function, line, column);
        let known = lines
            .iter_mut()
            .find(|(other, ..)| *other == key && line.is_some());
        match known {
            Some((_, _, sum)) => sum.add(&found(branch)),
            None => lines.push((key, branch, found(branch))),
        }
    }
    let pieces = lines.into_iter().map(|(_, branch, found)| Found {
        function: evidence.run.function(branch.function),
        place: branch.place,
        saving: model.saving(found.mispredictions.saturating_mul(MISPREDICTION)),
        finding: found,
    });
    pieces.collect()
}

/// A branch of the source: the function, the file and line in the user's code, and the column,
/// which tells the branches of a line apart.
type LineKey<'a> = (FunctionId, Option<(&'a Text, u32)>, u32);

fn found(branch: &Branch) -> Unpredictable {
    Unpredictable {
        executions: branch.executions,
        usual: branch.outcomes[0].count,
        mispredictions: branch.mispredictions.expected(),
        copies: 1,
        context: match (
            branch.mispredictions.previous.len(),
            branch.mispredictions.path,
        ) {
            (0, None) => Context::None,
            (0, Some(_)) => Context::Path,
            (paths, _) => Context::PreviousPaths(paths),
        },
    }
}

impl Unpredictable {
    /// Adds a copy of the branch. The context of the most frequent copy is kept.
    fn add(&mut self, copy: &Unpredictable) {
        self.executions = self.executions.saturating_add(copy.executions);
        self.usual = self.usual.saturating_add(copy.usual);
        self.mispredictions = self.mispredictions.saturating_add(copy.mispredictions);
        self.copies += copy.copies;
    }
}
