//! Promotion: chooses the counters that small loops keep in registers, and where they are written
//! back to memory.
//!
//! In a loop of a few instructions, counters in memory cost more than the instructions, because
//! each increment waits until the processor's store buffer returns the result of the increment
//! before. So an innermost loop counts in accumulators, which are LLVM values in registers. Where
//! control leaves the loop, each accumulator is added to its counter in memory by one instruction.
//! A signal handler that counts the same path runs either before or after that instruction.
//!
//! # Iterations
//! Each iteration ends a path, and starts the next path with the same number in the path register.
//! So from the second iteration on, the numbers of all paths are constants. But the first iteration
//! ends the path that led into the loop. The number of that path depends on the register's value at
//! the loop's entry. If an accumulator has counted `n` iterations, then after the loop
//! ```text
//! counter[entry + distance] += 1 if the loop's first iteration was among the n, else 0
//! counter[constant]         += n - 1, or n
//! register                   = constant, or entry + distance in the first iteration
//! ```
//! Here, `entry` is the register's value at the loop's entry. A `distance` is what the iteration
//! adds to it: up to the count in the first line, up to the exit in the last line.
//!
//! Inside the loop, no LLVM value holds the register ([`SteadyLoop`]). Only the numbers that the
//! arms of an iteration add are kept, and only if control leaves the loop between an arm and its
//! count. If one accumulator counts iterations, the first was among them if `n > 0`. If several do,
//! the first iteration adds a mark ([`write_back`](super::write_back)).
//!
//! # Which loops
//! Counters are promoted in innermost natural loops that control leaves only by branches: no call
//! in them may unwind, jump, or end the process. The loop must have few counters. Each counter must
//! be known at the count, or on the arms that lead to the count
//! ([`loop_counts`](super::loop_counts)).
//!
//! LLVM also promotes edge counters, but it supports neither the path register nor the different
//! number in the first iteration, and it ignores calls that do not come back. If the process is
//! killed, the iterations of the running loops are lost.

use std::collections::{BTreeSet, HashMap};

use holloway_flow::{Action, CountBase};

use super::frequencies::TransitionFrequencies;
use super::graph::{BlockGraph, InstructionPosition};
use super::loop_counts::{AccumulatorKey, LoopCounts};
use super::natural_loops::{NaturalLoop, innermost_loops};
use super::register::{RegisterFlow, RegisterValue, SteadyLoop};
use super::sites::{Sites, Stop};
use crate::lower::{BlockIndex, CallAttributes, FunctionParts};

/// The maximum number of accumulators of a loop.
const MAX_ACCUMULATORS: usize = 4;
/// The minimum number of iterations per entry, measured or estimated, for which promotion pays.
/// With 3, bzip2 executes 1.40 times as many instructions as without probes, and with 6 it executes
/// 1.28 times as many. With 7, even the small loop of an insertion sort would be excluded, by its
/// estimate.
const MIN_ITERATIONS: u64 = 6;

/// The maximum number of write-backs of a loop: its number of exits times its number of
/// accumulators.
const MAX_WRITES: usize = 12;

/// A loop whose counters are in registers.
pub(super) struct PromotedLoop {
    pub(super) natural: NaturalLoop,
    pub(super) counts: LoopCounts,
    /// The loop's index among the [`SteadyLoop`]s, if the register's value at its entry matters.
    pub(super) steady_loop: Option<usize>,
}

/// An accumulator of a function. Accumulator `n` is the accumulator with [`LoopCounts::keys`]`[n]`
/// in each loop. It is treated like a path register: its sites set it to 0 before a loop, and add 1
/// at the loop's counts.
pub(super) struct Accumulator {
    pub(super) sites: Sites,
    pub(super) register: RegisterFlow,
}

/// The promoted counters of a function.
pub(super) struct Promotion {
    /// The sites without the promoted counts.
    pub(super) sites: Sites,
    /// The path register at these sites.
    pub(super) register: RegisterFlow,
    pub(super) steady_loops: Vec<SteadyLoop>,
    pub(super) accumulators: Vec<Accumulator>,
    /// The loops that keep counters in registers.
    pub(super) loops: Vec<PromotedLoop>,
    /// By block: the index of the loop that is written back at the block's top.
    pub(super) writes: HashMap<BlockIndex, usize>,
}

impl Promotion {
    /// A promotion that keeps nothing in registers.
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
        let remaining = without_promoted_counts(&sites, &chosen);
        let mut writes = HashMap::new();
        let mut end_values_needed = Vec::new();
        for (index, promoted) in chosen.loops.iter().enumerate() {
            writes.extend(promoted.natural.exits.iter().map(|&exit| (exit, index)));
            let early = promoted
                .counts
                .joins
                .iter()
                .flat_map(|join| &join.early_exits);
            end_values_needed.extend(early.map(|&exit| graph.sources[exit][0]));
        }
        let accumulators = (0..MAX_ACCUMULATORS)
            .filter(|&key_index| {
                chosen
                    .loops
                    .iter()
                    .any(|promoted| key_index < promoted.counts.keys.len())
            })
            .map(|key_index| {
                let sites = accumulator_sites(parts, sites.len(), &chosen, key_index);
                let register = RegisterFlow::new(graph, &sites, &[]);
                Accumulator { sites, register }
            })
            .collect();
        Self {
            register: RegisterFlow::with(
                graph,
                &remaining,
                &chosen.steady_loops,
                &end_values_needed,
            ),
            sites: remaining,
            steady_loops: chosen.steady_loops,
            accumulators,
            loops: chosen.loops,
            writes,
        }
    }

    /// The lowest [`IterationCounters::first`](super::loop_counts::IterationCounters::first), or 0
    /// if none is negative.
    pub(super) fn lowest_first_counter(&self) -> i64 {
        let keys = self.loops.iter().flat_map(|promoted| &promoted.counts.keys);
        let firsts = keys.filter_map(|key| match key {
            AccumulatorKey::Iterations(counters) => Some(counters.first),
            AccumulatorKey::Fixed(_) => None,
        });
        firsts.min().unwrap_or(0).min(0)
    }
}

/// The innermost loops with counts that control leaves only by branches, to blocks that have no
/// other predecessor.
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
    let mut loops = innermost_loops(graph);
    loops.retain(|natural| {
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
    loops
}

/// Whether a loop iterates often enough for promotion to pay. A loop that never ran counts as one
/// that does.
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
    iterations >= entries.saturating_mul(MIN_ITERATIONS)
}

fn counts(stops: &[Stop]) -> bool {
    let mut actions = stops.iter().flat_map(|stop| &stop.actions);
    actions.any(|action| matches!(action, Action::Count { .. }))
}

/// The loops whose counters are promoted.
struct ChosenLoops {
    loops: Vec<PromotedLoop>,
    steady_loops: Vec<SteadyLoop>,
}

/// Removes candidates until each remaining loop has known counters and pays. A removed loop is no
/// longer steady, so the register's values in other loops may change. Then all are checked again.
fn choose(graph: &BlockGraph, sites: &Sites, mut candidates: Vec<NaturalLoop>) -> ChosenLoops {
    let plain = RegisterFlow::new(graph, sites, &[]);
    let mut starts: Vec<Option<i64>> = Vec::new();
    candidates.retain(|natural| match start(&plain, graph, natural) {
        Ok(start) => {
            starts.push(start);
            true
        }
        Err(UnknownStart) => false,
    });
    loop {
        let mut steady_loops = Vec::new();
        let mut steady_indices = Vec::new();
        for (natural, start) in candidates.iter().zip(&starts) {
            steady_indices.push(start.map(|start| {
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
            .zip(&steady_indices)
            .map(|(natural, &steady_index)| {
                LoopCounts::new(
                    natural,
                    steady_index,
                    graph,
                    sites,
                    &register,
                    &steady_loops,
                )
                .filter(|loop_counts| pays(natural, steady_index, loop_counts))
            })
            .collect();
        if loop_counts.iter().all(Option::is_some) {
            let loop_counts = loop_counts.into_iter().flatten();
            let loops = candidates.into_iter().zip(loop_counts).zip(steady_indices);
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
        let mut is_kept = loop_counts.iter().map(Option::is_some);
        candidates.retain(|_| is_kept.next() == Some(true));
        let mut is_kept = loop_counts.iter().map(Option::is_some);
        starts.retain(|_| is_kept.next() == Some(true));
    }
}

/// The iterations of a loop start with different values of the register.
struct UnknownStart;

/// The register's value at the start of each iteration but the first. `None` if the loop does not
/// need the register.
fn start(
    plain: &RegisterFlow,
    graph: &BlockGraph,
    natural: &NaturalLoop,
) -> Result<Option<i64>, UnknownStart> {
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
        _ => Err(UnknownStart),
    }
}

/// Whether a loop's counters can be kept in registers at a profit:
/// - They are few enough.
/// - An accumulator counts iterations if, and only if, the loop is steady. In a steady loop, only
///   such an accumulator tells whether control leaves in the first iteration, which decides the
///   register's value after the loop. A loop that is not steady has no start value by which its
///   first iteration could be counted separately.
fn pays(natural: &NaturalLoop, steady_index: Option<usize>, loop_counts: &LoopCounts) -> bool {
    let keys = loop_counts.keys.len();
    (1..=MAX_ACCUMULATORS).contains(&keys)
        && keys * natural.exits.len() <= MAX_WRITES
        && (loop_counts.iteration_keys() > 0) == steady_index.is_some()
}

/// The sites without the promoted counts.
fn without_promoted_counts(sites: &Sites, chosen: &ChosenLoops) -> Sites {
    let mut remaining = sites.clone();
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
        for stop in &mut remaining[block] {
            stop.actions
                .retain(|_| nth.next().is_some_and(|nth| !promoted.contains(&nth)));
        }
    }
    remaining
}

/// The sites of an accumulator: it is set to 0 before each loop, 1 is added at its counts, and it
/// is used after the loop. `key_index` is the index of its key in each loop.
fn accumulator_sites(
    parts: &FunctionParts<'_>,
    blocks: usize,
    chosen: &ChosenLoops,
    key_index: usize,
) -> Sites {
    let mut result: Sites = vec![Vec::new(); blocks];
    let used = chosen.loops.iter().filter_map(|promoted| {
        Some((
            &promoted.natural,
            &promoted.counts,
            *promoted.counts.keys.get(key_index)?,
        ))
    });
    for (natural, loop_counts, wanted_key) in used.clone() {
        for &exit in &natural.exits {
            let index = parts.blocks[exit].top;
            result[exit].push(stop(index, USE));
        }
        for arm in loop_counts.joins.iter().flat_map(|join| &join.arms) {
            if arm.key == wanted_key {
                let index = parts.blocks[arm.source].instructions.len() - 1;
                result[arm.source].push(stop(index, Action::Add(1)));
            }
        }
        for count in &loop_counts.counts {
            if count.key != Some(wanted_key) {
                continue;
            }
            let InstructionPosition { block, index } = count.position;
            result[block].push(stop(index, Action::Add(1)));
            // In marked loops, the write-back subtracts this count after it has read the marks.
            if !(loop_counts.are_marked() && matches!(wanted_key, AccumulatorKey::Iterations(_))) {
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

/// An action at which an accumulator's value is needed.
const USE: Action = Action::Count {
    base: CountBase::Register,
    increment: 0,
};

fn stop(index: usize, action: Action) -> Stop {
    Stop::new(index, vec![action])
}
