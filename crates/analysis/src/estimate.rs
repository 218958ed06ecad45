//! Estimates the executions of blocks and edges from samples of addresses.
//!
//! The samples in a block, divided by its length in instructions, are proportional to its
//! executions if all instructions take the same time (Morph's manager: Zhang et al. 1997, section
//! 4). The unit here is an instruction that takes 1 ns, so estimates of runs with different
//! frequencies of samples can be compared. Such estimates are *time-based*: the executions of slow
//! blocks are overestimated.
//!
//! The estimates of single blocks do not form a flow. [`holloway_flow::inference`] finds the flow
//! that changes them least. The cost of a change is the number of samples that it adds or removes,
//! because a long block with many samples is known better than a short block with one sample.
//! Blocks of four instructions or more cost the same. A block without a sample costs 4 instead of
//! 10, because a missing sample is more likely than a wrong one. An exit edge and an unwinding cost
//! as much as a block. These costs were chosen among ten by the overlap with exact counts
//! (DESIGN.md).
//!
//! *Skid*: a sample may belong to the instruction or block before. It is not moved: the flow
//! corrects single blocks from their neighbors.
//!
//! Functions without samples, and code without known blocks, have no estimates.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use holloway_flow::inference::{Measure, infer};
use holloway_format::{Count, Counters, EdgeKind, FunctionMap, ImageMap, Outcome};

use crate::bounds::Forks;
use crate::flow::{Flow, clamped, graph_of};
use crate::join::{FunctionSums, Sums};
use crate::misfit::Misfit;
use crate::run::{CountBasis, Function, RunProfile};
use crate::samples::SampledRun;

/// Nanoseconds in a second.
const SECOND: u64 = 1_000_000_000;
/// Cost of adding a sample to a block.
const INCREASE: u32 = 10;
/// Cost of adding a sample to a block that has none.
const FIRST_INCREASE: u32 = 4;
/// Cost of removing a sample from a block.
const DECREASE: u32 = 10;
/// Lengths of blocks above this number cost the same.
const MAX_LENGTH: u32 = 4;
/// Cost of an execution of an exit edge or an unwinding.
const RARE_EDGE: u32 = MAX_LENGTH * DECREASE;

/// Estimates the executions of the functions that have samples in known blocks.
pub fn estimate(run: &SampledRun) -> RunProfile {
    let mut images: BTreeMap<[u8; 16], (&ImageMap, Sums)> = BTreeMap::new();
    let mut samples = Count::ZERO;
    for file in &run.files {
        let Some(map) = &file.map else {
            continue;
        };
        let (_, sums) = images.entry(map.build_id).or_insert((map, Sums::new()));
        for code in &file.code {
            let Some((index, block)) = code.block else {
                continue;
            };
            let blocks = map.function(index).map_or(0, |map| map.blocks.len());
            if (block as usize) < blocks && code.samples > Count::ZERO {
                let sum = sums.entry(index).or_default();
                sum.counts.push((block.into(), code.samples));
                samples = samples.saturating_add(code.samples);
            }
        }
    }
    let mut profile = RunProfile::new(Vec::new());
    profile.basis = CountBasis::Time { samples };
    profile.damage.clone_from(&run.damage);
    let period = (SECOND / run.frequency.max(1)).max(1);
    let mut derive = |profile: &mut RunProfile, function: &mut Function| {
        if let Err(misfit) = derive_flow(function, period) {
            profile.leave_out(function, misfit);
            function.ran = false;
        }
        function.counts.clear();
    };
    for (map, mut sums) in images.into_values() {
        sums.values_mut().for_each(FunctionSums::add_up);
        profile.note_damage(map);
        let mut map = map.clone();
        for function in map
            .modules
            .iter_mut()
            .flat_map(|module| &mut module.module.functions)
        {
            // Edges are known, and no paths.
            function.counters = Counters::Edges {
                offset: 0,
                len: 0,
                has_values: false,
            };
        }
        profile.add(map, sums, Vec::new(), Forks::Absent, &mut derive);
    }
    profile
}

/// Derives the flow of a function from the samples of its blocks. `period`: nanoseconds of a
/// sample.
fn derive_flow(function: &mut Function, period: u64) -> Result<(), Misfit> {
    let map = &function.map;
    let cfg = graph_of(map)?;
    let mut samples = vec![Count::ZERO; map.blocks.len()];
    for &(block, count) in &function.counts {
        samples[block.0 as usize] = count;
    }
    let inferred = infer(&cfg, &measures(map, &samples, period), &edge_costs(map));
    let edges = inferred.edges.iter().map(|&count| clamped(count.into()));
    let calls = Count(inferred.blocks[map.entry as usize]);
    function.flow = OnceLock::from(Flow::of_edges(map, edges.collect(), calls));
    Ok(())
}

fn measures(map: &FunctionMap, samples: &[Count], period: u64) -> Vec<Measure> {
    let lengths = map.blocks.iter().map(|block| block.instructions);
    let measures = lengths.zip(samples).map(|(length, &samples)| {
        let count = Count(executions(samples, period, length));
        // The exit has no instructions.
        measure(length, (length > 0).then_some(count))
    });
    measures.collect()
}

/// The measure of a block with this length and these measured executions.
pub(crate) fn measure(length: u32, count: Option<Count>) -> Measure {
    let Some(Count(count)) = count else {
        return Measure::Unknown;
    };
    let length = length.clamp(1, MAX_LENGTH);
    Measure::Executions {
        count,
        increase: length
            * match count {
                0 => FIRST_INCREASE,
                _ => INCREASE,
            },
        decrease: length * DECREASE,
    }
}

/// The executions of a block that has samples: at least one.
pub(crate) fn executions(samples: Count, period: u64, length: u32) -> u64 {
    let time = u128::from(samples.0) * u128::from(period);
    let executions = (time / u128::from(length.max(1))).max(samples.0.min(1).into());
    u64::try_from(executions).unwrap_or(u64::MAX)
}

pub(crate) fn edge_costs(map: &FunctionMap) -> Vec<u32> {
    let edges = map.edges.iter();
    edges
        .map(|edge| match (edge.kind, edge.outcome) {
            (EdgeKind::Exit, _) | (_, Outcome::Unwind | Outcome::Noreturn) => RARE_EDGE,
            (EdgeKind::Plain | EdgeKind::Pinned | EdgeKind::Cut, _) => 0,
        })
        .collect()
}
