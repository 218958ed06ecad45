//! A module: parsed from bitcode, inspected, changed, verified.
//!
//! Handles (values, functions, blocks, …) borrow the module. Whatever can destroy what a handle points to
//! (passes, code generation, deleting a global, reshaping edges) takes the module by `&mut`, so no handle survives
//! it; what takes `&self` only adds.

use std::ffi::{CString, c_char};
use std::fmt;
use std::ptr::NonNull;

use crate::bitstream;
use crate::context::{Context, take_message, text_of};
use crate::error::LlvmError;
use crate::metadata::Metadata;
use crate::sys::{Api, LModule, LValue};
use crate::value::{Function, Global, Type, Value};

/// A module of a context.
pub struct Module<'c> {
    raw: NonNull<LModule>,
    context: &'c Context,
    name: String,
}

impl fmt::Debug for Module<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Bitcode's magic number: bare, or in the wrapper that Darwin uses.
const MAGICS: [[u8; 4]; 2] = [*b"BC\xC0\xDE", [0xDE, 0xC0, 0x17, 0x0B]];

impl<'c> Module<'c> {
    /// Reads a module. `name` is for messages.
    ///
    /// # Errors
    /// One of the bitcode variants of [`LlvmError`].
    pub fn parse(context: &'c Context, name: &str, bitcode: &[u8]) -> Result<Self, LlvmError> {
        if !MAGICS.iter().any(|magic| bitcode.starts_with(magic)) {
            return Err(LlvmError::NotBitcode { name: name.into() });
        }
        let api = context.api();
        let mut raw = std::ptr::null_mut();
        context.take_errors();
        // SAFETY: the buffer borrows `bitcode` during the call only: parsing is eager, and the buffer is freed after
        // it. The name is a C string. `raw` is written on success.
        let failed = unsafe {
            let buffer = (api.LLVMCreateMemoryBufferWithMemoryRange)(
                bitcode.as_ptr().cast::<c_char>(),
                bitcode.len(),
                c"bitcode".as_ptr(),
                0,
            );
            let failed = (api.LLVMParseBitcodeInContext2)(context.raw(), buffer, &mut raw);
            (api.LLVMDisposeMemoryBuffer)(buffer);
            failed != 0
        };
        match NonNull::new(raw) {
            Some(raw) if !failed => Ok(Self {
                raw,
                context,
                name: name.into(),
            }),
            _ => Err(parse_error(context, name, bitcode)),
        }
    }

    /// The name it was parsed under.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its context.
    pub fn context(&self) -> &'c Context {
        self.context
    }

    pub(crate) fn api(&self) -> &'c Api {
        self.context.api()
    }

    pub(crate) fn raw(&self) -> *mut LModule {
        self.raw.as_ptr()
    }

    /// Its target triple.
    pub fn triple(&self) -> String {
        // SAFETY: returns a C string that the module owns.
        unsafe { std::ffi::CStr::from_ptr((self.api().LLVMGetTarget)(self.raw())) }
            .to_string_lossy()
            .into_owned()
    }

    /// The value of a module flag that is an integer, like `PIC Level`.
    pub fn flag(&self, name: &str) -> Option<u64> {
        // SAFETY: the key is given with its length; null means absent.
        let flag =
            unsafe { (self.api().LLVMGetModuleFlag)(self.raw(), name.as_ptr().cast(), name.len()) };
        Metadata::new(flag, self)?.as_int()
    }

    /// What the compiler calls itself (`llvm.ident`): `rustc version 1.95.0 (…)`, `clang version …`.
    pub fn ident(&self) -> Option<String> {
        let api = self.api();
        let name = c"llvm.ident";
        // SAFETY: the name is a C string.
        let count =
            unsafe { (api.LLVMGetNamedMetadataNumOperands)(self.raw(), name.as_ptr()) } as usize;
        let mut operands: Vec<*mut LValue> = vec![std::ptr::null_mut(); count];
        // SAFETY: the buffer holds as many operands as there are.
        unsafe {
            (api.LLVMGetNamedMetadataOperands)(self.raw(), name.as_ptr(), operands.as_mut_ptr());
        }
        Value::new(*operands.first()?, self)?
            .as_metadata()?
            .operand(0)?
            .as_string()
    }

    /// Its functions, declarations too, in order.
    pub fn functions(&self) -> impl Iterator<Item = Function<'_>> {
        // SAFETY: first and next of a live list; null at the end.
        let first = unsafe { (self.api().LLVMGetFirstFunction)(self.raw()) };
        std::iter::successors(Value::new(first, self), |value| {
            // SAFETY: as above.
            Value::new(
                unsafe { (self.api().LLVMGetNextFunction)(value.raw()) },
                self,
            )
        })
        .map(Function::of)
    }

    /// The function of this name.
    pub fn function(&self, name: &str) -> Option<Function<'_>> {
        let name = CString::new(name).ok()?;
        // SAFETY: a C string; null if there is none.
        Value::new(
            unsafe { (self.api().LLVMGetNamedFunction)(self.raw(), name.as_ptr()) },
            self,
        )
        .map(Function::of)
    }

    /// The global variable of this name.
    pub fn global(&self, name: &str) -> Option<Global<'_>> {
        let name = CString::new(name).ok()?;
        // SAFETY: a C string; null if there is none.
        Value::new(
            unsafe { (self.api().LLVMGetNamedGlobal)(self.raw(), name.as_ptr()) },
            self,
        )
        .map(Global::of)
    }

    /// The name of what the alias of this name stands for.
    pub fn alias(&self, name: &str) -> Option<String> {
        // SAFETY: the name is given with its length; null if there is none; an alias has an aliasee.
        let aliasee = unsafe {
            let alias =
                (self.api().LLVMGetNamedGlobalAlias)(self.raw(), name.as_ptr().cast(), name.len());
            if alias.is_null() {
                return None;
            }
            (self.api().LLVMAliasGetAliasee)(alias)
        };
        Value::new(aliasee, self).map(Value::name)
    }

    /// Names of the functions that resolve ifuncs.
    pub fn ifunc_resolvers(&self) -> Vec<String> {
        let api = self.api();
        let mut names = Vec::new();
        // SAFETY: first and next of a live list; null at the end; the resolver may be null.
        unsafe {
            let mut ifunc = (api.LLVMGetFirstGlobalIFunc)(self.raw());
            while !ifunc.is_null() {
                names.extend(
                    Value::new((api.LLVMGetGlobalIFuncResolver)(ifunc), self).map(Value::name),
                );
                ifunc = (api.LLVMGetNextGlobalIFunc)(ifunc);
            }
        }
        names
    }

    /// Declares a function. An existing one of that name is returned as it is.
    ///
    /// # Panics
    /// If the name contains NUL.
    pub fn declare(&self, name: &str, result: Type<'_>, parameters: &[Type<'_>]) -> Function<'_> {
        if let Some(function) = self.function(name) {
            return function;
        }
        let kind = Type::function(self, result, parameters);
        let name = CString::new(name).expect("names of functions have no NUL");
        // SAFETY: a C string and a function type of this context.
        let raw = unsafe { (self.api().LLVMAddFunction)(self.raw(), name.as_ptr(), kind.raw()) };
        Function::of(Value::new(raw, self).expect("LLVMAddFunction returns a function"))
    }

    /// Adds a global variable without initializer: external.
    ///
    /// # Panics
    /// If the name contains NUL.
    pub fn add_global(&self, name: &str, kind: Type<'_>) -> Global<'_> {
        let name = CString::new(name).expect("names of globals have no NUL");
        // SAFETY: a C string and a type of this context.
        let raw = unsafe { (self.api().LLVMAddGlobal)(self.raw(), kind.raw(), name.as_ptr()) };
        Global::of(Value::new(raw, self).expect("LLVMAddGlobal returns a global"))
    }

    /// Deletes the global variable of this name, if it is there and nothing uses it. Whether it was deleted.
    pub fn delete_global(&mut self, name: &str) -> bool {
        let Some(global) = self.global(name) else {
            return false;
        };
        // SAFETY: it is alive; without uses nothing in the module refers to it after; `&mut` means no handle does.
        unsafe {
            if !(self.api().LLVMGetFirstUse)(global.value().raw()).is_null() {
                return false;
            }
            (self.api().LLVMDeleteGlobal)(global.value().raw());
        }
        true
    }

    /// Number of a metadata kind, like `prof`.
    pub fn metadata_kind(&self, name: &str) -> u32 {
        // SAFETY: the name is given with its length.
        unsafe {
            (self.api().LLVMGetMDKindIDInContext)(
                self.context.raw(),
                name.as_ptr().cast(),
                name.len() as u32,
            )
        }
    }

    /// The module as LLVM assembly.
    pub fn to_text(&self) -> String {
        // SAFETY: returns a new string for us.
        unsafe { take_message(self.api(), (self.api().LLVMPrintModuleToString)(self.raw())) }
    }

    /// Checks the module's consistency.
    ///
    /// # Errors
    /// [`LlvmError::Failed`] with the verifier's words; `doing` says what was done before.
    pub fn verify(&self, doing: &str) -> Result<(), LlvmError> {
        const RETURN_STATUS: i32 = 2;
        let mut message = std::ptr::null_mut();
        // SAFETY: the message is always a new string for us.
        let (broken, text) = unsafe {
            let broken =
                (self.api().LLVMVerifyModule)(self.raw(), RETURN_STATUS, &mut message) != 0;
            (broken, take_message(self.api(), message))
        };
        if broken {
            Err(LlvmError::Failed {
                name: self.name.clone(),
                doing: doing.to_owned(),
                text,
            })
        } else {
            Ok(())
        }
    }

    /// Fails with whatever errors the handler heard.
    pub(crate) fn no_errors(&self, doing: &str) -> Result<(), LlvmError> {
        let errors = self.context.take_errors();
        if errors.is_empty() {
            return Ok(());
        }
        Err(LlvmError::Failed {
            name: self.name.clone(),
            doing: doing.to_owned(),
            text: errors.join("; "),
        })
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: handles borrow the module, so none is left.
        unsafe { (self.api().LLVMDisposeModule)(self.raw()) }
    }
}

/// What the handler heard, as the variant that says what to do.
fn parse_error(context: &Context, name: &str, bitcode: &[u8]) -> LlvmError {
    let name = name.to_string();
    let mut text = context.take_errors().join("; ");
    if text.contains("Expected a single module")
        && bitstream::count_modules(bitcode).is_ok_and(|count| count > 1)
    {
        return LlvmError::SeveralModules { name };
    }
    let library = context.library();
    let (major, minor, patch) = library.version();
    if let Some(producer) = bitstream::producer(bitcode)
        && bitstream::major(&producer).is_some_and(|producer| producer > major)
    {
        if !text.contains("Producer:") {
            text =
                format!("{text} (Producer: '{producer}' Reader: 'LLVM {major}.{minor}.{patch}')");
        }
        return LlvmError::NewerBitcode {
            name,
            text,
            library: library.path().into(),
        };
    }
    LlvmError::BadBitcode {
        name,
        text: if text.is_empty() {
            "cannot be parsed".into()
        } else {
            text
        },
    }
}

/// The module's inline assembly text (kept for the tools that look for symbols in it).
impl Module<'_> {
    /// Assembly text outside functions.
    pub fn inline_assembly(&self) -> String {
        let mut length = 0;
        // SAFETY: the text belongs to the module; its length is written.
        unsafe {
            text_of(
                (self.api().LLVMGetModuleInlineAsm)(self.raw(), &mut length),
                length,
            )
        }
    }
}
