//! Where the probes stand (PP, section 3.3, Figures 8 and 9), and what each does.
//!
//! The paper walks down from the entry as long as there is only one way to have come, and
//! initialises the register there; up from the exit as long as there is only one way to go, and
//! counts there. Path numbers make both exact in a word: *one way to go* is NumPaths(v) = 1. So
//! there are three regions of the dag:
//!
//! - *early*: one path leads from the entry to here, so the register would be a constant: it is not
//!   set yet;
//! - *done*: one path leads from here to the exit, so the number is decided: it has been counted
//!   already;
//! - between them the register holds the sum of the increments so far.
//!
//! Every path crosses from early to later once, and there the register is set; crosses into done
//! once, and there it is counted, with all increments still to come folded into the counter's
//! address; from early straight into done it is counted without a register. Only edges strictly
//! between need an `Add`, so only these have weight when the spanning tree is made: dummy edges and
//! edges at the rim may be chords at no cost.
//!
//! No action can stand on a pinned edge. So a pinned edge out of the early region sets the register
//! before its source, a pinned edge into the done region counts behind its target, and a pinned
//! edge between is put on the tree before all others. Where pinned edges close a cycle whose values
//! do not cancel, no placement exists: an error. A block with an edge to where nothing ever ends is
//! not done, however it goes on otherwise: there it is not decided that the path will end.
//!
//! Example (a diamond, b0→b1→b3, b0→b2→b3, b3→b4 the exit): b0 is early, b1, b2, b3 are done: the
//! two edges out of b0 count their path without a register, and nothing else happens. With a loop
//! around it the head has two ways in: the edge from the entry and the back edge set the register.
//!
//! A path is counted when it is decided, which may be some blocks before its end. The paper stops
//! there; but a call can leave its frame for good (longjmp, unwinding, the end of the process), and
//! a path counted before such a call would show code behind it as run. So no block that *leaks*, as
//! the caller calls it, is in the done region: what is counted has run to its end. Cost: linear,
//! and the sort of the spanning tree.
//!
//! A block with an exit edge counts what is left there: a path that ends by the exit edge. Its
//! probe is a `Count` and nothing else, done in the middle of the block (after what the edges into
//! it do, before what those out of it do), whether the call comes back or not; how often it did not
//! follows ([`net_counts`](crate::net_counts)). Such a block is never done: it has two ways on.

use crate::cfg::Cfg;
use crate::chords::{Chords, signed};
use crate::dag::DagEdgeKind;
use crate::ids::{BlockId, DagEdgeId, EdgeId};
use crate::numbering::{Numbering, dag_weights, is_pinned};
use crate::regions::Regions;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// One thing that a probe does. Arithmetic wraps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// The path register becomes this.
    Set(i64),
    /// This is added to the path register.
    Add(i64),
    /// Increments one counter: the counter of number `base` + `increment`.
    Count {
        /// The number that `increment` is added to.
        base: CountBase,
        /// The number of the counter, or its distance from the path register.
        increment: i64,
    },
}

/// The number that the increment of a count is added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CountBase {
    /// 0: the increment is the number of the counter.
    Zero,
    /// The path register.
    Register,
}

/// What happens on one edge. On an edge that ends no path everything is in `before`; on an exit
/// edge that is one `Count`, done when the block's middle is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct EdgeProbe {
    /// Done for the path that runs the edge; on a back, cut or exit edge, for the path that ends
    /// there.
    pub before: Vec<Action>,
    /// Done, on a back or cut edge, for the path that starts behind it.
    pub after: Vec<Action>,
}

/// All probes of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probes {
    /// Done at a call, before the entry block.
    pub entry: Vec<Action>,
    /// Done on edges, in order of their ids; edges where nothing happens are not listed.
    pub edges: Vec<(EdgeId, EdgeProbe)>,
}

/// Pinned edges that would have to carry an increment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedIncrement {
    /// They close cycles with other pinned edges, the values round which do not cancel.
    pub edges: Vec<EdgeId>,
}

impl fmt::Display for PinnedIncrement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "edges that can carry no probe cross each other so that paths cannot be told apart:"
        )?;
        for (index, edge) in self.edges.iter().enumerate() {
            write!(f, "{} {edge}", if index == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl core::error::Error for PinnedIncrement {}

impl Probes {
    /// Places the probes for a numbering of `cfg`, such that as little as possible happens on the
    /// heavy edges. `weights` are by [`EdgeId`]; an edge beyond their end weighs 0. `leaks` are the
    /// blocks in which a path may be left for good: no path is counted before it has passed them.
    ///
    /// # Errors
    /// Where pinned edges would have to carry an increment; the function cannot be profiled as it
    /// is.
    ///
    /// # Panics
    /// Where `numbering` is not one of `cfg`, or a leak no block of it.
    pub fn new(
        cfg: &Cfg,
        numbering: &Numbering,
        weights: &[u64],
        leaks: &[BlockId],
    ) -> Result<Self, PinnedIncrement> {
        if numbering.path_count() == 0 {
            return Ok(Self::default());
        }
        let shape = &numbering.shape;
        let pinned: Vec<bool> = shape
            .edges
            .iter()
            .map(|edge| is_pinned(cfg, edge))
            .collect();
        let regions = Regions::new(cfg, numbering, &pinned, leaks);
        let weights = tree_weights(cfg, numbering, &regions, &pinned, weights);
        let chords = Chords::new(numbering, &weights);
        let impossible = shape.edge_ids().filter(|&edge| {
            let between = regions.between(numbering, edge);
            pinned[edge.index()] && between && chords.increment(edge) != 0
        });
        let edges: Vec<EdgeId> = impossible
            .filter_map(|edge| real(numbering, edge))
            .collect();
        if !edges.is_empty() {
            return Err(PinnedIncrement { edges });
        }
        Ok(place(
            cfg,
            numbering,
            &Sums::new(numbering, &chords),
            &regions,
            &chords,
        ))
    }

    /// What happens on an edge; `None` where nothing does.
    #[must_use]
    pub fn edge(&self, edge: EdgeId) -> Option<&EdgeProbe> {
        let found = self.edges.binary_search_by_key(&edge, |entry| entry.0);
        found.ok().map(|place| &self.edges[place].1)
    }
}

fn real(numbering: &Numbering, edge: DagEdgeId) -> Option<EdgeId> {
    match numbering.shape.edges[edge.index()].kind {
        DagEdgeKind::Edge(id) | DagEdgeKind::Back(id) | DagEdgeKind::Cut(id) => Some(id),
        DagEdgeKind::Start(_) => None,
    }
}

/// Weights for the spanning tree: pinned edges that need it before all, then edges that would need
/// an `Add`.
fn tree_weights(
    cfg: &Cfg,
    numbering: &Numbering,
    regions: &Regions,
    pinned: &[bool],
    weights: &[u64],
) -> Vec<u64> {
    let weights = dag_weights(cfg, numbering.dag_edges(), weights);
    let weights = weights.into_iter().enumerate().map(|(index, weight)| {
        match (
            regions.between(numbering, DagEdgeId::new(index)),
            pinned[index],
        ) {
            (false, _) => 0,
            (true, true) => u64::MAX,
            (true, false) => weight.saturating_add(1).min(u64::MAX - 1),
        }
    });
    weights.collect()
}

/// Sums of increments along the one path that leads to or from a node.
struct Sums {
    /// From the entry; of use where the node is constant.
    before: Vec<i64>,
    /// To the exit; of use where the node is done.
    behind: Vec<i64>,
}

impl Sums {
    fn new(numbering: &Numbering, chords: &Chords) -> Self {
        let shape = &numbering.shape;
        let (mut before, mut behind) =
            (vec![0i64; shape.nodes.len()], vec![0i64; shape.nodes.len()]);
        for node in 0..shape.nodes.len() {
            for &edge in shape.out.list(node) {
                let sum = before[node].wrapping_add(chords.increment(edge));
                before[shape.targets[edge.index()] as usize] = sum;
            }
        }
        for node in (0..shape.nodes.len()).rev() {
            if let Some(&edge) = shape.out.list(node).first() {
                let rest = behind[shape.targets[edge.index()] as usize];
                behind[node] = rest.wrapping_add(chords.increment(edge));
            }
        }
        Self { before, behind }
    }
}

/// What happens along one edge of the dag.
fn action(
    numbering: &Numbering,
    sums: &Sums,
    regions: &Regions,
    chords: &Chords,
    edge: DagEdgeId,
) -> Option<Action> {
    let shape = &numbering.shape;
    let source = shape.sources[edge.index()] as usize;
    let target = shape.targets[edge.index()] as usize;
    let increment = chords.increment(edge);
    let constant = sums.before[source].wrapping_add(increment);
    if regions.done[source] {
        return None;
    }
    if regions.done[target] {
        let (base, sum) = match regions.constant[source] {
            true => (CountBase::Zero, constant),
            false => (CountBase::Register, increment),
        };
        return Some(Action::Count {
            base,
            increment: sum.wrapping_add(sums.behind[target]),
        });
    }
    if regions.unset(numbering, edge) {
        return (!regions.early[target]).then_some(Action::Set(constant));
    }
    // Where one way leads here the register is a constant, if a pinned edge made it be set early:
    // no need to add.
    let action = if regions.constant[source] {
        Action::Set(constant)
    } else {
        Action::Add(increment)
    };
    (increment != 0).then_some(action)
}

fn place(
    cfg: &Cfg,
    numbering: &Numbering,
    sums: &Sums,
    regions: &Regions,
    chords: &Chords,
) -> Probes {
    let shape = &numbering.shape;
    let mut probes = Probes::default();
    if regions.done[shape.entry] {
        probes.entry.push(Action::Count {
            base: CountBase::Zero,
            increment: sums.behind[shape.entry],
        });
    } else if !regions.early[shape.entry] {
        probes.entry.push(Action::Set(signed(0)));
    }
    let act = |edge| action(numbering, sums, regions, chords, edge);
    for index in 0..cfg.edges().len() {
        let id = EdgeId::new(index);
        let Some(edge) = shape.of_real(id) else {
            continue;
        };
        let mut probe = EdgeProbe::default();
        probe.before.extend(act(edge));
        if !matches!(shape.edges[edge.index()].kind, DagEdgeKind::Edge(_)) {
            let start = shape.of_start(cfg.edge(id).to);
            probe.after.extend(start.and_then(act));
        }
        if !probe.before.is_empty() || !probe.after.is_empty() {
            probes.edges.push((id, probe));
        }
    }
    probes
}
