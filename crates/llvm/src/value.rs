//! Handles: types, values, globals, functions, blocks, instructions.
//!
//! A handle borrows its module, which can't destroy anything while a handle lives; so every handle is alive.

use std::ffi::{CStr, CString};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ptr::NonNull;

use crate::context::text_of;
use crate::metadata::{Metadata, Subprogram};
use crate::module::Module;
use crate::sys::{Api, LBlock, LType, LValue};

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident($raw:ident)) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $name<'m> {
            raw: NonNull<$raw>,
            module: &'m Module<'m>,
        }

        impl<'m> $name<'m> {
            pub(crate) fn new(raw: *mut $raw, module: &'m Module<'m>) -> Option<Self> {
                NonNull::new(raw).map(|raw| Self { raw, module })
            }

            pub(crate) fn raw(self) -> *mut $raw {
                self.raw.as_ptr()
            }

            /// The module it belongs to.
            pub fn module(self) -> &'m Module<'m> {
                self.module
            }

            fn api(self) -> &'m Api {
                self.module.api()
            }
        }

        impl PartialEq for $name<'_> {
            fn eq(&self, other: &Self) -> bool {
                self.raw == other.raw
            }
        }

        impl Eq for $name<'_> {}

        impl Hash for $name<'_> {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.raw.hash(state);
            }
        }

        impl fmt::Debug for $name<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({:p})", stringify!($name), self.raw)
            }
        }
    };
}

handle! {
    /// A type.
    Type(LType)
}
handle! {
    /// Any value. Equal handles are the same value.
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
            pub(crate) fn of(value: Value<'m>) -> Self {
                Self(value)
            }

            pub(crate) fn raw(self) -> *mut LValue {
                self.0.raw()
            }

            /// It as a value.
            pub fn value(self) -> Value<'m> {
                self.0
            }

            /// The module it belongs to.
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

/// Kind of a type, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeKind {
    /// An integer of that many bits.
    Integer(u32),
    /// A pointer.
    Pointer,
    /// A token.
    Token,
    /// Any other.
    Other,
}

impl<'m> Type<'m> {
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

    /// The type of a function.
    pub fn function(module: &'m Module<'_>, result: Type<'_>, parameters: &[Type<'_>]) -> Type<'m> {
        let mut raw: Vec<_> = parameters.iter().map(|parameter| parameter.raw()).collect();
        // SAFETY: types of this context, given with their number; not variadic.
        let kind = unsafe {
            (module.api().LLVMFunctionType)(result.raw(), raw.as_mut_ptr(), raw.len() as u32, 0)
        };
        Type::new(kind, module).expect("LLVMFunctionType returns a type")
    }

    /// Its kind.
    pub fn kind(self) -> TypeKind {
        // SAFETY: a live type; the width is asked of an integer type only.
        unsafe {
            match (self.api().LLVMGetTypeKind)(self.raw()) {
                8 => TypeKind::Integer((self.api().LLVMGetIntTypeWidth)(self.raw())),
                12 => TypeKind::Pointer,
                16 => TypeKind::Token,
                _ => TypeKind::Other,
            }
        }
    }

    /// An integer of this type, sign-extended or cut.
    ///
    /// # Panics
    /// If it isn't an integer type.
    pub fn int(self, value: i64) -> Value<'m> {
        assert!(
            matches!(self.kind(), TypeKind::Integer(_)),
            "integers are of integer types"
        );
        // SAFETY: an integer type.
        Value::new(
            unsafe { (self.api().LLVMConstInt)(self.raw(), value as u64, 1) },
            self.module,
        )
        .expect("LLVMConstInt returns a value")
    }

    /// The null or zero of this type.
    pub fn null(self) -> Value<'m> {
        // SAFETY: a live type of first-class values.
        Value::new(
            unsafe { (self.api().LLVMConstNull)(self.raw()) },
            self.module,
        )
        .expect("LLVMConstNull returns a value")
    }
}

impl<'m> Value<'m> {
    /// Its name, empty if it has none.
    pub fn name(self) -> String {
        let mut length = 0;
        // SAFETY: the name belongs to the value; its length is written.
        unsafe {
            text_of(
                (self.api().LLVMGetValueName2)(self.raw(), &mut length),
                length,
            )
        }
    }

    /// Its type.
    pub fn kind(self) -> Type<'m> {
        // SAFETY: every value has a type.
        Type::new(unsafe { (self.api().LLVMTypeOf)(self.raw()) }, self.module)
            .expect("values have types")
    }

    /// Whether it is a constant.
    pub fn is_constant(self) -> bool {
        // SAFETY: a live value.
        unsafe { (self.api().LLVMIsConstant)(self.raw()) != 0 }
    }

    /// Whether it is the null of its type.
    pub fn is_null(self) -> bool {
        // SAFETY: a live value.
        unsafe { (self.api().LLVMIsNull)(self.raw()) != 0 }
    }

    /// The constant integer it is, if it is one of at most 64 bits.
    pub fn as_int(self) -> Option<i64> {
        // SAFETY: a live value; the integer is read of a constant integer only.
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

    /// The function it is, if it is one.
    pub fn as_function(self) -> Option<Function<'m>> {
        // SAFETY: a live value.
        let raw = unsafe { (self.api().LLVMIsAFunction)(self.raw()) };
        Value::new(raw, self.module).map(Function)
    }

    /// The instruction it is, if it is one.
    pub fn as_instruction(self) -> Option<Instruction<'m>> {
        // SAFETY: a live value.
        let raw = unsafe { (self.api().LLVMIsAInstruction)(self.raw()) };
        Value::new(raw, self.module).map(Instruction)
    }

    /// Whether it is inline assembly.
    pub fn is_inline_asm(self) -> bool {
        // SAFETY: a live value.
        unsafe { !(self.api().LLVMIsAInlineAsm)(self.raw()).is_null() }
    }

    /// The metadata it wraps.
    pub fn as_metadata(self) -> Option<Metadata<'m>> {
        // SAFETY: a live value.
        Metadata::new(
            unsafe { (self.api().LLVMValueAsMetadata)(self.raw()) },
            self.module,
        )
    }

    /// Number of operands, if it has any (users only).
    pub fn operand_count(self) -> u32 {
        // SAFETY: the caller's values are users: constants and instructions.
        unsafe { (self.api().LLVMGetNumOperands)(self.raw()) }.max(0) as u32
    }

    /// Operand of that number.
    ///
    /// # Panics
    /// If there is none.
    pub fn operand(self, index: u32) -> Value<'m> {
        assert!(index < self.operand_count(), "the operand exists");
        // SAFETY: the index is in bounds.
        Value::new(
            unsafe { (self.api().LLVMGetOperand)(self.raw(), index) },
            self.module,
        )
        .expect("operands are set")
    }

    /// The values that use it.
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

    /// The constant `ptrtoint` of a constant pointer to `i64`.
    ///
    /// # Panics
    /// If it isn't a constant pointer.
    pub fn pointer_to_i64(self) -> Value<'m> {
        assert!(
            self.is_constant() && self.kind().kind() == TypeKind::Pointer,
            "a constant pointer is cast"
        );
        // SAFETY: a constant pointer, to an integer type.
        let raw =
            unsafe { (self.api().LLVMConstPtrToInt)(self.raw(), Type::i64(self.module).raw()) };
        Value::new(raw, self.module).expect("LLVMConstPtrToInt returns a value")
    }
}

/// Linkage of a function or global.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linkage {
    /// Visible to other objects, one definition.
    External,
    /// A copy for inlining; another object has the code.
    AvailableExternally,
    /// Only inside this module.
    Local,
    /// Weak, link-once, common, appending, …
    Other,
}

impl<'m> Value<'m> {
    pub(crate) fn linkage(self) -> Linkage {
        // SAFETY: only called on globals and functions.
        match unsafe { (self.api().LLVMGetLinkage)(self.raw()) } {
            0 => Linkage::External,
            1 => Linkage::AvailableExternally,
            8 | 9 => Linkage::Local,
            _ => Linkage::Other,
        }
    }

    fn section(self) -> Option<String> {
        // SAFETY: only called on globals and functions; null or a C string.
        let raw = unsafe { (self.api().LLVMGetSection)(self.raw()) };
        if raw.is_null() {
            return None;
        }
        // SAFETY: not null.
        let text = unsafe { CStr::from_ptr(raw) }
            .to_string_lossy()
            .into_owned();
        (!text.is_empty()).then_some(text)
    }

    fn set_section(self, name: &str) {
        let name = CString::new(name).expect("names of sections have no NUL");
        // SAFETY: only called on globals and functions; LLVM copies the name.
        unsafe { (self.api().LLVMSetSection)(self.raw(), name.as_ptr()) }
    }

    fn has_comdat(self) -> bool {
        // SAFETY: only called on globals and functions.
        unsafe { !(self.api().LLVMGetComdat)(self.raw()).is_null() }
    }
}

/// Thread-local storage model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsModel {
    /// For shared objects loaded at start, or small enough.
    InitialExec = 3,
    /// For programs.
    LocalExec = 4,
}

impl<'m> Global<'m> {
    fn api(self) -> &'m Api {
        self.0.api()
    }

    /// Its initializer, if it has one.
    pub fn initializer(self) -> Option<Value<'m>> {
        // SAFETY: a global variable; null if external.
        Value::new(
            unsafe { (self.api().LLVMGetInitializer)(self.raw()) },
            self.module(),
        )
    }

    /// Sets its initializer.
    ///
    /// # Panics
    /// If the value isn't a constant of the global's type.
    pub fn set_initializer(self, value: Value<'m>) {
        // SAFETY: a global has a value type.
        let kind = unsafe { (self.api().LLVMGlobalGetValueType)(self.raw()) };
        assert!(
            value.is_constant() && value.kind().raw() == kind,
            "an initializer has the global's type"
        );
        // SAFETY: a constant of the right type.
        unsafe { (self.api().LLVMSetInitializer)(self.raw(), value.raw()) }
    }

    /// Makes it local to the module.
    pub fn set_internal(self) {
        // SAFETY: a global; 8 is internal linkage.
        unsafe { (self.api().LLVMSetLinkage)(self.raw(), 8) }
    }

    /// Hides it from other images.
    pub fn set_hidden(self) {
        // SAFETY: a global; 1 is hidden visibility.
        unsafe { (self.api().LLVMSetVisibility)(self.raw(), 1) }
    }

    /// Makes it constant.
    pub fn set_constant(self) {
        // SAFETY: a global variable.
        unsafe { (self.api().LLVMSetGlobalConstant)(self.raw(), 1) }
    }

    /// Makes it thread-local.
    pub fn set_thread_local(self, model: TlsModel) {
        // SAFETY: a global variable; the number is the model's.
        unsafe { (self.api().LLVMSetThreadLocalMode)(self.raw(), model as i32) }
    }

    /// Puts it in a section.
    pub fn set_section(self, name: &str) {
        self.0.set_section(name);
    }

    /// Sets its alignment in bytes, a power of two.
    pub fn set_alignment(self, bytes: u32) {
        assert!(bytes.is_power_of_two(), "an alignment is a power of two");
        // SAFETY: a global; a power of two.
        unsafe { (self.api().LLVMSetAlignment)(self.raw(), bytes) }
    }

    /// Sets its metadata of that kind.
    pub fn set_metadata(self, kind: u32, node: Metadata<'m>) {
        // SAFETY: a global and a node of its context.
        unsafe { (self.api().LLVMGlobalSetMetadata)(self.raw(), kind, node.raw()) }
    }

    /// Puts it in the comdat group of another global or function, if that has one.
    pub fn join_comdat_of(self, key: Value<'m>) {
        // SAFETY: the key is checked to be a global object by its caller's reading of a structor list; null clears.
        unsafe {
            let comdat = (self.api().LLVMGetComdat)(key.raw());
            if !comdat.is_null() {
                (self.api().LLVMSetComdat)(self.raw(), comdat);
            }
        }
    }
}

/// An attribute kind, as the library numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttributeKind(u32);

impl AttributeKind {
    /// The kind of this name, if the library knows it.
    pub fn named(module: &Module<'_>, name: &str) -> Option<Self> {
        // SAFETY: the name is given with its length; 0 means unknown.
        let kind = unsafe {
            (module.api().LLVMGetEnumAttributeKindForName)(name.as_ptr().cast(), name.len())
        };
        (kind != 0).then_some(Self(kind))
    }

    pub(crate) fn number(self) -> u32 {
        self.0
    }
}

/// Index of the attributes of a function itself.
const OF_FUNCTION: u32 = u32::MAX;

impl<'m> Function<'m> {
    fn api(self) -> &'m Api {
        self.0.api()
    }

    /// Its linkage name.
    pub fn name(self) -> String {
        self.0.name()
    }

    /// Whether it has no body.
    pub fn is_declaration(self) -> bool {
        // SAFETY: a function.
        unsafe { (self.api().LLVMIsDeclaration)(self.raw()) != 0 }
    }

    /// Its linkage.
    pub fn linkage(self) -> Linkage {
        self.0.linkage()
    }

    /// The section it was put in.
    pub fn section(self) -> Option<String> {
        self.0.section()
    }

    /// Puts it in a section.
    pub fn set_section(self, name: &str) {
        self.0.set_section(name);
    }

    /// Whether it is in a comdat group.
    pub fn has_comdat(self) -> bool {
        self.0.has_comdat()
    }

    /// Hides it from other images.
    pub fn set_hidden(self) {
        // SAFETY: a function; 1 is hidden visibility.
        unsafe { (self.api().LLVMSetVisibility)(self.raw(), 1) }
    }

    /// Number of its calling convention.
    pub fn calling_convention(self) -> u32 {
        // SAFETY: a function.
        unsafe { (self.api().LLVMGetFunctionCallConv)(self.raw()) }
    }

    /// Sets its calling convention.
    pub fn set_calling_convention(self, number: u32) {
        // SAFETY: a function.
        unsafe { (self.api().LLVMSetFunctionCallConv)(self.raw(), number) }
    }

    /// Whether it is managed by a garbage collector strategy.
    pub fn has_gc(self) -> bool {
        // SAFETY: a function; null if none.
        unsafe { !(self.api().LLVMGetGC)(self.raw()).is_null() }
    }

    /// Whether it carries the attribute.
    pub fn has_attribute(self, kind: AttributeKind) -> bool {
        // SAFETY: a function; null if absent.
        unsafe {
            !(self.api().LLVMGetEnumAttributeAtIndex)(self.raw(), OF_FUNCTION, kind.0).is_null()
        }
    }

    /// Whether it carries the string attribute.
    pub fn has_string_attribute(self, name: &str) -> bool {
        // SAFETY: a function and a key given with its length; null if absent.
        unsafe {
            !(self.api().LLVMGetStringAttributeAtIndex)(
                self.raw(),
                OF_FUNCTION,
                name.as_ptr().cast(),
                name.len() as u32,
            )
            .is_null()
        }
    }

    /// Adds an attribute without value.
    pub fn add_attribute(self, kind: AttributeKind) {
        // SAFETY: an attribute of this context, for a function.
        unsafe {
            let attribute =
                (self.api().LLVMCreateEnumAttribute)(self.module().context().raw(), kind.0, 0);
            (self.api().LLVMAddAttributeAtIndex)(self.raw(), OF_FUNCTION, attribute);
        }
    }

    /// Removes an attribute.
    pub fn remove_attribute(self, kind: AttributeKind) {
        // SAFETY: a function.
        unsafe { (self.api().LLVMRemoveEnumAttributeAtIndex)(self.raw(), OF_FUNCTION, kind.0) }
    }

    /// What the debug info says it is.
    pub fn subprogram(self) -> Option<Subprogram<'m>> {
        // SAFETY: a function; null without debug info.
        Metadata::new(
            unsafe { (self.api().LLVMGetSubprogram)(self.raw()) },
            self.module(),
        )?
        .subprogram()
    }

    /// Its blocks, in order; the entry first.
    pub fn blocks(self) -> impl Iterator<Item = Block<'m>> {
        // SAFETY: first and next of a live list; null at the end.
        let first = unsafe { (self.api().LLVMGetFirstBasicBlock)(self.raw()) };
        std::iter::successors(Block::new(first, self.module()), move |block| {
            // SAFETY: as above.
            Block::new(
                unsafe { (self.api().LLVMGetNextBasicBlock)(block.raw()) },
                self.module(),
            )
        })
    }

    /// Adds an empty block at its end.
    pub fn append_block(self, name: &str) -> Block<'m> {
        let name = CString::new(name).expect("names of blocks have no NUL");
        // SAFETY: a function of this context.
        let raw = unsafe {
            (self.api().LLVMAppendBasicBlockInContext)(
                self.module().context().raw(),
                self.raw(),
                name.as_ptr(),
            )
        };
        Block::new(raw, self.module()).expect("a block is returned")
    }
}

impl<'m> Block<'m> {
    /// Its instructions, in order.
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

    /// The instruction at its end that leaves it.
    pub fn terminator(self) -> Option<Instruction<'m>> {
        // SAFETY: a block; null while it is unfinished.
        let raw = unsafe { (self.api().LLVMGetBasicBlockTerminator)(self.raw()) };
        Value::new(raw, self.module).map(Instruction)
    }

    /// Puts a new empty block before it.
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
