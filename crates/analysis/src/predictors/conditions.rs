//! Translates branches to conditions. Profiles from predictors know only conditions, so a switch
//! becomes a chain of them (Conte et al. 1994, section 3.1).
//!
//! Example: a switch to the blocks 4, 7, and 9 becomes two conditions. The first is taken to block
//! 4; the second is taken to block 7, and not taken to block 9. An execution that chooses block 9
//! executes both conditions, and takes neither.

use holloway_format::{FunctionMap, Outcome};

use crate::branch_stream::{AddressKind, BranchEvent, BranchId, BranchStream};
use crate::branches::is_branch_outcome;
use crate::trace::code::Code;

/// A condition that a predictor sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Condition {
    /// The address.
    pub(super) address: u64,
    /// The function, by its number in [`Code`].
    pub(super) function: u32,
    /// The block that ends with the condition's branch.
    pub(super) block: u32,
    /// The block to which the condition leads if it is taken.
    pub(super) taken: u32,
    /// The block to which it leads if it is not taken. `None` if the next condition of the chain
    /// decides.
    pub(super) not_taken: Option<u32>,
}

/// An execution of a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Step {
    pub(super) condition: u32,
    pub(super) is_taken: bool,
    /// Instructions of the path that belong to the execution. The first condition of a chain has
    /// all of the switch.
    pub(super) instructions: u32,
}

/// The conditions of a thread's branches.
pub(super) struct Conditions {
    pub(super) conditions: Vec<Condition>,
    /// By branch: the number of its first condition, and the blocks that it chooses between, in the
    /// order of the chain.
    chains: Vec<(u32, Vec<u32>)>,
}

impl Conditions {
    pub(super) fn new(code: &Code<'_>, stream: &BranchStream<'_>) -> Conditions {
        let mut conditions = Vec::new();
        let mut chains = Vec::with_capacity(stream.sites().len());
        let mut added = 0u64;
        for site in stream.sites() {
            let first = conditions.len() as u32;
            let map = code.function(site.function);
            let targets = map.map_or_else(Vec::new, |map| targets(map, site.block));
            let links = targets.len().saturating_sub(1);
            for (link, pair) in targets.windows(2).enumerate() {
                conditions.push(Condition {
                    address: site.address + added + link as u64,
                    function: site.function,
                    block: site.block,
                    taken: pair[0],
                    not_taken: (link + 1 == links).then_some(pair[1]),
                });
            }
            // Later code moves back by the instructions that the chain adds. Real addresses stay:
            // the chain takes the first bytes of its block.
            if site.address_kind == AddressKind::Synthetic {
                added += (links as u64).saturating_sub(1);
            }
            chains.push((first, targets));
        }
        Conditions { conditions, chains }
    }

    /// The conditions that an execution of a branch executes, in order.
    pub(super) fn steps(&self, event: &BranchEvent) -> Vec<Step> {
        let BranchId(branch) = event.branch;
        let (first, targets) = &self.chains[branch as usize];
        let last = targets.len().saturating_sub(1);
        let chosen = targets.iter().position(|&target| target == event.target);
        let chosen = chosen.unwrap_or(last);
        let steps = (0..last).take(chosen + 1).map(|link| Step {
            condition: first + link as u32,
            is_taken: link == chosen,
            instructions: if link == 0 { event.instructions } else { 0 },
        });
        steps.collect()
    }
}

/// The distinct blocks that a branch chooses between. The last is the block without condition: that
/// of a condition that does not hold, or of a switch's default.
fn targets(map: &FunctionMap, block: u32) -> Vec<u32> {
    let edges = map.edges.iter().filter(|edge| edge.from == block);
    let edges = edges.filter(|edge| is_branch_outcome(edge.outcome));
    let is_last = |outcome| matches!(outcome, Outcome::False | Outcome::Default);
    let last = edges.clone().find(|edge| is_last(edge.outcome));
    let last = last.map(|edge| edge.to);
    let mut targets: Vec<u32> = Vec::new();
    for edge in edges {
        if Some(edge.to) != last && !targets.contains(&edge.to) {
            targets.push(edge.to);
        }
    }
    targets.extend(last);
    targets
}
