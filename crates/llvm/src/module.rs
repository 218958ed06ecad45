//! An LLVM module: parses bitcode, prints assembly, and verifies consistency. `symbols.rs` finds
//! the functions and global variables of a module, and `metadata.rs` reads its flags.
//!
//! Handles (values, functions, blocks, …) borrow the module. Every operation that can destroy the
//! object of a handle (passes, code generation, deleting a global, reshaping edges) takes the
//! module by `&mut`, so no handle survives it. Operations that take `&self` only add objects.

use std::ffi::c_char;
use std::fmt;
use std::ptr::NonNull;

use crate::bitstream;
use crate::context::{Context, copy_text, take_buffer, take_message};
use crate::error::LlvmError;
use crate::sys::{Api, LModule};

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

/// The magic numbers of bitcode: plain, and in the wrapper that Darwin uses.
const MAGICS: [[u8; 4]; 2] = [*b"BC\xC0\xDE", [0xDE, 0xC0, 0x17, 0x0B]];

impl<'c> Module<'c> {
    /// Parses a module. Messages contain `name`.
    ///
    /// # Errors
    /// Returns [`LlvmError::NotBitcode`], [`LlvmError::NewerBitcode`],
    /// [`LlvmError::SeveralModules`], or [`LlvmError::BadBitcode`].
    pub fn parse(context: &'c Context, name: &str, bitcode: &[u8]) -> Result<Self, LlvmError> {
        if !MAGICS.iter().any(|magic| bitcode.starts_with(magic)) {
            return Err(LlvmError::NotBitcode { name: name.into() });
        }
        let api = context.api();
        let mut raw = std::ptr::null_mut();
        context.take_errors();
        // SAFETY: the buffer borrows `bitcode` during the call only: parsing is eager, and the
        // buffer is freed after it. The name is a C string. `raw` is written on success.
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

    /// Returns the name given to [`Module::parse`].
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the context of the module.
    pub fn context(&self) -> &'c Context {
        self.context
    }

    pub(crate) fn api(&self) -> &'c Api {
        self.context.api()
    }

    pub(crate) fn raw(&self) -> *mut LModule {
        self.raw.as_ptr()
    }

    /// Returns the target triple of the module.
    pub fn triple(&self) -> String {
        // SAFETY: returns a C string that the module owns.
        unsafe { std::ffi::CStr::from_ptr((self.api().LLVMGetTarget)(self.raw())) }
            .to_string_lossy()
            .into_owned()
    }

    /// Returns the name of the source file that the module was compiled from.
    pub fn source_file_name(&self) -> String {
        self.text(self.api().LLVMGetSourceFileName)
    }

    /// Returns the module's inline assembly outside of functions.
    pub fn inline_assembly(&self) -> String {
        self.text(self.api().LLVMGetModuleInlineAsm)
    }

    /// A text that the module owns, which `get` returns with its length.
    fn text(&self, get: unsafe extern "C" fn(*mut LModule, *mut usize) -> *const c_char) -> String {
        let mut length = 0;
        // SAFETY: the text belongs to the module; its length is written.
        unsafe { copy_text(get(self.raw(), &mut length), length) }
    }

    /// Copies the module.
    #[must_use]
    pub fn copy(&self) -> Self {
        // SAFETY: returns a new module of the same context, which is never null.
        let raw = unsafe { (self.api().LLVMCloneModule)(self.raw()) };
        Self {
            raw: NonNull::new(raw).expect("LLVM copies every module"),
            context: self.context,
            name: self.name.clone(),
        }
    }

    /// Writes the module as bitcode.
    pub fn to_bitcode(&self) -> Vec<u8> {
        // SAFETY: returns a new buffer for us, which is never null.
        unsafe {
            let buffer = (self.api().LLVMWriteBitcodeToMemoryBuffer)(self.raw());
            take_buffer(self.api(), buffer)
        }
    }

    /// Prints the module as LLVM assembly.
    pub fn to_text(&self) -> String {
        // SAFETY: returns a new string for us.
        unsafe { take_message(self.api(), (self.api().LLVMPrintModuleToString)(self.raw())) }
    }

    /// Checks the consistency of the module.
    ///
    /// # Errors
    /// Returns [`LlvmError::Failed`] with the verifier's message. `doing` names the previous
    /// operation.
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

    /// Returns an error if the diagnostic handler received errors.
    pub(crate) fn check_errors(&self, doing: &str) -> Result<(), LlvmError> {
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

/// Makes an error for bitcode that LLVM cannot parse. Finds out why, because the messages of the
/// diagnostic handler often do not say it.
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
