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
//! do not cancel, no placement exists: an error.
//!
//! Example (a diamond, b0→b1→b3, b0→b2→b3, b3→b4 the exit): b0 is early, b1, b2, b3 are done: the
//! two edges out of b0 count their path without a register, and nothing else happens. In a loop
//! around it (b3→b0 instead) the head has two ways in: the back edge sets the register.
//!
//! A path is counted when it is decided, which may be some blocks before its end: a frame left by
//! longjmp or unwinding in between shows the path it was on. Cost: linear, and the sort of the
//! spanning tree.

use crate::cfg::Cfg;
use crate::chords::{Chords, signed};
use crate::dag::DagEdgeKind;
use crate::ids::{DagEdgeId, EdgeId};
use crate::lists::Lists;
use crate::numbering::{Numbering, dag_weights, is_pinned};
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
    /// One path more: the counter at `increment`, plus the path register if `register`.
    Count {
        /// Whether the path register is added.
        register: bool,
        /// Which counter, or how far from the register.
        increment: i64,
    },
}

/// What happens on one edge. On an edge that ends no path everything is in `before`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct EdgeProbe {
    /// Done for the path that runs the edge; on a back or cut edge, for the path that ends there.
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
    /// heavy edges. `weights` are by [`EdgeId`]; an edge beyond their end weighs 0.
    ///
    /// # Errors
    /// Where pinned edges would have to carry an increment; the function cannot be profiled as it
    /// is.
    ///
    /// # Panics
    /// Where `numbering` is not one of `cfg`.
    pub fn new(cfg: &Cfg, numbering: &Numbering, weights: &[u64]) -> Result<Self, PinnedIncrement> {
        if numbering.path_count() == 0 {
            return Ok(Self::default());
        }
        let shape = &numbering.shape;
        let pinned: Vec<bool> = shape
            .edges
            .iter()
            .map(|edge| is_pinned(cfg, edge))
            .collect();
        let regions = Regions::new(cfg, numbering, &pinned);
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

/// How often one path leads to or from a node: not at all, once, more.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ways {
    None,
    One,
    More,
}

/// The early and the done region, by node.
struct Regions {
    /// The register is not set yet. At the entry this speaks of calls; a start edge always finds it
    /// unset.
    early: Vec<bool>,
    /// The path has been counted.
    done: Vec<bool>,
    /// One path leads here, so the sum so far is a constant.
    constant: Vec<bool>,
}

impl Regions {
    fn new(cfg: &Cfg, numbering: &Numbering, pinned: &[bool]) -> Self {
        let shape = &numbering.shape;
        let targets = shape
            .edge_ids()
            .map(|edge| (shape.targets[edge.index()] as usize, edge));
        let into = Lists::new(shape.nodes.len(), targets);
        let done = done(cfg, numbering, &into, pinned);
        let constant = constant(numbering);
        let early = early(numbering, &into, pinned, &constant, &done);
        Self {
            early,
            done,
            constant,
        }
    }

    /// Whether the register is unset where an edge begins.
    fn unset(&self, numbering: &Numbering, edge: DagEdgeId) -> bool {
        let shape = &numbering.shape;
        let start = matches!(shape.edges[edge.index()].kind, DagEdgeKind::Start(_));
        start || self.early[shape.sources[edge.index()] as usize]
    }

    /// Whether an increment on this edge would need an `Add`.
    fn between(&self, numbering: &Numbering, edge: DagEdgeId) -> bool {
        let target = numbering.shape.targets[edge.index()] as usize;
        !self.unset(numbering, edge) && !self.done[target]
    }
}

/// Nodes to which exactly one path leads.
fn constant(numbering: &Numbering) -> Vec<bool> {
    let shape = &numbering.shape;
    let mut ways = vec![Ways::None; shape.nodes.len()];
    ways[shape.entry] = Ways::One;
    for node in 0..shape.nodes.len() {
        for edge in shape.out.list(node) {
            let target = shape.targets[edge.index()] as usize;
            ways[target] = match (ways[node], ways[target]) {
                (Ways::None, there) => there,
                (here, Ways::None) => here,
                _ => Ways::More,
            };
        }
    }
    ways.into_iter().map(|ways| ways == Ways::One).collect()
}

/// The greatest set of nodes with one path to the exit and no edge into nowhere that is closed
/// forward and that no pinned edge enters.
fn done(cfg: &Cfg, numbering: &Numbering, into: &Lists<DagEdgeId>, pinned: &[bool]) -> Vec<bool> {
    let shape = &numbering.shape;
    let decided = |node: usize| {
        let mut real = cfg.successors(shape.nodes[node]).iter();
        numbering.path_counts[node] == 1 && real.all(|&edge| shape.of_real(edge).is_some())
    };
    let mut done: Vec<bool> = (0..shape.nodes.len()).map(decided).collect();
    let mut open: Vec<usize> = (0..done.len()).filter(|&node| !done[node]).collect();
    while let Some(node) = open.pop() {
        let before = into
            .list(node)
            .iter()
            .map(|edge| shape.sources[edge.index()]);
        let behind = shape
            .out
            .list(node)
            .iter()
            .filter(|edge| pinned[edge.index()]);
        let behind = behind.map(|edge| shape.targets[edge.index()]);
        for near in before.chain(behind) {
            if core::mem::replace(&mut done[near as usize], false) {
                open.push(near as usize);
            }
        }
    }
    done
}

/// The greatest set of nodes with one path from the entry that is closed backward and that no
/// pinned edge leaves, except where the path has been counted and the register no longer matters.
fn early(
    numbering: &Numbering,
    into: &Lists<DagEdgeId>,
    pinned: &[bool],
    constant: &[bool],
    done: &[bool],
) -> Vec<bool> {
    let shape = &numbering.shape;
    let mut early = constant.to_vec();
    let mut set: Vec<usize> = (0..early.len()).filter(|&node| !early[node]).collect();
    while let Some(node) = set.pop() {
        let start =
            |edge: &&DagEdgeId| !matches!(shape.edges[edge.index()].kind, DagEdgeKind::Start(_));
        let behind = shape.out.list(node).iter().filter(start);
        let behind = behind.map(|edge| shape.targets[edge.index()]);
        let before = into
            .list(node)
            .iter()
            .filter(|edge| pinned[edge.index()] && !done[node]);
        let before = before.map(|edge| shape.sources[edge.index()]);
        for near in behind.chain(before) {
            if core::mem::replace(&mut early[near as usize], false) {
                set.push(near as usize);
            }
        }
    }
    early
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
        let register = !regions.constant[source];
        let sum = if register { increment } else { constant };
        return Some(Action::Count {
            register,
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
            register: false,
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
