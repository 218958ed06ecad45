//! Counters of small loops in registers: which, and where they are written back.
//!
//! A counter in memory costs a loop of a few instructions more than they cost themselves: each increment waits for the
//! one before it to come back out of the store buffer. So the counters of an innermost loop are kept as values of the
//! loop (`+1` where memory was incremented) and added to memory where the loop is left, by one instruction each: a signal
//! handler that counts the same path comes before it or after it.
//!
//! # Turns
//! A turn ends a path and starts the next with the same number in the register, so from the second turn on all is
//! constant. The first turn ends the path that led into the loop, whose number depends on what came in. So behind the
//! loop, with `n` turns counted by one counter, the first of them by another if the loop's first turn was among them:
//! ```text
//! counter[came + distance] += 1 if the first turn was among them
//! counter[constant]        += n - that
//! register                  = constant, in the first turn came + distance
//! ```
//! and inside it the register isn't kept, but for what the ways of a turn add to the constant where it is left between two
//! counts ([`Turning`]). With one counter of turns, the first was among them if `n > 0`. With several it is told by what
//! it adds ([`write_back`](super::write_back)).
//!
//! # Which loops
//! Innermost natural loops of LLVM's graph that can only be left by their own branches: no call in them may unwind, jump
//! or end the process. All their counts have to be of few counters, each known where it is counted or on the ways that lead
//! there ([`tally`](super::tally)).
//!
//! Deviates from LLVM's own promotion of edge counters, which knows no register and no first turn, and isn't
//! bothered by calls that don't come back. What is lost where the process is killed: the turns of the loops that it is in.

use std::collections::{BTreeSet, HashMap};

use holloway_flow::{Action, CountBase};

use super::inner::{Inner, inner_loops};
use super::likely::Heat;
use super::register::{Graph, Register, Turning, Value};
use super::sites::{Sites, Stop};
use super::tally::{Slot, Tallies};
use crate::lower::{Attributes, Layout};

/// Most counters of a loop in registers.
const MOST_SLOTS: usize = 4;
/// Fewest turns an entry, measured or estimated, with which a loop is worth it. bzip2's instructions over native's: 1.40 with 3, 1.28
/// with 6; with 7 loops as small as that of an insertion sort are estimated not to be.
const LEAST_TURNS: u64 = 6;

/// Most places where a loop's counters are written back, times counters.
const MOST_WRITES: usize = 12;

/// A loop whose counters are kept in registers.
pub(super) struct Kept {
    pub(super) inner: Inner,
    pub(super) tallies: Tallies,
    /// Its number among the [`Turning`], if what came in matters.
    pub(super) turning: Option<usize>,
}

/// A value that is counted with: the same slot of all loops.
pub(super) struct Accumulator {
    pub(super) sites: Sites,
    pub(super) register: Register,
}

/// What is kept in registers.
pub(super) struct Promotion {
    /// The sites without what is kept.
    pub(super) sites: Sites,
    /// The path register between them.
    pub(super) register: Register,
    pub(super) turning: Vec<Turning>,
    pub(super) accumulators: Vec<Accumulator>,
    /// The loops that keep something.
    pub(super) loops: Vec<Kept>,
    /// Which of them is written back at the top of a block.
    pub(super) writes: HashMap<usize, usize>,
}

impl Promotion {
    /// Keeps nothing in registers.
    pub(super) fn none(graph: &Graph, sites: Sites) -> Self {
        Self {
            register: Register::new(graph, &sites, &[]),
            sites,
            turning: Vec::new(),
            accumulators: Vec::new(),
            loops: Vec::new(),
            writes: HashMap::new(),
        }
    }

    /// Chooses loops and counters.
    pub(super) fn new(layout: &Layout<'_>, graph: &Graph, sites: Sites, heat: &Heat) -> Self {
        let candidates = candidates(layout, graph, &sites, heat);
        if candidates.is_empty() {
            return Self::none(graph, sites);
        }
        let mut chosen = choose(graph, &sites, candidates);
        if chosen.loops.is_empty() {
            return Self::none(graph, sites);
        }
        for kept in &mut chosen.loops {
            kept.tallies.lift(layout, graph, &kept.inner);
        }
        let rest = without(&sites, &chosen);
        let mut writes = HashMap::new();
        let mut wanted = Vec::new();
        for (index, kept) in chosen.loops.iter().enumerate() {
            writes.extend(kept.inner.exits.iter().map(|&exit| (exit, index)));
            let early = kept.tallies.joins.iter().flat_map(|join| &join.early);
            wanted.extend(early.map(|&exit| graph.sources[exit][0]));
        }
        let accumulators = (0..MOST_SLOTS)
            .filter(|&slot| {
                chosen
                    .loops
                    .iter()
                    .any(|kept| slot < kept.tallies.slots.len())
            })
            .map(|slot| {
                let sites = accumulator_sites(layout, sites.len(), &chosen, slot);
                let register = Register::new(graph, &sites, &[]);
                Accumulator { sites, register }
            })
            .collect();
        Self {
            register: Register::with(graph, &rest, &chosen.turning, &wanted),
            sites: rest,
            turning: chosen.turning,
            accumulators,
            loops: chosen.loops,
            writes,
        }
    }

    /// How far below 0 the nearest counter is that is found from what came into a loop.
    pub(super) fn lowest(&self) -> i64 {
        let slots = self.loops.iter().flat_map(|kept| &kept.tallies.slots);
        let firsts = slots.filter_map(|slot| match slot {
            Slot::Turns { first, .. } => Some(*first),
            Slot::Plain(_) => None,
        });
        firsts.min().unwrap_or(0).min(0)
    }
}

/// The innermost loops that are left by their own branches only, to blocks that nothing else leads to, and count something.
fn candidates(layout: &Layout<'_>, graph: &Graph, sites: &Sites, heat: &Heat) -> Vec<Inner> {
    let attributes = Attributes::of(layout.function.module());
    let leaves = |block: &usize| {
        let mut instructions = layout.blocks[*block].instructions.iter();
        instructions.any(|&instruction| attributes.may_leave(instruction))
    };
    let mut found = inner_loops(graph);
    found.retain(|inner| {
        // An endless loop would never write its counters back.
        !inner.exits.is_empty()
            && inner
                .exits
                .iter()
                .all(|&exit| graph.sources[exit].len() == 1)
            && turns_often(inner, graph, heat)
            && inner.blocks.iter().any(|&block| counts(&sites[block]))
            && !inner.blocks.iter().any(leaves)
    });
    found
}

/// Whether a loop turns often enough for what it counts to be worth keeping. One that never ran is taken to.
fn turns_often(inner: &Inner, graph: &Graph, heat: &Heat) -> bool {
    let (mut turns, mut entered) = (0u64, 0u64);
    for &source in &graph.sources[inner.head] {
        let sum = match inner.blocks.contains(&source) {
            true => &mut turns,
            false => &mut entered,
        };
        *sum = sum.saturating_add(heat.of(source, inner.head));
    }
    turns >= entered.saturating_mul(LEAST_TURNS)
}

fn counts(stops: &[Stop]) -> bool {
    let mut actions = stops.iter().flat_map(|stop| &stop.actions);
    actions.any(|action| matches!(action, Action::Count { .. }))
}

/// The loops that were chosen, each with its slots.
struct Chosen {
    loops: Vec<Kept>,
    turning: Vec<Turning>,
}

/// Drops candidates until what the register is in all of them is known.
fn choose(graph: &Graph, sites: &Sites, mut candidates: Vec<Inner>) -> Chosen {
    let plain = Register::new(graph, sites, &[]);
    let mut starts: Vec<Option<i64>> = Vec::new();
    candidates.retain(|inner| match start(&plain, graph, inner) {
        Ok(start) => {
            starts.push(start);
            true
        }
        Err(Unknown) => false,
    });
    loop {
        let mut turning = Vec::new();
        let mut number = Vec::new();
        for (inner, start) in candidates.iter().zip(&starts) {
            number.push(start.map(|start| {
                turning.push(Turning {
                    head: inner.head,
                    blocks: inner.blocks.clone(),
                    entries: inner.entries.clone(),
                    exits: inner.exits.clone(),
                    start,
                });
                turning.len() - 1
            }));
        }
        let register = Register::new(graph, sites, &turning);
        let tallies: Vec<Option<Tallies>> = candidates
            .iter()
            .zip(&number)
            .map(|(inner, &number)| {
                Tallies::new(inner, number, graph, sites, &register, &turning)
                    .filter(|tallies| pays(inner, number, tallies))
            })
            .collect();
        if tallies.iter().all(Option::is_some) {
            let tallies = tallies.into_iter().flatten();
            let loops = candidates.into_iter().zip(tallies).zip(number);
            let loops = loops.map(|((inner, tallies), turning)| Kept {
                inner,
                tallies,
                turning,
            });
            return Chosen {
                loops: loops.collect(),
                turning,
            };
        }
        let mut keep = tallies.iter().map(Option::is_some);
        candidates.retain(|_| keep.next() == Some(true));
        let mut keep = tallies.iter().map(Option::is_some);
        starts.retain(|_| keep.next() == Some(true));
    }
}

/// A loop whose turns start with differing values.
struct Unknown;

/// What the register is at the start of each turn but the first, if that is a number of its own.
fn start(plain: &Register, graph: &Graph, inner: &Inner) -> Result<Option<i64>, Unknown> {
    let head = Value::Phi(inner.head);
    if plain.top[inner.head] != Some(head) || !plain.needed.contains(&head) {
        return Ok(None);
    }
    let backs = graph.sources[inner.head].iter();
    let mut values = backs
        .filter(|block| inner.blocks.contains(block))
        .filter_map(|&block| plain.bottom[block]);
    match values.next() {
        Some(Value::Constant(start)) if values.all(|value| value == Value::Constant(start)) => {
            Ok(Some(start))
        }
        _ => Err(Unknown),
    }
}

/// Whether a loop's counters are few enough to be kept in registers.
fn pays(inner: &Inner, number: Option<usize>, tallies: &Tallies) -> bool {
    let slots = tallies.slots.len();
    (1..=MOST_SLOTS).contains(&slots)
        && slots * inner.exits.len() <= MOST_WRITES
        && (tallies.turns() > 0) == number.is_some()
}

/// The sites without the counts that are kept.
fn without(sites: &Sites, chosen: &Chosen) -> Sites {
    let mut rest = sites.clone();
    let mut kept: HashMap<usize, BTreeSet<usize>> = HashMap::new();
    for tally in chosen.loops.iter().flat_map(|kept| &kept.tallies.counts) {
        kept.entry(tally.block).or_default().insert(tally.nth);
    }
    for (block, kept) in kept {
        let mut nth = 0..;
        for stop in &mut rest[block] {
            stop.actions
                .retain(|_| nth.next().is_some_and(|nth| !kept.contains(&nth)));
        }
    }
    rest
}

/// The sites of one accumulator: 0 before each loop, plus one where its slot is counted, used behind.
fn accumulator_sites(layout: &Layout<'_>, blocks: usize, chosen: &Chosen, number: usize) -> Sites {
    let mut result: Sites = vec![Vec::new(); blocks];
    let used = chosen
        .loops
        .iter()
        .filter_map(|kept| Some((&kept.inner, &kept.tallies, *kept.tallies.slots.get(number)?)));
    for (inner, tallies, wanted) in used.clone() {
        for &exit in &inner.exits {
            let index = layout.blocks[exit].top;
            result[exit].push(stop(index, USE));
        }
        for way in tallies.joins.iter().flat_map(|join| &join.ways) {
            if way.slot == wanted {
                let index = layout.blocks[way.source].instructions.len() - 1;
                result[way.source].push(stop(index, Action::Add(1)));
            }
        }
        for tally in &tallies.counts {
            if tally.slot != Some(wanted) {
                continue;
            }
            let (block, index) = tally.place;
            result[block].push(stop(index, Action::Add(1)));
            // Where turns are marked, that one has to be known first.
            if !(tallies.marked() && matches!(wanted, Slot::Turns { .. })) {
                for &exit in &tally.early {
                    let index = layout.blocks[exit].top;
                    result[exit].insert(0, stop(index, Action::Add(-1)));
                }
            }
        }
    }
    for (inner, ..) in used {
        for &entry in &inner.entries {
            let index = layout.blocks[entry].instructions.len() - 1;
            result[entry].push(stop(index, Action::Set(0)));
        }
    }
    for stops in &mut result {
        stops.sort_by_key(|stop| stop.index);
    }
    result
}

/// An accumulator's value is wanted.
const USE: Action = Action::Count {
    base: CountBase::Register,
    increment: 0,
};

fn stop(index: usize, action: Action) -> Stop {
    Stop {
        index,
        actions: vec![action],
    }
}
