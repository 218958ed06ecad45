//! The contents of blocks in builds for training: a hash of each block's instructions, and the
//! functions that it calls. By these, the counts of a plan find their blocks again after a change
//! of the program.
//!
//! The hash has the operation of each instruction and the predicate of each comparison. Operands
//! are left out, so that a renumbered variable or a new constant changes no hash.

use holloway_format::map::hash_of_words;
use holloway_format::{BlockContent, Text};
use holloway_llvm::Instruction;

use crate::lower::{LoweredFunction, Part, calls, is_counted, is_indirect_call, unknown_size};

/// The content of each block, including the exit.
pub(crate) fn contents(lowered: &LoweredFunction<'_>) -> Vec<BlockContent> {
    let blocks = lowered.nodes.iter().map(|node| content(lowered, *node));
    blocks.chain([BlockContent::default()]).collect()
}

fn content(lowered: &LoweredFunction<'_>, node: Part) -> BlockContent {
    if node.cuts_before > 0 {
        return BlockContent::default();
    }
    let instructions = &lowered.parts.blocks[node.block].instructions;
    let count = |is_it: fn(Instruction<'_>) -> bool| {
        let found = instructions
            .iter()
            .filter(|instruction| is_it(**instruction));
        u32::try_from(found.count()).expect("fewer than 2^32 instructions")
    };
    let counted = instructions.iter().copied().filter(|i| is_counted(*i));
    let words: Vec<u64> = counted.clone().map(word).collect();
    // Half of the bits are enough for the blocks of a function.
    let hash = hash_of_words(&words) & u64::from(u32::MAX);
    BlockContent {
        hash: u32::try_from(hash).expect("32 bits"),
        callees: counted.filter_map(callee).collect(),
        indirect_calls: count(is_indirect_call),
        sized_operations: count(|instruction| unknown_size(instruction).is_some()),
    }
}

/// A number for what an instruction does.
fn word(instruction: Instruction<'_>) -> u64 {
    let (opcode, predicate) = instruction.operation();
    u64::from(opcode) << 32 | u64::from(predicate)
}

/// The name of the function that an instruction calls directly.
fn callee(instruction: Instruction<'_>) -> Option<Text> {
    let callee = Some(instruction).filter(|i| calls(*i))?.callee();
    Some(callee.as_function()?.name().into())
}
