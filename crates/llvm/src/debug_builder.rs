//! Replaces the debug information of a module: functions get new subprograms, and instructions get
//! new locations.

use std::ptr::NonNull;

use crate::metadata::Metadata;
use crate::module::Module;
use crate::sys::LDebugBuilder;
use crate::types::Type;
use crate::value::{Function, Instruction};

/// DWARF's number of C.
const LANGUAGE_C: i32 = 1;
/// LLVM's number of debug information with all functions.
const FULL: i32 = 1;
/// The flag without which LLVM ignores debug information, and the only version.
const VERSION_FLAG: &str = "Debug Info Version";
const VERSION: i64 = 3;

impl Module<'_> {
    /// Removes all debug information.
    pub fn strip_debug_info(&mut self) {
        // SAFETY: a live module. No handle refers to what is removed.
        unsafe { (self.api().LLVMStripModuleDebugInfo)(self.raw()) };
    }
}

/// Creates the debug information of a module that has none.
pub struct DebugBuilder<'m> {
    raw: NonNull<LDebugBuilder>,
    module: &'m Module<'m>,
    file: Metadata<'m>,
    function_type: Metadata<'m>,
}

impl<'m> DebugBuilder<'m> {
    /// Starts the debug information of a module, with one source file.
    pub fn new(module: &'m Module<'m>, file: &str) -> Self {
        let api = module.api();
        if !module.has_flag(VERSION_FLAG) {
            let version = Metadata::constant(Type::i32(module).int(VERSION));
            module.add_flag(VERSION_FLAG, version);
        }
        // SAFETY: texts are given with their lengths, and the nodes belong to the module's context.
        // A compile unit is kept by the module. The type has no parameters.
        let (raw, file, function_type) = unsafe {
            let raw = (api.LLVMCreateDIBuilder)(module.raw());
            let text = |text: &str| (text.as_ptr().cast(), text.len());
            let (name, length) = text(file);
            let (empty, zero) = text("");
            let file = (api.LLVMDIBuilderCreateFile)(raw, name, length, empty, zero);
            (api.LLVMDIBuilderCreateCompileUnit)(
                raw, LANGUAGE_C, file, empty, zero, 1, empty, zero, 0, empty, zero, FULL, 0, 1, 1,
                empty, zero, empty, zero,
            );
            let function_type =
                (api.LLVMDIBuilderCreateSubroutineType)(raw, file, std::ptr::null_mut(), 0, 0);
            (raw, file, function_type)
        };
        let node = |raw| Metadata::new(raw, module).expect("a builder returns nodes");
        Self {
            raw: NonNull::new(raw).expect("LLVMCreateDIBuilder returns a builder"),
            module,
            file: node(file),
            function_type: node(function_type),
        }
    }

    /// Gives a function a subprogram with a name, and returns it as a scope.
    pub fn describe(&self, function: Function<'m>, name: &str) -> Metadata<'m> {
        let api = self.module.api();
        // SAFETY: nodes of this builder; texts with their lengths; a function of the module.
        let raw = unsafe {
            let raw = (api.LLVMDIBuilderCreateFunction)(
                self.raw.as_ptr(),
                self.file.raw(),
                name.as_ptr().cast(),
                name.len(),
                name.as_ptr().cast(),
                name.len(),
                self.file.raw(),
                1,
                self.function_type.raw(),
                0,
                1,
                1,
                0,
                1,
            );
            (api.LLVMSetSubprogram)(function.raw(), raw);
            raw
        };
        Metadata::new(raw, self.module).expect("a builder returns nodes")
    }

    /// Sets the location of an instruction to a line of a function.
    pub fn locate(&self, instruction: Instruction<'m>, line: u32, scope: Metadata<'m>) {
        let api = self.module.api();
        // SAFETY: a subprogram of this context, and an instruction of its function.
        unsafe {
            let location = (api.LLVMDIBuilderCreateDebugLocation)(
                self.module.context().raw(),
                line,
                0,
                scope.raw(),
                std::ptr::null_mut(),
            );
            (api.LLVMInstructionSetDebugLoc)(instruction.raw(), location);
        }
    }
}

impl Drop for DebugBuilder<'_> {
    fn drop(&mut self) {
        let api = self.module.api();
        // SAFETY: the builder is used no more.
        unsafe {
            (api.LLVMDIBuilderFinalize)(self.raw.as_ptr());
            (api.LLVMDisposeDIBuilder)(self.raw.as_ptr());
        }
    }
}
