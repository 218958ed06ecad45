//! Functions that are too short to be timed.
//!
//! If a function makes no call and has no loop, its paths are pieces of its callers' paths, whose
//! times vary with them. (The paper, 3.1, leaves cold code out for the same reason.) A check at its
//! entry costs three instructions and waits for the check before it, some 6 cycles. A loop that
//! calls only such functions took 2.8 times as long. Functions of up to [`SHORT`] instructions have
//! no timed code and no check, and the map lists them with this reason. The samples of all other
//! functions contain their time.
//!
//! A loop that calls nothing else keeps the countdown in a register ([`super::countdown_loops`]).

use std::collections::HashSet;

use holloway_flow::{DagEdgeKind, Numbering};
use holloway_llvm::{Function, Instruction};

use crate::lower::{FunctionParts, calls};
use crate::reason::Reason;

/// Most instructions of a short function. In longer ones, a check is less than a twentieth of the
/// code.
const SHORT: usize = 50;

/// The names of a module's short functions.
#[derive(Default)]
pub(crate) struct ShortLeaves(HashSet<String>);

impl ShortLeaves {
    /// Notes that a function has no probes, and why.
    pub(crate) fn note(&mut self, function: Function<'_>, reason: &Reason) {
        if *reason == Reason::TooShortToTime {
            self.0.insert(function.name());
        }
    }

    /// Whether an instruction may call a function that has checks.
    pub(super) fn calls_checked_function(&self, instruction: Instruction<'_>) -> bool {
        let callee = || instruction.callee().as_function();
        calls(instruction) && callee().is_none_or(|callee| !self.0.contains(&callee.name()))
    }
}

/// Checks that a function is long enough to be timed, or has loops or calls.
///
/// # Errors
/// [`Reason::TooShortToTime`].
pub(crate) fn check_length(parts: &FunctionParts<'_>, numbering: &Numbering) -> Result<(), Reason> {
    let mut edges = numbering.dag_edges().iter();
    let has_loops = edges.any(|edge| matches!(edge.kind, DagEdgeKind::Start(_)));
    let blocks = parts.blocks.iter();
    let mut instructions = blocks.flat_map(|info| info.instructions.iter());
    let short = instructions.clone().nth(SHORT).is_none();
    let works_on = |&instruction: &Instruction<'_>| calls(instruction) || is_bulk(instruction);
    match short && !has_loops && !instructions.any(works_on) {
        true => Err(Reason::TooShortToTime),
        false => Ok(()),
    }
}

/// Whether an instruction copies or fills memory of unknown length: it becomes a call or a loop.
pub(super) fn is_bulk(instruction: Instruction<'_>) -> bool {
    const BULK: [&str; 3] = ["llvm.memcpy.", "llvm.memmove.", "llvm.memset."];
    let name = instruction.intrinsic();
    name.is_some_and(|name| BULK.iter().any(|bulk| name.starts_with(bulk)))
        && instruction.value().operand(2).as_int().is_none()
}
