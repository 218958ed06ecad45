//! Selects the loops to show, and builds the tree of each loop's sequences of paths. The terminal
//! and JSON reports write them.
//!
//! A sequence is shown if it ran at least [`LoopsOptions::min_share`] as often as its first path,
//! as in Figure 4 of the paper (D'Elia, Demetrescu, Finocchi 2013). The path forest is called
//! `kipf` in code. A run of its nodes without forks becomes one `Branch`.

use holloway_flow::PathId;
use holloway_format::Count;
use std::collections::BTreeMap;
use std::rc::Rc;

use holloway_analysis::FunctionId;
use holloway_analysis::loops::shape::{LoopCount, Thousandths, count, share};
use holloway_analysis::loops::{Kipf, KipfNode, LoopsRun};

use crate::filter::Filter;

/// Options of the loops view, in addition to [`Options`](crate::Options).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoopsOptions {
    /// Minimum share of a sequence, in thousandths of its first path's executions. Rarer sequences
    /// are left out.
    pub min_share: Thousandths,
    /// Whether to also show the paper's numbers about forests: nodes, degrees, levels, look-ups.
    /// These numbers include rare sequences.
    pub stats: bool,
}

impl Default for LoopsOptions {
    fn default() -> LoopsOptions {
        LoopsOptions {
            min_share: 100,
            stats: false,
        }
    }
}

/// A branch continues with the next path if the next path has at least this share of the executions
/// of the branch's first path. A rarer continuation starts a new branch.
const MIN_CONTINUATION_SHARE: Thousandths = 950;

/// A loop to show.
pub(crate) struct ShownLoop {
    pub(crate) function: FunctionId,
    pub(crate) count: LoopCount,
    /// Maximum number of paths in a sequence.
    pub(crate) k: u32,
    pub(crate) kipf: Rc<Kipf>,
}

/// Returns the `top` loops with the most iterations in the functions that the filter keeps, and the
/// number of all loops in these functions.
pub(crate) fn hottest(
    loops: &LoopsRun,
    names: &Filter<'_>,
    top: Option<usize>,
    loops_options: LoopsOptions,
) -> (Vec<ShownLoop>, usize) {
    let selected = loops.functions.iter().enumerate();
    let selected = selected.filter(|(_, function)| names.keeps(&loops.run, function.id));
    let mut counts: Vec<(usize, LoopCount)> = selected
        .flat_map(|(index, function)| {
            let function = loops.run.function(function.id);
            let has_path = |count: &LoopCount| {
                let mut turns = count.turns.iter();
                turns.any(|turn| names.keeps_path(function, turn.0))
            };
            let function_counts = count(function).into_iter().filter(has_path);
            function_counts
                .map(|count| (index, count))
                .collect::<Vec<_>>()
        })
        .collect();
    let loop_count = counts.len();
    counts.sort_by_key(|(index, count)| (std::cmp::Reverse(count.iterations), *index, count.head));
    counts.truncate(top.unwrap_or(usize::MAX));
    let mut by_function: BTreeMap<usize, Vec<&LoopCount>> = BTreeMap::new();
    for (index, count) in &counts {
        by_function.entry(*index).or_default().push(count);
    }
    let kipfs: BTreeMap<usize, Rc<Kipf>> = by_function
        .into_iter()
        .map(|(index, counts)| {
            let kipf = loops.functions[index].for_loops(&counts, loops_options.min_share);
            (index, Rc::new(kipf))
        })
        .collect();
    let shown = counts.into_iter().map(|(index, count)| ShownLoop {
        function: loops.functions[index].id,
        count,
        k: loops.functions[index].k,
        kipf: Rc::clone(&kipfs[&index]),
    });
    (shown.collect(), loop_count)
}

/// Consecutive paths in a tree of sequences, without a fork between them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Branch {
    /// Index of the branch that this branch continues.
    pub(crate) parent: Option<usize>,
    /// Number of branches between the root and this branch.
    pub(crate) depth: usize,
    /// The paths of this branch. The sequence consists of the paths of all branches from the root
    /// to this branch.
    pub(crate) paths: Vec<PathId>,
    /// Known executions of the sequence up to this branch's last path.
    pub(crate) count: Count,
    /// Upper bound of the executions that `count` misses.
    pub(crate) missed: Count,
    /// Executions of the sequence's first path.
    pub(crate) first_count: Count,
}

impl ShownLoop {
    /// The sequences that start at the loop's head, in preorder.
    pub(crate) fn branches(&self, min_share: Thousandths) -> Vec<Branch> {
        let (kipf, starts) = (&*self.kipf, self.count.starts());
        let mut branches = Vec::new();
        let is_turn = |label: u32| {
            self.count
                .turns
                .iter()
                .any(|turn| turn.0 == PathId(label.into()))
        };
        let roots = kipf.roots().iter().copied();
        let roots: Vec<u32> = roots
            .filter(|&root| {
                let node = &kipf.nodes()[root as usize];
                is_turn(node.label) && share(node.count, starts) >= min_share
            })
            .collect();
        let mut open: Vec<(u32, Option<usize>, Count)> = roots
            .into_iter()
            .rev()
            .map(|root| (root, None, kipf.nodes()[root as usize].count))
            .collect();
        while let Some((node, parent, first_count)) = open.pop() {
            let (branch, children) = self.branch(node, first_count, min_share);
            let depth = parent.map_or(0, |parent: usize| {
                let parent: &Branch = &branches[parent];
                parent.depth + 1
            });
            let index = branches.len();
            open.extend(
                children
                    .into_iter()
                    .rev()
                    .map(|child| (child, Some(index), first_count)),
            );
            branches.push(Branch {
                parent,
                depth,
                ..branch
            });
        }
        branches
    }

    /// Returns the branch that starts with a node, and the nodes that start the next branches.
    fn branch(&self, node: u32, first_count: Count, min_share: Thousandths) -> (Branch, Vec<u32>) {
        let kipf = &*self.kipf;
        let first = kipf.nodes()[node as usize];
        let (mut last, mut paths) = (node, vec![PathId(first.label.into())]);
        loop {
            let children = kipf.children(last).iter().copied();
            let children: Vec<u32> = children
                .filter(|&child| {
                    share(kipf.nodes()[child as usize].count, first_count) >= min_share
                })
                .collect();
            let node = kipf.nodes()[last as usize];
            match children[..] {
                [child] if ShownLoop::continues(first, node, kipf.nodes()[child as usize]) => {
                    paths.push(PathId(kipf.nodes()[child as usize].label.into()));
                    last = child;
                }
                _ => {
                    let branch = Branch {
                        parent: None,
                        depth: 0,
                        paths,
                        count: node.count,
                        missed: node.missed,
                        first_count,
                    };
                    return (branch, children);
                }
            }
        }
    }

    /// Whether `next`, the only child of `last`, belongs to the branch that starts with `first`. It
    /// belongs to this branch if it runs nearly as often as `first`, or if it repeats the path of
    /// `last`.
    fn continues(first: KipfNode, last: KipfNode, next: KipfNode) -> bool {
        share(next.count, first.count) >= MIN_CONTINUATION_SHARE || next.label == last.label
    }
}
