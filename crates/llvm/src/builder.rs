//! Inserts instructions.
//!
//! Each method checks the types of its arguments, and panics if they are wrong. A wrong argument is
//! a bug of the caller, never an error of the input. LLVM does not check arguments, and would have
//! undefined behavior.

use std::ptr::NonNull;

use crate::function::AttributeKind;
use crate::module::Module;
use crate::sys::{Api, LBuilder};
use crate::types::{Type, TypeKind};
use crate::value::{Block, Function, Instruction, Value};

/// An insertion point for new instructions.
pub struct Builder<'m> {
    raw: NonNull<LBuilder>,
    module: &'m Module<'m>,
}

impl<'m> Builder<'m> {
    fn unplaced(module: &'m Module<'m>) -> Self {
        // SAFETY: a live context.
        let raw = unsafe { (module.api().LLVMCreateBuilderInContext)(module.context().raw()) };
        Self {
            raw: NonNull::new(raw).expect("LLVMCreateBuilderInContext returns a builder"),
            module,
        }
    }

    /// Makes a builder that inserts before an instruction, with that instruction's debug location.
    pub fn before(instruction: Instruction<'m>) -> Self {
        let builder = Self::unplaced(instruction.module());
        // SAFETY: an instruction in a block.
        unsafe { (builder.api().LLVMPositionBuilderBefore)(builder.raw(), instruction.raw()) };
        builder
    }

    /// Makes a builder that inserts at the top of a block: before its first instruction and before
    /// the debug records of that instruction.
    ///
    /// # Panics
    /// If the block is empty.
    pub fn at_top(block: Block<'m>) -> Self {
        let first = block
            .instructions()
            .next()
            .expect("the block has an instruction");
        let builder = Self::unplaced(block.module());
        // SAFETY: an instruction in a block.
        unsafe {
            (builder.api().LLVMPositionBuilderBeforeInstrAndDbgRecords)(builder.raw(), first.raw());
        }
        builder
    }

    /// Makes a builder that inserts at the end of a block, without a debug location.
    pub fn at_end(block: Block<'m>) -> Self {
        let builder = Self::unplaced(block.module());
        // SAFETY: a block in a function.
        unsafe { (builder.api().LLVMPositionBuilderAtEnd)(builder.raw(), block.raw()) };
        builder
    }

    fn api(&self) -> &'m Api {
        self.module.api()
    }

    fn raw(&self) -> *mut LBuilder {
        self.raw.as_ptr()
    }

    fn built(&self, raw: *mut crate::sys::LValue) -> Value<'m> {
        Value::new(raw, self.module).expect("building returns a value")
    }

    /// Loads a value.
    pub fn load(&self, kind: Type<'m>, pointer: Value<'m>) -> Value<'m> {
        assert!(kind.is_scalar(), "an integer or a pointer is loaded");
        expect_pointer(pointer);
        // SAFETY: a pointer; an integer or pointer type.
        self.built(unsafe {
            (self.api().LLVMBuildLoad2)(self.raw(), kind.raw(), pointer.raw(), c"".as_ptr())
        })
    }

    /// Allocates a stack slot for an integer or a pointer. The insertion point must be in the entry
    /// block.
    pub fn slot(&self, kind: Type<'m>) -> Value<'m> {
        assert!(kind.is_scalar(), "an integer or a pointer has a slot");
        // SAFETY: an integer or pointer type.
        self.built(unsafe { (self.api().LLVMBuildAlloca)(self.raw(), kind.raw(), c"".as_ptr()) })
    }

    /// Stores a value.
    pub fn store(&self, value: Value<'m>, pointer: Value<'m>) -> Value<'m> {
        assert!(
            value.kind().is_scalar(),
            "an integer or a pointer is stored"
        );
        expect_pointer(pointer);
        // SAFETY: a pointer.
        self.built(unsafe { (self.api().LLVMBuildStore)(self.raw(), value.raw(), pointer.raw()) })
    }

    /// Adds two integers.
    pub fn add(&self, left: Value<'m>, right: Value<'m>) -> Value<'m> {
        assert!(
            matches!(left.kind().kind(), TypeKind::Integer(_)) && left.kind() == right.kind(),
            "integers are added"
        );
        // SAFETY: two integers of one type.
        self.built(unsafe {
            (self.api().LLVMBuildAdd)(self.raw(), left.raw(), right.raw(), c"".as_ptr())
        })
    }

    /// Subtracts one integer from another.
    pub fn subtract(&self, left: Value<'m>, right: Value<'m>) -> Value<'m> {
        assert!(
            matches!(left.kind().kind(), TypeKind::Integer(_)) && left.kind() == right.kind(),
            "integers are subtracted"
        );
        // SAFETY: two integers of one type.
        self.built(unsafe {
            (self.api().LLVMBuildSub)(self.raw(), left.raw(), right.raw(), c"".as_ptr())
        })
    }

    /// Multiplies two integers.
    pub fn multiply(&self, left: Value<'m>, right: Value<'m>) -> Value<'m> {
        assert!(
            matches!(left.kind().kind(), TypeKind::Integer(_)) && left.kind() == right.kind(),
            "integers are multiplied"
        );
        // SAFETY: two integers of one type.
        self.built(unsafe {
            (self.api().LLVMBuildMul)(self.raw(), left.raw(), right.raw(), c"".as_ptr())
        })
    }

    /// Computes the bitwise AND of two integers.
    pub fn and(&self, left: Value<'m>, right: Value<'m>) -> Value<'m> {
        assert!(
            matches!(left.kind().kind(), TypeKind::Integer(_)) && left.kind() == right.kind(),
            "integers have bits"
        );
        // SAFETY: two integers of one type.
        self.built(unsafe {
            (self.api().LLVMBuildAnd)(self.raw(), left.raw(), right.raw(), c"".as_ptr())
        })
    }

    /// Makes an integer of a pointer.
    pub fn pointer_to_i64(&self, pointer: Value<'m>) -> Value<'m> {
        expect_pointer(pointer);
        let kind = Type::i64(pointer.module());
        // SAFETY: a pointer and an integer type.
        self.built(unsafe {
            (self.api().LLVMBuildPtrToInt)(self.raw(), pointer.raw(), kind.raw(), c"".as_ptr())
        })
    }

    /// Freezes a value. The instruction stops passes that analyze additions around a loop.
    pub fn freeze(&self, value: Value<'m>) -> Value<'m> {
        // SAFETY: a value.
        self.built(unsafe { (self.api().LLVMBuildFreeze)(self.raw(), value.raw(), c"".as_ptr()) })
    }

    /// Tests whether an integer is 0 or a pointer is null.
    pub fn is_null(&self, value: Value<'m>) -> Value<'m> {
        const EQUAL: i32 = 32;
        self.compare_to_null(EQUAL, value)
    }

    /// Tests whether two integers or two pointers are equal.
    pub fn is_equal(&self, left: Value<'m>, right: Value<'m>) -> Value<'m> {
        const EQUAL: i32 = 32;
        assert!(
            left.kind().is_scalar() && left.kind() == right.kind(),
            "integers or pointers are compared"
        );
        // SAFETY: two integers or pointers of one type, and a predicate of theirs.
        self.built(unsafe {
            (self.api().LLVMBuildICmp)(self.raw(), EQUAL, left.raw(), right.raw(), c"".as_ptr())
        })
    }

    /// Tests whether an integer is below zero.
    pub fn is_negative(&self, value: Value<'m>) -> Value<'m> {
        const SIGNED_LESS: i32 = 40;
        assert!(
            matches!(value.kind().kind(), TypeKind::Integer(_)),
            "integers have a sign"
        );
        self.compare_to_null(SIGNED_LESS, value)
    }

    /// Tests whether an integer is greater than another, as unsigned numbers.
    pub fn is_above(&self, left: Value<'m>, right: Value<'m>) -> Value<'m> {
        const UNSIGNED_GREATER: i32 = 34;
        assert!(
            matches!(left.kind().kind(), TypeKind::Integer(_)) && left.kind() == right.kind(),
            "integers are compared"
        );
        // SAFETY: two integers of one type, and a predicate of theirs.
        self.built(unsafe {
            let (left, right) = (left.raw(), right.raw());
            (self.api().LLVMBuildICmp)(self.raw(), UNSIGNED_GREATER, left, right, c"".as_ptr())
        })
    }

    /// Loads a value as another load does: of its type, and with its alignment.
    pub fn load_as(&self, load: Instruction<'m>, pointer: Value<'m>) -> Value<'m> {
        assert!(
            load.opcode() == crate::instruction::Opcode::Load,
            "a load has an alignment"
        );
        let value = self.load(load.value().kind(), pointer);
        // SAFETY: two loads.
        unsafe {
            let alignment = (self.api().LLVMGetAlignment)(load.raw());
            (self.api().LLVMSetAlignment)(value.raw(), alignment);
        }
        value
    }

    /// Loads a value of the type of another load, so many bytes away from it: with the alignment
    /// that both places have.
    pub fn load_near(&self, load: Instruction<'m>, pointer: Value<'m>, bytes: i64) -> Value<'m> {
        let value = self.load_as(load, pointer);
        let of_distance = 1u32.checked_shl(bytes.trailing_zeros());
        // SAFETY: a load. The alignment is a power of two.
        unsafe {
            let alignment = (self.api().LLVMGetAlignment)(value.raw());
            let alignment = of_distance.map_or(alignment, |limit| limit.min(alignment));
            (self.api().LLVMSetAlignment)(value.raw(), alignment);
        }
        value
    }

    /// Compares two numbers or pointers as an `icmp` does.
    pub fn compare_as(
        &self,
        comparison: Instruction<'m>,
        left: Value<'m>,
        right: Value<'m>,
    ) -> Value<'m> {
        assert!(
            comparison.comparison().is_some()
                && left.kind().is_scalar()
                && left.kind() == right.kind(),
            "integers or pointers are compared"
        );
        // SAFETY: an icmp, and two integers or pointers of one type.
        self.built(unsafe {
            let predicate = (self.api().LLVMGetICmpPredicate)(comparison.raw());
            let (left, right) = (left.raw(), right.raw());
            (self.api().LLVMBuildICmp)(self.raw(), predicate, left, right, c"".as_ptr())
        })
    }

    /// Inserts a prefetch of the cache line at an address. The address need not be valid.
    pub fn prefetch(&self, address: Value<'m>) {
        expect_pointer(address);
        let (pointer, narrow) = (Type::pointer(self.module), Type::i32(self.module));
        let parameters = [pointer, narrow, narrow, narrow];
        let void = Type::void(self.module);
        let intrinsic = self.module.declare("llvm.prefetch.p0", void, &parameters);
        let [read, keep, data] = [0, 3, 1].map(|number| narrow.int(number));
        self.call(intrinsic, void, &[address, read, keep, data]);
    }

    fn compare_to_null(&self, predicate: i32, value: Value<'m>) -> Value<'m> {
        let null = value.kind().null();
        // SAFETY: two integers or pointers of one type, and a predicate of theirs.
        self.built(unsafe {
            (self.api().LLVMBuildICmp)(self.raw(), predicate, value.raw(), null.raw(), c"".as_ptr())
        })
    }

    /// Selects one of two values by a condition.
    pub fn select(&self, condition: Value<'m>, then: Value<'m>, otherwise: Value<'m>) -> Value<'m> {
        assert!(
            condition.kind().kind() == TypeKind::Integer(1) && then.kind() == otherwise.kind(),
            "an i1 chooses between values of one type"
        );
        // SAFETY: an i1 and two values of one type.
        self.built(unsafe {
            (self.api().LLVMBuildSelect)(
                self.raw(),
                condition.raw(),
                then.raw(),
                otherwise.raw(),
                c"".as_ptr(),
            )
        })
    }

    /// Moves `pointer` by `index` elements of type `kind`.
    pub fn offset(&self, kind: Type<'m>, pointer: Value<'m>, index: Value<'m>) -> Value<'m> {
        assert!(kind.is_scalar(), "elements are integers or pointers");
        expect_pointer(pointer);
        assert!(
            matches!(index.kind().kind(), TypeKind::Integer(_)),
            "an index is an integer"
        );
        let mut indices = [index.raw()];
        // SAFETY: a pointer, a sized type, one index.
        self.built(unsafe {
            (self.api().LLVMBuildGEP2)(
                self.raw(),
                kind.raw(),
                pointer.raw(),
                indices.as_mut_ptr(),
                1,
                c"".as_ptr(),
            )
        })
    }

    /// Calls a function with its calling convention. The types of result and arguments must be the
    /// types in the function's type.
    pub fn call(
        &self,
        function: Function<'m>,
        result: Type<'m>,
        arguments: &[Value<'m>],
    ) -> Value<'m> {
        let call = self.call_value(function.value(), result, arguments);
        // SAFETY: a call was just built.
        unsafe {
            (self.api().LLVMSetInstructionCallConv)(call.raw(), function.calling_convention());
        };
        call
    }

    /// Inserts a pseudo-probe: it emits no instruction, but its address is written into the section
    /// `.pseudo_probe` ([`Module::emit_pseudo_probes`]). `guid` identifies the function, and
    /// `index` the probe in the function. The probe has no debug location: LLVM would take an
    /// inlined location for a function that was inlined with its probes.
    pub fn pseudo_probe(&self, guid: u64, index: u32) {
        const WHOLE_WEIGHT: u64 = u64::MAX;
        let (wide, narrow) = (Type::i64(self.module), Type::i32(self.module));
        let parameters = [wide, wide, narrow, wide];
        let void = Type::void(self.module);
        let intrinsic = self.module.declare("llvm.pseudoprobe", void, &parameters);
        let arguments = [
            wide.int(guid.cast_signed()),
            wide.int(index.into()),
            narrow.int(0),
            wide.int(WHOLE_WEIGHT.cast_signed()),
        ];
        let call = self.call(intrinsic, void, &arguments);
        // SAFETY: a call was just built; null removes its location.
        unsafe { (self.api().LLVMInstructionSetDebugLoc)(call.raw(), std::ptr::null_mut()) };
    }

    fn call_value(
        &self,
        callee: Value<'m>,
        result: Type<'m>,
        arguments: &[Value<'m>],
    ) -> Value<'m> {
        let kinds: Vec<_> = arguments.iter().map(|argument| argument.kind()).collect();
        let kind = Type::function(self.module, result, &kinds);
        let mut raw: Vec<_> = arguments.iter().map(|argument| argument.raw()).collect();
        // SAFETY: the arguments fit the function type by construction; they are given with their
        // number.
        self.built(unsafe {
            (self.api().LLVMBuildCall2)(
                self.raw(),
                kind.raw(),
                callee.raw(),
                raw.as_mut_ptr(),
                raw.len() as u32,
                c"".as_ptr(),
            )
        })
    }

    /// Inserts inline assembly (AT&T syntax) that reads and writes one `i64` in memory, its operand
    /// `$0`. The assembly may also read an integer, its operand `$1`. `constraint` says whether
    /// this integer is in a register, in memory, or an immediate.
    pub fn asm_on_memory(
        &self,
        assembly: &str,
        operand: Option<(&str, Value<'m>)>,
        clobbers: &str,
        pointer: Value<'m>,
    ) {
        expect_pointer(pointer);
        let void = Type::void(self.module);
        let mut arguments = vec![pointer];
        let mut constraints = String::from("=*m");
        if let Some((constraint, value)) = operand {
            arguments.push(value);
            constraints = format!("{constraints},{constraint}");
        }
        arguments.push(pointer);
        let constraints = format!("{constraints},*m{clobbers}");
        let call = self.asm(assembly, &constraints, void, &arguments);
        let element =
            AttributeKind::named(self.module, "elementtype").expect("LLVM knows elementtype");
        // SAFETY: a type attribute of this context, on the two pointers among a call's parameters.
        unsafe {
            let attribute = (self.api().LLVMCreateTypeAttribute)(
                self.module.context().raw(),
                element.number(),
                Type::i64(self.module).raw(),
            );
            for parameter in [1, arguments.len() as u32] {
                (self.api().LLVMAddCallSiteAttribute)(call.raw(), parameter, attribute);
            }
        }
    }

    /// Inserts inline assembly (AT&T syntax) with these operands. LLVM assumes that the assembly
    /// may read and write any memory.
    pub fn asm(
        &self,
        assembly: &str,
        constraints: &str,
        result: Type<'m>,
        arguments: &[Value<'m>],
    ) -> Value<'m> {
        let kinds: Vec<_> = arguments.iter().map(|argument| argument.kind()).collect();
        let kind = Type::function(self.module, result, &kinds);
        // SAFETY: texts are given with their lengths; LLVM's verifier checks that the constraints
        // fit the type.
        let callee = self.built(unsafe {
            (self.api().LLVMGetInlineAsm)(
                kind.raw(),
                assembly.as_ptr().cast(),
                assembly.len(),
                constraints.as_ptr().cast(),
                constraints.len(),
                1,
                0,
                0,
                0,
            )
        });
        self.call_value(callee, result, arguments)
    }

    /// Inserts a jump.
    pub fn branch(&self, target: Block<'m>) -> Instruction<'m> {
        // SAFETY: a block of the function.
        Instruction::from_value(
            self.built(unsafe { (self.api().LLVMBuildBr)(self.raw(), target.raw()) }),
        )
    }

    /// Inserts a conditional jump.
    pub fn branch_if(
        &self,
        condition: Value<'m>,
        then: Block<'m>,
        otherwise: Block<'m>,
    ) -> Instruction<'m> {
        assert!(
            condition.kind().kind() == TypeKind::Integer(1),
            "a condition is an i1"
        );
        // SAFETY: an i1 and two blocks of the function.
        Instruction::from_value(self.built(unsafe {
            (self.api().LLVMBuildCondBr)(self.raw(), condition.raw(), then.raw(), otherwise.raw())
        }))
    }

    /// Inserts a phi without incoming values. The insertion point must be before the first
    /// instruction of a block.
    pub fn phi(&self, kind: Type<'m>) -> Instruction<'m> {
        assert!(
            !matches!(kind.kind(), TypeKind::Void | TypeKind::Token),
            "a value that can be chosen comes out of a phi"
        );
        // SAFETY: the type of a value that is neither void nor a token.
        Instruction::from_value(
            self.built(unsafe { (self.api().LLVMBuildPhi)(self.raw(), kind.raw(), c"".as_ptr()) }),
        )
    }

    /// Inserts a copy of an instruction, with the same operands, successors, and metadata. The copy
    /// of a phi has the phi's type but no incoming values.
    pub fn copy(&self, instruction: Instruction<'m>) -> Instruction<'m> {
        if instruction.opcode() == crate::instruction::Opcode::Phi {
            let phi = self.phi(instruction.value().kind());
            // SAFETY: two phis of one type, so each may have the flags and location of the other.
            unsafe {
                let (original, copy) = (instruction.raw(), phi.raw());
                let location = (self.api().LLVMInstructionGetDebugLoc)(original);
                (self.api().LLVMInstructionSetDebugLoc)(copy, location);
                if (self.api().LLVMCanValueUseFastMathFlags)(original) != 0 {
                    let flags = (self.api().LLVMGetFastMathFlags)(original);
                    (self.api().LLVMSetFastMathFlags)(copy, flags);
                }
            }
            return phi;
        }
        // SAFETY: a live instruction; its copy is inserted at once.
        unsafe {
            let raw = (self.api().LLVMInstructionClone)(instruction.raw());
            let copy = self.built(raw);
            let location = (self.api().LLVMInstructionGetDebugLoc)(instruction.raw());
            (self.api().LLVMInsertIntoBuilder)(self.raw(), raw);
            (self.api().LLVMInstructionSetDebugLoc)(raw, location);
            Instruction::from_value(copy)
        }
    }

    /// Inserts an instruction that is in no block.
    pub(crate) fn insert(&self, instruction: Instruction<'m>) {
        // SAFETY: the instruction is in no block.
        unsafe { (self.api().LLVMInsertIntoBuilder)(self.raw(), instruction.raw()) }
    }

    /// Moves an instruction to the insertion point.
    pub fn take(&self, instruction: Instruction<'m>) {
        // SAFETY: the instruction is in a block, and is inserted again at once.
        unsafe {
            (self.api().LLVMInstructionRemoveFromParent)(instruction.raw());
            (self.api().LLVMInsertIntoBuilder)(self.raw(), instruction.raw());
        }
    }
}

impl<'m> Instruction<'m> {
    /// Moves all instructions before this instruction, including phis, to a new block. All edges
    /// into the old block now lead to the new block. The new block has no terminator yet. The old
    /// block keeps its outgoing edges and has no incoming edges.
    ///
    /// # Panics
    /// If the block has no terminator.
    pub fn split_before(self, name: &str) -> Block<'m> {
        let old_block = self.block();
        let terminator = old_block.terminator().expect("the block has a terminator");
        let new_block = old_block.insert_before(name);
        let api = self.module().api();
        // SAFETY: two blocks of one function. While the terminator is removed, the old block has no
        // successors, so their phis still name the old block. The terminator is inserted again at
        // once.
        unsafe {
            (api.LLVMInstructionRemoveFromParent)(terminator.raw());
            let [from, to] =
                [old_block, new_block].map(|block| (api.LLVMBasicBlockAsValue)(block.raw()));
            (api.LLVMReplaceAllUsesWith)(from, to);
            (api.LLVMInsertIntoBuilder)(Builder::at_end(old_block).raw(), terminator.raw());
        }
        let moved: Vec<Self> = old_block
            .instructions()
            .take_while(|&other| other != self)
            .collect();
        let builder = Builder::at_end(new_block);
        for instruction in moved {
            builder.take(instruction);
        }
        new_block
    }

    /// Replaces the instruction's result everywhere, and deletes the instruction.
    ///
    /// # Panics
    /// If `value` has another type.
    pub fn replace_by(self, value: Value<'m>) {
        assert!(
            self.value().kind() == value.kind(),
            "a value of its type replaces it"
        );
        let api = self.module().api();
        // SAFETY: a value of the same type; after that nothing uses the instruction.
        unsafe {
            (api.LLVMReplaceAllUsesWith)(self.raw(), value.raw());
            (api.LLVMInstructionEraseFromParent)(self.raw());
        }
    }
}

impl Drop for Builder<'_> {
    fn drop(&mut self) {
        // SAFETY: the builder is owned, and not used after this.
        unsafe { (self.api().LLVMDisposeBuilder)(self.raw()) }
    }
}

impl<'m> Instruction<'m> {
    /// Adds an incoming value to a phi.
    ///
    /// # Panics
    /// If this instruction is not a phi of the value's type.
    pub fn add_incoming(self, value: Value<'m>, block: Block<'m>) {
        assert!(
            self.opcode() == crate::instruction::Opcode::Phi && self.value().kind() == value.kind(),
            "a value comes into a phi of its type"
        );
        let (mut values, mut blocks) = ([value.raw()], [block.raw()]);
        // SAFETY: a phi of the value's type; one value and one block.
        unsafe {
            (self.module().api().LLVMAddIncoming)(
                self.raw(),
                values.as_mut_ptr(),
                blocks.as_mut_ptr(),
                1,
            );
        }
    }
}

fn expect_pointer(value: Value<'_>) {
    assert!(
        value.kind().kind() == TypeKind::Pointer,
        "memory is reached through a pointer"
    );
}
