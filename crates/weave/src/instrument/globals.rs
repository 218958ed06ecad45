//! Declares the symbols that probes use: the module's counter base, the thread's slot, and the
//! runtime's functions.

use holloway_abi::{
    CAUGHT_SYMBOL, COUNTDOWN_SYMBOL, ENTER_SYMBOL, HASH_SYMBOL, PRESERVE_ALL, SLOT_SYMBOL,
};
use holloway_llvm::{
    AttributeKind, Builder, Function, Global, Metadata, Module, TlsModel, Type, Value,
};

use crate::image::Machine;
use crate::options::LinkKind;
use crate::patch::ring_counters_symbol;

/// The symbols that probes of a module use.
#[derive(Clone, Copy)]
pub(crate) struct Globals<'m> {
    module: &'m Module<'m>,
    base: Global<'m>,
    pub(crate) machine: Machine,
    pub(crate) hash: Function<'m>,
    /// The access model of thread-local variables.
    pub(crate) tls: TlsModel,
    /// Whether probes move the base into a register by a separate instruction
    /// ([`Self::move_to_register`]), because the code generator would make an address of it.
    pub(super) base_is_moved: bool,
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
            base_is_moved: false,
        }
    }

    /// The same symbols for a function in which the code generator has made an address of the base.
    pub(crate) fn with_moved_base(self) -> Self {
        Self {
            base_is_moved: self.machine.patches_bases(),
            ..self
        }
    }

    /// The same symbols, but the base is the base of the module's counters next to the ring.
    pub(crate) fn of_ring_counters(self, module: &'m Module<'m>, base_symbol: &str) -> Self {
        let symbol = ring_counters_symbol(base_symbol);
        let declared = module.global(&symbol);
        Self {
            base: declared.unwrap_or_else(|| base(module, self.machine, &symbol)),
            ..self
        }
    }

    /// The base as a number. On x86-64 it is a constant, of which the code generator may make an
    /// address. On AArch64 it is loaded from memory.
    pub(crate) fn base(&self, builder: &Builder<'m>) -> Value<'m> {
        if self.machine.patches_bases() {
            return self.base.value().pointer_to_i64();
        }
        builder.load(Type::i64(self.module), self.base.value())
    }

    /// The base as an operand of an addition. Usually the code generator folds it into an
    /// instruction. Rarely, it computes a wrong address from it (`lea base(%rip)`). In functions in
    /// which it has done so, the base is moved into a register as a number.
    pub(crate) fn addend(&self, builder: &Builder<'m>) -> Value<'m> {
        let base = self.base(builder);
        if self.base_is_moved {
            return self.move_to_register(builder, base);
        }
        base
    }

    /// Moves a number that contains the base into a register by inline assembly, so that the code
    /// generator cannot make an address of it.
    pub(crate) fn move_to_register(&self, builder: &Builder<'m>, number: Value<'m>) -> Value<'m> {
        match self.machine {
            Machine::X86_64 => builder.asm("movl $1, ${0:k}", "=r,i", number.kind(), &[number]),
            Machine::Aarch64 => number,
        }
    }

    /// The address to which probes add a counter's displacement. `block` is the address of the
    /// thread's block of counters, or of its ring.
    pub(crate) fn counter_base_address(
        &self,
        builder: &Builder<'m>,
        block: Value<'m>,
    ) -> Value<'m> {
        if self.machine.patches_bases() {
            return block; // Each counter's displacement contains the base.
        }
        builder.offset(Type::i8(self.module), block, self.base(builder))
    }
}

/// Declares a module's base. On x86-64 it is an absolute symbol, which code uses like an address
/// and which the link step replaces by a number. On AArch64 it is a hidden constant that the image
/// object defines.
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

/// Declares the thread's slot. Symbols are declared only in modules that use them, because the
/// linker must find every declared hidden symbol.
pub(crate) fn slot<'m>(module: &'m Module<'m>, tls: TlsModel) -> Global<'m> {
    thread_local(module, SLOT_SYMBOL, Type::pointer(module), tls)
}

/// Declares the thread's countdown: how many paths may still begin before the next burst.
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

/// Declares the runtime's function that gives a thread its block of counters or its ring.
pub(crate) fn enter<'m>(module: &'m Module<'m>) -> Function<'m> {
    let declared = module.function(ENTER_SYMBOL);
    declared.unwrap_or_else(|| declare(module, ENTER_SYMBOL, Type::pointer(module), &[]))
}

/// Declares the runtime's function that is called where an exception or `longjmp` comes back to a
/// frame.
pub(crate) fn caught<'m>(module: &'m Module<'m>) -> Function<'m> {
    let word = Type::i64(module);
    module
        .function(CAUGHT_SYMBOL)
        .unwrap_or_else(|| declare(module, CAUGHT_SYMBOL, Type::void(module), &[word, word]))
}

/// Declares a function of the runtime. It is hidden, does not unwind, and keeps nearly all
/// registers.
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
