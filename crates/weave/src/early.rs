//! Builds from bitcode that no optimizer has seen: a plain build, a build that profiles the graph
//! of the source ([`branch_on_conditions`]), a build for training, and a build that uses the counts
//! of training.
//!
//! The counts come from probes before the optimizer, and the optimizer uses them as LLVM uses the
//! counts of `-fprofile-generate`. So training and optimized build must agree about the code at
//! this point. Both run the same passes on the same bitcode before it ([`prepare`]), and both
//! reshape the same edges. Probes cost more here than after the optimizer, but only in training,
//! and no count is lost: each counts what the source does, whatever becomes of the code.
//!
//! - `prepare` cleans the code up, and inlines the smallest functions, so that each caller has
//!   counts of its own for them. These are the passes that LLVM runs before its own counters.
//! - [`expand_selects`] makes branches of selects, so that their outcomes are counted.
//! - [`attach`] turns the counts into metadata: branch weights, entry counts, and the summary of
//!   the whole program, which says what is hot. It marks the branches that are hard to predict.
//!   It copies the blocks of the paths that the plan lists, with weights for each copy.
//! - [`promote`] makes direct calls of the most frequent targets of indirect calls.
//! - [`optimize`] runs the pipeline of a normal build.
//! - [`specialize_sizes`] makes special code for the most frequent sizes of memory operations.
//! - [`number_instructions`] makes addresses of the optimized code lead back to this code.
//! - [`attach_late`] replaces the weights by counts of the optimized code, if the plan has them.
//!   They come from a build with the same early counts, whose probes came after the optimizer.

mod block_copy;
mod branch_weights;
mod conditions;
mod numbers;
mod selects;
mod summary;
mod tails;
mod values;
mod weights;

use holloway_llvm::{Function, LlvmError, Machine, Module};

use crate::emit;
use crate::options::OptLevel;
use crate::selection::functions_with_code;

pub(crate) use conditions::branch_on_conditions;
pub(crate) use numbers::number_instructions;
pub(crate) use selects::expand as expand_selects;
pub(crate) use values::{promote, specialize_sizes};
pub(crate) use weights::{attach, attach_late};

/// The passes that clean code up.
const CLEAN: &str = "function(lower-expect,simplifycfg,sroa<modify-cfg>,early-cse),ipsccp,\
     called-value-propagation,globalopt,function(instcombine<no-verify-fixpoint>,simplifycfg<switch-range-to-icmp>)";
/// The passes that inline small functions.
const INLINE: &str = "cgscc(inline<only-mandatory>,inline,\
     function<eager-inv>(sroa<modify-cfg>,early-cse,simplifycfg<switch-range-to-icmp>,instcombine<no-verify-fixpoint>)),\
     globaldce";
/// The attribute with the largest cost of a callee that is inlined.
const INLINE_THRESHOLD: &str = "function-inline-threshold";
/// LLVM's threshold for inlining before its own counters are inserted.
const SMALL_FUNCTION: &str = "75";

/// Runs the passes before the counts are taken or attached.
pub(crate) fn prepare(
    module: &mut Module<'_>,
    machine: &Machine,
    level: OptLevel,
) -> Result<(), LlvmError> {
    if level == OptLevel::O0 {
        return Ok(());
    }
    emit::run(module, machine, level, CLEAN)?;
    let is_without_threshold =
        |function: &Function<'_>| function.text_attribute(INLINE_THRESHOLD).is_none();
    let limited: Vec<String> = functions_with_code(module)
        .filter(is_without_threshold)
        .map(|function| {
            function.set_text_attribute(INLINE_THRESHOLD, SMALL_FUNCTION);
            function.name()
        })
        .collect();
    emit::run(module, machine, level, INLINE)?;
    for name in limited {
        if let Some(function) = module.function(&name) {
            function.remove_text_attribute(INLINE_THRESHOLD);
        }
    }
    Ok(())
}

/// Runs the pipeline of a normal build.
pub(crate) fn optimize(
    module: &mut Module<'_>,
    machine: &Machine,
    level: OptLevel,
) -> Result<(), LlvmError> {
    emit::run(module, machine, level, &format!("default<{level}>"))
}
