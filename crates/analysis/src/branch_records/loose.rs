//! Branches and runs that another tool added up, such as BOLT's text: without their order in a
//! stack.
//!
//! The code generator may put instructions of a block before the address where the block is known
//! to start: values of phis, and registers that are saved late. A branch to these instructions
//! lands in the range of the block before. Control then *falls through* into the block:
//!
//! ```text
//! blocks   b0 0x10..0x20   b1 0x20..0x30   b2 0x30..0x40, its first instruction at 0x2c
//! branch   0x1e → 0x2c     b0 → b2
//! ```
//!
//! Control cannot leave the code from 0x2c to 0x30 by a branch that no record has. So the next
//! block is reached if no record has a branch there. A run that starts at 0x2c begins in b2, too:
//! its branch shows how control got there.

use std::collections::BTreeSet;

use super::branch::{Place, TakenBranch};
use super::frames::Walk;
use super::sums::RecordSums;

/// A branch, a run, or a branch and the run after it, with the number of executions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LooseRecord {
    /// The branch.
    pub branch: Option<TakenBranch>,
    /// The run: its first address, and the address of the instruction that ends it.
    pub run: Option<(u64, u64)>,
    /// Number of executions.
    pub count: u64,
    /// Number of executions in which the branch was mispredicted.
    pub mispredicted: u64,
}

/// Adds all records of a file.
pub(super) fn add(sums: &mut RecordSums, records: &[LooseRecord]) {
    let sources = sources(records);
    let entered = entered_by_jumps(sums, records);
    for record in records {
        if record.branch.is_some() {
            let branches = &mut sums.quality.branches;
            *branches = branches.saturating_add(record.count);
        }
        let mut walk = Walk::of_single(sums, record.count);
        match (record.branch, record.run) {
            (Some(branch), Some((start, end))) => {
                walk.jump_alone(branch, record.mispredicted);
                walk.run_after_jump(start, end);
            }
            (Some(branch), None) => {
                walk.jump_alone(branch, record.mispredicted);
                if let Place::Inside(to) = branch.to {
                    walk.fall_through(to, &sources);
                }
            }
            (None, Some((start, end))) => {
                let begin = Some(start).filter(|start| entered.contains(start));
                let next = begin.and_then(|start| walk.next_start(start));
                let next = next.filter(|&next| next <= end);
                walk.run_alone(next.unwrap_or(start), end);
            }
            (None, None) => {}
        }
    }
}

/// The addresses of all branches.
fn sources(records: &[LooseRecord]) -> BTreeSet<u64> {
    let mut sources = BTreeSet::new();
    for record in records {
        if let Some(TakenBranch { from, .. }) = record.branch
            && let Place::Inside(from) = from
        {
            sources.insert(from);
        }
        sources.extend(record.run.map(|(_, end)| end));
    }
    sources
}

/// The addresses to which jumps lead within functions. The code behind a call is none of them: what
/// runs there belongs to the block of the call.
fn entered_by_jumps(sums: &mut RecordSums, records: &[LooseRecord]) -> BTreeSet<u64> {
    let walk = Walk::of_single(sums, 0);
    let branches = records.iter().filter_map(|record| record.branch);
    let targets = branches.filter_map(|branch| walk.target_inside(branch));
    targets.collect()
}
