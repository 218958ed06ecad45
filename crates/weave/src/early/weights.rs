//! Attaches the counts of a plan to a module, as LLVM attaches the counts of its own probes.
//!
//! A plan numbers the edges of the graphs of training, in which blocks and edges are split to make
//! room for probes. Splitting would stay in the way of the optimizer: it costs 0.4 % of bzip2's
//! instructions. So the graphs are made of a copy of the module, and the module itself gets only
//! the resulting metadata. Splitting adds no branch, so the branches of a function and of its copy
//! correspond in order.

use std::collections::HashMap;

use holloway_format::{Count, FunctionPlan, Plan};
use holloway_llvm::{AttributeKind, Block, Function, Instruction, Metadata, Module, Type};

use super::summary::Summary;
use crate::instrument::frequencies::TransitionFrequencies;
use crate::instrument::graph::positions;
use crate::instrument::make_room_for_probes;
use crate::instrument::plan::plan as plan_probes;
use crate::instrument::weights::{by_edge, hash};
use crate::lower::{CallAttributes, LoweredFunction};
use crate::options::ModuleOptions;
use crate::selection::{Selection, functions_with_code};

/// Attaches the counts of `plan` to the functions of `module` with the same names and graphs. Other
/// functions get none. A module whose compiler has used another profile keeps that profile. `copy`
/// is the same module again. Returns the number of functions with counts.
pub(crate) fn attach(
    module: &mut Module<'_>,
    copy: &mut Module<'_>,
    plan: &Plan,
    options: &ModuleOptions,
) -> u64 {
    let summary = Summary::new(plan);
    if !summary.attach(module) {
        return 0;
    }
    let counts = function_counts(copy, plan, options);
    let temperatures = Temperatures::lookup(module);
    let mut planned = 0;
    for function in functions_with_code(module) {
        let Some(counts) = counts.get(&function.name()) else {
            continue;
        };
        if set_branch_weights(function, &counts.branches) {
            set_entry_count(function, counts.function.calls);
            temperatures.set(function, counts.function, &summary);
            planned += 1;
        }
    }
    planned
}

/// The counts of a function, in the form in which LLVM wants them.
struct FunctionCounts<'p> {
    function: &'p FunctionPlan,
    /// For each branch of the function, the counts of its successors.
    branches: Vec<Vec<u64>>,
}

/// The counts of the functions that the plan knows, by linkage name.
fn function_counts<'p>(
    copy: &mut Module<'_>,
    plan: &'p Plan,
    options: &ModuleOptions,
) -> HashMap<String, FunctionCounts<'p>> {
    let selection = Selection::new(copy, options);
    make_room_for_probes(copy, &selection);
    let copy: &Module<'_> = copy;
    let attributes = CallAttributes::lookup(copy);
    let mut counts = HashMap::new();
    for function in functions_with_code(copy) {
        if selection.reason(function).is_some() {
            continue;
        }
        // Training had no probes in functions that cannot be planned.
        let Ok(planned) = plan_probes(function, &attributes, options) else {
            continue;
        };
        let name = function.name();
        let known = plan.find(&name, hash(&planned.lowered));
        let weights = known.and_then(|known| edge_weights(&planned.lowered, known));
        if let (Some(function), Some(weights)) = (known, weights) {
            let branches = branch_counts(&planned.lowered, &weights);
            counts.insert(name, FunctionCounts { function, branches });
        }
    }
    counts
}

fn edge_weights(lowered: &LoweredFunction<'_>, counts: &FunctionPlan) -> Option<Vec<u64>> {
    if counts.edge_count > lowered.cfg.edges().len() {
        return None;
    }
    let counts: Vec<Count> = (0..counts.edge_count)
        .map(|edge| counts.count(edge))
        .collect();
    by_edge(lowered, &counts)
}

/// For each branch, the counts of its successors.
fn branch_counts(lowered: &LoweredFunction<'_>, weights: &[u64]) -> Vec<Vec<u64>> {
    let positions = positions(&lowered.parts);
    let frequencies = TransitionFrequencies::new(lowered, weights);
    branches(lowered.parts.function)
        .map(|branch| {
            let from = positions[&branch.block()];
            let count_to = |target| frequencies.between(from, positions[&target]);
            successor_counts(&branch.successors(), count_to)
        })
        .collect()
}

/// The instructions that lead to one of several blocks, in the order of the code.
fn branches<'m>(function: Function<'m>) -> impl Iterator<Item = Instruction<'m>> {
    let terminators = function.blocks().filter_map(Block::terminator);
    terminators.filter(|terminator| terminator.successors().len() > 1)
}

/// The count of each successor. Parallel edges, such as cases of a switch, share the count of the
/// transition.
fn successor_counts<'m>(successors: &[Block<'m>], count_to: impl Fn(Block<'m>) -> u64) -> Vec<u64> {
    let mut parallel: HashMap<_, u64> = HashMap::new();
    for &successor in successors {
        *parallel.entry(successor).or_default() += 1;
    }
    let counts = successors.iter();
    counts
        .map(|successor| count_to(*successor).div_ceil(parallel[successor]))
        .collect()
}

/// Gives each branch of the function the counts of its successors. Branches that never ran get
/// none. Returns whether the branches are those that were counted.
fn set_branch_weights(function: Function<'_>, counts: &[Vec<u64>]) -> bool {
    let branches: Vec<_> = branches(function).collect();
    let lengths = branches.iter().map(|branch| branch.successors().len());
    if !lengths.eq(counts.iter().map(Vec::len)) {
        return false;
    }
    let module = function.module();
    let kind = module.metadata_kind("prof");
    for (branch, counts) in branches.into_iter().zip(counts) {
        let Some(weights) = scaled(counts) else {
            continue;
        };
        let mut operands = vec![Metadata::string(module, "branch_weights")];
        operands.extend(weights.into_iter().map(|weight| {
            // LLVM reads the bits as unsigned.
            Metadata::constant(Type::i32(module).int(i64::from(weight)))
        }));
        branch.set_metadata(kind, Metadata::node(module, &operands));
    }
    true
}

/// Scales counts to 32 bits. `None` if all are 0. A count other than 0 stays other than 0.
fn scaled(counts: &[u64]) -> Option<Vec<u32>> {
    let max = counts.iter().copied().max().filter(|&max| max > 0)?;
    let scale = max.div_ceil(u64::from(u32::MAX));
    let weights = counts.iter().map(|&count| count.div_ceil(scale));
    let weights = weights.map(|weight| u32::try_from(weight).unwrap_or(u32::MAX));
    Some(weights.collect())
}

fn set_entry_count(function: Function<'_>, Count(calls): Count) {
    let module = function.module();
    let count = Metadata::constant(Type::i64(module).int(calls as i64));
    let name = Metadata::string(module, "function_entry_count");
    function.set_metadata(
        module.metadata_kind("prof"),
        Metadata::node(module, &[name, count]),
    );
}

/// The attributes by which LLVM marks hot and cold functions.
struct Temperatures {
    cold: Option<AttributeKind>,
    hot: Option<AttributeKind>,
    inline_hint: Option<AttributeKind>,
}

impl Temperatures {
    fn lookup(module: &Module<'_>) -> Self {
        Self {
            cold: AttributeKind::named(module, "cold"),
            hot: AttributeKind::named(module, "hot"),
            inline_hint: AttributeKind::named(module, "inlinehint"),
        }
    }

    /// Marks a function that is called often as good to inline, and a function without frequent
    /// code as cold. The source's own mark `hot` has precedence.
    fn set(&self, function: Function<'_>, counts: &FunctionPlan, summary: &Summary) {
        let most = counts.taken.values().max().copied().unwrap_or_default();
        let is_marked_hot = self.hot.is_some_and(|kind| function.has_attribute(kind));
        let attribute = if summary.is_hot(counts.calls.0) {
            self.inline_hint
        } else if summary.is_cold(most.max(counts.calls).0) && !is_marked_hot {
            self.cold
        } else {
            None
        };
        if let Some(kind) = attribute {
            function.add_attribute(kind);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::scaled;

    #[test]
    fn counts_are_scaled_to_32_bits() {
        assert_eq!(scaled(&[0, 0]), None);
        assert_eq!(scaled(&[3, 0]), Some(vec![3, 0]));
        assert_eq!(scaled(&[u64::from(u32::MAX), 1]), Some(vec![u32::MAX, 1]));
        assert_eq!(scaled(&[u64::MAX, 1, 0]), Some(vec![u32::MAX, 1, 0]));
    }
}
