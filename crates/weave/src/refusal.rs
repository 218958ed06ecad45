//! Modules that can't be woven alone.
//!
//! Control-flow integrity (`-fsanitize=cfi`) asks the linker which functions and vtables a type has: lowered in one module
//! alone, every check of something from another module traps. Devirtualisation asks the same way, but only to
//! assume the answer, which may be dropped.

use holloway_llvm::{Module, Opcode};

use crate::error::WeaveError;

/// Fails for a module that asks the linker for type information it depends on, or is for a target that can't be woven.
pub(crate) fn check(module: &Module<'_>) -> Result<(), WeaveError> {
    let refused = |reason: &str| WeaveError::Refused {
        module: module.name().into(),
        reason: reason.into(),
    };
    let triple = module.triple();
    let (arch, rest) = triple.split_once('-').unwrap_or((triple.as_str(), ""));
    if !matches!(arch, "x86_64" | "aarch64") || !rest.contains("linux") || triple.ends_with("x32") {
        return Err(refused(&format!("target {triple} is not supported yet")));
    }
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
                return Err(refused(
                    "checks types over the whole program (-fsanitize=cfi); compile it without",
                ));
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
        return Err(refused(
            "loads from vtables checked over the whole program (-fsanitize=cfi or -fvirtual-function-elimination); compile it without",
        ));
    }
    Ok(())
}
