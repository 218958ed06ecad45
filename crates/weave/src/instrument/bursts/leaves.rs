//! Functions that are too short to be timed.
//!
//! A *leaf* is a function that makes no call and has no loop. The time of its paths is part of its
//! callers' paths, whose times vary with it. A check at the leaf's entry would cost three
//! instructions and about 6 cycles, because it waits for the check before it. A loop that called
//! only leaves took 2.8 times as long with such checks. So leaves of up to [`SHORT`] instructions
//! have no timed code and no check, and the map lists them as too short. Their time is contained in
//! the samples of their callers. (Perelman, Chilimbi, Calder 2005, section 3.1, leave out cold code
//! for the same reason.)
//!
//! A loop that calls only such leaves keeps the countdown in a register
//! ([`super::countdown_loops`]).

use std::collections::HashSet;

use holloway_flow::{DagEdgeKind, Numbering};
use holloway_llvm::{Function, Instruction};

use crate::lower::{FunctionParts, calls};
use crate::reason::Reason;

/// The maximum number of instructions of a short function. In longer functions, a check is less
/// than a twentieth of the code.
const SHORT: usize = 50;

/// The names of a module's functions that are too short to be timed.
#[derive(Default)]
pub(crate) struct ShortLeaves(HashSet<String>);

impl ShortLeaves {
    /// Adds a skipped function if `reason`, the reason for skipping it, is that it is too short.
    pub(crate) fn add_if_too_short(&mut self, function: Function<'_>, reason: &Reason) {
        if *reason == Reason::TooShortToTime {
            self.0.insert(function.name());
        }
    }

    /// Whether an instruction may call a function with checks. Only calls of short leaves do not.
    pub(super) fn calls_checked_function(&self, instruction: Instruction<'_>) -> bool {
        let callee = || instruction.callee().as_function();
        calls(instruction) && callee().is_none_or(|callee| !self.0.contains(&callee.name()))
    }
}

/// Checks that a function is long enough to be timed, or has loops or calls.
///
/// # Errors
/// Returns [`Reason::TooShortToTime`] if the function is short and has neither loops nor calls.
pub(crate) fn check_length(parts: &FunctionParts<'_>, numbering: &Numbering) -> Result<(), Reason> {
    let mut edges = numbering.dag_edges().iter();
    let has_loops = edges.any(|edge| matches!(edge.kind, DagEdgeKind::Start(_)));
    let blocks = parts.blocks.iter();
    let mut instructions = blocks.flat_map(|info| info.instructions.iter());
    let is_short = instructions.clone().nth(SHORT).is_none();
    let takes_long = |&instruction: &Instruction<'_>| calls(instruction) || is_bulk(instruction);
    match is_short && !has_loops && !instructions.any(takes_long) {
        true => Err(Reason::TooShortToTime),
        false => Ok(()),
    }
}

/// Whether an instruction copies or fills memory of a length that is unknown when compiling. The
/// code generator makes a call or a loop of it.
pub(super) fn is_bulk(instruction: Instruction<'_>) -> bool {
    const BULK: [&str; 3] = ["llvm.memcpy.", "llvm.memmove.", "llvm.memset."];
    let name = instruction.intrinsic();
    name.is_some_and(|name| BULK.iter().any(|bulk| name.starts_with(bulk)))
        && instruction.value().operand(2).as_int().is_none()
}
