//! The symbols of a woven module: its counter base, the thread's slot, the runtime's functions.

use holloway_format::abi::{ENTER_SYMBOL, HASH_SYMBOL, PRESERVE_ALL, SLOT_SYMBOL};
use holloway_llvm::{AttributeKind, Function, Global, Metadata, Module, TlsModel, Type};

use crate::options::LinkKind;

/// Whether the target's code holds the counter base as a 32-bit displacement that the link step writes
/// ([`crate::patch`]). Elsewhere the base is loaded from a hidden constant that the image object defines.
pub(crate) fn base_in_code(triple: &str) -> bool {
    triple.starts_with("x86_64")
}

/// Symbols that probes use.
#[derive(Clone, Copy)]
pub(crate) struct Globals<'m> {
    pub(crate) base: Global<'m>,
    /// Whether the base is an address in code; else it is loaded.
    pub(crate) base_in_code: bool,
    pub(crate) slot: Global<'m>,
    pub(crate) enter: Function<'m>,
    pub(crate) hash: Function<'m>,
}

impl<'m> Globals<'m> {
    /// Declares them.
    pub(crate) fn declare(module: &'m Module<'m>, base_symbol: &str, kind: LinkKind) -> Self {
        let triple = module.triple();
        let base_in_code = base_in_code(&triple);
        let base = if base_in_code {
            let base = module.add_global(base_symbol, Type::i8(module));
            let bounds = [0, i64::from(i32::MAX)]
                .map(|bound| Metadata::constant(Type::i64(module).int(bound)));
            base.set_metadata(
                module.metadata_kind("absolute_symbol"),
                Metadata::node(module, &bounds),
            );
            base
        } else {
            let base = module.add_global(base_symbol, Type::i64(module));
            base.set_constant();
            base
        };
        base.set_hidden();
        let slot = module.add_global(SLOT_SYMBOL, Type::pointer(module));
        slot.set_hidden();
        slot.set_thread_local(match kind {
            LinkKind::Executable => TlsModel::LocalExec,
            LinkKind::SharedObject => TlsModel::InitialExec,
        });
        let pointer = Type::pointer(module);
        let enter = declare(module, &triple, ENTER_SYMBOL, pointer, &[]);
        let hash = declare(
            module,
            &triple,
            HASH_SYMBOL,
            Type::void(module),
            &[pointer, Type::i64(module)],
        );
        Self {
            base,
            base_in_code,
            slot,
            enter,
            hash,
        }
    }
}

/// A function of the runtime: hidden, doesn't unwind, and on x86-64 keeps (nearly) all registers.
fn declare<'m>(
    module: &'m Module<'m>,
    triple: &str,
    name: &str,
    result: Type<'m>,
    parameters: &[Type<'m>],
) -> Function<'m> {
    let function = module.declare(name, result, parameters);
    function.set_hidden();
    if triple.starts_with("x86_64") {
        function.set_calling_convention(PRESERVE_ALL);
    }
    for attribute in ["nounwind", "cold"] {
        if let Some(kind) = AttributeKind::named(module, attribute)
            && !(attribute == "cold" && name == HASH_SYMBOL)
        {
            function.add_attribute(kind);
        }
    }
    function
}
