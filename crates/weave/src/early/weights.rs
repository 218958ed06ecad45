//! Attaches the counts of a plan to a module, as LLVM attaches the counts of its own probes.
//!
//! A plan numbers the edges of the graphs of training, in which blocks and edges are split to make
//! room for probes. Splitting would stay in the way of the optimizer: it costs 0.4 % of bzip2's
//! instructions. So the graphs are made of a copy of the module, and the module itself gets only
//! the resulting metadata. Splitting adds no branch. The selects of the copy are branches, as in
//! training ([`selects`]). So the choices of a function, which are its selects and branches,
//! correspond in order to the branches of its copy.
//!
//! Choices that are hard to predict are marked `!unpredictable`. LLVM then makes selects of
//! branches even if that costs more instructions, keeps the mark on them, and makes no branches of
//! marked selects. Choices without the mark stay what LLVM makes of them by their weights.

use std::collections::HashMap;

use holloway_format::{Count, FunctionPlan, Outcome, Plan, is_unpredictable};
use holloway_llvm::{AttributeKind, Block, Function, Instruction, Metadata, Module, Type};

use super::branch_weights::branch_weights;
use super::selects;
use super::summary::Summary;
use super::tails::{self, Tail, copy_blocks};
use super::values;
use crate::instrument::frequencies::TransitionFrequencies;
use crate::instrument::graph::positions;
use crate::instrument::make_room_for_probes;
use crate::instrument::plan::plan as plan_probes;
use crate::instrument::weights::{by_edge, hash, numbered_edges};
use crate::lower::{BlockIndex, CallAttributes, LoweredFunction, indirect_calls, sized_operations};
use crate::options::ModuleOptions;
use crate::selection::{Selection, functions_with_code};

/// Attaches the counts of `plan` to the functions of `module` with the same names and graphs. Other
/// functions get none. A module whose compiler has used another profile keeps that profile. Returns
/// the number of functions with counts.
pub(crate) fn attach(module: &mut Module<'_>, plan: &Plan, options: &ModuleOptions) -> u64 {
    let summary = Summary::new(plan);
    if !summary.attach(module) {
        return 0;
    }
    let mut copy = module.copy();
    tails::number_blocks(&copy);
    selects::expand(&mut copy);
    let counts = function_counts(&mut copy, |name, hash| plan.find(name, hash), options);
    let temperatures = Temperatures::lookup(module);
    let mut planned = 0;
    for function in functions_with_code(module) {
        let Some(counts) = counts.get(&function.name()) else {
            continue;
        };
        let choices = choices(function);
        if mark(&choices, &counts.branches) {
            set_entry_count(function, counts.function.calls);
            temperatures.set(function, counts.function, &summary);
            if indirect_calls(function).count() == counts.indirect_calls {
                values::attach_targets(function, &counts.function.targets);
            }
            if sized_operations(function).count() == counts.sized_operations {
                values::attach_sizes(function, &counts.function.sizes);
            }
            copy_blocks(function, &counts.tails, weights_by_block(&choices, counts));
            planned += 1;
        }
    }
    planned
}

/// Attaches the late counts of `plan` to the functions of `module` with the same names and graphs.
/// Branches that never ran, and selects, keep the weights that the optimizer made of the early
/// counts.
pub(crate) fn attach_late(module: &mut Module<'_>, plan: &Plan, options: &ModuleOptions) {
    let mut copy = module.copy();
    let counts = function_counts(&mut copy, |name, hash| plan.find_late(name, hash), options);
    for function in functions_with_code(module) {
        let Some(counts) = counts.get(&function.name()) else {
            continue;
        };
        let branches: Vec<_> = branches(function).map(Choice::Branch).collect();
        if mark(&branches, &counts.branches) {
            set_entry_count(function, counts.function.calls);
        }
    }
}

/// The counts of a function, in the form in which LLVM wants them.
struct FunctionCounts<'p> {
    function: &'p FunctionPlan,
    /// The branches of the function's copy.
    branches: Vec<BranchCounts>,
    /// The number of indirect calls of the function's copy.
    indirect_calls: usize,
    /// The number of its memory operations without a known size.
    sized_operations: usize,
    /// The paths whose blocks are copied.
    tails: Vec<Tail>,
}

/// The counts of a branch.
struct BranchCounts {
    /// The count of each successor.
    successors: Vec<u64>,
    is_unpredictable: bool,
}

/// The counts of the functions that the plan knows, by linkage name.
fn function_counts<'p>(
    copy: &mut Module<'_>,
    find: impl Fn(&str, u64) -> Option<&'p FunctionPlan>,
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
        let known = find(&name, hash(&planned.lowered));
        let weights = known.and_then(|known| edge_weights(&planned.lowered, known));
        if let (Some(function), Some(weights)) = (known, weights) {
            let branches = branch_counts(&planned.lowered, &weights, function);
            let known = FunctionCounts {
                function,
                branches,
                indirect_calls: indirect_calls(planned.lowered.parts.function).count(),
                sized_operations: sized_operations(planned.lowered.parts.function).count(),
                tails: tails::tails(&planned.lowered, function),
            };
            counts.insert(name, known);
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

/// The counts of each branch.
fn branch_counts(
    lowered: &LoweredFunction<'_>,
    weights: &[u64],
    counts: &FunctionPlan,
) -> Vec<BranchCounts> {
    let positions = positions(&lowered.parts);
    let mispredictions = mispredictions(lowered, counts);
    let frequencies = TransitionFrequencies::new(lowered, weights);
    branches(lowered.parts.function)
        .map(|branch| {
            let from = positions[&branch.block()];
            let count_to = |target| frequencies.between(from, positions[&target]);
            let successors = successor_counts(&branch.successors(), count_to);
            let executions = successors.iter().copied().fold(0, u64::saturating_add);
            let missed = mispredictions.get(&from);
            BranchCounts {
                is_unpredictable: missed.is_some_and(|&m| is_unpredictable(m, Count(executions))),
                successors,
            }
        })
        .collect()
}

/// The expected mispredictions of the blocks that end with a condition. Other lines of the plan,
/// which somebody has edited, mean nothing.
fn mispredictions(
    lowered: &LoweredFunction<'_>,
    counts: &FunctionPlan,
) -> HashMap<BlockIndex, Count> {
    let numbered = numbered_edges(lowered);
    let branches = counts.unpredictable.iter().filter_map(|(&edge, &missed)| {
        let id = *numbered.get(edge)?;
        let chooses = matches!(lowered.edges[id].outcome, Outcome::True | Outcome::False);
        let from = lowered.nodes.get(lowered.cfg.edges()[id].from.index())?;
        chooses.then_some((from.block, missed))
    });
    branches.collect()
}

/// The instructions that lead to one of several blocks, in the order of the code.
fn branches<'m>(function: Function<'m>) -> impl Iterator<Item = Instruction<'m>> {
    function.blocks().filter_map(branch)
}

fn branch(block: Block<'_>) -> Option<Instruction<'_>> {
    let terminator = block.terminator();
    terminator.filter(|terminator| terminator.successors().len() > 1)
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

/// The count of each successor of the blocks that end with a choice.
fn weights_by_block<'m>(
    choices: &[Choice<'m>],
    counts: &FunctionCounts<'_>,
) -> HashMap<Block<'m>, Vec<u64>> {
    let weights = choices.iter().zip(&counts.branches);
    let weights = weights.filter_map(|(choice, counts)| match choice {
        Choice::Branch(branch) => Some((branch.block(), counts.successors.clone())),
        Choice::Selects(_) => None,
    });
    weights.collect()
}

/// The code of a choice.
enum Choice<'m> {
    /// An instruction that leads to one of several blocks.
    Branch(Instruction<'m>),
    /// The selects of one condition.
    Selects(selects::SelectGroup<'m>),
}

impl<'m> Choice<'m> {
    fn instructions(&self) -> &[Instruction<'m>] {
        match self {
            Self::Branch(branch) => std::slice::from_ref(branch),
            Self::Selects(selects) => selects,
        }
    }

    fn outcomes(&self) -> usize {
        match self {
            Self::Branch(branch) => branch.successors().len(),
            Self::Selects(_) => 2,
        }
    }
}

/// The choices of a function, in the order of the code.
fn choices(function: Function<'_>) -> Vec<Choice<'_>> {
    let of_block = |block| {
        let groups = selects::groups(block).into_iter().map(Choice::Selects);
        groups.chain(branch(block).map(Choice::Branch))
    };
    function.blocks().flat_map(of_block).collect()
}

/// Gives each choice of a function the counts of its outcomes, and marks those that are hard to
/// predict. Choices that never ran get no counts. Returns whether the choices are those that were
/// counted.
fn mark(choices: &[Choice<'_>], counts: &[BranchCounts]) -> bool {
    let lengths = counts.iter().map(|counts| counts.successors.len());
    if !choices.iter().map(Choice::outcomes).eq(lengths) {
        return false;
    }
    let Some(first) = choices
        .first()
        .and_then(|choice| choice.instructions().first())
    else {
        return true;
    };
    let module = first.module();
    let [weights, unpredictable] = ["prof", "unpredictable"].map(|name| module.metadata_kind(name));
    for (choice, counts) in choices.iter().zip(counts) {
        let node = branch_weights(module, &counts.successors);
        for instruction in choice.instructions() {
            if let Some(node) = node {
                instruction.set_metadata(weights, node);
            }
            if counts.is_unpredictable {
                instruction.set_metadata(unpredictable, Metadata::node(module, &[]));
            }
        }
    }
    true
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
