//! Sequences of paths over loop iterations, for the terminal and JSON: the loops to show, and the
//! tree of each loop's sequences without rare ones.
//!
//! As in the paper's Figure 4, a sequence is shown if it ran at least [`LoopsOptions::min_share`]
//! as often as its first path. A sequence that continues in one way only is one branch with its
//! continuation.

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
    /// Least share of a sequence, in thousandths of its first path's executions. Rarer sequences
    /// are left out.
    pub min_share: Thousandths,
    /// Also show the paper's figures: nodes, degrees, levels, look-ups. They cover all sequences,
    /// including rare ones.
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

/// Least share, in thousandths, of a branch's executions that continue with the next path. A rarer
/// continuation starts a branch of its own.
const CONTINUES: Thousandths = 950;

/// A loop to show.
pub(crate) struct ShownLoop {
    pub(crate) function: FunctionId,
    pub(crate) count: LoopCount,
    /// Number of paths in the longest sequences.
    pub(crate) k: u32,
    pub(crate) kipf: Rc<Kipf>,
}

/// The `top` loops with the most iterations in the functions that the filter keeps, and the number
/// of all loops in these functions.
pub(crate) fn hottest(
    loops: &LoopsRun,
    names: &Filter<'_>,
    top: Option<usize>,
    how: LoopsOptions,
) -> (Vec<ShownLoop>, usize) {
    let kept = loops.functions.iter().enumerate();
    let kept = kept.filter(|(_, function)| names.keeps(&loops.run, function.id));
    let mut all: Vec<(usize, LoopCount)> = kept
        .flat_map(|(index, function)| {
            let counts = count(loops.run.function(function.id)).into_iter();
            counts.map(move |count| (index, count))
        })
        .collect();
    let found = all.len();
    all.sort_by_key(|(index, count)| (std::cmp::Reverse(count.iterations), *index, count.head));
    all.truncate(top.unwrap_or(usize::MAX));
    let mut by_function: BTreeMap<usize, Vec<&LoopCount>> = BTreeMap::new();
    for (index, count) in &all {
        by_function.entry(*index).or_default().push(count);
    }
    let kipfs: BTreeMap<usize, Rc<Kipf>> = by_function
        .into_iter()
        .map(|(index, counts)| {
            let kipf = loops.functions[index].for_loops(&counts, how.min_share);
            (index, Rc::new(kipf))
        })
        .collect();
    let shown = all.into_iter().map(|(index, count)| ShownLoop {
        function: loops.functions[index].id,
        count,
        k: loops.functions[index].k,
        kipf: Rc::clone(&kipfs[&index]),
    });
    (shown.collect(), found)
}

/// A piece of a tree of sequences without forks: consecutive paths.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Branch {
    /// Index of the branch that this branch continues.
    pub(crate) parent: Option<usize>,
    /// Number of branches between the root and this branch.
    pub(crate) depth: usize,
    /// The paths of this branch. A sequence consists of its parents' paths and these.
    pub(crate) paths: Vec<PathId>,
    /// How often the sequence up to this branch's last path ran, as far as known.
    pub(crate) count: Count,
    /// Upper bound of executions that `count` misses.
    pub(crate) missed: Count,
    /// How often the sequence's first path ran.
    pub(crate) first_count: Count,
}

impl ShownLoop {
    /// The sequences that start at the loop's head, in preorder.
    pub(crate) fn branches(&self, least: Thousandths) -> Vec<Branch> {
        let (kipf, starts) = (&*self.kipf, self.count.starts());
        let mut branches = Vec::new();
        let turn = |label: u32| {
            self.count
                .turns
                .iter()
                .any(|turn| turn.0 == PathId(label.into()))
        };
        let roots = kipf.roots().iter().copied();
        let roots: Vec<u32> = roots
            .filter(|&root| {
                let node = &kipf.nodes()[root as usize];
                turn(node.label) && share(node.count, starts) >= least
            })
            .collect();
        let mut open: Vec<(u32, Option<usize>, Count)> = roots
            .into_iter()
            .rev()
            .map(|root| (root, None, kipf.nodes()[root as usize].count))
            .collect();
        while let Some((node, parent, first_count)) = open.pop() {
            let (branch, children) = self.branch(node, first_count, least);
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

    /// The branch that starts with a node, and the nodes at which it forks.
    fn branch(&self, node: u32, first_count: Count, least: Thousandths) -> (Branch, Vec<u32>) {
        let kipf = &*self.kipf;
        let first = kipf.nodes()[node as usize];
        let (mut last, mut paths) = (node, vec![PathId(first.label.into())]);
        loop {
            let children = kipf.children(last).iter().copied();
            let children: Vec<u32> = children
                .filter(|&child| share(kipf.nodes()[child as usize].count, first_count) >= least)
                .collect();
            let node = kipf.nodes()[last as usize];
            match children[..] {
                [only] if ShownLoop::goes_on(first, node, kipf.nodes()[only as usize]) => {
                    paths.push(PathId(kipf.nodes()[only as usize].label.into()));
                    last = only;
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

    /// Whether `next`, the only continuation of `last`, belongs to the branch of `first`. It does
    /// if it runs nearly as often as `first`, or if it repeats the path of `last`.
    fn goes_on(first: KipfNode, last: KipfNode, next: KipfNode) -> bool {
        share(next.count, first.count) >= CONTINUES || next.label == last.label
    }
}
