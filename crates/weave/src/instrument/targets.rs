//! Counts the targets of indirect calls, in training.
//!
//! A hash table of the function has a count for each call site and target
//! ([`CallTarget`]). Before each indirect call, the runtime adds 1 to the count of the called
//! address, relative to the image. (`__ehdr_start` is the address of the image's ELF header. The
//! linker defines it.)

use holloway_format::CallTarget;
use holloway_llvm::{Builder, Global, Module, Type};

use super::probe::Probe;
use crate::lower::{FunctionParts, indirect_calls};

/// The symbol of the image's first byte.
const IMAGE_START: &str = "__ehdr_start";

/// Inserts a count before each indirect call of a function. Their hash table has its head at
/// `offset`.
pub(super) fn insert(parts: &FunctionParts<'_>, probe: &Probe<'_, '_>, offset: u64) {
    let module = probe.module;
    let word = Type::i64(module);
    let mask = word.int((1 << CallTarget::ADDRESS_BITS) - 1);
    let start = image_start(module).value().pointer_to_i64();
    let sites: Vec<_> = indirect_calls(parts.function).collect();
    for (site, call) in (0..).zip(sites).take(CallTarget::SITE_LIMIT) {
        let builder = Builder::before(call);
        let address = builder.subtract(builder.pointer_to_i64(call.callee()), start);
        let target = CallTarget { site, address: 0 };
        let key = builder.add(
            builder.and(address, mask),
            word.int(target.key().cast_signed()),
        );
        probe.count_key(&builder, offset, key);
    }
}

fn image_start<'m>(module: &'m Module<'m>) -> Global<'m> {
    module.global(IMAGE_START).unwrap_or_else(|| {
        let start = module.add_global(IMAGE_START, Type::i8(module));
        start.set_hidden();
        start
    })
}
