//! Runs passes and generates object files.

use std::ffi::{CStr, CString, c_char};
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use crate::context::{take_buffer, take_message};
use crate::error::LlvmError;
use crate::library::Library;
use crate::module::Module;
use crate::sys::{LMachine, LTarget};

/// Whether the code is position-independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reloc {
    /// Absolute addresses.
    Static = 1,
    /// Position-independent.
    Pic = 2,
}

/// The maximum distance between code and data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeModel {
    /// The default of the target.
    Default = 0,
    /// `tiny`
    Tiny = 2,
    /// `small`
    Small = 3,
    /// `kernel`
    Kernel = 4,
    /// `medium`
    Medium = 5,
    /// `large`
    Large = 6,
}

/// The optimization level of the code generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeGenLevel {
    /// Fast compilation, no optimization.
    None = 0,
    /// Some optimization.
    Less = 1,
    /// The usual optimization.
    Default = 2,
    /// Full optimization.
    Aggressive = 3,
}

/// The optimizations that a pass pipeline may apply. LLVM takes them separately from the pipeline's
/// text.
#[derive(Clone, Copy, Debug)]
pub struct PassOptions {
    /// Vectorize and interleave loops.
    pub vectorize_loops: bool,
    /// Vectorize straight-line code.
    pub vectorize_slp: bool,
    /// Unroll loops.
    pub unroll_loops: bool,
    /// Merge identical functions.
    pub merge_functions: bool,
}

/// A code generator for one target.
pub struct Machine {
    raw: NonNull<LMachine>,
    library: Library,
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine").finish_non_exhaustive()
    }
}

impl Machine {
    /// Creates a code generator for the module's triple. CPU and features come from the attributes
    /// of the functions.
    ///
    /// # Errors
    /// Returns [`LlvmError::NoTarget`] if the library lacks the target.
    pub fn new(
        module: &Module<'_>,
        level: CodeGenLevel,
        reloc: Reloc,
        model: CodeModel,
    ) -> Result<Self, LlvmError> {
        let library = module.context().library().clone();
        let triple = module.triple();
        let target = target_of(&library, &triple)?;
        let text = CString::new(triple.clone())
            .map_err(|_| no_target(&triple, "the triple has a NUL byte"))?;
        // SAFETY: a target of this library and C strings; the numbers are the enums'.
        let raw = unsafe {
            (library.api().LLVMCreateTargetMachine)(
                target,
                text.as_ptr(),
                c"".as_ptr(),
                c"".as_ptr(),
                level as i32,
                reloc as i32,
                model as i32,
            )
        };
        let raw = NonNull::new(raw).ok_or_else(|| no_target(&triple, "no machine can be made"))?;
        Ok(Self { raw, library })
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // SAFETY: the machine is owned, and not used after this.
        unsafe { (self.library.api().LLVMDisposeTargetMachine)(self.raw.as_ptr()) }
    }
}

impl Module<'_> {
    /// Runs a pass pipeline, in the text form of `opt -passes=`.
    ///
    /// # Errors
    /// Returns [`LlvmError::Failed`] with LLVM's message.
    pub fn run_passes(
        &mut self,
        pipeline: &str,
        machine: &Machine,
        options: PassOptions,
    ) -> Result<(), LlvmError> {
        let doing = format!("passes {pipeline}");
        let api = self.api();
        let text = CString::new(pipeline).expect("pipelines have no NUL");
        // SAFETY: `&mut` means that no handle into the module lives; the options are freed here; an
        // error is turned into its message, which frees it.
        let message = unsafe {
            let raw = (api.LLVMCreatePassBuilderOptions)();
            (api.LLVMPassBuilderOptionsSetLoopVectorization)(raw, options.vectorize_loops.into());
            (api.LLVMPassBuilderOptionsSetLoopInterleaving)(raw, options.vectorize_loops.into());
            (api.LLVMPassBuilderOptionsSetSLPVectorization)(raw, options.vectorize_slp.into());
            (api.LLVMPassBuilderOptionsSetLoopUnrolling)(raw, options.unroll_loops.into());
            (api.LLVMPassBuilderOptionsSetMergeFunctions)(raw, options.merge_functions.into());
            let error = (api.LLVMRunPasses)(self.raw(), text.as_ptr(), machine.raw.as_ptr(), raw);
            (api.LLVMDisposePassBuilderOptions)(raw);
            (!error.is_null()).then(|| {
                let message = (api.LLVMGetErrorMessage)(error);
                let text = CStr::from_ptr(message).to_string_lossy().into_owned();
                (api.LLVMDisposeErrorMessage)(message);
                text
            })
        };
        match message {
            Some(text) => Err(LlvmError::Failed {
                name: self.name().to_owned(),
                doing,
                text,
            }),
            None => self.check_errors(&doing),
        }
    }

    /// Generates an object file. This consumes the module, because code generation changes it.
    ///
    /// # Errors
    /// Returns [`LlvmError::Failed`] with LLVM's message. LLVM reports some errors, such as invalid
    /// inline assembly, only to the diagnostic handler. They are returned too.
    pub fn emit_object(self, machine: &Machine) -> Result<Vec<u8>, LlvmError> {
        const OBJECT: i32 = 1;
        let api = self.api();
        let mut message: *mut c_char = std::ptr::null_mut();
        let mut buffer = std::ptr::null_mut();
        // SAFETY: the module is owned, so no handle lives. Message or buffer are written, and must
        // be freed here.
        let (failed, text) = unsafe {
            let failed = (api.LLVMTargetMachineEmitToMemoryBuffer)(
                machine.raw.as_ptr(),
                self.raw(),
                OBJECT,
                &mut message,
                &mut buffer,
            ) != 0;
            (failed, take_message(api, message))
        };
        if failed {
            return Err(LlvmError::Failed {
                name: self.name().to_owned(),
                doing: "code generation".to_owned(),
                text,
            });
        }
        // SAFETY: on success the buffer is set, and must be freed here.
        let object = unsafe { take_buffer(api, buffer) };
        self.check_errors("code generation")?;
        Ok(object)
    }
}

fn no_target(triple: &str, text: &str) -> LlvmError {
    LlvmError::NoTarget {
        triple: triple.into(),
        text: text.into(),
    }
}

/// LLVM's list of targets has no lock of its own: two threads that register the same target at
/// once put it into the list twice, and LLVM then cannot choose between the two.
static TARGETS: Mutex<()> = Mutex::new(());

fn target_of(library: &Library, triple: &str) -> Result<*mut LTarget, LlvmError> {
    let _list = TARGETS.lock().unwrap_or_else(PoisonError::into_inner);
    register_target(library, triple);
    let text = CString::new(triple).map_err(|_| no_target(triple, "the triple has a NUL byte"))?;
    let mut target = std::ptr::null_mut();
    let mut message = std::ptr::null_mut();
    // SAFETY: a C string. Target or message are written. The message must be freed here.
    unsafe {
        if (library.api().LLVMGetTargetFromTriple)(text.as_ptr(), &mut target, &mut message) != 0 {
            return Err(no_target(triple, &take_message(library.api(), message)));
        }
    }
    Ok(target)
}

/// Registers the code generator for the triple's architecture, if the library has it. Calling the
/// function again has no effect. The caller holds [`TARGETS`].
fn register_target(library: &Library, triple: &str) {
    let arch = match triple.split('-').next().unwrap_or_default() {
        "x86_64" | "i686" | "i586" | "i386" => "X86",
        "aarch64" | "arm64" => "AArch64",
        arch if arch.starts_with("riscv") => "RISCV",
        arch if arch.starts_with("powerpc") => "PowerPC",
        arch if arch.starts_with("loongarch") => "LoongArch",
        arch if arch.starts_with("s390x") => "SystemZ",
        arch if arch.starts_with("arm") || arch.starts_with("thumb") => "ARM",
        _ => return,
    };
    for part in [
        "TargetInfo",
        "Target",
        "TargetMC",
        "AsmPrinter",
        "AsmParser",
    ] {
        let name = format!("LLVMInitialize{arch}{part}");
        // SAFETY: LLVM's initializers take and return nothing, and may be called again.
        unsafe {
            if let Ok(initialize) = library
                .api()
                .library
                .get::<unsafe extern "C" fn()>(name.as_str())
            {
                initialize();
            }
        }
    }
}
