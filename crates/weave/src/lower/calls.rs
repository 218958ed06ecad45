//! How a call comes back: once, twice, or not at all.

use holloway_llvm::{AttributeKind, Block, Function, Instruction, Module, Opcode, TypeKind, Value};

/// Functions that return twice even if no attribute says so: the intrinsic of `__builtin_setjmp`,
/// and functions that a language without the attribute `returns_twice` may declare.
const RETURN_TWICE: [&str; 9] = [
    "llvm.eh.sjlj.setjmp",
    "setjmp",
    "_setjmp",
    "__setjmp",
    "sigsetjmp",
    "__sigsetjmp",
    "vfork",
    "__vfork",
    "getcontext",
];

/// The intrinsics of operations on memory, without their types.
const MEMORY_INTRINSICS: [&str; 3] = ["llvm.memcpy.p", "llvm.memmove.p", "llvm.memset.p"];
/// The functions of the C library that compare memory.
const COMPARISONS: [&str; 2] = ["memcmp", "bcmp"];
/// The number of the operand of these with the size.
const SIZE_OPERAND: u32 = 2;

/// LLVM's ids of the attributes that decide how a call comes back, looked up once per module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallAttributes {
    noreturn: Option<AttributeKind>,
    returns_twice: Option<AttributeKind>,
    nounwind: Option<AttributeKind>,
    willreturn: Option<AttributeKind>,
}

impl CallAttributes {
    pub(crate) fn lookup(module: &Module<'_>) -> Self {
        Self {
            noreturn: AttributeKind::named(module, "noreturn"),
            returns_twice: AttributeKind::named(module, "returns_twice"),
            nounwind: AttributeKind::named(module, "nounwind"),
            willreturn: AttributeKind::named(module, "willreturn"),
        }
    }

    /// Whether an instruction is a call that may not come back: because of unwinding, `longjmp`,
    /// the end of the thread or process, or an endless loop.
    pub(crate) fn may_leave(&self, instruction: Instruction<'_>) -> bool {
        let has = |kind: Option<AttributeKind>| kind.is_some_and(|kind| instruction.call_has(kind));
        calls(instruction) && !(has(self.willreturn) && has(self.nounwind))
    }

    /// Whether an instruction certainly comes to its end, and no other thread can see or decide
    /// that: it is no call, or a call that returns. Atomic and volatile accesses do not count as
    /// such.
    pub(crate) fn ends_alone(&self, instruction: Instruction<'_>) -> bool {
        let has = |kind: Option<AttributeKind>| kind.is_some_and(|kind| instruction.call_has(kind));
        match instruction.is_call() {
            true => {
                !instruction.callee().is_inline_asm() && has(self.willreturn) && has(self.nounwind)
            }
            false => !instruction.is_atomic_or_volatile(),
        }
    }

    pub(super) fn does_not_return(&self, call: Instruction<'_>) -> bool {
        self.noreturn.is_some_and(|kind| call.call_has(kind))
    }

    pub(crate) fn returns_twice(&self, call: Instruction<'_>) -> bool {
        self.returns_twice.is_some_and(|kind| call.call_has(kind))
            || call
                .callee()
                .as_function()
                .is_some_and(|callee| RETURN_TWICE.contains(&callee.name().as_str()))
    }
}

/// Whether an instruction calls a function. Calls of intrinsics and of inline assembly do not
/// count.
pub(crate) fn calls(instruction: Instruction<'_>) -> bool {
    instruction.is_call()
        && !instruction.callee().is_inline_asm()
        && instruction.intrinsic().is_none()
}

/// The indirect calls of a function, in the order of the code. Training numbers them, and so does
/// the build that uses its counts.
pub(crate) fn indirect_calls<'m>(function: Function<'m>) -> impl Iterator<Item = Instruction<'m>> {
    let instructions = function.blocks().flat_map(Block::instructions);
    instructions.filter(|instruction| is_indirect_call(*instruction))
}

/// Whether an instruction calls a function through a pointer.
pub(crate) fn is_indirect_call(instruction: Instruction<'_>) -> bool {
    calls(instruction) && !instruction.callee().is_constant()
}

/// The memory operations of a function that the compiler does not know the size of, in the order of
/// the code: the instruction, and the operand with the size. Training numbers them, and so does the
/// build that uses its counts.
pub(crate) fn sized_operations<'m>(
    function: Function<'m>,
) -> impl Iterator<Item = (Instruction<'m>, Value<'m>)> {
    let instructions = function.blocks().flat_map(Block::instructions);
    instructions.filter_map(|instruction| Some((instruction, unknown_size(instruction)?)))
}

/// The size of a memory operation, if the instruction is one and the compiler does not know its
/// size.
pub(crate) fn unknown_size(instruction: Instruction<'_>) -> Option<Value<'_>> {
    if !instruction.is_call() || !is_memory_operation(instruction) {
        return None;
    }
    let size = instruction.value().operand(SIZE_OPERAND);
    let is_unknown = !size.is_constant() && size.kind().kind() == TypeKind::Integer(64);
    is_unknown.then_some(size)
}

/// Whether a call copies, sets, or compares memory: one for which LLVM makes special code for sizes
/// that it knows.
fn is_memory_operation(call: Instruction<'_>) -> bool {
    match call.intrinsic() {
        Some(name) => MEMORY_INTRINSICS
            .iter()
            .any(|start| name.starts_with(start)),
        None => call.callee().as_function().is_some_and(|callee| {
            let has_operands = call.value().operand_count() == SIZE_OPERAND + 2;
            let name = callee.name();
            has_operands && callee.is_declaration() && COMPARISONS.contains(&name.as_str())
        }),
    }
}

/// Whether an instruction counts in the path map's numbers of instructions. Phis and markers do
/// not, because they produce no code.
pub(crate) fn is_counted(instruction: Instruction<'_>) -> bool {
    instruction.opcode() != Opcode::Phi
        && !instruction
            .intrinsic()
            .is_some_and(|name| holloway_llvm::is_marker(&name))
}
