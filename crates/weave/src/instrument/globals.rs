//! The symbols of a woven module: its counter base, the thread's slot, the runtime's functions.

use holloway_format::abi::{
    CAUGHT_SYMBOL, COUNTDOWN_SYMBOL, ENTER_SYMBOL, HASH_SYMBOL, PRESERVE_ALL, SLOT_SYMBOL,
};
use holloway_llvm::{AttributeKind, Function, Global, Metadata, Module, TlsModel, Type};

use crate::options::LinkKind;
use crate::patch::beside_symbol;

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
    pub(crate) hash: Function<'m>,
    /// How thread-local variables are reached.
    pub(crate) tls: TlsModel,
}

impl<'m> Globals<'m> {
    /// Declares them.
    pub(crate) fn declare(module: &'m Module<'m>, base_symbol: &str, kind: LinkKind) -> Self {
        let triple = module.triple();
        let base_in_code = base_in_code(&triple);
        let base = if base_in_code {
            absolute(module, base_symbol)
        } else {
            let base = module.add_global(base_symbol, Type::i64(module));
            base.set_constant();
            base.set_hidden();
            base
        };
        let tls = match kind {
            LinkKind::Executable => TlsModel::LocalExec,
            LinkKind::SharedObject => TlsModel::InitialExec,
        };
        let pointer = Type::pointer(module);
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
            hash,
            tls,
        }
    }

    /// The same for functions that count beside the thread's ring. There are rings only where bases are in code.
    pub(crate) fn beside(self, module: &'m Module<'m>, base_symbol: &str) -> Self {
        let symbol = beside_symbol(base_symbol);
        let known = module.global(&symbol);
        Self {
            base: known.unwrap_or_else(|| absolute(module, &symbol)),
            ..self
        }
    }
}

/// A number that the link step writes into code, as an address.
fn absolute<'m>(module: &'m Module<'m>, name: &str) -> Global<'m> {
    let global = module.add_global(name, Type::i8(module));
    let bounds =
        [0, i64::from(i32::MAX)].map(|bound| Metadata::constant(Type::i64(module).int(bound)));
    global.set_metadata(
        module.metadata_kind("absolute_symbol"),
        Metadata::node(module, &bounds),
    );
    global.set_hidden();
    global
}

/// The thread's slot. Declared where it is used, as all that follows: a hidden symbol that is declared has to be there.
pub(crate) fn slot<'m>(module: &'m Module<'m>, tls: TlsModel) -> Global<'m> {
    thread_local(module, SLOT_SYMBOL, Type::pointer(module), tls)
}

/// How many paths of the thread may still begin before the next burst.
pub(crate) fn countdown<'m>(module: &'m Module<'m>, tls: TlsModel) -> Global<'m> {
    thread_local(module, COUNTDOWN_SYMBOL, Type::i32(module), tls)
}

fn thread_local<'m>(
    module: &'m Module<'m>,
    name: &str,
    kind: Type<'m>,
    tls: TlsModel,
) -> Global<'m> {
    module.global(name).unwrap_or_else(|| {
        let global = module.add_global(name, kind);
        global.set_hidden();
        global.set_thread_local(tls);
        global
    })
}

/// The runtime's function that gives a thread its block or ring.
pub(crate) fn enter<'m>(module: &'m Module<'m>) -> Function<'m> {
    let (pointer, triple) = (Type::pointer(module), module.triple());
    let declared = module.function(ENTER_SYMBOL);
    declared.unwrap_or_else(|| declare(module, &triple, ENTER_SYMBOL, pointer, &[]))
}

/// The runtime's function for frames that are come back to.
pub(crate) fn caught<'m>(module: &'m Module<'m>) -> Function<'m> {
    let word = Type::i64(module);
    module.function(CAUGHT_SYMBOL).unwrap_or_else(|| {
        let (void, triple) = (Type::void(module), module.triple());
        declare(module, &triple, CAUGHT_SYMBOL, void, &[word, word])
    })
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
