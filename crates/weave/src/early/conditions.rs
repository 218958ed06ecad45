//! The graph of the source: the code as the front end made it, with a branch for each condition.
//!
//! A front end keeps some conditions as values, for which it makes no branch: the last operand of
//! `r = a && b`, and the condition of `c ? 1 : 2`. Profiles of the source's graph count their
//! outcomes, so this step makes branches of them.
//!
//! Clang adds copies of functions that another module defines, such as those of `std::string`, so
//! that calls of them can be inlined. These copies are removed first, as at `-O0`: otherwise a call
//! would be counted only if the optimizer inlines it. Copies that must be inlined (`always_inline`)
//! stay, because the other module may not define them at all.
//!
//! No other pass runs before the probes are inserted, so all other code stays as the front end made
//! it.

use holloway_llvm::{AttributeKind, Function, Linkage, LlvmError, Machine, Module};

use super::selects;
use crate::emit;
use crate::options::OptLevel;

/// Removes copies of other modules' functions.
const REMOVE_COPIES: &str = "elim-avail-extern";

/// Makes branches of all conditions.
pub(crate) fn branch_on_conditions(
    module: &mut Module<'_>,
    machine: &Machine,
    level: OptLevel,
) -> Result<(), LlvmError> {
    keep_copies_that_must_be_inlined(module);
    emit::run(module, machine, level, REMOVE_COPIES)?;
    selects::expand(module);
    module.branch_on_conditions(&|_| true);
    Ok(())
}

fn keep_copies_that_must_be_inlined(module: &Module<'_>) {
    let Some(must_inline) = AttributeKind::named(module, "alwaysinline") else {
        return;
    };
    let copies = module.functions().filter(|function| {
        function.linkage() == Linkage::AvailableExternally && function.has_attribute(must_inline)
    });
    copies.for_each(Function::define_in_each_module);
}
