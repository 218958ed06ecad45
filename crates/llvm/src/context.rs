//! The LLVM context, which owns types, constants, and metadata, and collects LLVM's diagnostics.
//!
//! The C API reports some failures (invalid inline assembly, unreadable bitcode) *only* through the
//! diagnostic handler. Without a handler, LLVM prints the error and may exit. So every context has
//! a handler. It stores errors. It ignores warnings, remarks, and notes, because a module can cause
//! hundreds of remarks.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::NonNull;

use crate::library::Library;
use crate::sys::{Api, LBuffer, LContext, LDiagnostic};

/// An LLVM context with its diagnostics. Modules borrow it.
pub struct Context {
    raw: NonNull<LContext>,
    library: Library,
    /// The stored errors. The pointer comes from a box, and `Drop` frees it.
    sink: NonNull<ErrorSink>,
}

/// Stores the errors that LLVM reports.
struct ErrorSink {
    library: Library,
    errors: RefCell<Vec<String>>,
}

/// LLVM's number for the severity "error".
const SEVERITY_ERROR: i32 = 0;

impl Context {
    /// Creates a context in this library.
    pub fn new(library: &Library) -> Self {
        let api = library.api();
        // SAFETY: takes nothing; returns a new context, never null.
        let raw = NonNull::new(unsafe { (api.LLVMContextCreate)() })
            .expect("LLVMContextCreate returns a context");
        let sink = NonNull::from(Box::leak(Box::new(ErrorSink {
            library: library.clone(),
            errors: RefCell::default(),
        })));
        // SAFETY: the sink lives as long as the context: `Drop` frees it after.
        unsafe {
            (api.LLVMContextSetDiagnosticHandler)(
                raw.as_ptr(),
                Some(store_error),
                sink.as_ptr().cast(),
            );
        }
        Self {
            raw,
            library: library.clone(),
            sink,
        }
    }

    /// The library of this context.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// Returns the messages of all errors that LLVM reported since the last call.
    pub fn take_errors(&self) -> Vec<String> {
        // SAFETY: alive as long as the context, and only shared: the handler runs on this thread,
        // inside LLVM's calls.
        unsafe { self.sink.as_ref() }.errors.take()
    }

    pub(crate) fn api(&self) -> &Api {
        self.library.api()
    }

    pub(crate) fn raw(&self) -> *mut LContext {
        self.raw.as_ptr()
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: modules borrow the context, so none is left; the handler's sink, made from a box,
        // is freed after it.
        unsafe {
            (self.api().LLVMContextDispose)(self.raw());
            drop(Box::from_raw(self.sink.as_ptr()));
        }
    }
}

/// The diagnostic handler. Stores the messages of errors.
extern "C" fn store_error(diagnostic: *mut LDiagnostic, sink: *mut c_void) {
    // SAFETY: LLVM passes the pointer that was registered with the handler. It points to a sink
    // that lives as long as the context, and the sink is only read.
    let sink = unsafe { &*sink.cast::<ErrorSink>() };
    let api = sink.library.api();
    // SAFETY: the diagnostic is alive during the call.
    if unsafe { (api.LLVMGetDiagInfoSeverity)(diagnostic) } != SEVERITY_ERROR {
        return;
    }
    // SAFETY: as above; the message is a new string, which the caller owns.
    let text = unsafe { take_message(api, (api.LLVMGetDiagInfoDescription)(diagnostic)) };
    sink.errors.borrow_mut().push(text);
}

/// Copies a message that LLVM allocated, and frees it.
///
/// # Safety
/// `message` is null or a string that `LLVMDisposeMessage` may free.
pub(crate) unsafe fn take_message(api: &Api, message: *mut c_char) -> String {
    if message.is_null() {
        return String::new();
    }
    // SAFETY: by the contract, a C string that this function must free; it is not used after this.
    unsafe {
        let text = CStr::from_ptr(message).to_string_lossy().trim().to_string();
        (api.LLVMDisposeMessage)(message);
        text
    }
}

/// Copies a memory buffer that LLVM allocated, and frees it.
///
/// # Safety
/// `buffer` is a buffer that `LLVMDisposeMemoryBuffer` may free.
pub(crate) unsafe fn take_buffer(api: &Api, buffer: *mut LBuffer) -> Vec<u8> {
    // SAFETY: by the contract, a buffer that this function must free; it is not used after this.
    unsafe {
        let start = (api.LLVMGetBufferStart)(buffer).cast::<u8>();
        let bytes = std::slice::from_raw_parts(start, (api.LLVMGetBufferSize)(buffer)).to_vec();
        (api.LLVMDisposeMemoryBuffer)(buffer);
        bytes
    }
}

/// Copies a text of known length. Invalid UTF-8 is replaced.
///
/// # Safety
/// `start` is null or points to `length` readable bytes.
pub(crate) unsafe fn copy_text(start: *const c_char, length: usize) -> String {
    if start.is_null() {
        return String::new();
    }
    // SAFETY: by the contract.
    let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), length) };
    String::from_utf8_lossy(bytes).into_owned()
}
