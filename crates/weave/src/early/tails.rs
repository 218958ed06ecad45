//! Copies the blocks of the paths that a plan lists (*tails*), so that each copy has branch weights
//! of its own.
//!
//! A branch at or after a join may be decided by the way to the join. Edge counts give the branch
//! one weight for all ways. A copy for one way has the weights of this way, and the optimizer may
//! find out the outcome there. If the path leads around a loop, the copies unroll the loop.
//!
//! A plan names the edges of the graph of training. This graph is made of a copy of the module, in
//! which edges are split and selects are branches ([`super::weights`]). So the blocks of the copy
//! are numbered before ([`number_blocks`]). Each edge that leaves a numbered block is an edge of
//! the module, and all other edges lie between them.
//!
//! The tails that begin with the same edges share copies: they are a tree. Each inner node of the
//! tree is a copied block, and its children are the block's outcomes. A tail counts the executions
//! of its last edge in the copies of the edges before it. So each node has the count of one tail.
//!
//! Example: `tail 90 3-5` and `tail 10 3-6`, where edge 3 leads to block b and edges 5 and 6 lead
//! out of it. Block b is copied for edge 3. In the copy, the branch has the weights 90 and 10, and
//! in b itself it has what remains.

use std::collections::{BTreeMap, HashMap};

use holloway_flow::EdgeId;
use holloway_format::FunctionPlan;
use holloway_llvm::{Block, Function, Instruction, Module, Opcode};

use super::block_copy::{copy_for, is_copyable, predecessor_count, successors};
use super::branch_weights::set_weights;
use crate::instrument::duplication::CopyObstacles;
use crate::instrument::weights::numbered_edges;
use crate::lower::{CallAttributes, LoweredFunction};
use crate::selection::functions_with_code;

/// The most instructions that are copied in a function. Whoever edits a plan may ask for more than
/// LLVM can compile in reasonable time.
const MOST_INSTRUCTIONS: usize = 4096;

/// The most steps of a tail. Training makes far fewer. Trees are as deep as tails are long.
const MOST_STEPS: usize = 64;

/// The beginning of the names of numbered blocks. Names in the source have no spaces.
const NUMBERED: &str = "holloway block ";

/// An edge of the module: a block, by its number in the function, and the first of the parallel
/// edges to one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Step {
    block: usize,
    successor: u32,
}

/// A path whose blocks are copied, and how often it ran.
#[derive(Clone, Debug)]
pub(super) struct Tail {
    steps: Vec<Step>,
    count: u64,
}

/// Numbers the blocks of all functions, by their names.
pub(super) fn number_blocks(module: &Module<'_>) {
    for function in functions_with_code(module) {
        for (number, block) in function.blocks().enumerate() {
            block.set_name(&format!("{NUMBERED}{number}"));
        }
    }
}

/// The tails of a function, as edges of the module. A side of a select is no edge of the module. So
/// a tail with such an edge is left out. A tail that ends within an edge of the module is left out,
/// too, because the plan also has it without its last edge.
pub(super) fn tails(lowered: &LoweredFunction<'_>, plan: &FunctionPlan) -> Vec<Tail> {
    let numbered = numbered_edges(lowered);
    let tail = |(edges, count): (&Vec<usize>, &holloway_format::Count)| {
        let ids = edges.iter().map(|&edge| numbered.get(edge).copied());
        let ids: Vec<usize> = ids.collect::<Option<_>>()?;
        let (&first, rest) = ids.split_first()?;
        let (&last, between) = rest.split_last()?;
        let mut steps = vec![step_into(lowered, first)?];
        for &id in between {
            match step(lowered, id) {
                Some(step) => steps.push(step),
                None if is_only_way(lowered, id) => {}
                None => return None,
            }
        }
        steps.push(step(lowered, last)?);
        (steps.len() <= MOST_STEPS).then_some(Tail {
            steps,
            count: count.0,
        })
    };
    plan.tails.iter().filter_map(tail).collect()
}

/// The step of an edge, if it leaves a numbered block.
fn step(lowered: &LoweredFunction<'_>, id: usize) -> Option<Step> {
    let edge = lowered.cfg.edges()[id];
    let from = lowered.nodes[edge.from.index()];
    let to = lowered.nodes.get(edge.to.index())?;
    let info = &lowered.parts.blocks[from.block];
    // An edge between two parts of a block is none of the module.
    if from.to < info.instructions.len() || to.cuts_before > 0 {
        return None;
    }
    let name = info.block.name();
    let block = name.strip_prefix(NUMBERED)?.parse().ok()?;
    let target = info
        .targets
        .iter()
        .find(|target| target.block == to.block)?;
    let successor = target.first_successor;
    Some(Step { block, successor })
}

/// Whether control can go on by this edge only: between two parts of a block, or of a split edge.
fn is_only_way(lowered: &LoweredFunction<'_>, id: usize) -> bool {
    let from = lowered.cfg.edges()[id].from;
    lowered.cfg.successors(from).len() == 1
}

/// The step of an edge, or of the edge before it if this one leaves the block of a split edge.
fn step_into(lowered: &LoweredFunction<'_>, id: usize) -> Option<Step> {
    if let Some(step) = step(lowered, id) {
        return Some(step);
    }
    let from = lowered.cfg.edges()[id].from;
    let [EdgeId(before)] = *lowered.cfg.predecessors(from) else {
        return None;
    };
    step(lowered, before as usize)
}

/// Where paths go on after an edge.
#[derive(Default)]
struct Node {
    /// How often they took the edge, after the edges before it. 0 for the first edge.
    count: u64,
    next: Tree,
}

type Tree = BTreeMap<Step, Node>;

/// Copies the blocks of tails. `weights` has the counts of each branch.
pub(super) fn copy_blocks<'m>(
    function: Function<'m>,
    tails: &[Tail],
    weights: HashMap<Block<'m>, Vec<u64>>,
) {
    let attributes = CallAttributes::lookup(function.module());
    let blocks: Vec<Block<'m>> = function.blocks().collect();
    let instructions = || blocks.iter().flat_map(|block| block.instructions());
    let returns_twice = |it: Instruction<'m>| it.is_call() && attributes.returns_twice(it);
    if tails.is_empty() || instructions().any(returns_twice) {
        return;
    }
    let mut tree = Tree::new();
    for tail in tails.iter().filter(|tail| is_path(&blocks, &tail.steps)) {
        let mut level = &mut tree;
        let Some((last, before)) = tail.steps.split_last() else {
            continue;
        };
        for &step in before {
            level = &mut level.entry(step).or_default().next;
        }
        let node = level.entry(*last).or_default();
        node.count = node.count.saturating_add(tail.count);
    }
    let mut copier = Copier {
        function,
        obstacles: CopyObstacles::new(function, &attributes),
        blocks,
        weights,
        budget: MOST_INSTRUCTIONS,
    };
    for (step, node) in &tree {
        copier.follow(copier.blocks[step.block], *step, node);
    }
}

/// Whether each step begins where the one before it ends. Otherwise somebody has edited the plan.
fn is_path(blocks: &[Block<'_>], steps: &[Step]) -> bool {
    let target = |step: &Step| {
        let block = *blocks.get(step.block)?;
        let is_computed =
            |end: Instruction<'_>| matches!(end.opcode(), Opcode::IndirectBr | Opcode::CallBr);
        if block.terminator().is_none_or(is_computed) {
            return None;
        }
        successors(block).get(step.successor as usize).copied()
    };
    let follows =
        |pair: &[Step]| target(&pair[0]).is_some_and(|end| Some(&end) == blocks.get(pair[1].block));
    steps.windows(2).all(follows) && steps.iter().all(|step| target(step).is_some())
}

struct Copier<'a, 'm> {
    function: Function<'m>,
    obstacles: CopyObstacles<'a>,
    /// The blocks of the function, without copies.
    blocks: Vec<Block<'m>>,
    /// What remains of the counts of branches.
    weights: HashMap<Block<'m>, Vec<u64>>,
    /// The instructions that may still be copied.
    budget: usize,
}

impl<'m> Copier<'_, 'm> {
    /// Copies the block to which a step from `from` leads, and the blocks after it.
    fn follow(&mut self, from: Block<'m>, step: Step, node: &Node) {
        let Some(&Step { block: number, .. }) = node.next.keys().next() else {
            return;
        };
        let targets = successors(from);
        let Some(&target) = targets.get(step.successor as usize) else {
            return;
        };
        let mut block = target;
        if target == from || predecessor_count(self.function, target) > 1 {
            let size = target.instructions().count();
            if target == from || size > self.budget || !is_copyable(target, &self.obstacles) {
                return;
            }
            self.budget -= size;
            block = copy_for(self.function, target, from);
            self.weigh(number, block, node);
        }
        for (&step, next) in &node.next {
            self.follow(block, step, next);
        }
    }

    /// Moves the counts of a node from the block with this number to the copy.
    fn weigh(&mut self, number: usize, copy: Block<'m>, node: &Node) {
        let original = self.blocks[number];
        let (Some(end), Some(copied_end)) = (original.terminator(), copy.terminator()) else {
            return;
        };
        copied_end.remove_metadata(copied_end.module().metadata_kind("unpredictable"));
        let Some(remaining) = self.weights.get_mut(&original) else {
            return;
        };
        let targets = copied_end.successors();
        let mut counts = vec![0u64; targets.len()];
        for (step, next) in &node.next {
            let Some(target) = targets.get(step.successor as usize) else {
                continue;
            };
            let parallel = (0..targets.len()).filter(|&index| targets[index] == *target);
            let parallel: Vec<usize> = parallel.collect();
            for &index in &parallel {
                counts[index] = next.count.div_ceil(parallel.len() as u64);
            }
        }
        set_weights(copied_end, &counts);
        for (rest, count) in remaining.iter_mut().zip(counts) {
            *rest = rest.saturating_sub(count);
        }
        set_weights(end, remaining);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use holloway_llvm::{Context, Library};

    use super::*;

    /// Branches, by the constant that they compare with, which their copies share.
    type Weights = BTreeMap<i64, Vec<Vec<u64>>>;

    /// The weights of each branch and of its copies.
    fn weights(function: Function<'_>) -> Weights {
        let profile = function.module().metadata_kind("prof");
        let mut weights = Weights::new();
        for end in function.blocks().filter_map(Block::terminator) {
            let Some(node) = end.metadata(profile) else {
                continue;
            };
            let comparison = end.value().operand(0);
            let constant = comparison.operand(1).as_int().unwrap();
            let counts = node.operands().into_iter().skip(1);
            let counts = counts.map(|count| count.unwrap().as_int().unwrap());
            weights.entry(constant).or_default().push(counts.collect());
        }
        weights
    }

    /// Copies the blocks of tails, which are edges `(block, successor)` and a count. Returns the
    /// weights after it, and checks that they add up to those before it.
    fn copied(body: &str, tails: &[(&[(usize, u32)], u64)]) -> Weights {
        let text = format!(
            "target triple = \"x86_64-unknown-linux-gnu\"
            declare i32 @work(i32)
            define i32 @f(i32 %x) {{ {body} }}"
        );
        let dir = tempfile::tempdir().unwrap();
        let [source, bitcode] = ["f.ll", "f.bc"].map(|name| dir.path().join(name));
        std::fs::write(&source, text).unwrap();
        let mut clang = Command::new("clang-22");
        clang.args(["-c", "-emit-llvm", "-Xclang", "-disable-llvm-passes"]);
        assert!(
            clang
                .arg(&source)
                .arg("-o")
                .arg(&bitcode)
                .status()
                .unwrap()
                .success()
        );
        let llvm = Library::find(None, Some(Path::new("rustc"))).unwrap();
        let context = Context::new(&llvm);
        let module = Module::parse(&context, "f", &std::fs::read(bitcode).unwrap()).unwrap();
        let function = module.function("f").unwrap();
        let before = weights(function);
        let steps = |path: &[(usize, u32)]| {
            let steps = path.iter();
            steps
                .map(|&(block, successor)| Step { block, successor })
                .collect()
        };
        let tails = tails.iter().map(|&(path, count)| Tail {
            steps: steps(path),
            count,
        });
        let tails: Vec<Tail> = tails.collect();
        let profile = module.metadata_kind("prof");
        let counts = function.blocks().filter_map(|block| {
            let end = block.terminator()?;
            let counts = end.metadata(profile)?.operands().into_iter().skip(1);
            Some((
                block,
                counts
                    .map(|count| count.unwrap().as_int().unwrap())
                    .collect(),
            ))
        });
        copy_blocks(function, &tails, counts.collect());
        module.verify("testing").unwrap();
        let after = weights(function);
        assert_eq!(sums(&before), sums(&after));
        after
    }

    fn sums(weights: &Weights) -> BTreeMap<i64, Vec<u64>> {
        let sum = |lists: &Vec<Vec<u64>>| {
            let sides = 0..lists[0].len();
            sides
                .map(|side| lists.iter().map(|list| list[side]).sum())
                .collect()
        };
        weights
            .iter()
            .map(|(&key, lists)| (key, sum(lists)))
            .collect()
    }

    #[test]
    fn a_copied_join_and_the_join_share_its_counts() {
        let body = "
            entry: %c = icmp sgt i32 %x, 1
                br i1 %c, label %a, label %b, !prof !0
            a: br label %join
            b: br label %join
            join: %n = phi i32 [ 7, %a ], [ %x, %b ]
                %q = icmp sgt i32 %n, 2
                br i1 %q, label %then, label %else, !prof !1
            then: ret i32 %n
            else: ret i32 0
            }
            !0 = !{!\"branch_weights\", i32 60, i32 40}
            !1 = !{!\"branch_weights\", i32 70, i32 30}
            define void @g() { ret void";
        let tails: [(&[_], _); 2] = [(&[(1, 0), (3, 0)], 55), (&[(1, 0), (3, 1)], 5)];
        let after = copied(body, &tails);
        assert_eq!(after[&1], [[60, 40]]);
        assert_eq!(after[&2], [[55, 5], [15, 25]]);
    }

    /// The loop takes `x` and `y` in turn. The copies unroll it once.
    #[test]
    fn the_copies_of_a_period_and_the_loop_share_its_counts() {
        let body = "
            entry: br label %head
            head: %i = phi i32 [ 0, %entry ], [ %m, %latch ]
                %q = icmp sgt i32 %i, 1
                br i1 %q, label %x1, label %y1, !prof !0
            x1: %v = call i32 @work(i32 %i)
                br label %latch
            y1: %w = call i32 @work(i32 9)
                br label %latch
            latch: %m = phi i32 [ %v, %x1 ], [ %w, %y1 ]
                %more = icmp sgt i32 %m, 2
                br i1 %more, label %head, label %exit, !prof !1
            exit: ret i32 %m
            }
            !0 = !{!\"branch_weights\", i32 50, i32 50}
            !1 = !{!\"branch_weights\", i32 90, i32 10}
            define void @g() { ret void";
        let around = [(4, 0), (1, 0), (2, 0), (4, 0), (1, 1)];
        let tails: [(&[_], _); 5] = [
            (&around[..2], 40),
            (&[(4, 0), (1, 1)], 13),
            (&around[..4], 37),
            (&[(4, 0), (1, 0), (2, 0), (4, 1)], 3),
            (&around, 37),
        ];
        let mut after = copied(body, &tails);
        after.values_mut().for_each(|lists| lists.sort_unstable());
        assert_eq!(after[&1], [[0, 37], [10, 0], [40, 13]]);
        assert_eq!(after[&2], [[37, 3], [53, 7]]);
    }
}
