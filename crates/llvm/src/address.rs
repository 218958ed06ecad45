//! Reads the address that a `getelementptr` instruction computes.

use crate::instruction::Opcode;
use crate::sys::LType;
use crate::value::{Instruction, Value};

/// An address: a base pointer, plus a constant number of bytes, plus variable terms.
#[derive(Clone, Debug)]
pub struct Address<'m> {
    /// The base pointer.
    pub base: Value<'m>,
    /// The constant offset in bytes.
    pub constant: i64,
    /// The variable terms: each value is multiplied by a number of bytes.
    pub terms: Vec<(Value<'m>, i64)>,
}

impl<'m> Instruction<'m> {
    /// Returns the address that this instruction computes, if it is a `getelementptr` and the sizes
    /// of its types are known.
    pub fn address(self) -> Option<Address<'m>> {
        if self.opcode() != Opcode::Offset {
            return None;
        }
        let mut address = Address {
            base: self.value().operand(0),
            constant: 0,
            terms: Vec::new(),
        };
        let api = self.module().api();
        // SAFETY: a getelementptr.
        let mut kind = unsafe { (api.LLVMGetGEPSourceElementType)(self.raw()) };
        for operand in 1..self.value().operand_count() {
            let index = self.value().operand(operand);
            let (bytes, inner) = if operand == 1 {
                (self.size(kind)?, kind)
            } else {
                match self.element(kind, index)? {
                    Element::Field(offset, inner) => {
                        address.constant = address.constant.checked_add(offset)?;
                        kind = inner;
                        continue;
                    }
                    Element::Item(inner) => (self.size(inner)?, inner),
                }
            };
            kind = inner;
            match index.as_int() {
                Some(number) => {
                    let distance = number.checked_mul(bytes)?;
                    address.constant = address.constant.checked_add(distance)?;
                }
                None => address.terms.push((index, bytes)),
            }
        }
        Some(address)
    }

    /// Returns the size of a type in bytes. `None` for scalable vectors.
    fn size(self, kind: *mut LType) -> Option<i64> {
        const SCALABLE_VECTOR: i32 = 17;
        let api = self.module().api();
        // SAFETY: the sized type of an element that a getelementptr steps over; the module's own
        // layout.
        unsafe {
            if (api.LLVMGetTypeKind)(kind) == SCALABLE_VECTOR {
                return None;
            }
            let layout = (api.LLVMGetModuleDataLayout)(self.module().raw());
            i64::try_from((api.LLVMABISizeOfType)(layout, kind)).ok()
        }
    }

    /// Returns the element of the type `kind` that `index` selects.
    fn element(self, kind: *mut LType, index: Value<'m>) -> Option<Element> {
        const STRUCT: i32 = 10;
        const ARRAY: i32 = 11;
        const VECTOR: i32 = 13;
        let api = self.module().api();
        // SAFETY: a type that a getelementptr steps into: a struct by the number of a field, or a
        // sequence.
        unsafe {
            match (api.LLVMGetTypeKind)(kind) {
                STRUCT => {
                    let field = u32::try_from(index.as_int()?).ok()?;
                    let layout = (api.LLVMGetModuleDataLayout)(self.module().raw());
                    let offset = (api.LLVMOffsetOfElement)(layout, kind, field);
                    let inner = (api.LLVMStructGetTypeAtIndex)(kind, field);
                    Some(Element::Field(i64::try_from(offset).ok()?, inner))
                }
                ARRAY | VECTOR => Some(Element::Item((api.LLVMGetElementType)(kind))),
                _ => None,
            }
        }
    }
}

/// The element that an index selects.
enum Element {
    /// A field of a struct: its offset in bytes, and its type.
    Field(i64, *mut LType),
    /// An item of an array or vector: its type.
    Item(*mut LType),
}
