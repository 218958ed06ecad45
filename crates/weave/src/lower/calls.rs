//! Whether a call comes back once, comes back twice, or does not come back.

use holloway_llvm::{AttributeKind, Instruction, Module, Opcode};

/// Functions that return twice even if no attribute says so: `__builtin_setjmp`, and declarations
/// from languages without such an attribute.
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

/// The kinds of the attributes that calls are asked for, looked up once per module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallAttributes {
    noreturn: Option<AttributeKind>,
    returns_twice: Option<AttributeKind>,
    nounwind: Option<AttributeKind>,
    willreturn: Option<AttributeKind>,
}

impl CallAttributes {
    pub(crate) fn of(module: &Module<'_>) -> Self {
        Self {
            noreturn: AttributeKind::named(module, "noreturn"),
            returns_twice: AttributeKind::named(module, "returns_twice"),
            nounwind: AttributeKind::named(module, "nounwind"),
            willreturn: AttributeKind::named(module, "willreturn"),
        }
    }

    /// Whether a call may never come back: by unwinding, longjmp, the end of the thread or process,
    /// or an endless loop.
    pub(crate) fn may_leave(&self, instruction: Instruction<'_>) -> bool {
        let has = |kind: Option<AttributeKind>| kind.is_some_and(|kind| instruction.call_has(kind));
        calls(instruction) && !(has(self.willreturn) && has(self.nounwind))
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

/// Whether an instruction calls a function. Intrinsics and inline assembly do not.
pub(crate) fn calls(instruction: Instruction<'_>) -> bool {
    instruction.is_call()
        && !instruction.callee().is_inline_asm()
        && instruction.intrinsic().is_none()
}

/// Whether an instruction counts as one: phis and markers produce no code.
pub(crate) fn is_counted(instruction: Instruction<'_>) -> bool {
    instruction.opcode() != Opcode::Phi
        && !instruction
            .intrinsic()
            .is_some_and(|name| holloway_llvm::is_marker(&name))
}
