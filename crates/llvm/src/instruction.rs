//! What an instruction says of itself: opcode, successors, callee, attributes, debug location.

use crate::function::AttributeKind;
use crate::metadata::{Location, Metadata};
use crate::value::{Block, Instruction, Value};

/// Operation of an instruction, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Opcode {
    /// `ret`
    Ret,
    /// `br`
    Br,
    /// `switch`
    Switch,
    /// `indirectbr`
    IndirectBr,
    /// `invoke`
    Invoke,
    /// `unreachable`
    Unreachable,
    /// `callbr`
    CallBr,
    /// `resume`
    Resume,
    /// `call`
    Call,
    /// `phi`
    Phi,
    /// `alloca`
    Alloca,
    /// `landingpad`
    LandingPad,
    /// A funclet's instruction: catchswitch, catchpad, cleanuppad, catchret, cleanupret.
    Funclet,
    /// `load`
    Load,
    /// `store`
    Store,
    /// `getelementptr`
    Offset,
    /// `add`
    Add,
    /// `or`
    Or,
    /// `sub`
    Subtract,
    /// `mul`
    Multiply,
    /// `shl`
    Shift,
    /// `zext`, `sext`, `trunc`: the same number, as long as it fits.
    Resize,
    /// `freeze`
    Freeze,
    /// `icmp`, `fcmp`
    Compare,
    /// `select`
    Select,
    /// A cast that changes no bits, or picks or puts parts of an aggregate.
    Shuffle,
    /// Any other.
    Other,
}

/// How a call may become a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailKind {
    /// Not marked.
    None,
    /// `tail`: allowed to.
    Tail,
    /// `musttail`: has to.
    MustTail,
    /// `notail`: must not.
    NoTail,
}

/// Index of the attributes of a called function itself.
const OF_FUNCTION: u32 = u32::MAX;

impl<'m> Instruction<'m> {
    /// Its operation.
    pub fn opcode(self) -> Opcode {
        // SAFETY: an instruction. The numbers are the C API's own and stable.
        match unsafe { (self.module().api().LLVMGetInstructionOpcode)(self.raw()) } {
            1 => Opcode::Ret,
            2 => Opcode::Br,
            3 => Opcode::Switch,
            4 => Opcode::IndirectBr,
            5 => Opcode::Invoke,
            7 => Opcode::Unreachable,
            67 => Opcode::CallBr,
            58 => Opcode::Resume,
            45 => Opcode::Call,
            44 => Opcode::Phi,
            26 => Opcode::Alloca,
            59 => Opcode::LandingPad,
            61..=65 => Opcode::Funclet,
            27 => Opcode::Load,
            28 => Opcode::Store,
            42 | 43 => Opcode::Compare,
            46 => Opcode::Select,
            29 => Opcode::Offset,
            8 => Opcode::Add,
            24 => Opcode::Or,
            10 => Opcode::Subtract,
            12 => Opcode::Multiply,
            20 => Opcode::Shift,
            30..=32 => Opcode::Resize,
            68 => Opcode::Freeze,
            41 | 53 | 54 => Opcode::Shuffle,
            _ => Opcode::Other,
        }
    }

    /// Whether it calls something.
    pub fn is_call(self) -> bool {
        matches!(
            self.opcode(),
            Opcode::Call | Opcode::Invoke | Opcode::CallBr
        )
    }

    /// The block it is in.
    pub fn block(self) -> Block<'m> {
        // SAFETY: handles are only given out of instructions in blocks.
        let raw = unsafe { (self.module().api().LLVMGetInstructionParent)(self.raw()) };
        Block::new(raw, self.module()).expect("the instruction is in a block")
    }

    /// The blocks it leads to, in order, with repeats. Empty unless it is a terminator.
    pub fn successors(self) -> Vec<Block<'m>> {
        let api = self.module().api();
        if !matches!(
            self.opcode(),
            Opcode::Br
                | Opcode::Switch
                | Opcode::IndirectBr
                | Opcode::Invoke
                | Opcode::CallBr
                | Opcode::Funclet
        ) {
            return Vec::new();
        }
        if self.opcode() == Opcode::Funclet && self.block().terminator() != Some(self) {
            return Vec::new();
        }
        // SAFETY: a terminator; indices below the count.
        unsafe {
            let count = (api.LLVMGetNumSuccessors)(self.raw());
            (0..count)
                .filter_map(|index| {
                    Block::new((api.LLVMGetSuccessor)(self.raw(), index), self.module())
                })
                .collect()
        }
    }

    /// The constant of a switch's case that leads to successor `index` (1 is the first case).
    /// `None` for the default, other instructions, and constants of more than 64 bits.
    pub fn case_value(self, index: u32) -> Option<i64> {
        if self.opcode() != Opcode::Switch || index == 0 {
            return None;
        }
        let api = self.module().api();
        // SAFETY: a switch; `index` is below the number of successors.
        let raw = unsafe {
            assert!(
                index < (api.LLVMGetNumSuccessors)(self.raw()),
                "the case exists"
            );
            match api.LLVMGetSwitchCaseValue {
                Some(case_value) => case_value(self.raw(), index),
                // Up to LLVM 19 the operands are: value, default, constant, block, constant, block,
                // …
                None => (api.LLVMGetOperand)(self.raw(), 2 * index),
            }
        };
        Value::new(raw, self.module())?.as_int()
    }

    /// What it calls.
    ///
    /// # Panics
    /// If it isn't a call.
    pub fn callee(self) -> Value<'m> {
        assert!(self.is_call(), "only calls have callees");
        // SAFETY: a call.
        let raw = unsafe { (self.module().api().LLVMGetCalledValue)(self.raw()) };
        Value::new(raw, self.module()).expect("calls have callees")
    }

    /// Whether the call or the function it calls carries the attribute.
    ///
    /// # Panics
    /// If it isn't a call.
    pub fn call_has(self, kind: AttributeKind) -> bool {
        let callee = self.callee();
        self.call_site_has(kind)
            || callee
                .as_function()
                .is_some_and(|function| function.has_attribute(kind))
    }

    fn call_site_has(self, kind: AttributeKind) -> bool {
        // SAFETY: a call, checked by the caller; null if absent.
        unsafe {
            !(self.module().api().LLVMGetCallSiteEnumAttribute)(
                self.raw(),
                OF_FUNCTION,
                kind.number(),
            )
            .is_null()
        }
    }

    /// How a call is marked.
    pub fn tail_kind(self) -> TailKind {
        if self.opcode() != Opcode::Call {
            return TailKind::None;
        }
        // SAFETY: a call instruction.
        match unsafe { (self.module().api().LLVMGetTailCallKind)(self.raw()) } {
            1 => TailKind::Tail,
            2 => TailKind::MustTail,
            3 => TailKind::NoTail,
            _ => TailKind::None,
        }
    }

    /// Its place in the source.
    pub fn location(self) -> Option<Location<'m>> {
        // SAFETY: an instruction; null without debug info.
        let raw = unsafe { (self.module().api().LLVMInstructionGetDebugLoc)(self.raw()) };
        Metadata::new(raw, self.module())?.as_location()
    }

    /// Its metadata of that kind.
    pub fn metadata(self, kind: u32) -> Option<Metadata<'m>> {
        // SAFETY: an instruction; null if absent, else metadata as a value.
        let raw = unsafe { (self.module().api().LLVMGetMetadata)(self.raw(), kind) };
        Value::new(raw, self.module())?.as_metadata()
    }

    /// Sets its metadata of that kind.
    ///
    /// # Panics
    /// If the metadata isn't a tuple.
    pub fn set_metadata(self, kind: u32, node: Metadata<'m>) {
        assert!(node.is_tuple(), "metadata is attached as a node");
        // SAFETY: an instruction and a node of its context.
        unsafe { (self.module().api().LLVMSetMetadata)(self.raw(), kind, node.as_value().raw()) }
    }

    /// Takes away its metadata of that kind.
    pub fn remove_metadata(self, kind: u32) {
        // SAFETY: an instruction; null takes away what it had.
        unsafe { (self.module().api().LLVMSetMetadata)(self.raw(), kind, std::ptr::null_mut()) }
    }

    /// Makes a load or a store happen once, where it stands.
    ///
    /// # Panics
    /// If it is neither.
    pub fn set_volatile(self) {
        const LOAD: i32 = 27;
        const STORE: i32 = 28;
        // SAFETY: an instruction; only a load or a store is made volatile.
        unsafe {
            let opcode = (self.module().api().LLVMGetInstructionOpcode)(self.raw());
            let is_access = opcode == LOAD || opcode == STORE;
            assert!(is_access, "a load or a store is made volatile");
            (self.module().api().LLVMSetVolatile)(self.raw(), 1);
        }
    }

    /// Whether it is a phi's incoming edge from `block`, and what comes along it.
    pub fn incoming(self) -> Vec<(Value<'m>, Block<'m>)> {
        if self.opcode() != Opcode::Phi {
            return Vec::new();
        }
        let api = self.module().api();
        // SAFETY: a phi; indices below the count.
        unsafe {
            (0..(api.LLVMCountIncoming)(self.raw()))
                .filter_map(|index| {
                    let value =
                        Value::new((api.LLVMGetIncomingValue)(self.raw(), index), self.module())?;
                    let block =
                        Block::new((api.LLVMGetIncomingBlock)(self.raw(), index), self.module())?;
                    Some((value, block))
                })
                .collect()
        }
    }

    /// Whether it is an alloca of constant size (a slot of the frame).
    pub fn is_static_alloca(self) -> bool {
        self.opcode() == Opcode::Alloca && self.value().operand(0).is_constant()
    }

    /// The name of the LLVM intrinsic it calls.
    pub fn intrinsic(self) -> Option<String> {
        if !self.is_call() {
            return None;
        }
        let name = self.callee().as_function()?.name();
        name.starts_with("llvm.").then_some(name)
    }
}
