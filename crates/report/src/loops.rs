//! Sequences of paths over loop iterations, for the terminal and JSON: the loops to show, and the
//! tree of each loop's sequences without rare ones.
//!
//! As in the paper's Figure 4, a sequence is shown if it ran at least [`LoopsOptions::min_share`]
//! as often as its first path. A sequence that continues in one way only is one branch with its
//! continuation.

use std::collections::BTreeMap;
use std::rc::Rc;

use holloway_analysis::FunctionId;
use holloway_analysis::loops::shape::{LoopCount, Thousandths, count, share};
use holloway_analysis::loops::{Kipf, KipfNode, LoopsRun};

use crate::filter::Filter;

/// How to show sequences, beside [`Options`](crate::Options).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoopsOptions {
    /// Sequences that ran less often, in thousandths of their first path, are left out.
    pub min_share: Thousandths,
    /// Show the paper's figures too: nodes, degrees, levels, look-ups. They need all sequences,
    /// rare ones too.
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

/// A branch goes on over the next path where that follows so often.
const ON: Thousandths = 950;

/// A loop to show.
pub(crate) struct ShownLoop {
    pub(crate) function: FunctionId,
    pub(crate) count: LoopCount,
    /// Paths of the longest sequences.
    pub(crate) k: u32,
    pub(crate) kipf: Rc<Kipf>,
}

/// The `top` loops with the most iterations in the functions that are kept, and the number of all
/// loops there.
pub(crate) fn hottest(
    loops: &LoopsRun,
    names: &Filter<'_>,
    top: Option<usize>,
    how: LoopsOptions,
) -> (Vec<ShownLoop>, usize) {
    let kept = loops.functions.iter().enumerate();
    let kept = kept.filter(|(_, function)| names.keeps(&loops.run, function.id));
    let mut all: Vec<(usize, LoopCount)> = kept
        .flat_map(|(place, function)| {
            let counts = count(loops.run.function(function.id)).into_iter();
            counts.map(move |one| (place, one))
        })
        .collect();
    let found = all.len();
    all.sort_by_key(|(place, one)| (std::cmp::Reverse(one.iterations), *place, one.head));
    all.truncate(top.unwrap_or(usize::MAX));
    let mut by_function: BTreeMap<usize, Vec<&LoopCount>> = BTreeMap::new();
    for (place, one) in &all {
        by_function.entry(*place).or_default().push(one);
    }
    let kipfs: BTreeMap<usize, Rc<Kipf>> = by_function
        .into_iter()
        .map(|(place, counts)| {
            let kipf = loops.functions[place].for_loops(&counts, how.min_share);
            (place, Rc::new(kipf))
        })
        .collect();
    let shown = all.into_iter().map(|(place, count)| ShownLoop {
        function: loops.functions[place].id,
        count,
        k: loops.functions[place].k,
        kipf: Rc::clone(&kipfs[&place]),
    });
    (shown.collect(), found)
}

/// A piece of a tree of sequences that doesn't fork: paths one after the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Branch {
    /// The branch it goes on from.
    pub(crate) parent: Option<usize>,
    /// Branches before it.
    pub(crate) depth: usize,
    /// Its paths; those of the branches before it come first.
    pub(crate) paths: Vec<u64>,
    /// Times that the sequence up to its last path ran, as far as is known.
    pub(crate) count: u64,
    /// It may have run so often more.
    pub(crate) missed: u64,
    /// Times that the sequence's first path ran.
    pub(crate) of: u64,
}

impl ShownLoop {
    /// The sequences that start at the loop's head. Parents come before children, and a whole
    /// subtree before the next.
    pub(crate) fn branches(&self, least: Thousandths) -> Vec<Branch> {
        let (kipf, starts) = (&*self.kipf, self.count.starts());
        let mut branches = Vec::new();
        let turn = |label: u32| {
            self.count
                .turns
                .iter()
                .any(|turn| turn.0 == u64::from(label))
        };
        let roots = kipf.roots().iter().copied();
        let roots: Vec<u32> = roots
            .filter(|&root| {
                let node = &kipf.nodes()[root as usize];
                turn(node.label) && share(node.count, starts) >= least
            })
            .collect();
        let mut open: Vec<(u32, Option<usize>, u64)> = roots
            .into_iter()
            .rev()
            .map(|root| (root, None, kipf.nodes()[root as usize].count))
            .collect();
        while let Some((node, parent, of)) = open.pop() {
            let (branch, children) = self.branch(node, of, least);
            let depth = parent.map_or(0, |parent: usize| {
                let parent: &Branch = &branches[parent];
                parent.depth + 1
            });
            let place = branches.len();
            open.extend(
                children
                    .into_iter()
                    .rev()
                    .map(|child| (child, Some(place), of)),
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
    fn branch(&self, node: u32, of: u64, least: Thousandths) -> (Branch, Vec<u32>) {
        let kipf = &*self.kipf;
        let first = kipf.nodes()[node as usize];
        let (mut last, mut paths) = (node, vec![u64::from(first.label)]);
        loop {
            let children = kipf.children(last).iter().copied();
            let children: Vec<u32> = children
                .filter(|&child| share(kipf.nodes()[child as usize].count, of) >= least)
                .collect();
            let node = kipf.nodes()[last as usize];
            match children[..] {
                [only] if ShownLoop::goes_on(first, node, kipf.nodes()[only as usize]) => {
                    paths.push(kipf.nodes()[only as usize].label.into());
                    last = only;
                }
                _ => {
                    let branch = Branch {
                        parent: None,
                        depth: 0,
                        paths,
                        count: node.count,
                        missed: node.missed,
                        of,
                    };
                    return (branch, children);
                }
            }
        }
    }

    /// Whether `next`, the only continuation of `last`, belongs to one branch with `first`: it runs
    /// nearly as often as `first`, or repeats the path of `last`.
    fn goes_on(first: KipfNode, last: KipfNode, next: KipfNode) -> bool {
        share(next.count, first.count) >= ON || next.label == last.label
    }
}
