//! Numbers the instructions of bitcode that no optimizer has seen.
//!
//! Samples and branch records show addresses of optimized code, and a plan's counts belong to the
//! graphs before the optimizer. Debug locations lead from the first to the second: LLVM carries
//! them through all passes, into inlined copies, and down to the line table, and they change no
//! code. A source line is too coarse for that, because several blocks may share it. So each
//! instruction gets a location of its own: its number as the line, in a subprogram that is named
//! after the module and the function. Locations of inlined copies name the call, too.
//!
//! Numbers depend only on the bitcode. So a build for training and a plain build have the same.

use holloway_llvm::{DebugBuilder, Module};

/// Replaces the debug information of a module by numbers of instructions, from 1 in each function.
/// `module_id` tells functions of the same name in other modules apart.
pub(crate) fn number_instructions(module: &mut Module<'_>, module_id: &str) {
    module.strip_debug_info();
    let module: &Module<'_> = module;
    let builder = DebugBuilder::new(module, module_id);
    for function in module.functions() {
        if function.is_declaration() {
            continue;
        }
        let scope = builder.describe(function, &format!("{module_id}:{}", function.name()));
        let instructions = function
            .blocks()
            .flat_map(holloway_llvm::Block::instructions);
        for (number, instruction) in (1..).zip(instructions) {
            builder.locate(instruction, number, scope);
        }
    }
}
