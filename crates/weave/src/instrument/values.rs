//! Counts values, in training: the targets of indirect calls, and the sizes of memory operations.
//!
//! A hash table of the function has a count for each place and value ([`SiteValue`]). Before each
//! indirect call, the runtime adds 1 to the count of the called address, relative to the image.
//! (`__ehdr_start` is the address of the image's ELF header. The linker defines it.) Before each
//! memory operation whose size the compiler does not know, it adds 1 to the count of the size.

use holloway_format::{CallTarget, OperationSize, SiteValue};
use holloway_llvm::{Builder, Function, Global, Instruction, Module, Type, Value};

use super::probe::Probe;
use crate::lower::{FunctionParts, indirect_calls, sized_operations};

/// The symbol of the image's first byte.
const IMAGE_START: &str = "__ehdr_start";

/// Whether a function has values to count.
pub(super) fn has_values(function: Function<'_>) -> bool {
    indirect_calls(function).next().is_some() || sized_operations(function).next().is_some()
}

/// Inserts the counts of a function's values. Their hash table has its head at `offset`.
pub(super) fn insert(parts: &FunctionParts<'_>, probe: &Probe<'_, '_>, offset: u64) {
    // The counts are calls, too, so both sorts of places are listed first.
    let calls: Vec<_> = indirect_calls(parts.function).collect();
    let operations: Vec<_> = sized_operations(parts.function).collect();
    count_targets(&calls, probe, offset);
    count_sizes(&operations, probe, offset);
}

fn count_targets<'m>(calls: &[Instruction<'m>], probe: &Probe<'m, '_>, offset: u64) {
    if calls.is_empty() {
        return;
    }
    let module = probe.module;
    let word = Type::i64(module);
    let mask = word.int((1 << SiteValue::VALUE_BITS) - 1);
    let start = image_start(module).value().pointer_to_i64();
    for (site, &call) in (0..).zip(calls).take(SiteValue::SITE_LIMIT) {
        let builder = Builder::before(call);
        let address = builder.subtract(builder.pointer_to_i64(call.callee()), start);
        let first = SiteValue::Target(CallTarget { site, address: 0 });
        let key = builder.add(
            builder.and(address, mask),
            word.int(first.key().cast_signed()),
        );
        probe.count_key(&builder, offset, key);
    }
}

fn count_sizes<'m>(
    operations: &[(Instruction<'m>, Value<'m>)],
    probe: &Probe<'m, '_>,
    offset: u64,
) {
    let word = Type::i64(probe.module);
    let large = word.int(OperationSize::LARGE.cast_signed());
    for (site, &(operation, size)) in (0..).zip(operations).take(SiteValue::SITE_LIMIT) {
        let builder = Builder::before(operation);
        let size = builder.freeze(size);
        let bytes = builder.select(builder.is_above(size, large), large, size);
        let first = SiteValue::Size(OperationSize { site, bytes: 0 });
        let key = builder.add(bytes, word.int(first.key().cast_signed()));
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
