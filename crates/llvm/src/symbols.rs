//! Finds, declares, and deletes the functions, global variables, and aliases of a module.

use std::ffi::CString;

use crate::module::Module;
use crate::types::Type;
use crate::value::{Function, Global, Value};

impl Module<'_> {
    /// Iterates over the functions of the module, including declarations, in order.
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
        .map(Function::from_value)
    }

    /// Returns the function with this name.
    pub fn function(&self, name: &str) -> Option<Function<'_>> {
        let name = CString::new(name).ok()?;
        // SAFETY: a C string; null if there is none.
        Value::new(
            unsafe { (self.api().LLVMGetNamedFunction)(self.raw(), name.as_ptr()) },
            self,
        )
        .map(Function::from_value)
    }

    /// Returns the global variable with this name.
    pub fn global(&self, name: &str) -> Option<Global<'_>> {
        let name = CString::new(name).ok()?;
        // SAFETY: a C string; null if there is none.
        Value::new(
            unsafe { (self.api().LLVMGetNamedGlobal)(self.raw(), name.as_ptr()) },
            self,
        )
        .map(Global::from_value)
    }

    /// Returns the name of the symbol that the alias `name` refers to.
    pub fn alias(&self, name: &str) -> Option<String> {
        // SAFETY: the name is given with its length; null if there is none; an alias has an
        // aliasee.
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

    /// Returns the names of the functions that resolve ifuncs.
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

    /// Declares a function. If a function with this name exists, returns it unchanged.
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
        Function::from_value(Value::new(raw, self).expect("LLVMAddFunction returns a function"))
    }

    /// Adds a global variable without an initializer, which is an external declaration.
    ///
    /// # Panics
    /// If the name contains NUL.
    pub fn add_global(&self, name: &str, kind: Type<'_>) -> Global<'_> {
        let name = CString::new(name).expect("names of globals have no NUL");
        // SAFETY: a C string and a type of this context.
        let raw = unsafe { (self.api().LLVMAddGlobal)(self.raw(), kind.raw(), name.as_ptr()) };
        Global::from_value(Value::new(raw, self).expect("LLVMAddGlobal returns a global"))
    }

    /// Deletes the global variable with this name if it exists and has no uses. Returns whether it
    /// was deleted.
    pub fn delete_global(&mut self, name: &str) -> bool {
        let Some(global) = self.global(name) else {
            return false;
        };
        // SAFETY: a live variable. It is deleted only if nothing in the module uses it. No handle
        // refers to it, because the module is borrowed mutably.
        unsafe {
            if !(self.api().LLVMGetFirstUse)(global.value().raw()).is_null() {
                return false;
            }
            (self.api().LLVMDeleteGlobal)(global.value().raw());
        }
        true
    }
}
