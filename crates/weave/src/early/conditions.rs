//! The graph of the source: a branch for each condition.
//!
//! A front end keeps some conditions as values, for which it makes no branch: the last operand of
//! `r = a && b`, and the condition of `c ? 1 : 2`. Profiles of the source's graph count their
//! outcomes, so this step makes branches of them. No other pass runs before the probes are inserted,
//! so all other code stays as the front end made it.

use holloway_llvm::Module;

use super::selects;

/// Makes branches of all conditions.
pub(crate) fn branch_on_conditions(module: &mut Module<'_>) {
    selects::expand(module);
    module.branch_on_conditions(&|_| true);
}
