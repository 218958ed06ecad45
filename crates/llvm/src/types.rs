//! LLVM types, as far as probes and their analysis need them.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ptr::NonNull;

use crate::handle::handle;
use crate::module::Module;
use crate::sys::{Api, LType};

handle! {
    /// A type.
    Type(LType)
}

/// The kind of a type, as far as this project distinguishes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeKind {
    /// An integer with this number of bits.
    Integer(u32),
    /// A pointer.
    Pointer,
    /// The type `token`: a value that only LLVM's intrinsics may use.
    Token,
    /// The type `void`: no value.
    Void,
    /// Any other type.
    Other,
}

impl<'m> Type<'m> {
    /// `i1`.
    pub fn i1(module: &'m Module<'m>) -> Self {
        // SAFETY: a live context.
        Self::new(
            unsafe { (module.api().LLVMInt1TypeInContext)(module.context().raw()) },
            module,
        )
        .expect("i1 exists")
    }

    /// `i8`.
    pub fn i8(module: &'m Module<'m>) -> Self {
        // SAFETY: a live context.
        Self::new(
            unsafe { (module.api().LLVMInt8TypeInContext)(module.context().raw()) },
            module,
        )
        .expect("i8 exists")
    }

    /// `i32`.
    pub fn i32(module: &'m Module<'m>) -> Self {
        // SAFETY: a live context.
        Self::new(
            unsafe { (module.api().LLVMInt32TypeInContext)(module.context().raw()) },
            module,
        )
        .expect("i32 exists")
    }

    /// `i64`.
    pub fn i64(module: &'m Module<'m>) -> Self {
        // SAFETY: a live context.
        Self::new(
            unsafe { (module.api().LLVMInt64TypeInContext)(module.context().raw()) },
            module,
        )
        .expect("i64 exists")
    }

    /// `void`.
    pub fn void(module: &'m Module<'m>) -> Self {
        // SAFETY: a live context.
        Self::new(
            unsafe { (module.api().LLVMVoidTypeInContext)(module.context().raw()) },
            module,
        )
        .expect("void exists")
    }

    /// `ptr`.
    pub fn pointer(module: &'m Module<'m>) -> Self {
        // SAFETY: a live context; address space 0.
        let raw = unsafe { (module.api().LLVMPointerTypeInContext)(module.context().raw(), 0) };
        Self::new(raw, module).expect("ptr exists")
    }

    /// Returns the type of a function with this result and these parameters.
    pub fn function(module: &'m Module<'_>, result: Type<'_>, parameters: &[Type<'_>]) -> Type<'m> {
        let is_not_void = |parameter: &Type<'_>| parameter.kind() != TypeKind::Void;
        assert!(
            parameters.iter().all(is_not_void),
            "a parameter has a value"
        );
        let mut raw: Vec<_> = parameters.iter().map(|parameter| parameter.raw()).collect();
        // SAFETY: types of this context, given with their number; not variadic.
        let kind = unsafe {
            (module.api().LLVMFunctionType)(result.raw(), raw.as_mut_ptr(), raw.len() as u32, 0)
        };
        Type::new(kind, module).expect("LLVMFunctionType returns a type")
    }

    /// The kind of the type.
    pub fn kind(self) -> TypeKind {
        // SAFETY: a live type; the width is read only of an integer type. The numbers are those of
        // `LLVMTypeKind`.
        unsafe {
            match (self.api().LLVMGetTypeKind)(self.raw()) {
                8 => TypeKind::Integer((self.api().LLVMGetIntTypeWidth)(self.raw())),
                12 => TypeKind::Pointer,
                0 => TypeKind::Void,
                16 => TypeKind::Token,
                _ => TypeKind::Other,
            }
        }
    }

    /// Returns whether the type is an integer or a pointer. Probes load, store, and pass only these
    /// types.
    pub fn is_scalar(self) -> bool {
        matches!(self.kind(), TypeKind::Integer(_) | TypeKind::Pointer)
    }
}
