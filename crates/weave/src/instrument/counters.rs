//! Probes that count: arrays of counters, hash tables, and edge counters.
//!
//! [`probe`](super::probe) has the instructions, [`promote`](super::promote) chooses the counters
//! that loops keep in registers, and [`likely_counts`] the counts that a comparison makes cheaper.
//! A counter's displacement never goes below 0, since the code generator may emit it with a
//! zero-extended relocation. Where an increment is negative, all settings of the path register are
//! lowered instead, and all increments raised by as much.

use std::collections::HashMap;

use holloway_format::Counters;
use holloway_llvm::{Builder, Value};

use super::anchors::Anchors;
use super::entry::enter;
use super::frequencies::TransitionFrequencies;
use super::globals::Globals;
use super::graph::{BlockEdge, BlockGraph, positions, reverse_postorder};
use super::likely_counts::{LikelyCount, LikelyCountSite, likely_counts};
use super::probe::Probe;
use super::promote::Promotion;
use super::selector::InstructionSelector;
use super::sites::{Sites, shifted, with_nonnegative_increments};
use super::variable::ProbeVariable;
use super::write_back::{FirstIterationMarks, WriteBack};
use crate::lower::{BlockIndex, FunctionParts};

/// Inserts all probes of a function. Returns the content of the thread's slot.
pub(super) fn insert<'m>(
    parts: &FunctionParts<'m>,
    sites: &Sites,
    frequencies: &TransitionFrequencies,
    counters: Counters,
    globals: &Globals<'m>,
    selector: InstructionSelector,
) -> Value<'m> {
    let positions = positions(parts);
    let graph = BlockGraph::of_parts(parts, &positions);
    let promotion = promotion(parts, &graph, sites, frequencies, counters, selector);
    let likely = match (counters, selector) {
        (Counters::Array { .. }, InstructionSelector::Optimizing) => {
            likely_counts(&graph, &promotion, frequencies)
        }
        (Counters::Array { .. }, InstructionSelector::Fast)
        | (Counters::Hash { .. } | Counters::Edges { .. }, _) => HashMap::new(),
    };
    let anchors = Anchors::new(parts);
    let variable = |sites, register, loops| ProbeVariable::new(parts, sites, register, loops);
    let mut register = variable(
        &promotion.sites,
        &promotion.register,
        &promotion.steady_loops,
    );
    let mut accumulators: Vec<_> = promotion
        .accumulators
        .iter()
        .map(|accumulator| variable(&accumulator.sites, &accumulator.register, &[]))
        .collect();
    let marks = FirstIterationMarks::new(parts, &promotion.loops);
    let slot = enter(parts, globals, &anchors);
    let probe = Probe {
        module: parts.function.module(),
        globals,
        counter_block: globals.counters(
            &Builder::before(anchors.at(parts, BlockIndex::ENTRY, 0)),
            slot,
        ),
        counters,
        selector,
    };
    let mut likely_sites = Vec::new();
    for block in reverse_postorder(&graph.successors) {
        let mut counts = Vec::new();
        for (index, accumulator) in accumulators.iter_mut().enumerate() {
            let unit = marks.unit(block, index);
            accumulator.step_by(unit, &anchors, block, |_, count, _| counts.push(count));
        }
        if let Some(&index) = promotion.writes.get(&block) {
            let write_back = WriteBack {
                probe: &probe,
                builder: Builder::before(anchors.at(parts, block, parts.blocks[block].top)),
                promoted: &promotion.loops[index],
                edge: BlockEdge {
                    from: graph.sources[block][0],
                    to: block,
                },
            };
            write_back.write(&mut register, counts);
        }
        register.step(&anchors, block, |builder, number, _| {
            let likely = likely.get(&block).copied();
            let likely = likely.filter(|likely: &LikelyCount| likely.increment == number.increment);
            match (number.register, likely) {
                (Some(register), Some(likely)) => {
                    likely_sites.push((block, LikelyCountSite::new(builder, register, likely)));
                }
                (Some(_), None) | (None, _) => probe.count(builder, number),
            }
        });
    }
    for (block, site) in &likely_sites {
        if let Some(next_start) = site.unchanged_start() {
            register.replace_at_end(*block, next_start);
        }
    }
    register.complete_phis(&positions);
    marks.complete_phis(parts, &graph);
    for accumulator in &accumulators {
        accumulator.complete_phis(&positions);
    }
    for (_, site) in likely_sites {
        site.split(parts, &probe);
    }
    slot
}

/// The counters that loops keep in registers: none where an increment has to be one instruction, or
/// calls the hash table.
fn promotion(
    parts: &FunctionParts<'_>,
    graph: &BlockGraph,
    sites: &Sites,
    frequencies: &TransitionFrequencies,
    counters: Counters,
    selector: InstructionSelector,
) -> Promotion {
    if matches!(counters, Counters::Hash { .. }) {
        return Promotion::none(graph, sites.clone());
    }
    let sites = with_nonnegative_increments(sites);
    if selector == InstructionSelector::Fast {
        return Promotion::none(graph, sites);
    }
    let promotion = Promotion::new(parts, graph, sites.clone(), frequencies);
    match promotion.lowest_first_counter() {
        0 => promotion,
        lowest => Promotion::new(parts, graph, shifted(&sites, lowest), frequencies),
    }
}
