//! Promotion: chooses the counters that small loops keep in registers, and where to write them
//! back.
//!
//! A counter in memory costs a loop of a few instructions more than the instructions cost
//! themselves. Each increment waits for the increment before it to come back out of the store
//! buffer. So an innermost loop keeps its counters as values (`+1` where memory was incremented)
//! and adds them to memory where control leaves the loop, by one instruction each. A signal handler
//! that counts the same path runs before that instruction or after it.
//!
//! # Iterations
//! An iteration ends a path and starts the next with the same number in the register. So from the
//! second iteration on, everything is constant. The first iteration ends the path that led into the
//! loop, whose number depends on the register's value at the loop's entry. So after the loop, with
//! `n` iterations counted by one counter:
//! ```text
//! counter[entry + distance] += 1 if the loop's first iteration was among the n
//! counter[constant]         += n - that
//! register                   = constant, in the first iteration entry + distance
//! ```
//! Inside the loop the register has no value of its own ([`SteadyLoop`]). Only what the arms of an
//! iteration add to the constant is kept, where control leaves the loop between two counts. If one
//! counter counts iterations, the first was among them if `n > 0`. If several do, the first adds a
//! mark ([`write_back`](super::write_back)).
//!
//! # Which loops
//! Innermost natural loops of LLVM's graph that control leaves only by their own branches: no call
//! in them may unwind, jump or end the process. Their counts must belong to few counters. Each
//! counter must be known where the count stands, or on the arms that lead there
//! ([`loop_counts`](super::loop_counts)).
//!
//! LLVM's own promotion of edge counters supports neither the register nor the first iteration, and
//! ignores calls that don't come back. If the process is killed, the iterations of the running
//! loops are lost.

use std::collections::{BTreeSet, HashMap};

use holloway_flow::{Action, CountBase};

use super::frequencies::TransitionFrequencies;
use super::graph::{BlockGraph, InstructionPosition};
use super::loop_counts::{CounterSlot, LoopCounts};
use super::natural_loops::{NaturalLoop, innermost_loops};
use super::register::{RegisterFlow, RegisterValue, SteadyLoop};
use super::sites::{Sites, Stop};
use crate::lower::{BlockIndex, CallAttributes, FunctionParts};

/// Most counters of a loop in registers.
const MOST_SLOTS: usize = 4;
/// The least number of iterations per entry, measured or estimated, for a promotion to pay. bzip2
/// runs 1.40 times native's instructions with 3, and 1.28 times with 6. With 7, loops as small as
/// an insertion sort's are estimated not to pay.
const LEAST_ITERATIONS: u64 = 6;

/// The maximum product of a loop's exits with write-backs and its number of counters.
const MOST_WRITES: usize = 12;

/// A loop whose counters are promoted in registers.
pub(super) struct PromotedLoop {
    pub(super) natural: NaturalLoop,
    pub(super) counts: LoopCounts,
    /// The loop's index among the [`SteadyLoop`]s, if the register's value at its entry matters.
    pub(super) steady_loop: Option<usize>,
}

/// A value that counts: the same slot of all loops.
pub(super) struct Accumulator {
    pub(super) sites: Sites,
    pub(super) register: RegisterFlow,
}

/// Everything that is kept in registers.
pub(super) struct Promotion {
    /// The sites without the promoted counts.
    pub(super) sites: Sites,
    /// The path register at these sites.
    pub(super) register: RegisterFlow,
    pub(super) steady_loops: Vec<SteadyLoop>,
    pub(super) accumulators: Vec<Accumulator>,
    /// The loops that keep counters in registers.
    pub(super) loops: Vec<PromotedLoop>,
    /// By block: the loop that is written back at its top.
    pub(super) writes: HashMap<BlockIndex, usize>,
}

impl Promotion {
    /// Keeps nothing in registers.
    pub(super) fn none(graph: &BlockGraph, sites: Sites) -> Self {
        Self {
            register: RegisterFlow::new(graph, &sites, &[]),
            sites,
            steady_loops: Vec::new(),
            accumulators: Vec::new(),
            loops: Vec::new(),
            writes: HashMap::new(),
        }
    }

    /// Chooses loops and counters.
    pub(super) fn new(
        parts: &FunctionParts<'_>,
        graph: &BlockGraph,
        sites: Sites,
        frequencies: &TransitionFrequencies,
    ) -> Self {
        let candidates = candidates(parts, graph, &sites, frequencies);
        if candidates.is_empty() {
            return Self::none(graph, sites);
        }
        let mut chosen = choose(graph, &sites, candidates);
        if chosen.loops.is_empty() {
            return Self::none(graph, sites);
        }
        for promoted in &mut chosen.loops {
            promoted
                .counts
                .move_out_of_empty_blocks(parts, graph, &promoted.natural);
        }
        let rest = without(&sites, &chosen);
        let mut writes = HashMap::new();
        let mut wanted = Vec::new();
        for (index, promoted) in chosen.loops.iter().enumerate() {
            writes.extend(promoted.natural.exits.iter().map(|&exit| (exit, index)));
            let early = promoted
                .counts
                .joins
                .iter()
                .flat_map(|join| &join.early_exits);
            wanted.extend(early.map(|&exit| graph.sources[exit][0]));
        }
        let accumulators = (0..MOST_SLOTS)
            .filter(|&slot| {
                chosen
                    .loops
                    .iter()
                    .any(|promoted| slot < promoted.counts.slots.len())
            })
            .map(|slot| {
                let sites = accumulator_sites(parts, sites.len(), &chosen, slot);
                let register = RegisterFlow::new(graph, &sites, &[]);
                Accumulator { sites, register }
            })
            .collect();
        Self {
            register: RegisterFlow::with(graph, &rest, &chosen.steady_loops, &wanted),
            sites: rest,
            steady_loops: chosen.steady_loops,
            accumulators,
            loops: chosen.loops,
            writes,
        }
    }

    /// The lowest number, at most 0, of a counter that is found from the register's value at a
    /// loop's entry.
    pub(super) fn lowest_first_counter(&self) -> i64 {
        let slots = self
            .loops
            .iter()
            .flat_map(|promoted| &promoted.counts.slots);
        let firsts = slots.filter_map(|slot| match slot {
            CounterSlot::Iterations(counters) => Some(counters.first),
            CounterSlot::Fixed(_) => None,
        });
        firsts.min().unwrap_or(0).min(0)
    }
}

/// The innermost loops with counts that control leaves only by their own branches, to blocks that
/// nothing else leads to.
fn candidates(
    parts: &FunctionParts<'_>,
    graph: &BlockGraph,
    sites: &Sites,
    frequencies: &TransitionFrequencies,
) -> Vec<NaturalLoop> {
    let attributes = CallAttributes::lookup(parts.function.module());
    let leaves = |block: &BlockIndex| {
        let mut instructions = parts.blocks[*block].instructions.iter();
        instructions.any(|&instruction| attributes.may_leave(instruction))
    };
    let mut found = innermost_loops(graph);
    found.retain(|natural| {
        // An endless loop would never write its counters back.
        !natural.exits.is_empty()
            && natural
                .exits
                .iter()
                .all(|&exit| graph.sources[exit].len() == 1)
            && iterates_often(natural, graph, frequencies)
            && natural.blocks.iter().any(|&block| counts(&sites[block]))
            && !natural.blocks.iter().any(leaves)
    });
    found
}

/// Whether a loop iterates often enough for a promotion to pay. A loop that never ran does.
fn iterates_often(
    natural: &NaturalLoop,
    graph: &BlockGraph,
    frequencies: &TransitionFrequencies,
) -> bool {
    let (mut iterations, mut entries) = (0u64, 0u64);
    for &source in &graph.sources[natural.head] {
        let sum = match natural.blocks.contains(&source) {
            true => &mut iterations,
            false => &mut entries,
        };
        *sum = sum.saturating_add(frequencies.between(source, natural.head));
    }
    iterations >= entries.saturating_mul(LEAST_ITERATIONS)
}

fn counts(stops: &[Stop]) -> bool {
    let mut actions = stops.iter().flat_map(|stop| &stop.actions);
    actions.any(|action| matches!(action, Action::Count { .. }))
}

/// The chosen loops, each with its slots.
struct ChosenLoops {
    loops: Vec<PromotedLoop>,
    steady_loops: Vec<SteadyLoop>,
}

/// Drops candidates until the register's value is known in all that are left.
fn choose(graph: &BlockGraph, sites: &Sites, mut candidates: Vec<NaturalLoop>) -> ChosenLoops {
    let plain = RegisterFlow::new(graph, sites, &[]);
    let mut starts: Vec<Option<i64>> = Vec::new();
    candidates.retain(|natural| match start(&plain, graph, natural) {
        Ok(start) => {
            starts.push(start);
            true
        }
        Err(Unknown) => false,
    });
    loop {
        let mut steady_loops = Vec::new();
        let mut number = Vec::new();
        for (natural, start) in candidates.iter().zip(&starts) {
            number.push(start.map(|start| {
                steady_loops.push(SteadyLoop {
                    head: natural.head,
                    blocks: natural.blocks.clone(),
                    entries: natural.entries.clone(),
                    exits: natural.exits.clone(),
                    start,
                });
                steady_loops.len() - 1
            }));
        }
        let register = RegisterFlow::new(graph, sites, &steady_loops);
        let loop_counts: Vec<Option<LoopCounts>> = candidates
            .iter()
            .zip(&number)
            .map(|(natural, &number)| {
                LoopCounts::new(natural, number, graph, sites, &register, &steady_loops)
                    .filter(|loop_counts| pays(natural, number, loop_counts))
            })
            .collect();
        if loop_counts.iter().all(Option::is_some) {
            let loop_counts = loop_counts.into_iter().flatten();
            let loops = candidates.into_iter().zip(loop_counts).zip(number);
            let loops = loops.map(|((natural, counts), steady_loop)| PromotedLoop {
                natural,
                counts,
                steady_loop,
            });
            return ChosenLoops {
                loops: loops.collect(),
                steady_loops,
            };
        }
        let mut keep = loop_counts.iter().map(Option::is_some);
        candidates.retain(|_| keep.next() == Some(true));
        let mut keep = loop_counts.iter().map(Option::is_some);
        starts.retain(|_| keep.next() == Some(true));
    }
}

/// The iterations of a loop start with different values.
struct Unknown;

/// The register's value at the start of each iteration but the first, if the loop changes the
/// register.
fn start(
    plain: &RegisterFlow,
    graph: &BlockGraph,
    natural: &NaturalLoop,
) -> Result<Option<i64>, Unknown> {
    let head = RegisterValue::Phi(natural.head);
    if plain.top[natural.head] != Some(head) || !plain.needed.contains(&head) {
        return Ok(None);
    }
    let backs = graph.sources[natural.head].iter();
    let mut values = backs
        .filter(|block| natural.blocks.contains(block))
        .filter_map(|&block| plain.bottom[block]);
    match values.next() {
        Some(RegisterValue::Constant(start))
            if values.all(|value| value == RegisterValue::Constant(start)) =>
        {
            Ok(Some(start))
        }
        _ => Err(Unknown),
    }
}

/// Whether a loop's counters are few enough to be kept in registers.
fn pays(natural: &NaturalLoop, number: Option<usize>, loop_counts: &LoopCounts) -> bool {
    let slots = loop_counts.slots.len();
    (1..=MOST_SLOTS).contains(&slots)
        && slots * natural.exits.len() <= MOST_WRITES
        && (loop_counts.iteration_slots() > 0) == number.is_some()
}

/// The sites without the promoted counts.
fn without(sites: &Sites, chosen: &ChosenLoops) -> Sites {
    let mut rest = sites.clone();
    let mut promoted: HashMap<BlockIndex, BTreeSet<usize>> = HashMap::new();
    for count in chosen
        .loops
        .iter()
        .flat_map(|promoted| &promoted.counts.counts)
    {
        promoted.entry(count.block).or_default().insert(count.nth);
    }
    for (block, promoted) in promoted {
        let mut nth = 0..;
        for stop in &mut rest[block] {
            stop.actions
                .retain(|_| nth.next().is_some_and(|nth| !promoted.contains(&nth)));
        }
    }
    rest
}

/// The sites of one accumulator: it becomes 0 before each loop, grows by 1 where its slot is
/// counted, and is used after the loop.
fn accumulator_sites(
    parts: &FunctionParts<'_>,
    blocks: usize,
    chosen: &ChosenLoops,
    number: usize,
) -> Sites {
    let mut result: Sites = vec![Vec::new(); blocks];
    let used = chosen.loops.iter().filter_map(|promoted| {
        Some((
            &promoted.natural,
            &promoted.counts,
            *promoted.counts.slots.get(number)?,
        ))
    });
    for (natural, loop_counts, wanted) in used.clone() {
        for &exit in &natural.exits {
            let index = parts.blocks[exit].top;
            result[exit].push(stop(index, USE));
        }
        for way in loop_counts.joins.iter().flat_map(|join| &join.arms) {
            if way.slot == wanted {
                let index = parts.blocks[way.source].instructions.len() - 1;
                result[way.source].push(stop(index, Action::Add(1)));
            }
        }
        for count in &loop_counts.counts {
            if count.slot != Some(wanted) {
                continue;
            }
            let InstructionPosition { block, index } = count.place;
            result[block].push(stop(index, Action::Add(1)));
            // Where iterations are marked, the mark has to be known first.
            if !(loop_counts.are_marked() && matches!(wanted, CounterSlot::Iterations(_))) {
                for &exit in &count.early_exits {
                    let index = parts.blocks[exit].top;
                    result[exit].insert(0, stop(index, Action::Add(-1)));
                }
            }
        }
    }
    for (natural, ..) in used {
        for &entry in &natural.entries {
            let index = parts.blocks[entry].instructions.len() - 1;
            result[entry].push(stop(index, Action::Set(0)));
        }
    }
    for stops in &mut result {
        stops.sort_by_key(|stop| stop.index);
    }
    result
}

/// Asks for an accumulator's value.
const USE: Action = Action::Count {
    base: CountBase::Register,
    increment: 0,
};

fn stop(index: usize, action: Action) -> Stop {
    Stop::new(index, vec![action])
}
