//! Plans of old programs: worked examples, and properties of all graphs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use holloway_analysis::old_plans::{CarriedOver, IgnoredPlace, Program, carry_over, function_code};
use holloway_format::{
    BlockContent, BlockMap, Count, EdgeMap, FunctionMap, FunctionPlan, Outcome, Place, Plan,
    PrefetchPlan, Text,
};
use proptest::prelude::*;

/// A function whose blocks are words: a number that stands for the instructions, and after each `+`
/// a callee. The last block is the exit. Blocks with two successors end with conditions. Each block
/// has one indirect call and two memory operations, and the first has code in line 3, column 4.
fn function(name: &str, blocks: &str, edges: &[(u32, u32)]) -> FunctionMap {
    let contents = blocks.split(' ').map(|word| {
        let mut parts = word.split('+');
        BlockContent {
            hash: parts.next().unwrap().parse().unwrap(),
            callees: parts.map(Into::into).collect(),
            indirect_calls: 1,
            sized_operations: 2,
        }
    });
    let contents: Vec<BlockContent> = contents.collect();
    let mut maps: Vec<EdgeMap> = Vec::new();
    for &(from, to) in edges {
        let place = None;
        let outcome = match edges.iter().filter(|(f, _)| *f == from).count() {
            2 if maps.iter().any(|edge| edge.from == from) => Outcome::False,
            2 => Outcome::True,
            _ => Outcome::Jump,
        };
        maps.push(EdgeMap {
            from,
            to,
            kind: holloway_format::EdgeKind::Plain,
            outcome,
            place,
        });
    }
    let mut blocks = vec![BlockMap::default(); contents.len()];
    blocks[0].places.push(Place {
        scope: 0,
        line: 3,
        column: 4,
    });
    FunctionMap {
        linkage_name: name.into(),
        exit: contents.len() as u32 - 1,
        blocks,
        edges: maps,
        contents,
        ..FunctionMap::default()
    }
}

fn counted(map: &FunctionMap, calls: u64, edges: &[u64]) -> (FunctionMap, FunctionPlan) {
    assert_eq!(edges.len(), map.edges.len());
    let plan = FunctionPlan {
        code: function_code(map).filter(|_| calls > 0),
        ..FunctionPlan::new(Count(calls), edges.iter().copied().map(Count))
    };
    (map.clone(), plan)
}

fn plan(functions: &[(FunctionMap, FunctionPlan)]) -> Plan {
    let functions = functions.iter();
    functions
        .map(|(map, plan)| (map.linkage_name.clone(), map.graph_hash(), plan.clone()))
        .collect()
}

fn carry(plan: &Plan, program: &[FunctionMap]) -> CarriedOver {
    carry_over(plan, &program.iter().collect::<Program>())
}

/// The counts of all edges of a function, if it has counts.
fn counts(carried: &CarriedOver, map: &FunctionMap) -> Option<Vec<u64>> {
    let found = carried.plan.find(&map.linkage_name, map.graph_hash())?;
    Some(
        (0..map.edges.len())
            .map(|edge| found.count(edge).0)
            .collect(),
    )
}

/// Unchanged, changed, and gone functions.
fn numbers(carried: &CarriedOver) -> [usize; 3] {
    let summary = carried.summary;
    [summary.unchanged, summary.changed, summary.gone]
}

const DIAMOND: &[(u32, u32)] = &[(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)];

/// A branch: 70 of 100 executions take the block 2, and 30 the block 3.
fn diamond() -> (FunctionMap, FunctionPlan) {
    let map = function("f", "1 2 3 4 0", DIAMOND);
    counted(&map, 100, &[70, 30, 70, 30, 100])
}

#[test]
fn an_inserted_block_gets_the_flow_of_its_edge() {
    let edges = [(0, 1), (0, 3), (1, 2), (2, 4), (3, 4), (4, 5)];
    let new = function("f", "1 9 2 3 4 0", &edges);
    let carried = carry(&plan(&[diamond()]), std::slice::from_ref(&new));
    assert_eq!(counts(&carried, &new), Some(vec![70, 30, 70, 70, 30, 100]));
    assert_eq!(numbers(&carried), [0, 1, 0]);
    // The edge 0-1 and its 70 executions are split.
    let summary = carried.summary;
    let executions = [summary.changed_matched, summary.changed_executions];
    assert_eq!(executions, [Count(330), Count(400)]);
    assert_eq!([summary.matched, summary.executions], executions);
    let calls = carried.plan.find("f", new.graph_hash()).unwrap().calls;
    assert_eq!(calls, Count(100));
}

#[test]
fn an_inserted_branch_takes_both_sides() {
    let edges = [
        (0, 1),
        (0, 2),
        (1, 3),
        (2, 3),
        (3, 4),
        (4, 5),
        (4, 6),
        (5, 6),
    ];
    let new = function("f", "1 2 3 4 8 9 0", &edges);
    let carried = carry(&plan(&[diamond()]), std::slice::from_ref(&new));
    assert_eq!(
        counts(&carried, &new),
        Some(vec![70, 30, 70, 30, 100, 50, 50, 50])
    );
}

#[test]
fn a_removed_block_leaves_its_flow() {
    let new = function("f", "1 2 4 0", &[(0, 1), (0, 2), (1, 2), (2, 3)]);
    let carried = carry(&plan(&[diamond()]), std::slice::from_ref(&new));
    assert_eq!(counts(&carried, &new), Some(vec![70, 30, 70, 100]));
}

#[test]
fn a_changed_condition_and_a_changed_graph_keep_the_branch() {
    // The block 1 has become 11, and a block was inserted at the end.
    let edges = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (4, 5)];
    let new = function("f", "11 2 3 4 9 0", &edges);
    let carried = carry(&plan(&[diamond()]), std::slice::from_ref(&new));
    assert_eq!(counts(&carried, &new), Some(vec![70, 30, 70, 30, 100, 100]));
    // With inverted sides, the counts follow the blocks.
    let edges = [(0, 2), (0, 1), (1, 3), (2, 3), (3, 4), (4, 5)];
    let new = function("f", "11 2 3 4 9 0", &edges);
    let carried = carry(&plan(&[diamond()]), std::slice::from_ref(&new));
    assert_eq!(counts(&carried, &new), Some(vec![30, 70, 70, 30, 100, 100]));
}

#[test]
fn calls_find_blocks_whose_instructions_changed() {
    let edges = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)];
    let old = function("f", "1 2+g 3+h 4 0", &edges);
    let old = counted(&old, 100, &[70, 30, 70, 30, 100]);
    // Both arms changed, and a third one was added.
    let edges = [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4), (4, 5)];
    let new = function("f", "1 7+k 12+g 13+h 4 0", &edges);
    let carried = carry(&plan(&[old]), std::slice::from_ref(&new));
    assert_eq!(
        counts(&carried, &new),
        Some(vec![0, 70, 30, 0, 70, 30, 100])
    );
}

#[test]
fn too_little_that_matches_gives_no_counts() {
    let new = function("f", "21 22 23 0", &[(0, 1), (0, 2), (1, 2), (2, 3)]);
    let carried = carry(&plan(&[diamond()]), std::slice::from_ref(&new));
    assert_eq!(numbers(&carried), [0, 0, 1]);
    assert_eq!(carried.plan, Plan::default());
    // Nothing says which way a new branch takes.
    let small = function("g", "1 0", &[(0, 1)]);
    let new = function("g", "1 2 3 0", &[(0, 1), (0, 2), (1, 3), (2, 3)]);
    let carried = carry(&plan(&[counted(&small, 9, &[9])]), &[new]);
    assert_eq!(numbers(&carried), [0, 0, 1]);
}

#[test]
fn functions_that_never_ran_stay_cold() {
    let map = function("f", "1 2 3 4 0", DIAMOND);
    let new = function("f", "21 22 0", &[(0, 1), (1, 2)]);
    let carried = carry(
        &plan(&[counted(&map, 0, &[0; 5])]),
        std::slice::from_ref(&new),
    );
    assert_eq!(numbers(&carried), [0, 1, 0]);
    assert_eq!(counts(&carried, &new), Some(vec![0, 0]));
}

#[test]
fn plans_without_code_match_equal_graphs_only() {
    let (map, mut counts) = diamond();
    counts.code = None;
    let old = plan(&[(map.clone(), counts)]);
    assert_eq!(numbers(&carry(&old, &[map])), [1, 0, 0]);
    let new = function("f", "1 2 4 0", &[(0, 1), (0, 2), (1, 2), (2, 3)]);
    assert_eq!(numbers(&carry(&old, &[new])), [0, 0, 1]);
}

#[test]
fn renamed_functions_are_found_by_their_code() {
    let (_, counts_of_f) = diamond();
    let new = function("fresh", "1 2 3 4 0", DIAMOND);
    let old = plan(&[diamond()]);
    let carried = carry(&old, std::slice::from_ref(&new));
    assert_eq!(numbers(&carried), [1, 0, 0]);
    let found = carried.plan.find("fresh", new.graph_hash());
    assert_eq!(found, Some(&counts_of_f));
    // With two such functions, or if the old name is still there, it is not certain.
    let twin = function("twin", "1 2 3 4 0", DIAMOND);
    assert_eq!(numbers(&carry(&old, &[new.clone(), twin])), [0, 0, 1]);
    let other = function("f", "7 8 0", &[(0, 1), (1, 2)]);
    assert_eq!(numbers(&carry(&old, &[new, other])), [0, 0, 1]);
}

#[test]
fn hashes_of_rust_names_do_not_matter() {
    let rust = |hash: &str| format!("_ZN5small4fast17h{hash}E");
    let map = function(&rust("0123456789abcdef"), "1 2 3 4 0", DIAMOND);
    let new = function(&rust("fedcba9876543210"), "1 2 3 4 0", DIAMOND);
    let old = counted(&map, 100, &[70, 30, 70, 30, 100]);
    let carried = carry(&plan(&[old]), std::slice::from_ref(&new));
    assert_eq!(counts(&carried, &new), Some(vec![70, 30, 70, 30, 100]));
}

/// Instances of a generic function have equal names but for their hashes.
#[test]
fn instances_are_told_apart_by_their_code() {
    let rust = |hash: u32| format!("_ZN5small4fast17h{hash:016x}E");
    let instance = |hash, blocks: &str| function(&rust(hash), blocks, DIAMOND);
    let old = plan(&[
        counted(&instance(1, "1 2 3 4 0"), 100, &[70, 30, 70, 30, 100]),
        counted(&instance(2, "1 5 6 7 0"), 10, &[1, 9, 1, 9, 10]),
    ]);
    // The order of the hashes is the other one, and one block of each has changed.
    let (a, b) = (instance(4, "1 2 3 8 0"), instance(3, "1 5 6 9 0"));
    let carried = carry(&old, &[a.clone(), b.clone()]);
    assert_eq!(counts(&carried, &a), Some(vec![70, 30, 70, 30, 100]));
    assert_eq!(counts(&carried, &b), Some(vec![1, 9, 1, 9, 10]));
    // Two equal instances cannot be told apart.
    let twins = [instance(3, "1 2 3 4 0"), instance(4, "1 2 3 4 0")];
    assert_eq!(numbers(&carry(&old, &twins)), [0, 0, 2]);
}

/// A caller, its callee with an unpredictable branch and a target, late counts, and a load.
fn with_places() -> (Vec<FunctionMap>, Plan) {
    let caller = function(
        "caller",
        "1 2+callee 3 0",
        &[(0, 1), (0, 2), (1, 2), (2, 3)],
    );
    let callee = function("callee", "1 2 3 4 0", DIAMOND);
    let mut functions = [
        counted(&caller, 5, &[4, 1, 4, 5]),
        counted(&callee, 4, &[2, 2, 2, 2, 4]),
    ];
    for (_, function) in &mut functions {
        function.unpredictable.insert(0, Count(2));
        function.add_target(0, "callee".into(), Count(3));
    }
    let mut plan = plan(&functions);
    for name in ["caller", "callee"] {
        let late = FunctionPlan::new(Count(5), [Count(5)]);
        plan.add_late([(name.into(), 99, late)].into_iter().collect());
        let load = PrefetchPlan {
            line: 3,
            column: 4,
            turns: 5,
        };
        plan.add_prefetch(name.into(), load);
    }
    (vec![caller, callee], plan)
}

/// The targets, unpredictable branches, late counts, and loads of a function.
fn places(carried: &CarriedOver, name: &str) -> [usize; 4] {
    let mut functions = carried
        .plan
        .functions()
        .filter(|(n, ..)| n.as_str() == name);
    let (_, _, function) = functions.next().unwrap();
    [
        function.targets.len(),
        function.unpredictable.len(),
        usize::from(carried.plan.find_late(name, 99).is_some()),
        carried.plan.prefetches(name).len(),
    ]
}

#[test]
fn a_plan_of_the_same_program_stays_as_it_is() {
    let (program, plan) = with_places();
    let carried = carry(&plan, &program);
    assert_eq!(carried.plan, plan);
    assert!(carried.summary.is_complete());
    assert_eq!(carried.ignored, []);
}

/// Two modules have copies of a function with the same graph, but with other code. Only one ran.
#[test]
fn copies_of_a_function_in_several_modules_may_differ() {
    let (program, plan) = with_places();
    let copy = function("callee", "1 2 3 5 0", DIAMOND);
    for order in [[0, 1, 2], [0, 2, 1], [2, 1, 0]] {
        let maps = [&program[0], &program[1], &copy];
        let program = order.map(|map| maps[map].clone());
        let carried = carry(&plan, &program);
        assert_eq!(carried.plan, plan, "{order:?}");
        assert_eq!((carried.ignored, carried.lost_loads), (vec![], vec![]));
    }
}

#[test]
fn places_of_changed_functions_and_of_their_callers_are_left_out() {
    let (program, plan) = with_places();
    // The callee's graph is the same, but not its code.
    let changed = function("callee", "1 2 3 5 0", DIAMOND);
    let carried = carry(&plan, &[program[0].clone(), changed]);
    assert_eq!(numbers(&carried), [2, 0, 0]);
    assert_eq!(places(&carried, "caller"), [0, 0, 0, 0]);
    assert_eq!(places(&carried, "callee"), [0, 0, 0, 0]);
    assert_eq!(carried.lost_loads, ["callee", "caller"].map(Text::from));
    // If the caller changes, the callee is still the same.
    let changed = function(
        "caller",
        "1 2+callee 9 0",
        &[(0, 1), (0, 2), (1, 2), (2, 3)],
    );
    let carried = carry(&plan, &[changed, program[1].clone()]);
    assert_eq!(places(&carried, "caller"), [0, 0, 0, 0]);
    assert_eq!(places(&carried, "callee"), [1, 1, 1, 1]);
    // Other lines concern only loads.
    let mut moved = program;
    moved[1].blocks[0].places.push(Place {
        scope: 0,
        line: 7,
        column: 1,
    });
    let carried = carry(&plan, &moved);
    assert_eq!(places(&carried, "caller"), [1, 1, 1, 0]);
    assert_eq!(places(&carried, "callee"), [1, 1, 1, 0]);
}

#[test]
fn places_get_the_new_names() {
    let (program, plan) = with_places();
    let mut renamed = program.clone();
    renamed[1].linkage_name = "other".into();
    renamed[0].contents[1].callees = vec!["other".into()];
    let carried = carry(&plan, &renamed);
    assert_eq!(numbers(&carried), [2, 0, 0]);
    assert_eq!(places(&carried, "other"), [1, 1, 1, 1]);
    let (_, _, other) = carried.plan.functions().nth(1).unwrap();
    let targets: Vec<_> = other.targets.keys().cloned().collect();
    assert_eq!(targets, [(0, "other".into())]);
}

#[test]
fn lines_that_fit_nothing_are_left_out_and_reported() {
    let (map, mut counts) = diamond();
    counts.unpredictable = [(0, Count(9)), (2, Count(9))].into();
    // The edges 0 and 2 follow one another, and the edges 0 and 3 do not.
    counts.tails = [(vec![0, 2, 4], Count(9)), (vec![0, 3], Count(9))].into();
    for site in [4, 5] {
        counts.add_target(site, "g".into(), Count(9));
        counts.add_size(2 * site, 8, Count(9));
    }
    let mut plan = plan(&[(map.clone(), counts)]);
    let load = |line, column| PrefetchPlan {
        line,
        column,
        turns: 5,
    };
    let loads = [load(3, 0), load(3, 4), load(3, 5), load(4, 0)];
    for load in loads {
        plan.add_prefetch("f".into(), load);
    }
    let carried = carry(&plan, std::slice::from_ref(&map));
    assert!(carried.ignored.iter().all(|line| line.function == "f"));
    let places: Vec<&IgnoredPlace> = carried.ignored.iter().map(|line| &line.place).collect();
    let expect = [
        &IgnoredPlace::Unpredictable(2),
        &IgnoredPlace::Tail(vec![0, 3]),
        &IgnoredPlace::Target(5),
        &IgnoredPlace::Size(10),
        &IgnoredPlace::Load { line: 3, column: 5 },
        &IgnoredPlace::Load { line: 4, column: 0 },
    ];
    assert_eq!(places, expect);
    let found = carried.plan.find("f", map.graph_hash()).unwrap();
    assert_eq!(found.unpredictable, [(0, Count(9))].into());
    assert_eq!(found.tails, [(vec![0, 2, 4], Count(9))].into());
    assert_eq!(found.targets, [((4, "g".into()), Count(9))].into());
    assert_eq!(found.sizes, [((8, 8), Count(9))].into());
    assert_eq!(carried.plan.prefetches("f"), [load(3, 0), load(3, 4)]);
}

/// A graph of blocks with different contents, the walks through it, and edges to split.
#[derive(Debug, Clone)]
struct Change {
    blocks: u32,
    extra: Vec<(u32, u32)>,
    walks: Vec<Vec<bool>>,
    split: Vec<bool>,
}

fn change() -> impl Strategy<Value = Change> {
    (2u32..12).prop_flat_map(|blocks| {
        let edge = (0..blocks, 1..blocks + 1);
        let walk = proptest::collection::vec(any::<bool>(), 0..40);
        (
            proptest::collection::vec(edge, 0..8),
            proptest::collection::vec(walk, 1..6),
            proptest::collection::vec(any::<bool>(), 24),
        )
            .prop_map(move |(extra, walks, split)| Change {
                blocks,
                extra,
                walks,
                split,
            })
    })
}

impl Change {
    /// A chain of blocks to the exit, and at most one more edge out of each block.
    fn edges(&self) -> Vec<(u32, u32)> {
        let mut edges: Vec<(u32, u32)> = (0..self.blocks).map(|block| (block, block + 1)).collect();
        for &(from, to) in &self.extra {
            let has_two = edges.iter().filter(|(f, _)| *f == from).count() == 2;
            if !has_two && to != from + 1 {
                edges.push((from, to));
            }
        }
        edges.sort_unstable();
        edges
    }

    /// The counts of the edges.
    fn counts(&self, edges: &[(u32, u32)]) -> Vec<u64> {
        let mut counts = vec![0; edges.len()];
        for walk in &self.walks {
            let (mut block, mut turns) = (0, walk.iter());
            while block < self.blocks {
                let second = turns.next().copied().unwrap_or(false);
                let ways = || (0..edges.len()).filter(|&edge| edges[edge].0 == block);
                let on = ways().find(|&edge| edges[edge].1 == block + 1).unwrap();
                let edge = ways().find(|&edge| edge != on).filter(|_| second);
                let edge = edge.unwrap_or(on);
                counts[edge] += 1;
                block = edges[edge].1;
            }
        }
        counts
    }
}

proptest! {
    /// Counts of unchanged edges are never wrong, and what enters a new block leaves it. (If all
    /// ways out of a block are split, nothing tells how often each of them ran.)
    #[test]
    fn blocks_on_edges_change_no_counts(change in change()) {
        let edges = change.edges();
        let counts_before = change.counts(&edges);
        let names = |blocks: &mut dyn Iterator<Item = u32>| -> String {
            let words: Vec<String> = blocks.map(|block| block.to_string()).collect();
            words.join(" ")
        };
        let old = function("f", &names(&mut (1..=change.blocks).chain([0])), &edges);
        let split: Vec<usize> = (0..edges.len()).filter(|&edge| change.split[edge]).collect();
        prop_assume!(!split.is_empty());
        // The new blocks come before the old ones, but after the entry.
        let added = split.len() as u32;
        let moved = |block: u32| if block == 0 { 0 } else { block + added };
        // The count of an unchanged edge, or `None` for both halves of a split one.
        let (mut new_edges, mut expect) = (Vec::new(), Vec::new());
        for (edge, &(from, to)) in edges.iter().enumerate() {
            let count = counts_before[edge];
            match split.iter().position(|&split| split == edge) {
                Some(block) => {
                    let block = block as u32 + 1;
                    new_edges.extend([(moved(from), block), (block, moved(to))]);
                    expect.extend([None, None]);
                }
                None => {
                    new_edges.push((moved(from), moved(to)));
                    expect.push(Some(count));
                }
            }
        }
        let new_blocks = [1].into_iter().chain((0..added).map(|block| 100 + block));
        let blocks = names(&mut new_blocks.chain(2..=change.blocks).chain([0]));
        let new = function("f", &blocks, &new_edges);
        let calls = change.walks.len() as u64;
        let carried = carry(&plan(&[counted(&old, calls, &counts_before)]), std::slice::from_ref(&new));
        let kept: u64 = (0..edges.len())
            .filter(|edge| !split.contains(edge))
            .map(|edge| counts_before[edge])
            .sum();
        if kept > 0 {
            let found = counts(&carried, &new).expect("counts");
            for (found, expect) in found.iter().zip(&expect) {
                prop_assert!(expect.is_none_or(|count| count == *found), "{:?}", carried);
            }
            for block in 1..=added {
                let sum = |end: fn(&(u32, u32)) -> u32| -> u64 {
                    let edges = new_edges.iter().zip(&found);
                    let at_block = edges.filter(|(edge, _)| end(edge) == block);
                    at_block.map(|(_, count)| count).sum()
                };
                prop_assert_eq!(sum(|edge| edge.0), sum(|edge| edge.1));
            }
            prop_assert_eq!(carried.summary.changed_matched, Count(kept + calls));
        } else {
            prop_assert_eq!(numbers(&carried), [0, 0, 1]);
        }
    }

    /// Equal functions match completely, even if many blocks are alike.
    #[test]
    fn equal_functions_keep_all_counts(
        change in change(),
        hashes in proptest::collection::vec(1u32..4, 12),
        is_renamed: bool,
    ) {
        let edges = change.edges();
        let words = hashes[..change.blocks as usize].iter().map(u32::to_string);
        let blocks: Vec<String> = words.chain(["0".to_owned()]).collect();
        let rust = |hash: u32| format!("_ZN5small4fast17h{hash:016x}E");
        let old = function(&rust(1), &blocks.join(" "), &edges);
        let new = function(&rust(1 + u32::from(is_renamed)), &blocks.join(" "), &edges);
        let calls = change.walks.len() as u64;
        let before = change.counts(&edges);
        let carried = carry(&plan(&[counted(&old, calls, &before)]), std::slice::from_ref(&new));
        prop_assert_eq!(numbers(&carried), [1, 0, 0]);
        prop_assert_eq!(carried.summary.matched, carried.summary.executions);
        prop_assert_eq!(counts(&carried, &new), Some(before));
    }
}
