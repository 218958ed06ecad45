//! The new entry block of a function, which loads the thread's slot.
//!
//! The new block takes over the frame's slots (static allocas), loads the thread's slot and tests
//! it. On the cold side a block calls the runtime. The old entry block begins with the phi of both:
//! the thread's counter block, or its ring.

use holloway_llvm::{Builder, Metadata, Module, Type, Value};

use super::anchors::Anchors;
use super::globals::{Globals, enter as runtime_enter, slot};
use crate::lower::FunctionParts;

/// Inserts the test of the thread's slot before everything else. Returns the slot's content: the
/// thread's counter block, or its ring.
pub(super) fn enter<'m>(
    parts: &FunctionParts<'m>,
    globals: &Globals<'m>,
    anchors: &Anchors,
) -> Value<'m> {
    let module = parts.function.module();
    let pointer = Type::pointer(module);
    let old = &parts.blocks[0];
    let new = old.block.insert_before("holloway.entry");
    let slow = parts.function.append_block("holloway.enter");

    let builder = Builder::at_end(new);
    for (instruction, moved) in old.instructions.iter().zip(&anchors.moved) {
        if *moved {
            builder.take(*instruction);
        }
    }
    let slot = builder.load(pointer, slot(module, globals.tls).value());
    let branch = builder.branch_if(builder.is_null(slot), slow, old.block);
    branch.set_metadata(module.metadata_kind("prof"), rarely(module));

    let builder = Builder::at_end(slow);
    let entered = builder.call(runtime_enter(module), pointer, &[]);
    builder.branch(old.block);

    let block = Builder::at_top(old.block).phi(pointer);
    block.add_incoming(slot, new);
    block.add_incoming(entered, slow);
    block.value()
}

/// Branch weights for a branch that is taken the first time only.
pub(super) fn rarely<'m>(module: &'m Module<'m>) -> Metadata<'m> {
    let weights = [1, 1 << 20].map(|weight| Metadata::constant(Type::i32(module).int(weight)));
    Metadata::node(
        module,
        &[
            Metadata::string(module, "branch_weights"),
            weights[0],
            weights[1],
        ],
    )
}
