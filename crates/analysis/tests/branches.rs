//! Tests of the ranking of branches: numbers checked by hand, and a naive count of contexts.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::HashMap;
use std::sync::Arc;

use build::{SLIDE_FIRST, SLIDE_SECOND, count_edges, fact, function, run_of, slide};
use holloway_abi::Kind;
use holloway_analysis::branches::{Branch, MAX_PREVIOUS, PreviousPaths, Ranking, hardest};
use holloway_analysis::loops::{Limits, LoopsBuilder, LoopsRun, seal};
use holloway_analysis::paths::regenerate;
use holloway_analysis::stream::Words;
use holloway_analysis::trace::Trace;
use holloway_analysis::unpredictable::{least_executions, unpredictable_branches};
use holloway_analysis::{Function, RunProfile};
use holloway_flow::{PathEnd, PathId, PathStart};
use holloway_format::{Count, FunctionMap, ImageMap, LoopsHead, Outcome, ProcessImage};
use holloway_testkit::build;
use holloway_testkit::streams::placed;
use holloway_testkit::traces::trace;
use proptest::prelude::*;

fn rank(run: &RunProfile) -> Ranking {
    hardest(run, None, None, &|_| true)
}

/// The branches as (block, executions, taken, alone, path so far).
fn numbers(ranking: &Ranking) -> Vec<(u32, u64, u64, u64, Option<u64>)> {
    let numbers = |branch: &Branch| {
        let mispredictions = &branch.mispredictions;
        let path = mispredictions.path.map(|count| count.0);
        let alone = mispredictions.alone.0;
        (
            branch.block,
            branch.executions.0,
            branch.taken.0,
            alone,
            path,
        )
    };
    ranking.branches.iter().map(numbers).collect()
}

/// The slides' graph. A leads to C (150) and B (120), D to E (160) and F (110), B to C (100) and D
/// (20). In the first profile, ACD leads to F 90 and E 60 times, ABCD only to E, and ABD only to F.
/// In the second, ACD leads to F 110 and E 40 times, and both other prefixes only to E.
/// The second and the third prefix cost one misprediction each.
#[test]
fn contexts_of_the_slides_are_path_prefixes() {
    let first = rank(&run_of(slide(), SLIDE_FIRST));
    assert_eq!(
        numbers(&first),
        [
            (0, 270, 120, 120, Some(120)),
            (3, 270, 160, 110, Some(62)),
            (1, 120, 100, 20, Some(20))
        ]
    );
    assert_eq!(
        (first.ranked, first.executions, first.mispredictions),
        (3, Count(660), Count(202))
    );
    let second = rank(&run_of(slide(), SLIDE_SECOND));
    let expect = [
        (0, 270, 120, 120, Some(120)),
        (3, 270, 160, 110, Some(42)),
        (1, 120, 100, 20, Some(20)),
    ];
    assert_eq!(numbers(&second), expect);
    let outcomes = &second.branches[1].outcomes;
    let outcomes: Vec<_> = outcomes.iter().map(|o| (o.to, o.count.0)).collect();
    assert_eq!(outcomes, [(4, 160), (5, 110)]);
}

/// Edge counts have no paths, so each branch is predicted alone.
#[test]
fn edges_have_no_context() {
    let map = count_edges(&slide(), &[]).unwrap();
    let edges = [150, 120, 100, 20, 250, 110, 160, 160, 270];
    let counters = map.counted.iter().map(|&edge| edges[edge as usize]);
    let counters: Vec<(u64, u64)> = (0u64..).zip(counters).collect();
    let ranking = rank(&run_of(map, &counters));
    let expect = [
        (0, 270, 120, 120, None),
        (3, 270, 160, 110, None),
        (1, 120, 100, 20, None),
    ];
    assert_eq!(numbers(&ranking), expect);
}

/// A call that may not come back is no branch, but the test before it is one.
#[test]
fn frames_that_were_left_are_no_outcomes() {
    let map = fact().done();
    let counts: Vec<(u64, u64)> = (0..map.path_count).map(|path| (path, 10)).collect();
    let ranking = rank(&run_of(map, &counts));
    let blocks: Vec<u32> = ranking.branches.iter().map(|branch| branch.block).collect();
    assert_eq!(blocks, [0]);
    assert_eq!(ranking.branches[0].mispredictions.alone, Count(10));
}

/// A switch with two cases to one block: the block is one outcome, and cases count as taken.
fn switch() -> FunctionMap {
    function("f", "f.c", 1)
        .block(1, &[(0, 1)])
        .block(1, &[(0, 2)])
        .block(1, &[(0, 3)])
        .block(1, &[(0, 4)])
        .block(0, &[])
        .edge(0, 1, Outcome::Case(1))
        .edge(0, 1, Outcome::Case(2))
        .edge(0, 2, Outcome::Case(3))
        .edge(0, 3, Outcome::Default)
        .edge(1, 4, Outcome::Return)
        .edge(2, 4, Outcome::Return)
        .edge(3, 4, Outcome::Return)
        .done()
}

#[test]
fn outcomes_of_a_switch_are_its_targets() {
    let map = switch();
    let run = run_of(map, &[(0, 1), (1, 1), (2, 1), (3, 1)]);
    let ranking = rank(&run);
    let branch = &ranking.branches[0];
    let outcomes: Vec<_> = branch.outcomes.iter().map(|o| (o.to, o.count.0)).collect();
    assert_eq!(outcomes, [(1, 2), (2, 1), (3, 1)]);
    assert_eq!((branch.executions, branch.taken), (Count(4), Count(3)));
    // The shares are 1/2, 1/4, and 1/4.
    assert!((branch.entropy() - 1.5).abs() < 1e-12);
    assert_eq!(branch.mispredictions.alone, Count(2));
    assert_eq!(branch.mispredictions.path, Some(Count(2)));
}

#[test]
fn entropies_are_between_0_and_1_bit_for_two_outcomes() {
    let entropy = |counts: &[(u64, u64)]| {
        let ranking = rank(&run_of(fact().done(), counts));
        ranking.branches.first().map(Branch::entropy)
    };
    let map = fact().done();
    let base = build::path_number(&map, &[0, 1]);
    let one = entropy(&[(base, 7)]).unwrap();
    assert!(one == 0.0 && one.is_sign_positive());
    // The counter of the path that is left in the call says how often the call was reached.
    let reached = build::path_number(&map, &[0, 2]);
    let returned = build::path_number(&map, &[0, 2, 3]);
    let mut counts = [(base, 1), (reached, 3), (returned, 3)];
    counts.sort_unstable();
    // −¼ log₂ ¼ − ¾ log₂ ¾
    assert!((entropy(&counts).unwrap() - 0.811_278_124_459_132_8).abs() < 1e-12);
    assert_eq!(entropy(&[]), None);
}

#[test]
fn the_ranking_is_limited_but_its_sums_are_not() {
    let run = run_of(slide(), SLIDE_FIRST);
    let top = hardest(&run, None, Some(1), &|_| true);
    assert_eq!(top.branches.len(), 1);
    assert_eq!((top.ranked, top.mispredictions), (3, Count(202)));
    assert_eq!(hardest(&run, None, None, &|_| false).ranked, 0);
}

/// A loop of branches. Paths begin at the entry or at the loop head, and end with a back edge or at
/// the exit.
fn branches() -> FunctionMap {
    let mut build = function("f", "f.c", 1);
    for block in 0..7 {
        build = build.block(block + 1, &[]);
    }
    build
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 2, Outcome::True)
        .edge(1, 3, Outcome::False)
        .edge(2, 4, Outcome::Case(1))
        .edge(2, 4, Outcome::Case(2))
        .edge(2, 5, Outcome::Default)
        .edge(3, 4, Outcome::Jump)
        .edge(4, 5, Outcome::True)
        .edge(4, 6, Outcome::False)
        .edge(5, 1, Outcome::Jump)
        .edge(6, 1, Outcome::True)
        .edge(6, 7, Outcome::False)
        .done()
}

/// The outcomes of each branch in each context: its block, the previous paths, and the edges of the
/// path so far.
type NaiveContexts = HashMap<(u32, Vec<PathId>, Vec<u32>), HashMap<u32, u64>>;

/// Regenerates a path, and counts the outcomes along it.
fn count_naively(
    contexts: &mut NaiveContexts,
    function: &Function,
    previous: &[PathId],
    (id, count): (PathId, Count),
) {
    let path = regenerate(function, id).unwrap();
    let mut prefix = vec![path.blocks[0].0, u32::MAX];
    for edge in path.edges.iter().chain([&path.end.edge()]) {
        let edge_map = &function.map.edges[edge.index()];
        let key = (edge_map.from, previous.to_vec(), prefix.clone());
        let outcomes = contexts.entry(key).or_default();
        *outcomes.entry(edge_map.to).or_default() += count.0;
        prefix.push(edge.0);
    }
}

/// The mispredictions of each block: the missed executions, and one for each further context.
fn missed_naively(contexts: NaiveContexts) -> HashMap<u32, u64> {
    let mut missed: HashMap<u32, u64> = HashMap::new();
    for ((block, _, _), outcomes) in contexts {
        let sum: u64 = outcomes.values().sum();
        let learned = u64::from(missed.contains_key(&block));
        *missed.entry(block).or_default() += sum - outcomes.values().max().unwrap() + learned;
    }
    missed
}

fn naive(function: &Function) -> HashMap<u32, u64> {
    let mut contexts = NaiveContexts::new();
    for &counted in &function.counts {
        count_naively(&mut contexts, function, &[], counted);
    }
    missed_naively(contexts)
}

/// The mispredictions of each block, given up to `most` previous paths of the activation.
fn naive_with_previous(
    function: &Function,
    activations: &[Vec<PathId>],
    most: usize,
) -> HashMap<u32, u64> {
    let mut contexts = NaiveContexts::new();
    for paths in activations {
        for (index, &path) in paths.iter().enumerate() {
            let previous = &paths[index.saturating_sub(most)..index];
            count_naively(&mut contexts, function, previous, (path, Count(1)));
        }
    }
    missed_naively(contexts)
}

/// Activations of `branches`, from random choices: a path from the entry, and then paths from the
/// loop head up to a path that leaves the function.
fn activations(choices: &[Vec<usize>]) -> Vec<Vec<PathId>> {
    let map = branches();
    let numbering = build::compute_numbering(&map);
    let all: Vec<(PathId, bool, bool)> = (0..map.path_count)
        .map(|id| {
            let path = numbering.regenerate(PathId(id)).unwrap();
            let enters = path.start == PathStart::Entry;
            (PathId(id), enters, matches!(path.end, PathEnd::Exit(_)))
        })
        .collect();
    let activation = |choices: &Vec<usize>| {
        let mut paths: Vec<PathId> = Vec::new();
        for (index, choice) in choices.iter().enumerate() {
            let is_last = index + 1 == choices.len();
            let fitting = all
                .iter()
                .filter(|&&(_, enters, leaves)| enters == paths.is_empty() && leaves == is_last);
            let fitting: Vec<_> = fitting.collect();
            paths.push(fitting[choice % fitting.len()].0);
        }
        paths
    };
    choices.iter().map(activation).collect()
}

/// The words of activations.
fn words_of(image: &Arc<ImageMap>, activations: &[Vec<PathId>]) -> Vec<u32> {
    let first = Words::new(image).functions().next().unwrap().first;
    let paths = activations.iter().flatten();
    paths.map(|path| first + path.0 as u32).collect()
}

fn loops_run(activations: &[Vec<PathId>], k: u32) -> LoopsRun {
    let image = placed(vec![branches()], Kind::Loops);
    let mut builder = LoopsBuilder::new(Words::new(&image), k, Limits::default());
    builder.feed(0, &words_of(&image, activations));
    let head = LoopsHead {
        process: ProcessImage {
            build_id: image.build_id,
            ..ProcessImage::default()
        },
        ..LoopsHead::default()
    };
    let counts = builder.stream_counts();
    let profile = seal(head, &Words::new(&image), &builder.finish(), counts);
    LoopsRun::new(vec![((*image).clone(), vec![profile])])
}

fn trace_of(image: &Arc<ImageMap>, activations: &[Vec<PathId>]) -> Trace {
    trace(image, &words_of(image, activations))
}

/// A branch that alternates is predicted by the previous path, but not by the path so far.
#[test]
fn alternation_follows_from_the_previous_path() {
    let map = branches();
    let path = |blocks: &[u32]| PathId(build::path_number(&map, blocks));
    let (left, right) = (path(&[1, 2, 4, 6]), path(&[1, 3, 4, 6]));
    // `path_number` returns the first path with these blocks; both lead back to the loop head or
    // both leave.
    let numbering = build::compute_numbering(&map);
    let again = |id: PathId| {
        let blocks = numbering.regenerate(id).unwrap().blocks;
        let same = |&id: &u64| {
            let path = numbering.regenerate(PathId(id)).unwrap();
            path.blocks == blocks && !matches!(path.end, PathEnd::Exit(_))
        };
        PathId((0..map.path_count).find(same).unwrap())
    };
    let (left, right) = (again(left), again(right));
    let mut paths = activations(&[vec![0, 0]]).remove(0);
    let end = paths.pop().unwrap();
    paths.extend([left, right].repeat(100));
    paths.push(end);
    let run = loops_run(&[paths], 2);
    let mut previous_paths = PreviousPaths::default();
    previous_paths.add_loops(&run);
    let ranking = hardest(&run.run, Some(&previous_paths), None, &|_| true);
    let mut all = ranking.branches.iter();
    let head = all.find(|branch| branch.block == 1).unwrap();
    let figures = &head.mispredictions;
    assert!(figures.path.unwrap() >= Count(100), "{figures:?}");
    assert_eq!(figures.previous.len(), 1);
    assert!(figures.expected() <= Count(4), "{figures:?}");
}

proptest! {
    #[test]
    fn contexts_are_counted_as_the_naive_twin_counts_them(counts in prop::collection::btree_map(0u64..40, 1u64..1000, 0..16)) {
        let map = branches();
        let counts: Vec<(u64, u64)> = counts.into_iter().filter(|&(path, _)| path < map.path_count).collect();
        let run = run_of(map, &counts);
        let expect = naive(&run.functions[0]);
        let ranking = rank(&run);
        for branch in &ranking.branches {
            let mispredictions = &branch.mispredictions;
            let expect = Count(expect[&branch.block]).min(mispredictions.alone);
            prop_assert_eq!(mispredictions.path, Some(expect));
            prop_assert!(branch.taken <= branch.executions);
            let entropy = branch.entropy();
            prop_assert!((0.0..=(branch.outcomes.len() as f64).log2() + 1e-12).contains(&entropy));
        }
        let costs: Vec<Count> = ranking.branches.iter().map(|branch| branch.mispredictions.expected()).collect();
        prop_assert!(costs.is_sorted_by(|a, b| a >= b));
        prop_assert_eq!(ranking.mispredictions, costs.into_iter().fold(Count(0), Count::saturating_add));
    }

    #[test]
    fn previous_paths_equal_a_slow_reference_count(choices in prop::collection::vec(prop::collection::vec(0usize..40, 1..12), 1..6), k in 2u32..9) {
        let activations = activations(&choices);
        let loops = loops_run(&activations, k);
        let mut of_loops = PreviousPaths::default();
        of_loops.add_loops(&loops);
        let image = placed(vec![branches()], Kind::Trace);
        let trace = trace_of(&image, &activations);
        let mut of_trace = PreviousPaths::default();
        of_trace.add_trace(&image, &trace);
        for (previous_paths, most) in [(of_loops, k - 1), (of_trace, MAX_PREVIOUS)] {
            let ranking = hardest(&loops.run, Some(&previous_paths), None, &|_| true);
            let function = &loops.run.functions[0];
            for branch in &ranking.branches {
                let figures = &branch.mispredictions;
                prop_assert!(figures.previous.len() <= most as usize);
                let mut least = figures.alone;
                for (previous, &figure) in figures.path.iter().chain(&figures.previous).enumerate() {
                    let expect = naive_with_previous(function, &activations, previous);
                    least = least.min(Count(expect[&branch.block]));
                    prop_assert_eq!(figure, least, "{} previous", previous);
                }
                // More previous paths than an activation has make no difference.
                let longest = activations.iter().map(Vec::len).max().unwrap() - 1;
                prop_assert_eq!(figures.previous.len(), longest.min(most as usize));
            }
        }
    }
}

/// Both branches of A and B of the slides: 120 and 20 of 270 and 120 executions are mispredicted.
/// Edge counts find D, too, but the path before D tells most of its outcomes.
#[test]
fn unpredictable_branches_have_a_share_and_a_rate() {
    let run = run_of(slide(), SLIDE_SECOND);
    let map = &run.functions[0].map;
    let found = |run: &RunProfile, least| -> Vec<(usize, u64)> {
        let found = unpredictable_branches(run, None, Count(least)).into_iter();
        found
            .map(|branch| {
                assert_eq!(branch.function, map.linkage_name);
                assert_eq!(branch.graph_hash, map.graph_hash());
                (branch.edge, branch.mispredictions.0)
            })
            .collect()
    };
    let first_edge = |block: u32| {
        map.edges
            .iter()
            .position(|edge| edge.from == block)
            .unwrap()
    };
    // 660 executions of branches.
    assert_eq!(least_executions(&run), Count(1));
    assert_eq!(found(&run, 1), [(first_edge(0), 120)]);
    assert_eq!(found(&run, 271), []);
    // 42 and 20 are less than a fifth of 270 and 120. 62 is more.
    let run = run_of(slide(), SLIDE_FIRST);
    let expect = [(first_edge(0), 120), (first_edge(3), 62)];
    assert_eq!(found(&run, 1), expect);
}
