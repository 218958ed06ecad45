//! Runs the optimization pipeline and the code generator with the settings of a normal build.
//!
//! A module is optimized here only if its compiler left optimization to the link:
//!
//! | module | optimized by its compiler | pipeline here |
//! |---|---|---|
//! | one crate of rustc, one file of `clang -flto=thin` | the part before the link | `thinlto<On>` |
//! | one file of `clang -flto`, as in the objects of `holloway cc` | wholly | none |
//! | rustc's merged module of `lto="fat"` | wholly, after the merge | none |
//! | a module of a program that carries its bitcode | not at all | `default<On>` ([`crate::early`]) |
//!
//! A pipeline for wholly optimized modules would repeat the compiler's work.
//!
//! Each module is optimized alone. The code is as fast as the code of the default release build,
//! within noise. The relocation model and the code model come from the module's flags, and CPU and
//! features from the functions' attributes.

use holloway_llvm::{
    AttributeKind, CodeGenLevel, CodeModel, Function, LlvmError, Machine, Module, PassOptions,
    Reloc,
};

use crate::options::{ModuleOptions, OptLevel};

/// The optimization level: the level of the options, or else the level that the functions'
/// attributes suggest.
pub(crate) fn level(module: &Module<'_>, options: &ModuleOptions) -> OptLevel {
    if let Some(level) = options.opt {
        return level;
    }
    let optnone = AttributeKind::named(module, "optnone");
    let mut defined = module
        .functions()
        .filter(|function| !function.is_declaration())
        .peekable();
    let has_functions = defined.peek().is_some();
    let all_unoptimized =
        defined.all(|function| optnone.is_some_and(|kind| function.has_attribute(kind)));
    if has_functions && all_unoptimized {
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
    let codegen_level = match level {
        OptLevel::O0 => CodeGenLevel::None,
        OptLevel::O1 => CodeGenLevel::Less,
        OptLevel::O2 | OptLevel::Os | OptLevel::Oz => CodeGenLevel::Default,
        OptLevel::O3 => CodeGenLevel::Aggressive,
    };
    Machine::new(module, codegen_level, reloc, model)
}

/// Runs the optimization pipeline, unless the compiler optimized the module wholly.
pub(crate) fn optimize(
    module: &mut Module<'_>,
    machine: &Machine,
    level: OptLevel,
    options: &ModuleOptions,
) -> Result<(), LlvmError> {
    if is_wholly_optimized(module, options) {
        return Ok(());
    }
    run(module, machine, level, &format!("thinlto<{level}>"))
}

/// Runs a pipeline with the optimizations of the level.
pub(crate) fn run(
    module: &mut Module<'_>,
    machine: &Machine,
    level: OptLevel,
    pipeline: &str,
) -> Result<(), LlvmError> {
    let is_optimized = matches!(level, OptLevel::O2 | OptLevel::O3 | OptLevel::Os);
    // rustc merges equal functions by default, and clang does not.
    let is_rust = module.ident().is_some_and(|ident| ident.contains("rustc"));
    let passes = PassOptions {
        vectorize_loops: is_optimized,
        vectorize_slp: is_optimized,
        unroll_loops: is_optimized,
        merge_functions: is_rust && is_optimized,
    };
    module.run_passes(pipeline, machine, passes)
}

/// Whether the compiler ran a whole optimization pipeline, with vectorization, on the module.
///
/// rustc does so after it merged the crates for `lto="fat"`, even if a linker plugin is to generate
/// code. clang does so with `-flto`, and then writes the module flag `ThinLTO` with the value 0.
/// With `-flto=thin`, and from rustc, a module has no such flag.
fn is_wholly_optimized(module: &Module<'_>, options: &ModuleOptions) -> bool {
    options.fat || module.flag("ThinLTO") == Some(0)
}

/// Removes blocks that are still empty after probes were inserted, in functions that may be
/// optimized. Such blocks come from split edges.
pub(crate) fn remove_empty_blocks(module: &mut Module<'_>, level: OptLevel) {
    let optnone = AttributeKind::named(module, "optnone");
    if level != OptLevel::O0 {
        let is_optimized =
            |function: Function<'_>| !optnone.is_some_and(|kind| function.has_attribute(kind));
        module.remove_empty_blocks(&is_optimized);
    }
}

/// Puts each function into a group of sections of its own, which LLVM names: `.text.hot.f` if `f`
/// is hot, `.text.split.f` for its code that never ran. LLVM leaves sections as they are that have
/// been named for it, so [`function_sections`] would lose these.
pub(crate) fn function_groups(module: &Module<'_>) {
    for function in module.functions() {
        if !function.is_declaration() && !function.has_comdat() && function.section().is_none() {
            function.isolate();
        }
    }
}

/// Puts each function into a separate section, as `-ffunction-sections` does. Comdat functions
/// already have a separate section.
pub(crate) fn function_sections(module: &Module<'_>) {
    for function in module.functions() {
        if !function.is_declaration() && !function.has_comdat() && function.section().is_none() {
            function.set_section(&format!(".text.{}", function.name()));
        }
    }
}
