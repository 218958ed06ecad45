//! Marks the blocks of a function with LLVM's pseudo-probes (kinds `none` and `trace`).
//!
//! A pseudo-probe emits no instruction. The code generator writes its address into the section
//! `.pseudo_probe`, which is not loaded. [`holloway_format::block_probes`] reads the section. So an
//! address in the program's code leads to a block of the path map.
//!
//! Each LLVM block has at most one probe, because the code generator moves all probes of a block to
//! its start. The probe names the first part of the block that has instructions. A block without
//! instructions has no probe: no sample can be in it, and a probe would keep the code generator
//! from removing it.

use std::collections::HashSet;

use holloway_format::FunctionMap;
use holloway_llvm::Builder;

use crate::lower::LoweredFunction;

/// Inserts a pseudo-probe at the start of each block that has instructions. `guid` identifies the
/// function.
pub(crate) fn insert(lowered: &LoweredFunction<'_>, map: &FunctionMap, guid: u64) {
    let parts = lowered.nodes.iter().zip(&map.blocks).enumerate();
    let mut probed = HashSet::new();
    for (index, (part, block_map)) in parts {
        if block_map.instructions == 0 || !probed.insert(part.block) {
            continue;
        }
        let block = &lowered.parts.blocks[part.block];
        let first = part.from.max(block.top);
        let builder = Builder::before(block.instructions[first]);
        builder.pseudo_probe(guid, probe_index(index));
    }
}

/// The index of a block's probe. LLVM reserves the index 0.
fn probe_index(block: usize) -> u32 {
    u32::try_from(block).expect("the graph's blocks were counted") + 1
}
