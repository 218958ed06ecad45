//! Joins the counts of [branch records](crate::branch_records) with the path maps, so that the
//! views of counts show them. There are two profiles:
//!
//! - [`edges`]: all edges that records show. They need not form a flow: records begin and end in
//!   the middle of functions, and the beginning of a run is unlike its end.
//! - [`paths`]: the paths whose ends lie within one stack. Longer paths are missing, and so are the
//!   edges on them.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use holloway_abi::Unit;
use holloway_format::branches::FunctionBranches;
use holloway_format::{Count, Counters, EdgeKind, ImageMap};

use crate::bounds::Forks;
use crate::flow::{Flow, clamped};
use crate::join::{FunctionSums, Sums};
use crate::run::{CountBasis, Function, RunProfile};
use crate::samples::RecordedBranches;

/// A function that gives the numbers and counts of a function's edges or paths.
type CountsOf<'a> = dyn Fn(&ImageMap, &FunctionBranches) -> Vec<(u64, Count)> + 'a;

/// The edges that records show.
pub fn edges(records: &RecordedBranches) -> RunProfile {
    let sums = |map: &ImageMap, function: &FunctionBranches| {
        let edges = function.edges.iter();
        let edges = edges.map(|edge| (u64::from(edge.edge), edge.count));
        let map = map.function(function.index);
        // The number behind those of the edges stands for calls.
        let calls = map.map(|map| (map.edges.len() as u64, function.calls));
        edges.chain(calls).collect()
    };
    let mut derive = |_: &mut RunProfile, function: &mut Function| {
        let map = &function.map;
        let mut edges = vec![0i64; map.edges.len()];
        let mut calls = Count::ZERO;
        for &(number, count) in &function.counts {
            match edges.get_mut(number.0 as usize) {
                Some(edge) => *edge = clamped(count.0.into()),
                None => calls = count,
            }
        }
        function.ran = calls > Count::ZERO || edges.iter().any(|&count| count > 0);
        // Records show no exit edge.
        for (edge, count) in map.edges.iter().zip(&mut edges) {
            if edge.kind == EdgeKind::Exit {
                *count = 0;
            }
        }
        function.flow = OnceLock::from(Flow::of_edges(map, edges, calls));
        function.counts.clear();
    };
    join(records, Unit::Edges, &sums, &mut derive)
}

/// The paths that records show.
pub fn paths(records: &RecordedBranches) -> RunProfile {
    let sums = |_: &ImageMap, function: &FunctionBranches| function.paths.clone();
    let mut derive = |run: &mut RunProfile, function: &mut Function| run.derive_counts(function);
    join(records, Unit::Paths, &sums, &mut derive)
}

fn join(
    records: &RecordedBranches,
    unit: Unit,
    sums_of: &CountsOf<'_>,
    derive: &mut dyn FnMut(&mut RunProfile, &mut Function),
) -> RunProfile {
    let mut images: BTreeMap<[u8; 16], (&ImageMap, Sums)> = BTreeMap::new();
    for (map, functions) in &records.files {
        let (_, sums) = images.entry(map.build_id).or_insert((map, Sums::new()));
        for function in functions {
            let sum = sums.entry(function.index).or_default();
            let counts = sums_of(map, function).into_iter();
            sum.counts
                .extend(counts.filter(|&(_, count)| count > Count::ZERO));
        }
    }
    let mut profile = RunProfile::new(Vec::new());
    profile.basis = CountBasis::Branches {
        branches: Count(records.facts.quality.branches),
        depth: records.facts.depth,
        unit,
    };
    for (map, mut sums) in images.into_values() {
        sums.values_mut().for_each(FunctionSums::add_up);
        profile.note_damage(map);
        let mut map = map.clone();
        if unit == Unit::Edges {
            let modules = map.modules.iter_mut();
            for function in modules.flat_map(|module| &mut module.module.functions) {
                function.counters = Counters::Edges {
                    offset: 0,
                    len: 0,
                    has_values: false,
                };
            }
        }
        profile.add(map, sums, Vec::new(), Forks::Absent, derive);
    }
    profile
}
