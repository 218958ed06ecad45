//! The new entry block of a function, which loads the thread's slot.
//!
//! The new block takes over the static allocas, loads the thread's slot, and tests it. If the slot
//! is null, which is rare, another block calls the runtime to fill it. The old entry block begins
//! with a phi of both results: the address of the thread's block of counters, or of its ring.

use holloway_llvm::{Builder, Metadata, Module, Type, Value};

use super::anchors::Anchors;
use super::globals::{Globals, enter as runtime_enter, slot};
use crate::lower::FunctionParts;

/// Inserts the new entry block. Returns the slot's content: the address of the thread's block of
/// counters, or of its ring.
pub(super) fn enter<'m>(
    parts: &FunctionParts<'m>,
    globals: &Globals<'m>,
    anchors: &Anchors,
) -> Value<'m> {
    let module = parts.function.module();
    let pointer = Type::pointer(module);
    let old = &parts.blocks[0];
    let new_entry = old.block.insert_before("holloway.entry");
    let slow_path = parts.function.append_block("holloway.enter");

    let builder = Builder::at_end(new_entry);
    for (instruction, moved) in old.instructions.iter().zip(&anchors.moved) {
        if *moved {
            builder.take(*instruction);
        }
    }
    let slot = builder.load(pointer, slot(module, globals.tls).value());
    let branch = builder.branch_if(builder.is_null(slot), slow_path, old.block);
    branch.set_metadata(module.metadata_kind("prof"), rare_branch_weights(module));

    let builder = Builder::at_end(slow_path);
    let entered = builder.call(runtime_enter(module), pointer, &[]);
    builder.branch(old.block);

    let content = Builder::at_top(old.block).phi(pointer);
    content.add_incoming(slot, new_entry);
    content.add_incoming(entered, slow_path);
    content.value()
}

/// The metadata of a branch whose first successor is almost never taken.
pub(super) fn rare_branch_weights<'m>(module: &'m Module<'m>) -> Metadata<'m> {
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
