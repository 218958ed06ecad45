//! The optimization pipeline and the code generator, set as a normal build would set them.
//!
//! Each module is optimized alone by `thinlto<On>`, which is as fast as the default release build,
//! within noise. Only rustc's merged module gets `lto<On>`, which takes a module for the whole
//! program and miscompiles one of several. Relocation and code model come from the module's flags,
//! CPU and features from the functions' attributes.

use holloway_llvm::{
    AttributeKind, CodeGenLevel, CodeModel, Function, LlvmError, Machine, Module, PassOptions,
    Reloc,
};

use crate::options::{ModuleOptions, OptLevel};

/// The optimization level: the level asked for, or the level that the functions show.
pub(crate) fn level(module: &Module<'_>, options: &ModuleOptions) -> OptLevel {
    if let Some(level) = options.opt {
        return level;
    }
    let optnone = AttributeKind::named(module, "optnone");
    let mut defined = module
        .functions()
        .filter(|function| !function.is_declaration())
        .peekable();
    let any = defined.peek().is_some();
    let unoptimized =
        defined.all(|function| optnone.is_some_and(|kind| function.has_attribute(kind)));
    if any && unoptimized {
        OptLevel::O0
    } else {
        OptLevel::O2
    }
}

/// The code generator for the module.
pub(crate) fn machine(module: &Module<'_>, level: OptLevel) -> Result<Machine, LlvmError> {
    let reloc = match module.flag("PIC Level") {
        Some(1..) => Reloc::Pic,
        _ => Reloc::Static,
    };
    let model = match module.flag("Code Model") {
        Some(0) => CodeModel::Tiny,
        Some(1) => CodeModel::Small,
        Some(2) => CodeModel::Kernel,
        Some(3) => CodeModel::Medium,
        Some(4) => CodeModel::Large,
        _ => CodeModel::Default,
    };
    let generate = match level {
        OptLevel::O0 => CodeGenLevel::None,
        OptLevel::O1 => CodeGenLevel::Less,
        OptLevel::O2 | OptLevel::Os | OptLevel::Oz => CodeGenLevel::Default,
        OptLevel::O3 => CodeGenLevel::Aggressive,
    };
    Machine::new(module, generate, reloc, model)
}

/// Runs the post-link pipeline.
pub(crate) fn optimize(
    module: &mut Module<'_>,
    machine: &Machine,
    level: OptLevel,
    options: &ModuleOptions,
) -> Result<(), LlvmError> {
    let pipeline = if options.fat {
        format!("lto<{level}>")
    } else {
        format!("thinlto<{level}>")
    };
    let full = matches!(level, OptLevel::O2 | OptLevel::O3 | OptLevel::Os);
    // rustc merges equal functions by default, clang doesn't.
    let rust = module.ident().is_some_and(|ident| ident.contains("rustc"));
    let passes = PassOptions {
        vectorize_loops: full,
        vectorize_slp: full,
        unroll_loops: full,
        merge_functions: rust && full,
    };
    module.run_passes(&pipeline, machine, passes)
}

/// Cleans up around probes for the code generator.
pub(crate) fn tidy(module: &mut Module<'_>, level: OptLevel) {
    let optnone = AttributeKind::named(module, "optnone");
    if level != OptLevel::O0 {
        let may =
            |function: Function<'_>| !optnone.is_some_and(|kind| function.has_attribute(kind));
        module.remove_empty_blocks(&may);
    }
}

/// Gives each function a section of its own, as `-ffunction-sections` would; comdat functions have
/// one already.
pub(crate) fn function_sections(module: &Module<'_>) {
    for function in module.functions() {
        if !function.is_declaration() && !function.has_comdat() && function.section().is_none() {
            function.set_section(&format!(".text.{}", function.name()));
        }
    }
}
