//! Finds modules that must not be woven: modules that cannot be compiled alone, and modules whose
//! target does not support probes.
//!
//! Control-flow integrity (`-fsanitize=cfi`) makes the linker compute which functions and vtables
//! belong to a type. If a module is compiled alone, every check of a function or vtable from
//! another module traps. Devirtualization uses the same intrinsics, but only to assume a fact. Such
//! uses can be ignored.
//!
//! Assembly may include a file (`.incbin`, `.include`) by a path relative to the compiler's working
//! directory. At link time, that path may name another file or a newer version. If the module's
//! machine code is available, it is linked instead.

use holloway_llvm::{Block, Function, Module, Opcode};

use crate::error::{Replacement, WeaveError};
use crate::image::Machine;
use crate::options::ModuleOptions;
use crate::reason::Reason;

/// Checks that a module does not depend on the linker's type information. For a module that gets
/// probes, also checks that its target is supported.
///
/// # Errors
/// Returns [`WeaveError::Refused`] if the module must not be woven.
pub(crate) fn check(module: &Module<'_>, options: &ModuleOptions) -> Result<(), WeaveError> {
    if options.probes {
        check_target(module, options)?;
    }
    check_types(module)
}

/// The error for a refused module.
fn refused(module: &Module<'_>, reason: Reason, replacement: Replacement) -> WeaveError {
    WeaveError::Refused {
        module: module.name().into(),
        reason,
        replacement,
    }
}

/// Checks that the target supports probes.
fn check_target(module: &Module<'_>, options: &ModuleOptions) -> Result<(), WeaveError> {
    let collect = options.collect;
    let refuse = |reason: Reason| {
        let replacement = match has_machine_code(module, options) {
            true => Replacement::AsItIs,
            false => Replacement::Compiled,
        };
        Err(refused(module, reason, replacement))
    };
    let triple = module.triple();
    let is_known = Machine::of_triple(&triple).is_some();
    if !is_known || !triple.contains("-linux") || triple.ends_with("x32") {
        return refuse(Reason::UnsupportedTarget { triple });
    }
    if collect.is_stream() && module.functions().any(has_scalable_vectors) {
        return refuse(Reason::ScalableVectors { kind: collect });
    }
    Ok(())
}

/// Whether the module's machine code is available and behaves as its bitcode does.
pub(crate) fn has_machine_code(module: &Module<'_>, options: &ModuleOptions) -> bool {
    options.machine_code && !is_instrumented_twice(module)
}

/// For each sanitizer, the function that it adds to a module, and the module flag that records that
/// the sanitizer has run. Clang 19 does not set these flags yet. DataFlowSanitizer adds a variable
/// instead of a function.
const SANITIZERS: [(&str, &str); 5] = [
    ("asan.module_ctor", "nosanitize_address"),
    ("hwasan.module_ctor", "nosanitize_hwaddress"),
    ("msan.module_ctor", "nosanitize_memory"),
    ("tsan.module_ctor", "nosanitize_thread"),
    ("__dfsan_arg_tls", "nosanitize_dataflow"),
];

/// Whether sanitizers have instrumented the machine code next to this bitcode twice. Clang compiles
/// the bitcode of a fat object to its machine code, and clang 19 runs the sanitizers again then.
/// This machine code crashes or calls functions that do not exist. The bitcode is sound.
fn is_instrumented_twice(module: &Module<'_>) -> bool {
    SANITIZERS.iter().any(|(name, flag)| {
        let is_sanitized = module.function(name).is_some() || module.global(name).is_some();
        is_sanitized && module.flag(flag).is_none()
    })
}

/// Checks that a module does not depend on the linker's type information.
fn check_types(module: &Module<'_>) -> Result<(), WeaveError> {
    let refused = |reason: Reason| refused(module, reason, Replacement::AsItIs);
    for name in ["llvm.type.test", "llvm.public.type.test"] {
        let Some(test) = module.function(name) else {
            continue;
        };
        for call in test.value().users() {
            let is_only_assumed = call.users().iter().all(|user| {
                user.as_instruction()
                    .and_then(holloway_llvm::Instruction::intrinsic)
                    .is_some_and(|name| name == "llvm.assume")
            });
            if !is_only_assumed {
                return Err(refused(Reason::WholeProgramTypes));
            }
        }
    }
    let has_checked_loads = ["llvm.type.checked.load", "llvm.type.checked.load.relative"]
        .iter()
        .any(|name| {
            module.function(name).is_some_and(|function| {
                let calls = |user: &holloway_llvm::Value<'_>| {
                    user.as_instruction()
                        .is_some_and(|i| i.opcode() == Opcode::Call)
                };
                function.value().users().iter().any(calls)
            })
        });
    if has_checked_loads {
        return Err(refused(Reason::WholeProgramVtables));
    }
    Ok(())
}

/// Whether a function may keep values in AArch64's SVE and SME registers. A probe that appends
/// words may call the runtime, which may make a system call, and the kernel does not save these
/// registers over a system call. The probe is assembly that does not list them as changed, so the
/// code generator does not save them either.
fn has_scalable_vectors(function: Function<'_>) -> bool {
    let features = function.text_attribute("target-features");
    let features = features.unwrap_or_default();
    let is_scalable = |feature: &str| feature.starts_with("+sve") || feature.starts_with("+sme");
    features.split(',').any(is_scalable)
}

/// The error for a module whose assembly includes a file and whose machine code can be linked.
pub(crate) fn included_file_error(module: &Module<'_>) -> WeaveError {
    refused(module, Reason::IncludedFile, Replacement::AsItIs)
}

/// Whether assembly of the module, inside functions or outside, includes a file.
pub(crate) fn reads_files(module: &Module<'_>) -> bool {
    if includes_file(&module.inline_assembly()) {
        return true;
    }
    let mut calls = module
        .functions()
        .flat_map(Function::blocks)
        .flat_map(Block::instructions)
        .filter(|instruction| instruction.is_call());
    calls.any(|call| {
        let text = call.callee().inline_assembly();
        text.is_some_and(|text| includes_file(&text))
    })
}

/// Whether `assembly` has a directive that reads a file. A directive in a comment counts too. Then
/// the module is linked unwoven without need.
fn includes_file(assembly: &str) -> bool {
    let assembly = assembly.to_ascii_lowercase();
    [".incbin", ".include"].iter().any(|directive| {
        assembly.match_indices(directive).any(|(offset, _)| {
            let next = assembly[offset + directive.len()..].chars().next();
            !next.is_some_and(|next| next.is_alphanumeric() || next == '_')
        })
    })
}

#[cfg(test)]
mod tests {
    use super::includes_file;

    #[test]
    fn directives_that_read_a_file_are_found() {
        let check = |text, expect| assert_eq!(includes_file(text), expect, "{text}");
        check("b: .incbin \"blob\"\n.text", true);
        check("\t.INCLUDE\t\"x.s\"", true);
        check(".include_level = 3", false);
        check(".section .rodata.incbins", false);
        check("nop", false);
    }
}
