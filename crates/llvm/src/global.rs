//! Global variables, and the properties that they share with functions.

use std::ffi::{CStr, CString};

use crate::metadata::Metadata;
use crate::sys::Api;
use crate::value::{Global, Value};

/// The linkage of a function or global variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linkage {
    /// The only definition; visible to other objects.
    External,
    /// The module has a copy for inlining only. Another object contains the code.
    AvailableExternally,
    /// Visible only in this module.
    Local,
    /// Weak, link-once, common, appending, and others.
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

    pub(crate) fn section(self) -> Option<String> {
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

    pub(crate) fn put_in_section(self, name: &str) {
        let name = CString::new(name).expect("names of sections have no NUL");
        // SAFETY: only called on globals and functions; LLVM copies the name.
        unsafe { (self.api().LLVMSetSection)(self.raw(), name.as_ptr()) }
    }

    pub(crate) fn has_comdat(self) -> bool {
        // SAFETY: only called on globals and functions.
        unsafe { !(self.api().LLVMGetComdat)(self.raw()).is_null() }
    }
}

/// The thread-local storage model: how code finds the address of a thread-local variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsModel {
    /// For shared objects that are loaded when the program starts, or that need little thread-local
    /// storage.
    InitialExec = 3,
    /// For executables.
    LocalExec = 4,
}

impl<'m> Global<'m> {
    fn api(self) -> &'m Api {
        self.value().api()
    }

    /// Returns the initializer of the variable, if it has one.
    pub fn initializer(self) -> Option<Value<'m>> {
        // SAFETY: a global variable; null if external.
        Value::new(
            unsafe { (self.api().LLVMGetInitializer)(self.raw()) },
            self.module(),
        )
    }

    /// Sets the initializer of the variable.
    ///
    /// # Panics
    /// If the value is not a constant of the variable's type.
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

    /// Makes the variable local to the module.
    pub fn set_internal(self) {
        // SAFETY: a global; 8 is internal linkage.
        unsafe { (self.api().LLVMSetLinkage)(self.raw(), 8) }
    }

    /// Hides the variable from other images.
    pub fn set_hidden(self) {
        // SAFETY: a global; 1 is hidden visibility.
        unsafe { (self.api().LLVMSetVisibility)(self.raw(), 1) }
    }

    /// Makes the variable constant.
    pub fn set_constant(self) {
        // SAFETY: a global variable.
        unsafe { (self.api().LLVMSetGlobalConstant)(self.raw(), 1) }
    }

    /// Makes the variable thread-local.
    pub fn set_thread_local(self, model: TlsModel) {
        // SAFETY: a global variable; the number is the model's.
        unsafe { (self.api().LLVMSetThreadLocalMode)(self.raw(), model as i32) }
    }

    /// Puts the variable into a section.
    pub fn set_section(self, name: &str) {
        self.value().put_in_section(name);
    }

    /// Sets the alignment of the variable in bytes, a power of two.
    pub fn set_alignment(self, bytes: u32) {
        assert!(bytes.is_power_of_two(), "an alignment is a power of two");
        // SAFETY: a global; a power of two.
        unsafe { (self.api().LLVMSetAlignment)(self.raw(), bytes) }
    }

    /// Sets the variable's metadata of the kind with this number ([`Module::metadata_kind`]).
    ///
    /// # Panics
    /// If the metadata is not a tuple.
    ///
    /// [`Module::metadata_kind`]: crate::Module::metadata_kind
    pub fn set_metadata(self, kind: u32, node: Metadata<'m>) {
        assert!(node.is_tuple(), "metadata is attached as a node");
        // SAFETY: a global and a node of its context.
        unsafe { (self.api().LLVMGlobalSetMetadata)(self.raw(), kind, node.raw()) }
    }

    /// Puts the variable into the comdat group of the function or global variable `key`. Does
    /// nothing if `key` is in no comdat group.
    pub fn join_comdat_of(self, key: Value<'m>) {
        // SAFETY: comdats are read only of a global object; the comdat that is set is not null.
        unsafe {
            if (self.api().LLVMIsAGlobalObject)(key.raw()).is_null() {
                return;
            }
            let comdat = (self.api().LLVMGetComdat)(key.raw());
            if !comdat.is_null() {
                (self.api().LLVMSetComdat)(self.raw(), comdat);
            }
        }
    }
}
