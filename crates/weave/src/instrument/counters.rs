//! Inserts probes that count paths or edges in counters and hash tables.
//!
//! [`probe`](super::probe) emits the instructions, [`promote`](super::promote) chooses the counters
//! that loops keep in registers, and [`likely_counts`] chooses the counts that a comparison makes
//! cheaper. A counter's displacement must not be negative, because the code generator may emit it
//! with a zero-extended relocation. So if an increment is negative, all increments are raised, and
//! the path register is set to lower numbers ([`with_nonnegative_increments`]).

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
use super::values;
use super::variable::ProbeVariable;
use super::write_back::{FirstIterationMarks, WriteBack};
use crate::lower::{BlockIndex, FunctionParts};

/// Inserts all probes of a function. Returns the content of the thread's slot: the address of the
/// thread's block of counters, or of its ring.
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
    let slot_content = enter(parts, globals, &anchors);
    let probe = Probe {
        module: parts.function.module(),
        globals,
        counter_block: globals.counter_base_address(
            &Builder::before(anchors.anchor(parts, BlockIndex::ENTRY, 0)),
            slot_content,
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
                builder: Builder::before(anchors.anchor(parts, block, parts.blocks[block].top)),
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
    // On its likely path, a likely count need not set the register if it already has the value.
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
    if let Some(offset) = counters.values() {
        values::insert(parts, &probe, offset);
    }
    slot_content
}

/// Chooses the counters that loops keep in registers. There are none if the function counts in a
/// hash table, or if it is not optimized.
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
        // The first iteration's counter would have a negative displacement.
        lowest => Promotion::new(parts, graph, shifted(&sites, lowest), frequencies),
    }
}
