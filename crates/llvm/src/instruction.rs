//! Reads and changes the properties of instructions: opcode, successors, callee, attributes, debug
//! location, metadata.

use crate::function::AttributeKind;
use crate::metadata::{Location, Metadata};
use crate::value::{Block, Instruction, Value};

/// The operation of an instruction, as far as this project distinguishes it.
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
    /// An instruction of a funclet: catchswitch, catchpad, cleanuppad, catchret, cleanupret.
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
    /// `zext`, `sext`, `trunc`: conversions between integer types. They keep the number if it fits.
    Resize,
    /// `and`, `xor`, `lshr`, `ashr`
    Bits,
    /// `freeze`
    Freeze,
    /// `icmp`, `fcmp`
    Compare,
    /// `select`
    Select,
    /// A cast that changes no bits, or an instruction that extracts or inserts parts of an
    /// aggregate.
    Repack,
    /// Any other operation.
    Other,
}

/// How a comparison compares two integers or pointers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Equal.
    Equal,
    /// Not equal.
    NotEqual,
    /// Less, as unsigned or as signed numbers.
    Less,
    /// Greater, as unsigned or as signed numbers.
    Greater,
    /// Less or equal, or greater or equal.
    OrEqual,
}

/// Whether a call may become a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailKind {
    /// The call has no mark.
    None,
    /// `tail`: the call may become a jump.
    Tail,
    /// `musttail`: the call must become a jump.
    MustTail,
    /// `notail`: the call must not become a jump.
    NoTail,
}

/// LLVM's number of `icmp`.
const INTEGER_COMPARISON: i32 = 42;
/// LLVM's index for attributes that apply to the called function, not to a parameter or the result.
const FUNCTION_INDEX: u32 = u32::MAX;

impl<'m> Instruction<'m> {
    /// The operation of the instruction.
    pub fn opcode(self) -> Opcode {
        // SAFETY: an instruction. The numbers are those of the C API, which are stable.
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
            21..=23 | 25 => Opcode::Bits,
            30..=32 => Opcode::Resize,
            68 => Opcode::Freeze,
            41 | 53 | 54 => Opcode::Repack,
            _ => Opcode::Other,
        }
    }

    /// Whether the instruction is a call.
    pub fn is_call(self) -> bool {
        matches!(
            self.opcode(),
            Opcode::Call | Opcode::Invoke | Opcode::CallBr
        )
    }

    /// The block of the instruction.
    pub fn block(self) -> Block<'m> {
        // SAFETY: an instruction with a handle is in a block.
        let raw = unsafe { (self.module().api().LLVMGetInstructionParent)(self.raw()) };
        Block::new(raw, self.module()).expect("the instruction is in a block")
    }

    /// The successors of a terminator, in order, with duplicates. Empty for other instructions.
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

    /// Returns the constant of the switch case that leads to successor `index` (1 is the first
    /// case). Returns `None` for the default case, for other instructions, and for constants of
    /// more than 64 bits.
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

    /// The callee of a call.
    ///
    /// # Panics
    /// If the instruction is not a call.
    pub fn callee(self) -> Value<'m> {
        assert!(self.is_call(), "only calls have callees");
        // SAFETY: a call.
        let raw = unsafe { (self.module().api().LLVMGetCalledValue)(self.raw()) };
        Value::new(raw, self.module()).expect("calls have callees")
    }

    /// Whether the call or its callee has the attribute.
    ///
    /// # Panics
    /// If the instruction is not a call.
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
                FUNCTION_INDEX,
                kind.number(),
            )
            .is_null()
        }
    }

    /// The tail-call mark of a call.
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

    /// The source location of the instruction.
    pub fn location(self) -> Option<Location<'m>> {
        // SAFETY: an instruction; null without debug info.
        let raw = unsafe { (self.module().api().LLVMInstructionGetDebugLoc)(self.raw()) };
        Metadata::new(raw, self.module())?.as_location()
    }

    /// Gives the instruction the debug location of another one of its function.
    pub fn set_location_of(self, other: Instruction<'m>) {
        // SAFETY: two live instructions of one context; the location is null or a location.
        unsafe {
            let api = self.module().api();
            let location = (api.LLVMInstructionGetDebugLoc)(other.raw());
            (api.LLVMInstructionSetDebugLoc)(self.raw(), location);
        }
    }

    /// The instruction's metadata of a kind.
    pub fn metadata(self, kind: u32) -> Option<Metadata<'m>> {
        // SAFETY: an instruction; null if absent, else metadata as a value.
        let raw = unsafe { (self.module().api().LLVMGetMetadata)(self.raw(), kind) };
        Value::new(raw, self.module())?.as_metadata()
    }

    /// Sets the instruction's metadata of a kind.
    ///
    /// # Panics
    /// If the metadata is not a tuple.
    pub fn set_metadata(self, kind: u32, node: Metadata<'m>) {
        assert!(node.is_tuple(), "metadata is attached as a node");
        // SAFETY: an instruction and a node of its context.
        unsafe { (self.module().api().LLVMSetMetadata)(self.raw(), kind, node.as_value().raw()) }
    }

    /// Removes the instruction's metadata of a kind.
    pub fn remove_metadata(self, kind: u32) {
        // SAFETY: an instruction; null removes the metadata.
        unsafe { (self.module().api().LLVMSetMetadata)(self.raw(), kind, std::ptr::null_mut()) }
    }

    /// The comparison of an `icmp`. `None` for other instructions.
    pub fn comparison(self) -> Option<Comparison> {
        // SAFETY: an instruction; only an icmp is asked for its predicate.
        let predicate = unsafe {
            let api = self.module().api();
            let opcode = (api.LLVMGetInstructionOpcode)(self.raw());
            if opcode != INTEGER_COMPARISON {
                return None;
            }
            (api.LLVMGetICmpPredicate)(self.raw())
        };
        Some(match predicate {
            32 => Comparison::Equal,
            33 => Comparison::NotEqual,
            34 | 38 => Comparison::Greater,
            36 | 40 => Comparison::Less,
            _ => Comparison::OrEqual,
        })
    }

    /// Whether the instruction is an `icmp` that compares signed numbers.
    pub fn compares_signed(self) -> bool {
        const SIGNED: std::ops::RangeInclusive<u32> = 38..=41;
        SIGNED.contains(&self.operation().1)
    }

    /// Whether an addition promises not to overflow: as one of signed numbers if `test` compares
    /// such numbers, else as one of unsigned numbers.
    ///
    /// # Panics
    /// If the instruction is no addition.
    pub fn never_overflows_for(self, test: Instruction<'m>) -> bool {
        assert!(self.opcode() == Opcode::Add, "an addition may overflow");
        // SAFETY: an addition.
        unsafe {
            let api = self.module().api();
            match test.compares_signed() {
                true => (api.LLVMGetNSW)(self.raw()) != 0,
                false => (api.LLVMGetNUW)(self.raw()) != 0,
            }
        }
    }

    /// LLVM's number of the instruction's operation, and of the predicate of an `icmp`, else 0.
    /// Both are those of the C API, which are stable.
    pub fn operation(self) -> (u32, u32) {
        // SAFETY: an instruction; only an icmp is asked for its predicate.
        let (opcode, predicate) = unsafe {
            let api = self.module().api();
            let opcode = (api.LLVMGetInstructionOpcode)(self.raw());
            let predicate = match opcode {
                INTEGER_COMPARISON => (api.LLVMGetICmpPredicate)(self.raw()),
                _ => 0,
            };
            (opcode, predicate)
        };
        (opcode.cast_unsigned(), predicate.cast_unsigned())
    }

    /// Whether the instruction is a load that is neither volatile nor atomic.
    pub fn is_plain_load(self) -> bool {
        self.opcode() == Opcode::Load && !self.is_atomic_or_volatile()
    }

    /// Whether other threads or devices may take part in the instruction's effect: atomic
    /// operations, fences, and volatile loads and stores.
    pub fn is_atomic_or_volatile(self) -> bool {
        const NOT_ATOMIC: i32 = 0;
        // SAFETY: an instruction; only loads and stores are asked for their properties.
        unsafe {
            let api = self.module().api();
            match (api.LLVMGetInstructionOpcode)(self.raw()) {
                // load, store
                27 | 28 => {
                    (api.LLVMGetVolatile)(self.raw()) != 0
                        || (api.LLVMGetOrdering)(self.raw()) != NOT_ATOMIC
                }
                // fence, cmpxchg, atomicrmw
                55..=57 => true,
                _ => false,
            }
        }
    }

    /// Makes a load or store volatile. Optimizations then neither remove, repeat, nor reorder it.
    ///
    /// # Panics
    /// If the instruction is neither a load nor a store.
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

    /// The incoming values of a phi, each with its incoming block. Empty for other instructions.
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

    /// Whether the instruction is an alloca of constant size (a stack slot).
    pub fn is_static_alloca(self) -> bool {
        self.opcode() == Opcode::Alloca && self.value().operand(0).is_constant()
    }

    /// The name of the LLVM intrinsic that the instruction calls.
    pub fn intrinsic(self) -> Option<String> {
        if !self.is_call() {
            return None;
        }
        let name = self.callee().as_function()?.name();
        name.starts_with("llvm.").then_some(name)
    }
}
