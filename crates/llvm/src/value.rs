//! Handles of values, global variables, functions, blocks, and instructions, with their common
//! properties.

use std::ffi::CString;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ptr::NonNull;

use crate::context::copy_text;
use crate::handle::handle;
use crate::module::Module;
use crate::sys::{Api, LBlock, LValue};
use crate::types::{Type, TypeKind};

handle! {
    /// Any value. Handles are equal if they refer to the same value.
    Value(LValue)
}
handle! {
    /// A basic block.
    Block(LBlock)
}

macro_rules! kind_of_value {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub struct $name<'m>(Value<'m>);

        impl<'m> $name<'m> {
            pub(crate) fn from_value(value: Value<'m>) -> Self {
                Self(value)
            }

            pub(crate) fn raw(self) -> *mut LValue {
                self.0.raw()
            }

            /// This object as a value.
            pub fn value(self) -> Value<'m> {
                self.0
            }

            /// The module of the object.
            pub fn module(self) -> &'m Module<'m> {
                self.0.module
            }
        }
    };
}

kind_of_value! {
    /// A global variable.
    Global
}
kind_of_value! {
    /// A function.
    Function
}
kind_of_value! {
    /// An instruction.
    Instruction
}

impl<'m> Value<'m> {
    /// Returns the name of the value. It is empty if the value has no name.
    pub fn name(self) -> String {
        let mut length = 0;
        // SAFETY: the name belongs to the value; its length is written.
        unsafe {
            copy_text(
                (self.api().LLVMGetValueName2)(self.raw(), &mut length),
                length,
            )
        }
    }

    /// Returns the type of the value.
    pub fn kind(self) -> Type<'m> {
        // SAFETY: every value has a type.
        Type::new(unsafe { (self.api().LLVMTypeOf)(self.raw()) }, self.module)
            .expect("values have types")
    }

    /// Whether the value is a constant.
    pub fn is_constant(self) -> bool {
        // SAFETY: a live value.
        unsafe { (self.api().LLVMIsConstant)(self.raw()) != 0 }
    }

    /// Whether the value is the null constant of its type.
    pub fn is_null(self) -> bool {
        // SAFETY: a live value.
        unsafe { (self.api().LLVMIsNull)(self.raw()) != 0 }
    }

    /// The value as an integer, if it is a constant integer of at most 64 bits.
    pub fn as_int(self) -> Option<i64> {
        // SAFETY: a live value; the integer is read only of a constant integer.
        unsafe {
            if (self.api().LLVMIsAConstantInt)(self.raw()).is_null() {
                return None;
            }
            match self.kind().kind() {
                TypeKind::Integer(bits) if bits <= 64 => {
                    Some((self.api().LLVMConstIntGetSExtValue)(self.raw()))
                }
                _ => None,
            }
        }
    }

    /// The value as a function, if it is a function.
    pub fn as_function(self) -> Option<Function<'m>> {
        // SAFETY: a live value.
        let raw = unsafe { (self.api().LLVMIsAFunction)(self.raw()) };
        Value::new(raw, self.module).map(Function)
    }

    /// The value as an instruction, if it is an instruction.
    pub fn as_instruction(self) -> Option<Instruction<'m>> {
        // SAFETY: a live value.
        let raw = unsafe { (self.api().LLVMIsAInstruction)(self.raw()) };
        Value::new(raw, self.module).map(Instruction)
    }

    /// Whether the value is inline assembly.
    pub fn is_inline_asm(self) -> bool {
        // SAFETY: a live value.
        unsafe { !(self.api().LLVMIsAInlineAsm)(self.raw()).is_null() }
    }

    /// The text of inline assembly.
    pub fn inline_assembly(self) -> Option<String> {
        if !self.is_inline_asm() {
            return None;
        }
        let mut length = 0;
        // SAFETY: inline assembly; its text belongs to the context; its length is written.
        Some(unsafe {
            copy_text(
                (self.api().LLVMGetInlineAsmAsmString)(self.raw(), &mut length),
                length,
            )
        })
    }

    /// Returns the number of operands.
    pub fn operand_count(self) -> u32 {
        // SAFETY: a live value; operands are counted only of a user, the values with operands.
        unsafe {
            if (self.api().LLVMIsAUser)(self.raw()).is_null() {
                return 0;
            }
            (self.api().LLVMGetNumOperands)(self.raw()).max(0) as u32
        }
    }

    /// The operand with this index.
    ///
    /// # Panics
    /// If the value has no operand with this index.
    pub fn operand(self, index: u32) -> Value<'m> {
        assert!(index < self.operand_count(), "the operand exists");
        // SAFETY: the index is in bounds.
        Value::new(
            unsafe { (self.api().LLVMGetOperand)(self.raw(), index) },
            self.module,
        )
        .expect("operands are set")
    }

    /// The values that use this value.
    pub fn users(self) -> Vec<Value<'m>> {
        let mut users = Vec::new();
        // SAFETY: first and next of a live list; null at the end.
        unsafe {
            let mut entry = (self.api().LLVMGetFirstUse)(self.raw());
            while !entry.is_null() {
                users.extend(Value::new((self.api().LLVMGetUser)(entry), self.module));
                entry = (self.api().LLVMGetNextUse)(entry);
            }
        }
        users
    }
}

impl<'m> Block<'m> {
    /// The instructions of the block, in order.
    pub fn instructions(self) -> impl Iterator<Item = Instruction<'m>> {
        // SAFETY: first and next of a live list; null at the end.
        let first = unsafe { (self.api().LLVMGetFirstInstruction)(self.raw()) };
        std::iter::successors(
            Value::new(first, self.module).map(Instruction),
            move |instruction| {
                // SAFETY: as above.
                let next = unsafe { (self.api().LLVMGetNextInstruction)(instruction.raw()) };
                Value::new(next, self.module).map(Instruction)
            },
        )
    }

    /// The name of the block. It is empty if the block has no name.
    pub fn name(self) -> String {
        self.as_value().name()
    }

    /// Sets the name of the block. LLVM appends a number if the function uses the name already.
    pub fn set_name(self, name: &str) {
        let value = self.as_value();
        // SAFETY: a live value; LLVM copies the name.
        unsafe { (self.api().LLVMSetValueName2)(value.raw(), name.as_ptr().cast(), name.len()) }
    }

    fn as_value(self) -> Value<'m> {
        // SAFETY: a live block is a value.
        let raw = unsafe { (self.api().LLVMBasicBlockAsValue)(self.raw()) };
        Value::new(raw, self.module).expect("a block is a value")
    }

    /// The terminator of the block.
    pub fn terminator(self) -> Option<Instruction<'m>> {
        // SAFETY: a block; null if it has no terminator yet.
        let raw = unsafe { (self.api().LLVMGetBasicBlockTerminator)(self.raw()) };
        Value::new(raw, self.module).map(Instruction)
    }

    /// Inserts a new empty block before this block.
    pub fn insert_before(self, name: &str) -> Block<'m> {
        let name = CString::new(name).expect("names of blocks have no NUL");
        // SAFETY: a block in a function of this context.
        let raw = unsafe {
            (self.api().LLVMInsertBasicBlockInContext)(
                self.module.context().raw(),
                self.raw(),
                name.as_ptr(),
            )
        };
        Block::new(raw, self.module).expect("a block is returned")
    }
}
