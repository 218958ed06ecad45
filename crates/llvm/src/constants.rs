//! Makes constants: integers, null, poison, and pointers converted to integers.

use crate::types::{Type, TypeKind};
use crate::value::Value;

impl<'m> Type<'m> {
    /// An integer constant of this type, sign-extended or truncated.
    ///
    /// # Panics
    /// If this is not an integer type.
    pub fn int(self, value: i64) -> Value<'m> {
        assert!(
            matches!(self.kind(), TypeKind::Integer(_)),
            "integers are of integer types"
        );
        // SAFETY: an integer type.
        Value::new(
            unsafe { (self.api().LLVMConstInt)(self.raw(), value as u64, 1) },
            self.module(),
        )
        .expect("LLVMConstInt returns a value")
    }

    /// A poison value of this type.
    ///
    /// # Panics
    /// If the type has no values.
    pub fn poison(self) -> Value<'m> {
        assert!(
            !matches!(self.kind(), TypeKind::Void | TypeKind::Token),
            "a type with values"
        );
        // SAFETY: a first-class type.
        Value::new(
            unsafe { (self.api().LLVMGetPoison)(self.raw()) },
            self.module(),
        )
        .expect("LLVMGetPoison returns a value")
    }

    /// The null pointer or zero of this type.
    ///
    /// # Panics
    /// If the type is neither an integer nor a pointer.
    pub fn null(self) -> Value<'m> {
        assert!(self.is_scalar(), "integers and pointers have a null");
        // SAFETY: an integer or pointer type.
        Value::new(
            unsafe { (self.api().LLVMConstNull)(self.raw()) },
            self.module(),
        )
        .expect("LLVMConstNull returns a value")
    }
}

impl<'m> Value<'m> {
    /// The constant `ptrtoint` of a constant pointer to `i64`.
    ///
    /// # Panics
    /// If this is not a constant pointer.
    pub fn pointer_to_i64(self) -> Value<'m> {
        assert!(
            self.is_constant() && self.kind().kind() == TypeKind::Pointer,
            "a constant pointer is cast"
        );
        // SAFETY: a constant pointer, to an integer type.
        let raw =
            unsafe { (self.api().LLVMConstPtrToInt)(self.raw(), Type::i64(self.module()).raw()) };
        Value::new(raw, self.module()).expect("LLVMConstPtrToInt returns a value")
    }
}
