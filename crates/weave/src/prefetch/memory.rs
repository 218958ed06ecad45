//! Tells whether a loop leaves alone what a load reads, so that the load can run earlier.
//!
//! The loop must not call anything but intrinsics that touch no memory. Each of its stores must
//! have a type that the load's type excludes, by the compiler's own rule (type-based alias
//! analysis, TBAA). Another thread cannot change the memory in a loop without atomic accesses: that
//! would be a data race with the loop's own load, which comes later.

use holloway_llvm::{Instruction, Metadata, Opcode};

use super::turns::LoopTurns;

/// Intrinsics that touch no memory, by the beginnings of their names.
const WITHOUT_MEMORY: [&str; 13] = [
    "llvm.abs.",
    "llvm.bswap.",
    "llvm.ctlz.",
    "llvm.ctpop.",
    "llvm.cttz.",
    "llvm.fabs.",
    "llvm.fma.",
    "llvm.fmuladd.",
    "llvm.prefetch.",
    "llvm.smax.",
    "llvm.smin.",
    "llvm.umax.",
    "llvm.umin.",
];

/// The longest chain of parents in a tree of types.
const MOST_PARENTS: usize = 64;

/// Whether no instruction of the loop changes what this load of the loop reads.
pub(super) fn is_unchanged<'m>(turns: &LoopTurns<'_, 'm>, load: Instruction<'m>) -> bool {
    turns.blocks().flatten().all(|&other| {
        match other.is_call() {
            true => other.intrinsic().is_some_and(|name| {
                let mut without = WITHOUT_MEMORY.into_iter();
                without.any(|beginning| name.starts_with(beginning))
            }),
            // Atomic operations are refused where the loop's exit is sought.
            false => other.opcode() != Opcode::Store || excludes(load, other),
        }
    })
}

/// Whether the types of two accesses say that they touch different memory.
fn excludes<'m>(load: Instruction<'m>, store: Instruction<'m>) -> bool {
    let kind = load.module().metadata_kind("tbaa");
    let types = [load, store].map(|access| {
        let accessed = access.metadata(kind)?.operand(1)?;
        parents(accessed)
    });
    let [Some(loaded), Some(stored)] = types else {
        return false;
    };
    let (Some(first), Some(second)) = (loaded.first(), stored.first()) else {
        return false;
    };
    loaded.last() == stored.last() && !loaded.contains(second) && !stored.contains(first)
}

/// A scalar type, and its parents up to the root: what it is a special case of. `None` if the node
/// has another form.
fn parents(scalar: Metadata<'_>) -> Option<Vec<Metadata<'_>>> {
    let mut chain = vec![scalar];
    while chain.len() < MOST_PARENTS {
        let operands = chain.last()?.operands();
        operands.first()?.and_then(Metadata::as_string)?;
        match operands[..] {
            // The root has a name only.
            [_] => return Some(chain),
            // A type of a scalar: name, parent, and offset 0.
            [_, Some(parent), Some(offset)] if offset.as_int() == Some(0) => chain.push(parent),
            _ => return None,
        }
    }
    None
}
