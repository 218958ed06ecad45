//! Ranks the branches of a run by how hard they are to predict.
//!
//! A *branch* is a block whose condition, switch, or computed jump chooses between two or more
//! blocks. A call that may unwind is no branch, because processors do not predict unwinding.
//!
//! The *entropy* of a branch, in bits, is −Σ p log₂ p over the shares p of its outcomes (Shannon
//! 1948). It does not know the order of the outcomes: a branch that alternates has the same entropy
//! as a fair coin, though it is easy to predict.
//!
//! So the *expected mispredictions* are counted with more and more context. A static predictor
//! knows the most frequent outcome in each context, always predicts it, and mispredicts all other
//! executions (Young, Smith 1994):
//!
//! - *alone*: no context. The executions minus those of the most frequent outcome.
//! - *path so far*: the context is the prefix of the path, from the path's start to the branch. It
//!   follows exactly from the counts of paths. Edge counts do not have this context.
//! - *previous paths*: the context is the path so far, and the n paths that the activation ran
//!   before, for n = 1, 2, and so on. Loops and traces have it ([`PreviousPaths`]).
//!
//! With long contexts, each execution has a context of its own, and nothing would be mispredicted.
//! But a predictor has to learn each context. So each context after the first costs one more
//! misprediction (our addition). A predictor may also ignore a context. So more context never
//! raises the figure: it is the smallest figure of all shorter contexts.
//!
//! Real predictors have limited tables, and also see branches of other functions. So the figures
//! rank branches. They do not predict what a processor counts.
//!
//! Example: b0 leads to b1 or b2, both lead to b3, and b3 leads to b4 or b5. The paths b0 b1 b3 b4
//! and b0 b2 b3 b5 run 50 times each. Both branches have an entropy of 1 bit and 50 mispredictions
//! alone. Given the path so far, b0 still has 50. The outcome of b3 follows from the outcome of b0,
//! so b3 has one misprediction for its second context.
//!
//! Cost: linear in edges for the figures alone, and linear in the distinct prefixes of the paths
//! that ran for the path so far. With previous paths, linear in the distinct prefixes after each
//! sequence of paths.

mod contexts;
mod previous;

use std::cmp::Reverse;

use holloway_format::{Count, Outcome, Place};

use crate::bounds::Bound;
use crate::run::{Function, FunctionId, RunProfile};
use crate::trail::last_place;
pub(crate) use contexts::is_branch_outcome;

use contexts::Contexts;

pub use previous::{MAX_PREVIOUS, PreviousPaths, SequenceCounts};

/// An outcome of a branch: a block that the branch leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BranchOutcome {
    /// The edge to the block. If several cases of a switch lead to it, the first of their edges.
    pub edge: u32,
    /// The block.
    pub to: u32,
    /// Executions of the branch with this outcome.
    pub count: Count,
}

/// Expected mispredictions of a branch, with more and more context.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mispredictions {
    /// Without context.
    pub alone: Count,
    /// Given the path so far. `None` if edges were counted.
    pub path: Option<Count>,
    /// Given the path so far and the previous path, given the path so far and two previous paths,
    /// and so on. Empty unless sequences of paths were counted.
    pub previous: Vec<Count>,
}

impl Mispredictions {
    /// The mispredictions with the most context that the run recorded.
    pub fn expected(&self) -> Count {
        let most = self.previous.last().copied();
        most.or(self.path).unwrap_or(self.alone)
    }
}

/// A branch that ran.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Branch {
    /// The function that contains the branch.
    pub function: FunctionId,
    /// The block that ends with the branch.
    pub block: u32,
    /// The place of the branch, in the frame that it was inlined from.
    pub place: Option<Place>,
    /// The outcomes, most frequent first. Outcomes of equal count are in the order of their blocks.
    pub outcomes: Vec<BranchOutcome>,
    /// Executions: the sum over the outcomes.
    pub executions: Count,
    /// Executions whose condition held. For a switch: executions that went to a case, not to the
    /// default. For a computed jump: all executions.
    pub taken: Count,
    /// How the executions may differ from the real number.
    pub bound: Bound,
    /// Expected mispredictions.
    pub mispredictions: Mispredictions,
}

impl Branch {
    /// The entropy of the outcomes, in bits.
    pub fn entropy(&self) -> f64 {
        let sum = self.executions.0 as f64;
        let shares = self.outcomes.iter();
        let shares = shares.map(|outcome| outcome.count.0 as f64 / sum);
        let terms = shares.filter(|&share| share > 0.0);
        // `abs` turns the −0 of a branch with one outcome into 0.
        terms.map(|share| -share * share.log2()).sum::<f64>().abs()
    }
}

/// The ranked branches, with the totals that their shares refer to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ranking {
    /// Most expected mispredictions first. Branches with equally many are ordered by executions,
    /// then by function and block.
    pub branches: Vec<Branch>,
    /// Number of branches that ran, in the functions that `keep` accepts.
    pub ranked: u64,
    /// Executions of these branches.
    pub executions: Count,
    /// Expected mispredictions of these branches.
    pub mispredictions: Count,
}

/// Ranks the branches of the functions that `keep` accepts. Returns at most `top` of them, or all
/// if `top` is `None`. The sequences in `previous_paths` are further contexts.
pub fn hardest(
    run: &RunProfile,
    previous_paths: Option<&PreviousPaths>,
    top: Option<usize>,
    keep: &dyn Fn(FunctionId) -> bool,
) -> Ranking {
    let (mut executions, mut mispredictions) = (Count::ZERO, Count::ZERO);
    let mut branches: Vec<Branch> = Vec::new();
    let sequences = previous_paths.map(|previous_paths| previous_paths.of_run(run));
    let sequences = sequences.unwrap_or_default();
    for (id, function) in run
        .ids()
        .filter(|&(id, function)| function.ran() && keep(id))
    {
        for branch in of_function(id, function, sequences.get(&id).copied()) {
            executions = executions.saturating_add(branch.executions);
            mispredictions = mispredictions.saturating_add(branch.mispredictions.expected());
            branches.push(branch);
        }
    }
    let ranked = branches.len() as u64;
    // The sort is stable: branches of equal cost stay in the order of functions and blocks.
    branches.sort_by_key(|branch| Reverse((branch.mispredictions.expected(), branch.executions)));
    branches.truncate(top.unwrap_or(usize::MAX));
    Ranking {
        branches,
        ranked,
        executions,
        mispredictions,
    }
}

/// The branches of a function that ran, in the order of their blocks.
fn of_function(
    id: FunctionId,
    function: &Function,
    sequences: Option<&SequenceCounts>,
) -> Vec<Branch> {
    let map = &function.map;
    let mut out: Vec<Vec<u32>> = vec![Vec::new(); map.blocks.len()];
    for (number, edge) in (0u32..).zip(&map.edges) {
        if is_branch_outcome(edge.outcome) {
            out[edge.from as usize].push(number);
        }
    }
    let contexts = Contexts::of_function(function, sequences).unwrap_or_default();
    let branches = (0u32..).zip(&out).filter_map(|(block, edges)| {
        let mut branch = branch(id, function, block, edges)?;
        let mut least = branch.mispredictions.alone;
        let mut figures = contexts.iter().map(|contexts| {
            least = least.min(contexts.mispredictions(block));
            least
        });
        branch.mispredictions.path = figures.next();
        branch.mispredictions.previous = figures.collect();
        Some(branch)
    });
    branches.collect()
}

/// The branch of a block with these edges out, without context. `None` if the block has no branch,
/// or the branch never ran.
fn branch(id: FunctionId, function: &Function, block: u32, edges: &[u32]) -> Option<Branch> {
    let map = &function.map;
    let (flow, bounds) = (function.flow(), function.bounds());
    let mut outcomes: Vec<BranchOutcome> = Vec::new();
    let (mut executions, mut taken, mut bound) = (Count::ZERO, Count::ZERO, Bound::default());
    for &number in edges {
        let edge = &map.edges[number as usize];
        let count = Count(u64::try_from(flow.edges[number as usize]).unwrap_or(0));
        executions = executions.saturating_add(count);
        if is_taken(edge.outcome) {
            taken = taken.saturating_add(count);
        }
        bound = bound.and(bounds.edges[number as usize]);
        outcomes.push(BranchOutcome {
            edge: number,
            to: edge.to,
            count,
        });
    }
    // The sort is stable: the first edge to a block stays the first.
    outcomes.sort_by_key(|outcome| outcome.to);
    outcomes.dedup_by(|later, first| {
        let is_same = later.to == first.to;
        if is_same {
            first.count = first.count.saturating_add(later.count);
        }
        is_same
    });
    if outcomes.len() < 2 || executions == Count::ZERO {
        return None;
    }
    outcomes.sort_by_key(|outcome| Reverse(outcome.count));
    let places = edges
        .iter()
        .filter_map(|&edge| map.edges[edge as usize].place);
    let place = places.into_iter().find(|place| place.line != 0);
    Some(Branch {
        function: id,
        block,
        place: place.or_else(|| last_place(&map.blocks[block as usize].places)),
        mispredictions: Mispredictions {
            alone: executions.saturating_sub(outcomes[0].count),
            path: None,
            previous: Vec::new(),
        },
        outcomes,
        executions,
        taken,
        bound,
    })
}

/// Whether an outcome of a branch counts as taken.
pub(crate) fn is_taken(outcome: Outcome) -> bool {
    is_branch_outcome(outcome) && !matches!(outcome, Outcome::False | Outcome::Default)
}
