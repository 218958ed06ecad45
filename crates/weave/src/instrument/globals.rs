//! The symbols of a woven module: its counter base, the thread's slot, the runtime's functions.

use holloway_abi::{
    CAUGHT_SYMBOL, COUNTDOWN_SYMBOL, ENTER_SYMBOL, HASH_SYMBOL, PRESERVE_ALL, SLOT_SYMBOL,
};
use holloway_llvm::{
    AttributeKind, Builder, Function, Global, Metadata, Module, TlsModel, Type, Value,
};

use crate::image::Machine;
use crate::options::LinkKind;
use crate::patch::ring_counters_symbol;

/// Symbols that probes use.
#[derive(Clone, Copy)]
pub(crate) struct Globals<'m> {
    module: &'m Module<'m>,
    base: Global<'m>,
    pub(crate) machine: Machine,
    pub(crate) hash: Function<'m>,
    /// The access model of thread-local variables.
    pub(crate) tls: TlsModel,
    /// Whether the code generator sees the base only as an operand of our own instructions
    /// ([`Self::moved`]).
    pub(super) is_moved: bool,
}

impl<'m> Globals<'m> {
    /// Declares the symbols that every woven function uses.
    pub(crate) fn declare(module: &'m Module<'m>, base_symbol: &str, kind: LinkKind) -> Self {
        let machine = Machine::of_triple(&module.triple()).expect("modules for others are refused");
        let base = base(module, machine, base_symbol);
        let tls = match kind {
            LinkKind::Executable => TlsModel::LocalExec,
            LinkKind::SharedObject => TlsModel::InitialExec,
        };
        let pointer = Type::pointer(module);
        let hash = declare(
            module,
            HASH_SYMBOL,
            Type::void(module),
            &[pointer, Type::i64(module)],
        );
        Self {
            module,
            base,
            machine,
            hash,
            tls,
            is_moved: false,
        }
    }

    /// The same for a function in which the code generator made an address of the base.
    pub(crate) fn with_moved_base(self) -> Self {
        Self {
            is_moved: self.machine.patches_bases(),
            ..self
        }
    }

    /// The same with the base of the module's counters next to the ring.
    pub(crate) fn of_ring_counters(self, module: &'m Module<'m>, base_symbol: &str) -> Self {
        let symbol = ring_counters_symbol(base_symbol);
        let known = module.global(&symbol);
        Self {
            base: known.unwrap_or_else(|| base(module, self.machine, &symbol)),
            ..self
        }
    }

    /// The base as a number: a constant, which may become an address in code, or a loaded value.
    pub(crate) fn base(&self, builder: &Builder<'m>) -> Value<'m> {
        if self.machine.patches_bases() {
            return self.base.value().pointer_to_i64();
        }
        builder.load(Type::i64(self.module), self.base.value())
    }

    /// The base as a summand. The code generator may fold it into the instructions around it, or
    /// compute a wrong address from it (`lea base(%rip)`). Where it did that, the base is loaded
    /// into a register as a number.
    pub(crate) fn addend(&self, builder: &Builder<'m>) -> Value<'m> {
        let base = self.base(builder);
        if self.is_moved {
            return self.moved(builder, base);
        }
        base
    }

    /// A number that contains the base, in a register, as a number whatever the code generator
    /// takes the base for.
    pub(crate) fn moved(&self, builder: &Builder<'m>, number: Value<'m>) -> Value<'m> {
        match self.machine {
            Machine::X86_64 => builder.asm("movl $1, ${0:k}", "=r,i", number.kind(), &[number]),
            Machine::Aarch64 => number,
        }
    }

    /// The address that a thread's counters are displaced from. `block` is the address of the
    /// thread's block, or of its ring.
    pub(crate) fn counters(&self, builder: &Builder<'m>, block: Value<'m>) -> Value<'m> {
        if self.machine.patches_bases() {
            return block; // the base goes into each counter's displacement
        }
        builder.offset(Type::i8(self.module), block, self.base(builder))
    }
}

/// A module's base: a number that the link step writes into code as an address, or a hidden
/// constant that the image object defines.
fn base<'m>(module: &'m Module<'m>, machine: Machine, name: &str) -> Global<'m> {
    if !machine.patches_bases() {
        let base = module.add_global(name, Type::i64(module));
        base.set_constant();
        base.set_hidden();
        return base;
    }
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

/// The thread's slot. Symbols are declared where they are used, because the linker must find every
/// declared hidden symbol.
pub(crate) fn slot<'m>(module: &'m Module<'m>, tls: TlsModel) -> Global<'m> {
    thread_local(module, SLOT_SYMBOL, Type::pointer(module), tls)
}

/// The number of paths that the thread may still begin before its next burst.
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
    let declared = module.function(ENTER_SYMBOL);
    declared.unwrap_or_else(|| declare(module, ENTER_SYMBOL, Type::pointer(module), &[]))
}

/// The runtime's function for frames that an exception or `longjmp` comes back to.
pub(crate) fn caught<'m>(module: &'m Module<'m>) -> Function<'m> {
    let word = Type::i64(module);
    module
        .function(CAUGHT_SYMBOL)
        .unwrap_or_else(|| declare(module, CAUGHT_SYMBOL, Type::void(module), &[word, word]))
}

/// A function of the runtime: hidden, does not unwind, and keeps (nearly) all registers.
fn declare<'m>(
    module: &'m Module<'m>,
    name: &str,
    result: Type<'m>,
    parameters: &[Type<'m>],
) -> Function<'m> {
    let function = module.declare(name, result, parameters);
    function.set_hidden();
    function.set_calling_convention(PRESERVE_ALL);
    for attribute in ["nounwind", "cold"] {
        if let Some(kind) = AttributeKind::named(module, attribute)
            && !(attribute == "cold" && name == HASH_SYMBOL)
        {
            function.add_attribute(kind);
        }
    }
    function
}
