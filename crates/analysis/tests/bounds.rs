//! Tests of the bounds of counts if frames that were left in calls are not counted. The bounds are
//! compared with the errors that single frames cause.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use build::{Build, count_edges, function, image, module, profile};
use holloway_analysis::RunProfile;
use holloway_analysis::bounds::{Bound, Bounds};
use holloway_flow::{EdgeCounters, EdgeId};
use holloway_format::{EdgeKind, FunctionMap, Outcome};
use holloway_testkit::build;
use proptest::prelude::*;
use std::collections::VecDeque;

fn bounds_of(map: FunctionMap) -> Bounds {
    let image = image("app", vec![module("a", vec![map])]);
    let profile = profile(&image, 1, &[(0, 0, &[])]);
    let run = RunProfile::new(vec![(image, vec![profile])]);
    run.functions[0].bounds().clone()
}

/// Builds a chain of blocks to the exit, with the extra edges `extra` and exit edges out of the
/// blocks `left`.
fn graph(blocks: u32, extra: &[(u32, u32)], left: &[u32]) -> Build {
    let mut build = function("f", "f.c", 1);
    for block in 0..blocks {
        build = build.block(1, &[(0, 2 + block)]);
    }
    build = build.block(0, &[]);
    for block in 0..blocks {
        build = build.edge(block, block + 1, Outcome::Jump);
    }
    for &(from, to) in extra {
        build = build.edge(from, to, Outcome::Case(to.into()));
    }
    left.iter().fold(build, |build, &block| build.left(block))
}

/// The edges of a shortest route from the entry to a block.
fn route_to(map: &FunctionMap, block: u32) -> Vec<usize> {
    let mut last: Vec<Option<usize>> = vec![None; map.blocks.len()];
    let mut queue = VecDeque::from([map.entry]);
    while let Some(from) = queue.pop_front() {
        for (index, edge) in map.edges.iter().enumerate() {
            let is_new = edge.to != map.entry && last[edge.to as usize].is_none();
            if edge.from == from && edge.kind != EdgeKind::Exit && is_new {
                last[edge.to as usize] = Some(index);
                queue.push_back(edge.to);
            }
        }
    }
    let mut route = Vec::new();
    let mut current = block;
    while current != map.entry {
        let edge = last[current as usize].unwrap();
        route.push(edge);
        current = map.edges[edge].from;
    }
    route
}

fn bound(error: i64) -> Bound {
    match error {
        0 => Bound::Exact,
        1.. => Bound::AtMost,
        _ => Bound::AtLeast,
    }
}

/// Computes the bounds from single frames. Each frame runs into one block that may leak. The
/// frame's counters are propagated, and the result is compared with the frame's route.
fn naive(map: &FunctionMap) -> Bounds {
    let cfg = build::cfg(map);
    let ids = |edges: &[u32]| edges.iter().copied().map(EdgeId).collect();
    let counters = EdgeCounters::from_parts(&cfg, ids(&map.counted), ids(&map.tree)).unwrap();
    let mut bounds = Bounds {
        calls: Bound::Exact,
        blocks: vec![Bound::Exact; map.blocks.len()],
        edges: vec![Bound::Exact; map.edges.len()],
    };
    for &block in &map.leaks {
        let route = route_to(map, block);
        let executions = |edge: usize| route.iter().filter(|&&other| other == edge).count() as i64;
        let from = |edge: usize| map.edges[edge].from;
        let outflow = |block: u32| route.iter().filter(|&&edge| from(edge) == block).count() as u64;
        let counts = map.counted.iter().map(|&edge| {
            let edge_map = &map.edges[edge as usize];
            match edge_map.kind {
                // The counter of an exit edge is in the middle of its block.
                EdgeKind::Exit => outflow(edge_map.from),
                EdgeKind::Plain | EdgeKind::Pinned | EdgeKind::Cut => {
                    executions(edge as usize).cast_unsigned()
                }
            }
        });
        let propagated = counters.propagate(&cfg, &counts.collect::<Vec<u64>>());
        bounds.calls = bounds.calls.and(bound(propagated.calls - 1));
        let mut blocks = vec![0; map.blocks.len()];
        blocks[map.entry as usize] += propagated.calls - 1;
        for (index, edge) in map.edges.iter().enumerate() {
            let error = propagated.edges[index] - executions(index);
            bounds.edges[index] = bounds.edges[index].and(bound(error));
            blocks[edge.to as usize] += error;
        }
        for (bound_of_block, error) in bounds.blocks.iter_mut().zip(blocks) {
            *bound_of_block = bound_of_block.and(bound(error));
        }
    }
    bounds
}

proptest! {
    #[test]
    fn bounds_equal_the_errors_of_single_frames(
        blocks in 1u32..9,
        extra in prop::collection::vec((0u32..9, 0u32..10), 0..9),
        left in prop::collection::btree_set(0u32..9, 0..3),
        leaks in prop::collection::btree_set(0u32..9, 0..5),
        weights in prop::collection::vec(0u64..20, 0..20),
    ) {
        let extra: Vec<(u32, u32)> = extra
            .into_iter()
            .map(|(from, to)| (from % blocks, to % blocks + 1))
            .collect();
        let left: Vec<u32> = left.into_iter().filter(|block| *block < blocks).collect();
        let map = graph(blocks, &extra, &left).unfinished();
        let Some(mut map) = count_edges(&map, &weights) else {
            return Ok(());
        };
        map.leaks = leaks.into_iter().filter(|block| *block < blocks).collect();
        prop_assert_eq!(bounds_of(map.clone()), naive(&map));
    }
}

/// Reports of large functions must not take minutes. In this function, each block may leak.
#[test]
fn large_functions_are_bounded_in_linear_time() {
    let blocks = 50_000;
    let extra: Vec<(u32, u32)> = (0..blocks - 2).map(|block| (block, block + 2)).collect();
    let mut map = graph(blocks, &extra, &[]).edges();
    map.leaks = (0..blocks).collect();
    let by_edges = bounds_of(map.clone());
    assert_ne!(by_edges.sum(), Bound::Exact);
    // Paths are counted on a chain of blocks, which has only one path.
    let mut map = graph(blocks, &[], &[]).done();
    map.leaks = (0..blocks).collect();
    let by_paths = bounds_of(map);
    assert_eq!(by_paths.calls, Bound::AtLeast);
}
