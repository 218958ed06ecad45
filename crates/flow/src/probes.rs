//! Places the probes (Ball and Larus 1996, section 3.3, Figures 8 and 9), and decides what each
//! probe does.
//!
//! The paper walks down from the entry while each block can be reached in only one way, and
//! initializes the register at the end of this walk. It walks up from the exit while each block has
//! only one way to go, and counts there. Path numbers give both conditions an exact definition:
//! *one way to go* is NumPaths(v) = 1. So the dag has three regions:
//!
//! - *early*: exactly one path leads from the entry to the block. The register would be a constant,
//!   so it is not set yet.
//! - *done*: exactly one path leads from the block to the exit. The path number is decided, so the
//!   path has already been counted.
//! - between: the register holds the sum of the increments so far.
//!
//! Every path leaves the early region once; there the probe sets the register. Every path enters
//! the done region once; there the probe counts the path. The `Count` adds all increments that
//! follow on the path. An edge from early straight into done counts the path without a register.
//! Only edges strictly between the regions need an `Add`, so only these edges have a weight in the
//! spanning tree. A dummy edge or an edge at the border of a region has a `Set` or a `Count`
//! anyway, so it may be a chord at no cost.
//!
//! A pinned edge can carry no action. There are three cases:
//!
//! - A pinned edge out of the early region: the register is set before its source.
//! - A pinned edge into the done region: the path is counted after its target.
//! - A pinned edge between: the tree takes it before all other edges.
//!
//! If pinned edges close a cycle whose values do not cancel, no placement exists, and the result is
//! an error. A block with an edge to a block from which no path ends is not done, even if only one
//! path leads to the exit. There, control may still take the other edge and never end the path.
//!
//! Example (a diamond, b0→b1→b3, b0→b2→b3, b3→b4 the exit): b0 is early; b1, b2, b3 are done. The
//! two edges out of b0 count their path without a register. No other edge has a probe. With a loop
//! around the diamond, the head has two ways in: the edge from the entry and the back edge set the
//! register.
//!
//! A path is counted as soon as only one path is possible, which may be some blocks before its end.
//! The paper stops here. But a call can leave its frame for good (longjmp, unwinding, the end of
//! the process). A path counted before such a call would show code after the call as executed. So
//! no block that *leaks*, as the caller defines it, is in the done region: a counted path has run
//! to its end. Cost: linear, plus the sort for the spanning tree.
//!
//! A block with an exit edge counts the path that ends by the exit edge. This probe is a single
//! `Count` in the middle of the block: after the probes of the edges into the block, before the
//! probes of the edges out of it. The probe runs whether or not the call comes back.
//! [`net_counts`](crate::net_counts) derives how often the call did not come back. Such a block is
//! never done, because two paths lead on from it.

use crate::cfg::Cfg;
use crate::chords::{Chords, signed};
use crate::dag::DagEdgeKind;
use crate::ids::{BlockId, DagEdgeId, EdgeId};
use crate::numbering::{Numbering, dag_weights, is_pinned};
use crate::regions::Regions;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// One action of a probe. Arithmetic wraps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Sets the path register to this number.
    Set(i64),
    /// Adds this number to the path register.
    Add(i64),
    /// Increments one counter: the counter with the number `base` + `increment`.
    Count {
        /// The base of the counter's number.
        base: CountBase,
        /// The number of the counter, or its distance from the path register.
        increment: i64,
    },
}

/// The base to which a count adds its increment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CountBase {
    /// 0: the increment is the number of the counter.
    Zero,
    /// The path register.
    Register,
}

/// The actions on one edge. An edge that ends no path has all its actions in `before`. An exit edge
/// has a single `Count` in `before`, which runs when control reaches the middle of the block.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct EdgeProbe {
    /// Actions for the path that runs the edge. On a back, cut, or exit edge: for the path that
    /// ends there.
    pub before: Vec<Action>,
    /// On a back or cut edge: actions for the path that starts after the edge.
    pub after: Vec<Action>,
}

/// All probes of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probes {
    /// Actions at a call of the function, before the entry block.
    pub entry: Vec<Action>,
    /// Actions on edges, in order of the edge ids. Edges without actions are not listed.
    pub edges: Vec<(EdgeId, EdgeProbe)>,
    /// The edges of the dag off the spanning tree, in order: the actions add only their increments
    /// ([`Chords::of_chords`]). Empty if edges are counted.
    pub chords: Vec<DagEdgeId>,
}

/// An error: pinned edges would have to carry an increment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedIncrement {
    /// These edges close cycles with other pinned edges; the values around the cycles do not
    /// cancel.
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
    /// Places the probes for a numbering of `cfg`, with as few actions as possible on heavy edges.
    /// `weights` is indexed by [`EdgeId`]; an edge beyond its end weighs 0. `leaks` are the blocks
    /// in which a path may be left for good. No path is counted before it has passed these blocks.
    ///
    /// # Errors
    /// If pinned edges would have to carry an increment. The function cannot be profiled as it is.
    ///
    /// # Panics
    /// If `numbering` is not a numbering of `cfg`, or a leak is not a block of `cfg`.
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
        let unplaceable = shape.edge_ids().filter(|&edge| {
            let needs_add = regions.needs_add(numbering, edge);
            pinned[edge.index()] && needs_add && chords.increment(edge) != 0
        });
        let edges: Vec<EdgeId> = unplaceable
            .filter_map(|edge| real_edge(numbering, edge))
            .collect();
        if !edges.is_empty() {
            return Err(PinnedIncrement { edges });
        }
        Ok(place_probes(
            cfg,
            numbering,
            &Sums::new(numbering, &chords),
            &regions,
            &chords,
        ))
    }

    /// The actions on an edge; `None` if the edge has no actions.
    #[must_use]
    pub fn edge(&self, edge: EdgeId) -> Option<&EdgeProbe> {
        let position = self.edges.binary_search_by_key(&edge, |entry| entry.0);
        position.ok().map(|index| &self.edges[index].1)
    }
}

/// The real edge of an edge of the dag; `None` for a start edge.
fn real_edge(numbering: &Numbering, edge: DagEdgeId) -> Option<EdgeId> {
    match numbering.shape.edges[edge.index()].kind {
        DagEdgeKind::Edge(id) | DagEdgeKind::Back(id) | DagEdgeKind::Cut(id) => Some(id),
        DagEdgeKind::Start(_) => None,
    }
}

/// Weights for the spanning tree: first the pinned edges that must be on the tree, then the edges
/// that would need an `Add`.
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
            regions.needs_add(numbering, DagEdgeId::new(index)),
            pinned[index],
        ) {
            (false, _) => 0,
            (true, true) => u64::MAX,
            (true, false) => weight.saturating_add(1).min(u64::MAX - 1),
        }
    });
    weights.collect()
}

/// Sums of increments along the only path that leads to or from a node.
struct Sums {
    /// The sum from the entry to each node. Meaningful if the node is constant.
    before: Vec<i64>,
    /// The sum from each node to the exit. Meaningful if the node is done.
    after: Vec<i64>,
}

impl Sums {
    fn new(numbering: &Numbering, chords: &Chords) -> Self {
        let shape = &numbering.shape;
        let (mut before, mut after) =
            (vec![0i64; shape.nodes.len()], vec![0i64; shape.nodes.len()]);
        for node in 0..shape.nodes.len() {
            for &edge in shape.out.list(node) {
                let sum = before[node].wrapping_add(chords.increment(edge));
                before[shape.targets[edge.index()] as usize] = sum;
            }
        }
        for node in (0..shape.nodes.len()).rev() {
            if let Some(&edge) = shape.out.list(node).first() {
                let target_sum = after[shape.targets[edge.index()] as usize];
                after[node] = target_sum.wrapping_add(chords.increment(edge));
            }
        }
        Self { before, after }
    }
}

/// The action on one edge of the dag; `None` if the edge needs no action.
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
    let constant_sum = sums.before[source].wrapping_add(increment);
    if regions.done[source] {
        return None;
    }
    if regions.done[target] {
        let (base, sum) = match regions.constant[source] {
            true => (CountBase::Zero, constant_sum),
            false => (CountBase::Register, increment),
        };
        return Some(Action::Count {
            base,
            increment: sum.wrapping_add(sums.after[target]),
        });
    }
    if regions.register_is_unset(numbering, edge) {
        return (!regions.early[target]).then_some(Action::Set(constant_sum));
    }
    // If exactly one path leads to the source, the register is set there only because of a pinned
    // edge. The new value is a constant too, so a `Set` replaces the `Add`.
    let action = if regions.constant[source] {
        Action::Set(constant_sum)
    } else {
        Action::Add(increment)
    };
    (increment != 0).then_some(action)
}

fn place_probes(
    cfg: &Cfg,
    numbering: &Numbering,
    sums: &Sums,
    regions: &Regions,
    chords: &Chords,
) -> Probes {
    let shape = &numbering.shape;
    let mut probes = Probes {
        chords: chords.chords(),
        ..Probes::default()
    };
    if regions.done[shape.entry] {
        probes.entry.push(Action::Count {
            base: CountBase::Zero,
            increment: sums.after[shape.entry],
        });
    } else if !regions.early[shape.entry] {
        probes.entry.push(Action::Set(signed(0)));
    }
    let action_on = |edge| action(numbering, sums, regions, chords, edge);
    for index in 0..cfg.edges().len() {
        let id = EdgeId::new(index);
        let Some(edge) = shape.dag_edge_of(id) else {
            continue;
        };
        let mut probe = EdgeProbe::default();
        probe.before.extend(action_on(edge));
        if !matches!(shape.edges[edge.index()].kind, DagEdgeKind::Edge(_)) {
            let start = shape.start_edge_of(cfg.edge(id).to);
            probe.after.extend(start.and_then(action_on));
        }
        if !probe.before.is_empty() || !probe.after.is_empty() {
            probes.edges.push((id, probe));
        }
    }
    probes
}
