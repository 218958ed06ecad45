//! Inserting instructions.
//!
//! Each method checks the types it needs and panics where they don't fit: a wrong call is a bug of the caller, not
//! of the input, and LLVM itself would go on with undefined behaviour.

use std::ptr::NonNull;

use crate::function::AttributeKind;
use crate::module::Module;
use crate::sys::{Api, LBuilder};
use crate::types::TypeKind;
use crate::value::{Block, Function, Instruction, Type, Value};

/// A place to insert at.
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

    /// Inserts before an instruction, with its debug location.
    pub fn before(instruction: Instruction<'m>) -> Self {
        let builder = Self::unplaced(instruction.module());
        // SAFETY: an instruction in a block.
        unsafe { (builder.api().LLVMPositionBuilderBefore)(builder.raw(), instruction.raw()) };
        builder
    }

    /// Inserts at the top of a block: before its first instruction and the debug records that belong to that.
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

    /// Inserts at the end of a block, without debug location.
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

    /// Whether a pointer is null.
    pub fn is_null(&self, pointer: Value<'m>) -> Value<'m> {
        const EQUAL: i32 = 32;
        expect_pointer(pointer);
        let null = pointer.kind().null();
        // SAFETY: two pointers of one type.
        self.built(unsafe {
            (self.api().LLVMBuildICmp)(self.raw(), EQUAL, pointer.raw(), null.raw(), c"".as_ptr())
        })
    }

    /// `pointer` moved by `index` elements of type `kind`.
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

    /// Calls a function whose type has this result and these arguments' types, by its calling convention.
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

    fn call_value(
        &self,
        callee: Value<'m>,
        result: Type<'m>,
        arguments: &[Value<'m>],
    ) -> Value<'m> {
        let kinds: Vec<_> = arguments.iter().map(|argument| argument.kind()).collect();
        let kind = Type::function(self.module, result, &kinds);
        let mut raw: Vec<_> = arguments.iter().map(|argument| argument.raw()).collect();
        // SAFETY: the arguments fit the function type by construction; they are given with their number.
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

    /// Inline assembly (AT&T) that reads and writes one `i64` in memory: its operand `$0`.
    pub fn asm_on_memory(&self, assembly: &str, clobbers: &str, pointer: Value<'m>) {
        expect_pointer(pointer);
        let void = Type::void(self.module);
        let kind = Type::function(self.module, void, &[pointer.kind(), pointer.kind()]);
        let constraints = format!("=*m,*m{clobbers}");
        // SAFETY: texts are given with their lengths; the type has the two pointers that the constraints name.
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
        let call = self.call_value(callee, void, &[pointer, pointer]);
        let element =
            AttributeKind::named(self.module, "elementtype").expect("LLVM knows elementtype");
        // SAFETY: a type attribute of this context, on the two parameters of a call.
        unsafe {
            let attribute = (self.api().LLVMCreateTypeAttribute)(
                self.module.context().raw(),
                element.number(),
                Type::i64(self.module).raw(),
            );
            for parameter in 1..=2 {
                (self.api().LLVMAddCallSiteAttribute)(call.raw(), parameter, attribute);
            }
        }
    }

    /// Jumps.
    pub fn branch(&self, target: Block<'m>) -> Instruction<'m> {
        // SAFETY: a block of the function.
        Instruction::of(self.built(unsafe { (self.api().LLVMBuildBr)(self.raw(), target.raw()) }))
    }

    /// Jumps by a condition.
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
        Instruction::of(self.built(unsafe {
            (self.api().LLVMBuildCondBr)(self.raw(), condition.raw(), then.raw(), otherwise.raw())
        }))
    }

    /// A phi without incoming values yet. To be placed before a block's first instruction.
    pub fn phi(&self, kind: Type<'m>) -> Instruction<'m> {
        assert!(
            kind.is_scalar(),
            "an integer or a pointer comes out of a phi"
        );
        // SAFETY: an integer or pointer type.
        Instruction::of(
            self.built(unsafe { (self.api().LLVMBuildPhi)(self.raw(), kind.raw(), c"".as_ptr()) }),
        )
    }

    /// Takes an instruction from where it is to here.
    pub fn take(&self, instruction: Instruction<'m>) {
        // SAFETY: it is in a block, and inserted again at once: it never dangles.
        unsafe {
            (self.api().LLVMInstructionRemoveFromParent)(instruction.raw());
            (self.api().LLVMInsertIntoBuilder)(self.raw(), instruction.raw());
        }
    }
}

impl Drop for Builder<'_> {
    fn drop(&mut self) {
        // SAFETY: ours, not used after.
        unsafe { (self.api().LLVMDisposeBuilder)(self.raw()) }
    }
}

impl<'m> Instruction<'m> {
    /// Adds an incoming value to a phi.
    ///
    /// # Panics
    /// If it isn't a phi of the value's type.
    pub fn add_incoming(self, value: Value<'m>, block: Block<'m>) {
        assert!(
            self.opcode() == crate::instruction::Opcode::Phi && self.value().kind() == value.kind(),
            "a value comes into a phi of its type"
        );
        let (mut values, mut blocks) = ([value.raw()], [block.raw()]);
        // SAFETY: a phi of the value's type; one of each.
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
