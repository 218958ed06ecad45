//! Modules that can't be woven alone.
//!
//! Control-flow integrity (`-fsanitize=cfi`) asks the linker which functions and vtables a type
//! has. If one module is compiled alone, every check of a function or vtable of another module
//! traps. Devirtualization asks in the same way, but only assumes the answer, so its questions may
//! be dropped.
//!
//! Assembly may include a file (`.incbin`, `.include`) by a path relative to the compiler's
//! directory. At the link, that path may name another file, or a newer one. If the module's machine
//! code is available, it is linked instead.

use holloway_llvm::{Block, Function, Module, Opcode};

use crate::error::{Instead, WeaveError};
use crate::image::Machine;
use crate::options::ModuleOptions;
use crate::reason::Reason;

/// Checks that a module does not depend on the linker's type information and, if it gets probes,
/// that its target is supported.
pub(crate) fn check(module: &Module<'_>, options: &ModuleOptions) -> Result<(), WeaveError> {
    if options.probes {
        check_target(module, options)?;
    }
    check_types(module)
}

/// The error for a refused module.
fn refused(module: &Module<'_>, reason: Reason, instead: Instead) -> WeaveError {
    WeaveError::Refused {
        module: module.name().into(),
        reason,
        instead,
    }
}

/// Checks that the target supports probes.
fn check_target(module: &Module<'_>, options: &ModuleOptions) -> Result<(), WeaveError> {
    let collect = options.collect;
    let unfit = |reason: Reason| {
        let instead = match has_machine_code(module, options) {
            true => Instead::AsItIs,
            false => Instead::Compiled,
        };
        Err(refused(module, reason, instead))
    };
    let triple = module.triple();
    let is_known = Machine::of_triple(&triple).is_some();
    if !is_known || !triple.contains("-linux") || triple.ends_with("x32") {
        return unfit(Reason::UnsupportedTarget { triple });
    }
    if collect.is_stream() && module.functions().any(has_scalable_vectors) {
        return unfit(Reason::ScalableVectors { kind: collect });
    }
    Ok(())
}

/// Whether machine code is available that does the same as the bitcode.
pub(crate) fn has_machine_code(module: &Module<'_>, options: &ModuleOptions) -> bool {
    options.machine_code && !is_instrumented_twice(module)
}

/// Functions that sanitizers add to a module, and the module flags by which clangs later than 19
/// note that they did. DataFlowSanitizer adds a variable instead of a function.
const SANITIZERS: [(&str, &str); 5] = [
    ("asan.module_ctor", "nosanitize_address"),
    ("hwasan.module_ctor", "nosanitize_hwaddress"),
    ("msan.module_ctor", "nosanitize_memory"),
    ("tsan.module_ctor", "nosanitize_thread"),
    ("__dfsan_arg_tls", "nosanitize_dataflow"),
];

/// Whether the machine code that accompanies this bitcode is instrumented twice. Clang compiles a
/// fat object's bitcode further to machine code, and clang 19's sanitizers don't notice that they
/// ran before. Such machine code crashes, or needs functions that nobody defines. The bitcode is
/// sound.
fn is_instrumented_twice(module: &Module<'_>) -> bool {
    SANITIZERS.iter().any(|(name, flag)| {
        let has = module.function(name).is_some() || module.global(name).is_some();
        has && module.flag(flag).is_none()
    })
}

/// Checks that a module does not ask the linker for the program's types.
fn check_types(module: &Module<'_>) -> Result<(), WeaveError> {
    let refused = |reason: Reason| refused(module, reason, Instead::AsItIs);
    for name in ["llvm.type.test", "llvm.public.type.test"] {
        let Some(test) = module.function(name) else {
            continue;
        };
        for call in test.value().users() {
            let only_assumed = call.users().iter().all(|user| {
                user.as_instruction()
                    .and_then(holloway_llvm::Instruction::intrinsic)
                    .is_some_and(|name| name == "llvm.assume")
            });
            if !only_assumed {
                return Err(refused(Reason::WholeProgramTypes));
            }
        }
    }
    let checked = ["llvm.type.checked.load", "llvm.type.checked.load.relative"]
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
    if checked {
        return Err(refused(Reason::WholeProgramVtables));
    }
    Ok(())
}

/// Whether a function may keep values in AArch64's SVE and SME registers, which the kernel does not
/// save over a system call. A probe that appends words is assembly that names only the other
/// registers, and the runtime after it may make a system call.
fn has_scalable_vectors(function: Function<'_>) -> bool {
    let features = function.text_attribute("target-features");
    let features = features.unwrap_or_default();
    let is_scalable = |one: &str| one.starts_with("+sve") || one.starts_with("+sme");
    features.split(',').any(is_scalable)
}

/// The error for a module whose assembly includes a file and whose machine code can be linked.
pub(crate) fn includes(module: &Module<'_>) -> WeaveError {
    refused(module, Reason::IncludedFile, Instead::AsItIs)
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

/// Whether `assembly` has a directive that reads a file. A directive in a comment counts too, which
/// only costs probes.
fn includes_file(assembly: &str) -> bool {
    let assembly = assembly.to_ascii_lowercase();
    [".incbin", ".include"].iter().any(|directive| {
        assembly.match_indices(directive).any(|(at, _)| {
            let next = assembly[at + directive.len()..].chars().next();
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
