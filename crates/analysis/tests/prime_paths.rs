//! Prime paths, compared with the definition on random graphs, and with random walks.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};

use holloway_abi::Kind;
use holloway_analysis::loops::{Limits, LoopsBuilder, LoopsRun, seal};
use holloway_analysis::prime_paths::{Matcher, PrimePaths};
use holloway_analysis::stream::Words;
use holloway_flow::{PathId, PathStart};
use holloway_format::{
    EdgeMap, FunctionIndex, FunctionMap, LoopsHead, Outcome, Place, ProcessImage,
};
use holloway_testkit::build::{function, numbering_of};
use holloway_testkit::streams::placed;
use proptest::prelude::*;

/// A function with these successors of each block; a block without any returns.
fn graph(successors: &[Vec<u32>]) -> FunctionMap {
    graph_with(successors, &[])
}

/// A function in which some blocks have no code.
fn graph_with(successors: &[Vec<u32>], empty: &[u32]) -> FunctionMap {
    let blocks = successors.len() as u32;
    let mut build = function("f", "f.c", 1);
    for block in 0..blocks {
        build = match empty.contains(&block) {
            false => build.block(1, &[(0, block + 1)]),
            true => build.block(0, &[]),
        };
    }
    build = build.block(0, &[]);
    for (block, next) in (0u32..).zip(successors) {
        build = match next[..] {
            [] => build.edge(block, blocks, Outcome::Return),
            [next] => build.edge(block, next, Outcome::Jump),
            [first, second] => {
                build
                    .edge(block, first, Outcome::True)
                    .edge(block, second, Outcome::False)
            }
            _ => unreachable!("at most two successors"),
        };
    }
    build.done()
}

fn primes(successors: &[Vec<u32>]) -> BTreeSet<Vec<u32>> {
    primes_of(&graph(successors))
}

fn primes_of(map: &FunctionMap) -> BTreeSet<Vec<u32>> {
    let primes = PrimePaths::new(map).unwrap();
    let count = primes.paths.len();
    let paths: BTreeSet<Vec<u32>> = primes.paths.into_iter().collect();
    assert_eq!(paths.len(), count, "each prime path once");
    paths
}

#[test]
fn a_loop_has_the_prime_paths_of_the_book() {
    let found = primes(&[vec![1], vec![2, 3], vec![1], vec![]]);
    let expected = [
        vec![0, 1, 2],
        vec![0, 1, 3],
        vec![1, 2, 1],
        vec![2, 1, 2],
        vec![2, 1, 3],
    ];
    assert_eq!(found, BTreeSet::from(expected));
}

#[test]
fn a_line_is_one_node() {
    assert_eq!(
        primes(&[vec![1], vec![2], vec![]]),
        BTreeSet::from([vec![0]])
    );
}

#[test]
fn a_block_that_leads_to_itself_is_a_cycle() {
    let found = primes(&[vec![1], vec![1, 2], vec![]]);
    let expected = [vec![0, 1, 2], vec![1, 1]];
    assert_eq!(found, BTreeSet::from(expected));
}

/// The binary search of Fazli and Afsharchi (2019), with the prime paths that GCC 15 tests its own
/// search with. Blocks 0 and 1 are one node here.
#[test]
fn a_binary_search_has_the_prime_paths_of_the_paper() {
    let successors: [&[u32]; 11] = [
        &[1],
        &[2],
        &[3, 4],
        &[10],
        &[5, 6],
        &[7],
        &[8, 9],
        &[2],
        &[10],
        &[7],
        &[],
    ];
    let expected: [&[u32]; 19] = [
        &[0, 2, 3, 10],
        &[0, 2, 4, 6, 8, 10],
        &[5, 7, 2, 4, 6, 9],
        &[4, 6, 9, 7, 2, 4],
        &[2, 4, 6, 9, 7, 2],
        &[6, 9, 7, 2, 4, 6],
        &[9, 7, 2, 4, 6, 9],
        &[7, 2, 4, 6, 9, 7],
        &[6, 9, 7, 2, 4, 5],
        &[4, 5, 7, 2, 4],
        &[2, 4, 5, 7, 2],
        &[5, 7, 2, 4, 5],
        &[7, 2, 4, 5, 7],
        &[4, 6, 9, 7, 2, 3, 10],
        &[5, 7, 2, 4, 6, 8, 10],
        &[9, 7, 2, 4, 6, 8, 10],
        &[4, 5, 7, 2, 3, 10],
        &[0, 2, 4, 6, 9, 7],
        &[0, 2, 4, 5, 7],
    ];
    let found = primes(&successors.map(<[u32]>::to_vec));
    assert_eq!(found, expected.map(<[u32]>::to_vec).into());
}

/// `while (…) { if (…) … else … }`: both ways meet in block 5, which jumps back to block 1.
const MEETING: [&[u32]; 7] = [&[1], &[2, 6], &[3, 4], &[5], &[5], &[1], &[]];

#[test]
fn a_block_in_which_ways_only_meet_is_no_node() {
    let meeting = MEETING.map(<[u32]>::to_vec);
    let mut direct = meeting.clone();
    direct[3] = vec![1];
    direct[4] = vec![1];
    let expected = primes(&direct);
    assert_eq!(expected.len(), 13);
    assert_eq!(primes_of(&graph_with(&meeting, &[5])), expected);
    assert_eq!(primes(&meeting).len(), 15);
}

#[test]
fn a_jump_with_a_place_of_its_own_is_a_node() {
    let mut map = graph_with(&MEETING.map(<[u32]>::to_vec), &[5]);
    let numbers: Vec<usize> = (0..map.edges.len())
        .filter(|&number| map.edges[number].to == 1)
        .collect();
    let [enter, back] = numbers[..] else {
        unreachable!("two edges lead to the loop");
    };
    // The loop's own jump back has the place of the loop.
    map.edges[back].place = map.edges[enter].place;
    assert_eq!(primes_of(&map).len(), 13);
    // `continue`
    map.edges[back].place = map.edges[enter].place.map(|place| Place {
        column: place.column + 8,
        ..place
    });
    assert_eq!(primes_of(&map).len(), 15);
}

#[test]
fn a_loop_without_code_is_a_cycle() {
    let map = graph_with(&[vec![1, 3], vec![2], vec![1], vec![]], &[1, 2]);
    let expected = [vec![0, 1], vec![0, 3], vec![1, 1]];
    assert_eq!(primes_of(&map), BTreeSet::from(expected));
}

#[test]
fn a_function_with_too_many_has_none() {
    // A chain of 20 diamonds has 2^20 prime paths.
    let mut successors = Vec::new();
    for diamond in 0..20 {
        let head = 3 * diamond;
        successors.extend([vec![head + 1, head + 2], vec![head + 3], vec![head + 3]]);
    }
    successors.push(Vec::new());
    assert_eq!(PrimePaths::new(&graph(&successors)), None);
}

/// The graph without empty blocks and with lines merged: the successors of each first block.
fn merged(map: &FunctionMap) -> BTreeMap<u32, BTreeSet<u32>> {
    let mut graph: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    let mut worklist = vec![map.entry];
    while let Some(block) = worklist.pop() {
        if graph.contains_key(&block) {
            continue;
        }
        let out = map
            .edges
            .iter()
            .filter(|edge| edge.from == block && edge.to != map.exit);
        let out: BTreeSet<u32> = out.map(|edge| edge.to).collect();
        worklist.extend(&out);
        graph.insert(block, out);
    }
    // These edges have no place if their block has no code.
    let is_empty = |block: u32| {
        let mut before = map.edges.iter().filter(|edge| edge.to == block);
        let is_split = |edge: &EdgeMap| edge.place.is_none();
        let may_skip = match (before.next(), before.next()) {
            (Some(only), None) => is_split(only),
            (Some(_), Some(_)) | (None, _) => true,
        };
        let out = map.edges.iter();
        let out = out.filter(|edge| edge.from == block && edge.to != map.exit);
        // A block that ends with a branch is a node, even if both ways lead to the same place.
        let has_code = map.blocks[block as usize].instructions > 0 || out.count() > 1;
        block != map.entry && !has_code && may_skip
    };
    while let Some((block, next)) = graph.iter().find_map(|(&block, out)| {
        let &next = out.first().filter(|_| out.len() == 1)?;
        is_empty(block).then_some((block, next))
    }) {
        graph.remove(&block);
        for out in graph.values_mut() {
            if out.remove(&block) {
                out.insert(next);
            }
        }
    }
    loop {
        let line = graph.iter().find_map(|(&block, out)| {
            let &next = out.first().filter(|_| out.len() == 1)?;
            let predecessors = graph.values().filter(|out| out.contains(&next)).count();
            (predecessors == 1 && next != map.entry && next != block).then_some((block, next))
        });
        let Some((block, next)) = line else {
            return graph;
        };
        let out = graph.remove(&next).unwrap();
        graph.insert(block, out);
    }
}

/// All simple paths, by definition.
fn simple_paths(graph: &BTreeMap<u32, BTreeSet<u32>>) -> Vec<Vec<u32>> {
    let mut paths: Vec<Vec<u32>> = graph.keys().map(|&block| vec![block]).collect();
    let mut next = 0;
    while next < paths.len() {
        let path = paths[next].clone();
        next += 1;
        if path.len() > 1 && path.first() == path.last() {
            continue;
        }
        for &to in &graph[path.last().unwrap()] {
            if !path[1..].contains(&to) && (to == path[0] || !path.contains(&to)) {
                paths.push([&path[..], &[to]].concat());
            }
        }
    }
    paths
}

fn is_part(part: &[u32], whole: &[u32]) -> bool {
    whole.windows(part.len()).any(|window| window == part)
}

/// Graphs in which every block is reached and reaches the return: along a line, with extra edges.
fn successors() -> impl Strategy<Value = Vec<Vec<u32>>> {
    let extra = prop::collection::vec(prop::option::of(1u32..7), 2..7);
    extra.prop_map(|extra| {
        let blocks = extra.len() as u32 + 1;
        let mut successors: Vec<Vec<u32>> = (0u32..)
            .zip(extra)
            .map(|(block, extra)| {
                let extra = extra
                    .map(|to| to.min(blocks - 1))
                    .filter(|&to| to != block + 1);
                std::iter::once(block + 1).chain(extra).collect()
            })
            .collect();
        successors.push(Vec::new());
        successors
    })
}

/// Blocks without code.
fn empty() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(0u32..7, 0..4)
}

/// The walk of an activation: at each branch, `choices` decide. After them, it goes to the end.
fn walk(map: &FunctionMap, choices: &[bool]) -> Vec<u32> {
    let mut choices = choices.iter();
    let mut walk = vec![map.entry];
    loop {
        let block = *walk.last().unwrap();
        let out: Vec<u32> = map
            .edges
            .iter()
            .filter(|edge| edge.from == block)
            .map(|edge| edge.to)
            .collect();
        let next = match out[..] {
            [next] => next,
            // The first successor leads to the end.
            _ => out[usize::from(*choices.next().unwrap_or(&false))],
        };
        if next == map.exit {
            return walk;
        }
        walk.push(next);
    }
}

/// A run whose activations take these walks.
fn run(map: &FunctionMap, walks: &[Vec<u32>], k: u32) -> LoopsRun {
    let image = placed(vec![map.clone()], Kind::Loops);
    let map = image.function(FunctionIndex::default()).unwrap();
    let numbering = numbering_of(map);
    let paths: Vec<_> = (0..map.path_count)
        .map(|number| (number as u32, numbering.regenerate(PathId(number)).unwrap()))
        .collect();
    let words = Words::new(&image);
    let first = words.function(0).first;
    let mut stream = Vec::new();
    for walk in walks {
        let mut at = 0;
        while at < walk.len() {
            // The only path that starts here and goes where the walk goes.
            let (number, path) = paths
                .iter()
                .find(|(_, path)| {
                    let blocks: Vec<u32> = path.blocks.iter().map(|block| block.0).collect();
                    let end = map.edges[path.end.edge().index()].to;
                    let next = walk.get(at + blocks.len()).copied().unwrap_or(map.exit);
                    (path.start == PathStart::Entry) == (at == 0)
                        && walk[at..].starts_with(&blocks)
                        && end == next
                })
                .unwrap();
            stream.push(first + number);
            at += path.blocks.len();
        }
    }
    let mut builder = LoopsBuilder::new(words, k, Limits::default());
    builder.feed(0, &stream);
    let head = LoopsHead {
        process: ProcessImage {
            build_id: image.build_id,
            ..ProcessImage::default()
        },
        ..LoopsHead::default()
    };
    let counts = builder.stream_counts();
    let sealed = seal(head, &Words::new(&image), &builder.finish(), counts);
    LoopsRun::new(vec![((*image).clone(), vec![sealed])])
}

proptest! {
    #[test]
    fn prime_paths_are_the_maximal_simple_paths(successors in successors(), empty in empty()) {
        let map = graph_with(&successors, &empty);
        let simple = simple_paths(&merged(&map));
        let is_maximal = |path: &&Vec<u32>| {
            !simple.iter().any(|other| other.len() > path.len() && is_part(path, other))
        };
        let expected: BTreeSet<Vec<u32>> = simple.iter().filter(is_maximal).cloned().collect();
        prop_assert_eq!(primes_of(&map), expected);
    }

    #[test]
    fn prime_paths_of_walks_are_found(
        successors in successors(),
        empty in empty(),
        choices in prop::collection::vec(prop::collection::vec(any::<bool>(), 0..12), 1..4),
        k in 2u32..5,
    ) {
        let map = graph_with(&successors, &empty);
        let walks: Vec<Vec<u32>> = choices.iter().map(|choices| walk(&map, choices)).collect();
        let loops = run(&map, &walks, k);
        let primes = PrimePaths::new(&map).unwrap();
        let mut matcher = Matcher::new(&primes);
        let longest = matcher.add(&loops.run.functions[0], loops.functions.first());
        prop_assert!(longest >= k as usize);
        let firsts: BTreeSet<u32> = merged(&map).into_keys().collect();
        let numbers = primes.paths.iter().zip(&primes.crossings).zip(&matcher.ran);
        for ((path, &crossings), &ran) in numbers {
            let mut walks = walks.iter();
            let expected = walks.any(|walk| {
                let walk = walk.iter().copied().filter(|block| firsts.contains(block));
                is_part(path, &walk.collect::<Vec<_>>())
            });
            if crossings < longest {
                prop_assert_eq!(ran, expected, "{:?} with {} crossings", path, crossings);
            } else {
                prop_assert!(!ran || expected, "{:?}", path);
            }
        }
    }
}
