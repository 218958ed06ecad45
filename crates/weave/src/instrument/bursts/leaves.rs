//! Functions that are too short to be timed.
//!
//! Where a function calls nothing and has no loop, its paths are parts of its callers': what varies in it varies there. (The paper, 3.1, leaves cold
//! code out by the same reason.) A check at its entry costs three instructions and waits for the check before it, some 6 cycles, so a loop that calls nothing but such functions took 2.8 times as long.
//! Those of up to [`SHORT`] instructions have no second code and no check, and are listed with this reason. The samples of all others stand for what they did.
//!
//! A loop that calls nothing else keeps the countdown in a register ([`super::countdown_loops`]).

use std::collections::HashSet;

use holloway_flow::{DagEdgeKind, Numbering};
use holloway_llvm::{Function, Instruction};

use crate::lower::{Layout, calls};
use crate::reason::Reason;

/// Most instructions of one: of more, a check is less than a twentieth.
const SHORT: usize = 50;

/// A module's functions that are left out, by name.
#[derive(Default)]
pub(crate) struct ShortLeaves(HashSet<String>);

impl ShortLeaves {
    /// Notes that a function has no probes, and why.
    pub(crate) fn note(&mut self, function: Function<'_>, reason: &Reason) {
        if *reason == Reason::TooShortToTime {
            self.0.insert(function.name());
        }
    }

    /// Whether an instruction may have a path of another function begin.
    pub(super) fn is_left(&self, instruction: Instruction<'_>) -> bool {
        let callee = || instruction.callee().as_function();
        calls(instruction) && callee().is_none_or(|callee| !self.0.contains(&callee.name()))
    }
}

/// Whether a function is long enough, or does enough, to be timed.
pub(crate) fn check_length(layout: &Layout<'_>, numbering: &Numbering) -> Result<(), Reason> {
    let mut edges = numbering.dag_edges().iter();
    let turns = edges.any(|edge| matches!(edge.kind, DagEdgeKind::Start(_)));
    let blocks = layout.blocks.iter();
    let mut instructions = blocks.flat_map(|info| info.instructions.iter());
    let short = instructions.clone().nth(SHORT).is_none();
    let works_on = |&instruction: &Instruction<'_>| calls(instruction) || is_bulk(instruction);
    match short && !turns && !instructions.any(works_on) {
        true => Err(Reason::TooShortToTime),
        false => Ok(()),
    }
}

/// Whether it copies or fills memory of a length that isn't known before: a call, or a loop, in all but name.
pub(super) fn is_bulk(instruction: Instruction<'_>) -> bool {
    const BULK: [&str; 3] = ["llvm.memcpy.", "llvm.memmove.", "llvm.memset."];
    let name = instruction.intrinsic();
    name.is_some_and(|name| BULK.iter().any(|bulk| name.starts_with(bulk)))
        && instruction.value().operand(2).as_int().is_none()
}
