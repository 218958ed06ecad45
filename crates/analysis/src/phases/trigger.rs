//! A trigger counter for phase transitions. The design is Holloway's own, after the idea of US
//! 7,032,217: hardware counts selected edges, and interrupts at a transition. What is known of the
//! claims has no formula and no thresholds.
//!
//! - *Selected edges* are the edges that an edge profile counts: the edges off the spanning tree of
//!   each function.
//! - The *reference set* holds the edges with at least 1/256 of the last 65,536 selected edges.
//! - The *trigger counter* has 13 bits and starts at its maximum. An edge of the reference set adds
//!   1, any other edge subtracts 2. At zero, a transition is signaled, the reference set is made
//!   anew, and the counter starts again.
//!
//! The first reference set is made after 65,536 selected edges. Until then, no transition can be
//! signaled.
//!
//! Example: after a full switch of behavior, each edge subtracts 2 from 8,191. So the trigger fires
//! on the 4,096th selected edge. Edges that ran 256 times since the switch are then in the
//! reference set, so it fires only once if there are at most 16 of them, equally frequent.
//!
//! Cost: about ten operations for each selected edge. Memory is 4 bytes for each of the last edges,
//! and a few for each different edge.

use std::collections::HashMap;

use holloway_flow::{EdgeCounters, PathId, estimate_weights};
use holloway_format::{Count, FunctionMap};

use crate::branch_stream::BranchStream;
use crate::flow::uncut_graph_of;
use crate::trace::code::Code;
use crate::trace::{Terminal, Trace};

/// The parameters of the trigger counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TriggerParameters {
    /// Number of selected edges that a reference set is made of.
    pub window: u32,
    /// An edge of the reference set has at least one in this number of these edges.
    pub rarity: u32,
    /// The maximum of the trigger counter.
    pub maximum: u32,
    /// What an edge of the reference set adds to the counter.
    pub increment: u32,
    /// What any other edge subtracts from the counter.
    pub decrement: u32,
}

impl Default for TriggerParameters {
    fn default() -> TriggerParameters {
        TriggerParameters {
            window: 65_536,
            rarity: 256,
            maximum: (1 << 13) - 1,
            increment: 1,
            decrement: 2,
        }
    }
}

/// The trigger counter.
#[derive(Clone, Debug)]
pub struct Trigger {
    parameters: TriggerParameters,
    /// The last edges, as a ring.
    recent: Vec<u32>,
    next: usize,
    /// By edge: its executions among the last edges.
    executions: Vec<u32>,
    /// By edge: whether the reference set has it. `None` before the first reference set.
    reference: Option<Vec<bool>>,
    counter: u32,
}

impl Trigger {
    /// A counter for edges with numbers below `edges`.
    pub fn new(parameters: TriggerParameters, edges: usize) -> Trigger {
        Trigger {
            recent: Vec::new(),
            next: 0,
            executions: vec![0; edges],
            reference: None,
            counter: parameters.maximum,
            parameters: TriggerParameters {
                window: parameters.window.max(1),
                ..parameters
            },
        }
    }

    /// Feeds a selected edge. Returns whether a transition is signaled.
    #[inline]
    pub fn edge(&mut self, edge: u32) -> bool {
        let parameters = self.parameters;
        self.executions[edge as usize] += 1;
        if self.recent.len() < parameters.window as usize {
            self.recent.push(edge);
        } else {
            let oldest = std::mem::replace(&mut self.recent[self.next], edge);
            self.executions[oldest as usize] -= 1;
            self.next = (self.next + 1) % self.recent.len();
        }
        let Some(reference) = &self.reference else {
            if self.recent.len() == parameters.window as usize {
                self.start();
            }
            return false;
        };
        self.counter = if reference[edge as usize] {
            let sum = self.counter.saturating_add(parameters.increment);
            sum.min(parameters.maximum)
        } else {
            self.counter.saturating_sub(parameters.decrement)
        };
        let fires = self.counter == 0;
        if fires {
            self.start();
        }
        fires
    }

    /// Makes a new reference set, and starts the counter.
    fn start(&mut self) {
        let TriggerParameters { window, rarity, .. } = self.parameters;
        let is_frequent =
            |&executions: &u32| u64::from(executions) * u64::from(rarity) >= u64::from(window);
        self.reference = Some(self.executions.iter().map(is_frequent).collect());
        self.counter = self.parameters.maximum;
    }
}

/// A selected edge on a path.
#[derive(Clone, Copy)]
struct SelectedEdge {
    edge: u32,
    /// Number of branches of the path up to the edge, with the branch that took it.
    branches: u32,
}

/// Runs a trigger counter over a thread. Returns the number of branches before each signal.
pub(super) fn signals(
    code: &Code<'_>,
    trace: &Trace,
    stream: &BranchStream<'_>,
    parameters: TriggerParameters,
) -> Vec<Count> {
    let (terminals, edges) = selected_edges(code, trace, stream);
    let mut trigger = Trigger::new(parameters, edges);
    let (mut signals, mut branches) = (Vec::new(), 0u64);
    for terminal in trace.grammar.expand() {
        for selected in &terminals[terminal as usize] {
            if trigger.edge(selected.edge) {
                signals.push(Count(branches + u64::from(selected.branches)));
            }
        }
        branches += stream.of_terminal(terminal).len() as u64;
    }
    signals
}

/// The selected edges of each terminal, numbered over all functions, and the number of different
/// ones.
fn selected_edges(
    code: &Code<'_>,
    trace: &Trace,
    stream: &BranchStream<'_>,
) -> (Vec<Vec<SelectedEdge>>, usize) {
    let mut functions: HashMap<u32, Vec<bool>> = HashMap::new();
    let mut numbers: HashMap<(u32, u32), u32> = HashMap::new();
    let terminals = (0u32..).zip(&trace.terminals).map(|(terminal, event)| {
        let Terminal::Path { function, path } = *event else {
            return Vec::new();
        };
        let path = code.path(function, PathId(path.into()));
        let Some((map, path)) = code.function(function).zip(path) else {
            return Vec::new();
        };
        let counted = functions.entry(function).or_insert_with(|| counted(map));
        let mut path_branches = stream.of_terminal(terminal).iter().peekable();
        let (mut branches, mut selected) = (0, Vec::new());
        for edge in path.edges.iter().chain([&path.end.edge()]) {
            // A path runs a block at most once, so the block identifies the branch.
            let from = map.edges[edge.index()].from;
            let is_branch = path_branches.next_if(|event| stream.site(event.branch).block == from);
            branches += u32::from(is_branch.is_some());
            if counted[edge.index()] {
                let next = numbers.len() as u32;
                let edge = *numbers.entry((function, edge.0)).or_insert(next);
                selected.push(SelectedEdge { edge, branches });
            }
        }
        selected
    });
    let terminals = terminals.collect();
    (terminals, numbers.len())
}

/// Whether an edge profile of the function counts each edge. If the function can have no edge
/// profile, all edges count.
fn counted(map: &FunctionMap) -> Vec<bool> {
    let graph = uncut_graph_of(map).ok();
    let counters = graph.and_then(|graph| {
        let weights = estimate_weights(&graph, &[]);
        EdgeCounters::new(&graph, &weights).ok()
    });
    let Some(counters) = counters else {
        return vec![true; map.edges.len()];
    };
    let mut counted = vec![false; map.edges.len()];
    for edge in counters.counted() {
        counted[edge.index()] = true;
    }
    counted
}
