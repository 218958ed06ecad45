//! Edges and paths from *branch records*: the last branches that a processor took before a sample
//! (LBR, BRS, BRBE). Such a *stack* holds up to 32 taken branches, in order.
//!
//! Between two branches control runs straight ahead: from the target of the older branch to the
//! source of the newer one. Such a *run* executes all code in between. So a stack shows all blocks,
//! and all edges, taken or not, from its oldest to its newest branch:
//!
//! ```text
//! blocks   b1 0x10..0x20   b2 0x20..0x30   b3 0x30..0x40   b4 0x40..0x50
//! stack    0x3e → 0x10     0x2e → 0x40     0x4e → 0x10     (oldest first)
//! runs         0x10..0x2e      0x40..0x4e
//! edges    b3 → b1   b1 → b2 (not taken)   b2 → b4   b4 → b1
//! path     b1 b2 b4: its start and its end lie within the stack
//! ```
//!
//! - A block is *seen* where control reaches the first byte of its code. The code generator removes
//!   the code of some blocks. Between two seen blocks, control took the way through such blocks. If
//!   there are several ways, nothing is counted, except that the transition was ambiguous.
//! - Calls and returns are followed (`frames`). A path that contains calls is counted, too.
//! - A path is counted if both its ends lie within one stack. The stack of n branches shows a path
//!   that spans k branches only in n - k of n positions. So the path is counted with the *weight*
//!   n / (n - k). Then the shares of paths do not depend on their lengths, as long as they fit into
//!   a stack. Longer paths are missing.
//! - A run that leaves its function or goes backward is impossible: the processor lost branches.
//!   It is counted, and nothing is concluded from it.
//!
//! The counts say how often records showed an edge or a path, not how often it ran. They are a
//! sample, and not time-based: samples that come after a number of cycles prefer slow code, so
//! record them after a number of branches if the processor can.
//!
//! Cost: a binary search for each branch, and a step for each block. Ways are searched once for
//! each block.

mod branch;
mod counts;
mod frames;
mod layout;
mod loose;
mod sums;
mod ways;

use std::sync::Arc;

use holloway_format::ImageMap;
use holloway_format::branches::{BranchQuality, FunctionBranches};

pub use branch::{Jump, Place, TakenBranch};
pub use layout::{CodeLayout, CodeRange};
pub use loose::LooseRecord;

use frames::Walk;
use sums::RecordSums;

/// Counts the edges and paths that branch records of one file show.
#[derive(Debug)]
pub struct BranchRecords(RecordSums);

impl BranchRecords {
    /// Prepares to count. `layout` has the code of the blocks of `map`.
    pub fn new(map: Arc<ImageMap>, layout: Arc<CodeLayout>) -> Self {
        Self(RecordSums::new(map, layout))
    }

    /// Adds a stack. `branches` are in the order of time: the oldest first.
    pub fn add_stack(&mut self, branches: &[TakenBranch]) {
        self.0.quality.stacks += 1;
        self.0.quality.branches += branches.len() as u64;
        Walk::new(&mut self.0, branches.len()).walk(branches);
    }

    /// Adds branches and runs without their order in a stack. All records of a file are added
    /// together, because each shows how control got to others.
    pub fn add_loose(&mut self, records: &[LooseRecord]) {
        loose::add(&mut self.0, records);
    }

    /// The counts up to now of the functions that records show, in the order of the map.
    pub fn counts(&self) -> (Vec<FunctionBranches>, BranchQuality) {
        self.0.counts()
    }
}
