//! Tests that edge and block counts derived from path counts equal those of a tracer that counts
//! every edge.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use holloway_testkit::build;
use std::collections::BTreeMap;

use build::{
    SLIDE_FIRST, SLIDE_SECOND, compute_numbering, function, image, module, profile, slide,
};
use holloway_analysis::edges::of_function;
use holloway_analysis::misfit::Misfit;
use holloway_analysis::note::{FunctionPlace, Note};
use holloway_analysis::paths::{Ranked, hottest, instructions, regenerate};
use holloway_analysis::{FunctionId, RunProfile, Sort};
use holloway_flow::{BlockId, EdgeId, Path, PathEnd, PathId, PathStart};
use holloway_format::{Count, DagKind, FunctionMap, Outcome};
use proptest::prelude::*;

fn path_counts(counts: &[(u64, u64)]) -> Vec<(PathId, Count)> {
    let counts = counts.iter();
    counts
        .map(|&(path, count)| (PathId(path), Count(count)))
        .collect()
}

fn run_of(map: FunctionMap, counts: &[&[(u64, u64)]]) -> RunProfile {
    let image = image("app", vec![module("a", vec![map])]);
    let profiles = (1u32..)
        .zip(counts)
        .map(|(pid, counts)| profile(&image, pid, &[(0, 0, counts)]))
        .collect();
    RunProfile::new(vec![(image, profiles)])
}

fn edges(run: &RunProfile) -> Vec<(i64, i64, i64)> {
    of_function(&run.functions[0])
        .iter()
        .map(|edge| (edge.from, edge.to, edge.count))
        .collect()
}

#[test]
fn pp_slides_two_path_profiles_with_one_edge_profile() {
    let expect = [
        (-1, 0, 270),
        (0, 1, 120),
        (0, 2, 150),
        (1, 2, 100),
        (1, 3, 20),
        (2, 3, 250),
        (3, 4, 160),
        (3, 5, 110),
        (4, 5, 160),
        (5, -1, 270),
    ];
    let (first, second) = (
        run_of(slide(), &[SLIDE_FIRST]),
        run_of(slide(), &[SLIDE_SECOND]),
    );
    assert_eq!(edges(&first), expect);
    assert_eq!(edges(&second), expect);
    let top = |run: &RunProfile| hottest(run, Sort::Count, Some(1), &|_| Ranked::All).paths[0].path;
    assert_eq!((top(&first), top(&second)), (PathId(3), PathId(0)));
}

#[test]
fn processes_add_up() {
    let run = run_of(slide(), &[SLIDE_FIRST, SLIDE_SECOND, &[(5, 1)]]);
    assert_eq!(
        run.functions[0].counts,
        path_counts(&[(0, 200), (1, 100), (3, 200), (4, 20), (5, 21)])
    );
    assert_eq!(run.functions[0].flow().calls, Count(541));
}

/// The note that says that the counts of `slide` do not fit its map.
fn left_out(misfit: Misfit) -> Note {
    let function = FunctionPlace {
        image: "app".to_owned(),
        module: "a".to_owned(),
        name: "slide".to_owned(),
    };
    Note::LeftOut { function, misfit }
}

#[test]
fn counts_beyond_the_paths_are_damage() {
    let run = run_of(slide(), &[&[(0, 1), (6, 2), (7, 2)]]);
    assert_eq!(run.functions[0].counts, path_counts(&[(0, 1)]));
    assert_eq!(
        run.damage,
        [left_out(Misfit::CountsBeyond {
            counted: "path",
            numbers: 2,
            first: 6,
            limit: 6,
        })]
    );
}

#[test]
fn a_function_with_an_invalid_numbering_is_left_out() {
    let mut map = slide();
    map.dag[1].value += 1;
    let run = run_of(map, &[SLIDE_FIRST]);
    assert!(!run.functions[0].ran());
    let Note::LeftOut { misfit, .. } = run.damage[0] else {
        panic!("{:?}", run.damage[0]);
    };
    assert!(matches!(misfit, Misfit::NoNumbering(_)), "{misfit}");
    assert_eq!(run.damage[0], left_out(misfit));
}

#[test]
fn a_function_with_a_missing_block_is_left_out_even_if_it_never_ran() {
    let mut map = slide();
    map.edges[3].to = 70;
    let run = run_of(map, &[]);
    assert!(run.functions.is_empty());
    assert_eq!(run.damage, [left_out(Misfit::NoBlock { block: 70 })]);
}

#[test]
fn sums_saturate() {
    let run = run_of(slide(), &[&[(0, u64::MAX), (1, u64::MAX)], &[(0, 1)]]);
    assert_eq!(run.functions[0].executions(), Count(u64::MAX));
    assert_eq!(run.functions[0].flow().calls, Count(u64::MAX));
}

#[test]
fn copies_of_a_function_are_shown_once() {
    let copy = || {
        function("shared", "shared.h", 4)
            .block(1, &[(0, 5)])
            .block(0, &[])
            .edge(0, 1, Outcome::Return)
            .done()
    };
    let modules = vec![
        module("a", vec![copy()]),
        module("b", vec![copy()]),
        module("c", vec![slide(), copy()]),
    ];
    let image = image("app", modules);
    let some = profile(&image, 1, &[(1, 0, &[(0, 7)])]);
    let run = RunProfile::new(vec![(image.clone(), vec![some])]);
    let shown: Vec<_> = run
        .functions
        .iter()
        .map(|f| (f.module.0, &*f.map.name, f.copies, f.executions().0))
        .collect();
    assert_eq!(shown, [(1, "shared", 3, 7), (2, "slide", 1, 0)]);
    let run = RunProfile::new(vec![(image, Vec::new())]);
    let shown: Vec<_> = run
        .functions
        .iter()
        .map(|f| (f.module.0, &*f.map.name, f.copies))
        .collect();
    assert_eq!(shown, [(0, "shared", 3), (2, "slide", 1)]);
}

/// Runs random walks through a function. Counts edges, and finished paths by number.
struct Tracer<'a> {
    map: &'a FunctionMap,
    ends: BTreeMap<u32, DagKind>,
    edges: Vec<i64>,
    calls: u64,
    instructions: u64,
    paths: BTreeMap<u64, u64>,
}

impl<'a> Tracer<'a> {
    fn new(map: &'a FunctionMap) -> Tracer<'a> {
        let ends = map.dag.iter().filter_map(|edge| match edge.kind {
            DagKind::Back(real) | DagKind::Cut(real) => Some((real, edge.kind)),
            DagKind::Edge(_) | DagKind::Start(_) => None,
        });
        let ends = ends.collect();
        let edges = vec![0; map.edges.len()];
        Tracer {
            map,
            ends,
            edges,
            calls: 0,
            instructions: 0,
            paths: BTreeMap::new(),
        }
    }

    /// Runs one call. At each block with n edges out, `choose(n)` returns the index of the edge
    /// that is taken.
    fn call(&mut self, mut choose: impl FnMut(usize) -> usize) {
        let numbering = compute_numbering(self.map);
        self.calls += 1;
        let mut path = Path {
            start: PathStart::Entry,
            blocks: vec![BlockId(self.map.entry)],
            edges: Vec::new(),
            end: PathEnd::Exit(EdgeId(0)),
        };
        loop {
            let block = path.blocks.last().unwrap().0;
            let out: Vec<u32> = (0u32..)
                .zip(&self.map.edges)
                .filter(|(_, e)| e.from == block)
                .map(|(i, _)| i)
                .collect();
            let edge = out[choose(out.len())];
            let to = self.map.edges[edge as usize].to;
            self.edges[edge as usize] += 1;
            let end = match self.ends.get(&edge) {
                Some(DagKind::Back(_)) => Some(PathEnd::Back(EdgeId(edge))),
                Some(_) => Some(PathEnd::Cut(EdgeId(edge))),
                None if to == self.map.exit => Some(PathEnd::Exit(EdgeId(edge))),
                None => None,
            };
            let Some(end) = end else {
                path.edges.push(EdgeId(edge));
                path.blocks.push(BlockId(to));
                continue;
            };
            path.end = end;
            *self
                .paths
                .entry(numbering.number_of(&path).unwrap().0)
                .or_default() += 1;
            self.instructions += path
                .blocks
                .iter()
                .map(|block| u64::from(self.map.blocks[block.index()].instructions))
                .sum::<u64>();
            if to == self.map.exit {
                return;
            }
            path = Path {
                start: PathStart::Loop(BlockId(to)),
                blocks: vec![BlockId(to)],
                edges: Vec::new(),
                end: path.end,
            };
        }
    }
}

/// Random graphs in which every block can reach the exit: each block has an edge to a later block,
/// and there are further random edges.
fn graphs() -> impl Strategy<Value = FunctionMap> {
    (1u32..9)
        .prop_flat_map(|blocks| {
            let forward = prop::collection::vec(any::<prop::sample::Index>(), blocks as usize);
            let more = prop::collection::vec((0..blocks, 1..=blocks, any::<bool>()), 0..14);
            (
                Just(blocks),
                forward,
                more,
                prop::collection::vec(0u32..9, blocks as usize),
            )
        })
        .prop_map(|(blocks, forward, more, instructions)| {
            let mut build = function("f", "f.c", 1);
            for (block, &instructions) in (1u32..).zip(&instructions) {
                build = build.block(instructions, &[(0, block)]);
            }
            build = build.block(0, &[]);
            for (from, to) in (0u32..).zip(forward) {
                let to = from + 1 + to.index((blocks - from) as usize) as u32;
                build = build.edge(from, to, Outcome::Jump);
            }
            for (from, to, cut) in more {
                build = build.edge(from, to, Outcome::Jump);
                if cut && to != blocks {
                    build = build.cut();
                }
            }
            build.done()
        })
}

proptest! {
    #[test]
    fn edge_counts_derived_from_paths_equal_the_edges_taken(map in graphs(), choices in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut tracer = Tracer::new(&map);
        let mut choices = choices.into_iter();
        let mut calls = 0;
        while choices.len() > 0 && calls < 20 {
            // Without remaining choices, the tracer takes the first edge of each block, which leads
            // forward.
            tracer.call(|count| choices.next().map_or(0, usize::from) % count);
            calls += 1;
        }
        let counts: Vec<(u64, u64)> = tracer.paths.iter().map(|(&path, &count)| (path, count)).collect();
        let (edges, calls, total) = (tracer.edges.clone(), tracer.calls, tracer.instructions);
        let run = run_of(map.clone(), &[&counts]);
        prop_assert!(run.damage.is_empty(), "{:?}", run.damage);
        let function = &run.functions[0];
        let flow = function.flow();
        prop_assert_eq!(&flow.edges, &edges);
        prop_assert_eq!(flow.calls, Count(calls));
        prop_assert_eq!(flow.instructions, Count(total));
        for (block, &count) in flow.blocks.iter().enumerate() {
            let into: i64 = map.edges.iter().zip(&edges).filter(|(e, _)| e.to as usize == block).map(|(_, &c)| c).sum();
            let calls = if block == map.entry as usize { calls } else { 0 };
            prop_assert_eq!(count, Count(into as u64 + calls));
        }
        for sort in [Sort::Count, Sort::Instructions] {
            let all = hottest(&run, sort, None, &|_| Ranked::All);
            prop_assert_eq!(all.paths.len(), counts.len());
            prop_assert!(all.paths.is_sorted_by_key(|path| std::cmp::Reverse(path.weight(sort))));
            for path in &all.paths {
                let blocks = regenerate(function, path.path).unwrap();
                prop_assert_eq!(path.instructions, instructions(function, &blocks));
                prop_assert_eq!(path.function, FunctionId(0));
            }
            prop_assert_eq!(&hottest(&run, sort, Some(2), &|_| Ranked::All).paths, &all.paths[..all.paths.len().min(2)]);
        }
    }
}

/// `outer` calls `inner` in one arm of a branch, and `inner` is inlined there. Of its two paths,
/// one runs through `inner`.
#[test]
fn paths_through_an_inlined_function() {
    let outer = function("outer", "a.c", 1)
        .inlined("inner", "a.c", 0, 4)
        .block(2, &[(0, 3)])
        .block(5, &[(1, 10), (0, 4)])
        .block(3, &[(0, 6)])
        .block(1, &[(0, 8)])
        .block(0, &[])
        .edge(0, 1, Outcome::True)
        .edge(0, 2, Outcome::False)
        .edge(1, 3, Outcome::Jump)
        .edge(2, 3, Outcome::Jump)
        .edge(3, 4, Outcome::Return)
        .done();
    let run = run_of(outer, &[&[(0, 10), (1, 7)]]);
    let map = &run.functions[0].map;
    let listed = |sort: Sort, name: &str| {
        let named = |scope: u32| *map.scopes[scope as usize].name == *name;
        let choose = |_| Ranked::through_scopes(map, &named);
        let paths = hottest(&run, sort, None, &choose).paths.into_iter();
        paths.map(|path| path.path).collect::<Vec<PathId>>()
    };
    for sort in [Sort::Count, Sort::Instructions] {
        // The naive answer: regenerate each path and look at its blocks.
        let naive = (0..2).map(PathId).filter(|&path| {
            let path = regenerate(&run.functions[0], path).unwrap();
            path.blocks.contains(&BlockId(1))
        });
        assert_eq!(listed(sort, "inner"), naive.collect::<Vec<_>>());
        assert_eq!(listed(sort, "inner").len(), 1);
        assert_eq!(listed(sort, "outer").len(), 2);
        assert_eq!(listed(sort, "other"), []);
    }
}
