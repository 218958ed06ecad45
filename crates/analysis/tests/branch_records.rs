//! Tests of the edges and paths that branch records show, against a machine that counts them
//! exactly.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::sync::Arc;

use holloway_analysis::branch_records::{
    BranchRecords, CodeLayout, CodeRange, Jump, LooseRecord, Place, TakenBranch,
};
use holloway_format::branches::{BranchQuality, FunctionBranches};
use holloway_format::{Count, FunctionIndex, FunctionMap, ImageMap, Outcome};
use holloway_testkit::branches::{ExactCounts, Machine};
use holloway_testkit::build::{function, image, module, slide};
use proptest::prelude::*;

/// Branches of a stack, as hardware has them.
const STACK: usize = 32;

/// The example in the module's documentation.
fn example() -> (ImageMap, CodeLayout) {
    let map = function("f", "f.c", 1)
        .block(2, &[(0, 1)])
        .block(2, &[(0, 2)])
        .block(2, &[(0, 3)])
        .block(2, &[(0, 4)])
        .block(2, &[(0, 5)])
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 2, Outcome::True)
        .edge(1, 3, Outcome::False)
        .edge(2, 3, Outcome::True)
        .edge(2, 4, Outcome::False)
        .edge(3, 1, Outcome::True)
        .edge(3, 5, Outcome::Return)
        .edge(4, 1, Outcome::Jump)
        .done();
    let range = |(block, start): (u32, u64)| CodeRange {
        start,
        end: start + 0x10,
        function: FunctionIndex::default(),
        block,
        is_symbol: block == 0,
    };
    let ranges = [(0, 0), (1, 0x10), (2, 0x20), (3, 0x30), (4, 0x40)].map(range);
    let image = image("app", vec![module("a", vec![map])]);
    (image, CodeLayout::new(ranges.to_vec()))
}

fn jump(from: u64, to: u64) -> TakenBranch {
    TakenBranch {
        from: Place::Inside(from),
        to: Place::Inside(to),
        jump: Jump::Jump,
        mispredicted: false,
    }
}

fn counted(
    image: &ImageMap,
    layout: &CodeLayout,
    stacks: &[&[TakenBranch]],
) -> (Vec<FunctionBranches>, BranchQuality) {
    let mut records = BranchRecords::new(Arc::new(image.clone()), Arc::new(layout.clone()));
    stacks.iter().for_each(|stack| records.add_stack(stack));
    records.counts()
}

/// Edges with their counts.
fn edges(function: &FunctionBranches) -> Vec<(u32, u64)> {
    let edges = function.edges.iter();
    edges.map(|edge| (edge.edge, edge.count.0)).collect()
}

fn paths(function: &FunctionBranches) -> Vec<(u64, u64)> {
    let paths = function.paths.iter();
    paths.map(|&(path, count)| (path, count.0)).collect()
}

#[test]
fn the_example_of_the_documentation() {
    let (image, layout) = example();
    let stack = [jump(0x3e, 0x10), jump(0x2e, 0x40), jump(0x4e, 0x10)];
    let (functions, quality) = counted(&image, &layout, &[&stack]);
    let map = image.function(FunctionIndex::default()).unwrap();
    let [found] = &functions[..] else {
        panic!("{functions:?}");
    };
    // The untaken edge needs two of three branches: weight 3/2, rounded. The path needs all three:
    // weight 3.
    assert_eq!(edges(found), [(1, 2), (4, 1), (5, 1), (7, 1)]);
    let numbering = holloway_testkit::build::numbering_of(map);
    let [(path, 3)] = paths(found)[..] else {
        panic!("{found:?}");
    };
    let path = numbering.regenerate(holloway_flow::PathId(path)).unwrap();
    let blocks: Vec<u32> = path.blocks.iter().map(|block| block.0).collect();
    assert_eq!(blocks, [1, 2, 4]);
    assert_eq!((quality.stacks, quality.branches, quality.runs), (1, 3, 2));
    assert_eq!((quality.paths, quality.impossible_runs), (1, 0));
}

#[test]
fn impossible_runs_are_counted_and_nothing_follows_from_them() {
    let (image, layout) = example();
    // Backward, and out of the function.
    for (to, from) in [(0x30, 0x2c), (0x30, 0x80)] {
        let stack = [jump(0x3e, to), jump(from, 0x10)];
        let (functions, quality) = counted(&image, &layout, &[&stack]);
        assert_eq!(quality.impossible_runs, 1, "{to:x}");
        assert_eq!(quality.runs, 0, "{to:x}: {quality:?}");
        assert!(functions.iter().all(|function| function.paths.is_empty()));
    }
    let (functions, _) = counted(&image, &layout, &[&[]]);
    assert!(functions.is_empty());
}

#[test]
fn the_kernel_interrupts_a_run_without_breaking_it() {
    let (image, layout) = example();
    let interrupt = |at| {
        [
            TakenBranch {
                from: Place::Inside(at),
                to: Place::Kernel,
                ..jump(0, 0)
            },
            TakenBranch {
                from: Place::Kernel,
                to: Place::Inside(at),
                ..jump(0, 0)
            },
        ]
    };
    let [enter, leave] = interrupt(0x14);
    let stack = [
        jump(0x3e, 0x10),
        enter,
        leave,
        jump(0x2e, 0x40),
        jump(0x4e, 0x10),
    ];
    let (functions, quality) = counted(&image, &layout, &[&stack]);
    assert_eq!(quality.impossible_runs, 0);
    assert_eq!(paths(&functions[0]).len(), 1, "{functions:?}");
    // Control continues elsewhere: a signal handler ran, or branches are missing.
    let mut moved = leave;
    moved.to = Place::Inside(0x31);
    let stack = [jump(0x3e, 0x10), enter, moved, jump(0x3e, 0x10)];
    let (functions, _) = counted(&image, &layout, &[&stack]);
    assert_eq!(paths(&functions[0]).len(), 0, "{functions:?}");
}

/// With the filter for user mode, processors record the return from the kernel, and not the entry.
#[test]
fn the_kernel_is_entered_without_a_branch() {
    let (image, layout) = example();
    let back = |to| TakenBranch {
        from: Place::Kernel,
        to: Place::Inside(to),
        ..jump(0, 0)
    };
    let plain = [jump(0x3e, 0x10), jump(0x2e, 0x40), jump(0x4e, 0x10)];
    let (expected, _) = counted(&image, &layout, &[&plain]);
    let [(path, _)] = paths(&expected[0])[..] else {
        panic!("{expected:?}");
    };
    // At the target of a branch, within a block, at the start of the next block, and behind it.
    for to in [0x10, 0x14, 0x20, 0x24] {
        let [first, rest @ ..] = plain;
        let stack = [&[first, back(to)], &rest[..]].concat();
        let (functions, quality) = counted(&image, &layout, &[&stack]);
        assert_eq!(quality.impossible_runs, 0, "{to:x}");
        let found: Vec<u32> = edges(&functions[0]).iter().map(|&(edge, _)| edge).collect();
        assert_eq!(found, [1, 4, 5, 7], "{to:x}");
        let [(found, _)] = paths(&functions[0])[..] else {
            panic!("{to:x}: {functions:?}");
        };
        assert_eq!(found, path, "{to:x}");
    }
    // Backward, and into code without blocks: branches are missing.
    for place in [back(0x4), back(0x80)] {
        let stack = [jump(0x3e, 0x10), place, jump(0x2e, 0x40), jump(0x4e, 0x10)];
        let (functions, quality) = counted(&image, &layout, &[&stack]);
        assert!(quality.impossible_runs > 0, "{place:?}");
        assert!(functions.iter().all(|function| function.paths.is_empty()));
    }
}

fn branch(branch: TakenBranch, count: u64, mispredicted: u64) -> LooseRecord {
    LooseRecord {
        branch: Some(branch),
        run: None,
        count,
        mispredicted,
    }
}

fn straight(run: (u64, u64), count: u64) -> LooseRecord {
    LooseRecord {
        branch: None,
        run: Some(run),
        count,
        mispredicted: 0,
    }
}

/// The edges that records without stacks show, in the example.
fn loose(records: &[LooseRecord]) -> Vec<(u32, u64)> {
    let (image, layout) = example();
    let mut counts = BranchRecords::new(Arc::new(image), Arc::new(layout));
    counts.add_loose(records);
    let (functions, _) = counts.counts();
    functions.first().map(edges).unwrap_or_default()
}

/// b1 jumps to the first instruction of b3, which lies before the address where b3 starts. The
/// block before it is b2.
#[test]
fn a_branch_into_a_block_falls_through_to_the_next() {
    let taken = branch(jump(0x1e, 0x2c), 6, 1);
    assert_eq!(loose(&[taken]), [(2, 6)]);
    // The run from there begins in b3.
    assert_eq!(loose(&[taken, straight((0x2c, 0x3e), 6)]), [(2, 6)]);
    let run = Some((0x2c, 0x3e));
    assert_eq!(loose(&[LooseRecord { run, ..taken }]), [(2, 6)]);
    // A branch in between may lead elsewhere.
    let between = branch(jump(0x2e, 0x40), 2, 0);
    assert_eq!(loose(&[taken, between]), [(4, 2)]);
    // Control that returns behind a call in b2 is still in b2.
    let back = TakenBranch {
        jump: Jump::Return,
        ..jump(0x90, 0x2c)
    };
    let returns = [branch(back, 6, 0), straight((0x2c, 0x3e), 6)];
    assert_eq!(loose(&returns), [(3, 6)]);
    // No edge leads from b0 to b3.
    assert_eq!(loose(&[branch(jump(0x0e, 0x2c), 6, 0)]), []);
}

#[test]
fn sums_of_huge_counts_stop_at_the_largest_number() {
    let (image, layout) = example();
    let mut records = BranchRecords::new(Arc::new(image), Arc::new(layout));
    for _ in 0..2 {
        records.add_loose(&[
            branch(jump(0x3e, 0x10), u64::MAX, u64::MAX),
            straight((0x10, 0x2e), u64::MAX),
            straight((0x30, 0x10), u64::MAX),
        ]);
    }
    let (functions, quality) = records.counts();
    assert_eq!(edges(&functions[0]).len(), 2);
    let sums = [quality.branches, quality.runs, quality.impossible_runs];
    assert_eq!(sums, [u64::MAX; 3]);
    assert_eq!(functions[0].edges[1].mispredicted, Count(u64::MAX));
}

#[test]
fn branches_and_runs_without_stacks_count_edges_only() {
    let (image, layout) = example();
    let mut records = BranchRecords::new(Arc::new(image.clone()), Arc::new(layout.clone()));
    let call = TakenBranch {
        from: Place::Elsewhere,
        jump: Jump::Unknown,
        ..jump(0, 0)
    };
    records.add_loose(&[
        branch(jump(0x3e, 0x10), 7, 2),
        straight((0x10, 0x3e), 5),
        straight((0x30, 0x10), 4),
        branch(call, 3, 0),
    ]);
    let (functions, quality) = records.counts();
    assert_eq!(edges(&functions[0]), [(1, 5), (3, 5), (5, 7)]);
    assert_eq!(functions[0].edges[2].mispredicted, Count(2));
    assert_eq!(functions[0].calls, Count(3));
    assert_eq!((quality.runs, quality.impossible_runs), (5, 4));
    assert!(functions[0].paths.is_empty());
}

/// A loop around a switch, with a call; blocks 4 and 5 may have no code.
fn looped() -> FunctionMap {
    function("looped", "l.c", 1)
        .block(1, &[(0, 1)])
        .block(3, &[(0, 2)])
        .block(2, &[(0, 3)])
        .block(5, &[(0, 4)])
        .block(1, &[(0, 5)])
        .block(1, &[(0, 6)])
        .block(2, &[(0, 7)])
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 2, Outcome::Case(1))
        .edge(1, 3, Outcome::Case(2))
        .edge(1, 4, Outcome::Default)
        .edge(2, 6, Outcome::Jump)
        .edge(3, 3, Outcome::True)
        .edge(3, 5, Outcome::False)
        .edge(4, 6, Outcome::Jump)
        .edge(5, 6, Outcome::Jump)
        .edge(6, 1, Outcome::True)
        .edge(6, 7, Outcome::Return)
        .done()
}

fn program() -> ImageMap {
    image("app", vec![module("a", vec![slide(), looped()])])
}

/// Runs the program: each choice takes an edge, or makes a call.
fn execute(image: &ImageMap, orders: &[Vec<u32>], choices: &[u8]) -> Machine {
    let mut orders = orders.iter();
    let mut machine = Machine::new(image, &mut |_| orders.next().unwrap().clone());
    machine.call(1);
    let mut choices = choices.iter();
    loop {
        // At the end, everything returns: the last edges lead out.
        let choice = choices.next().copied();
        let Some((map, edges)) = machine.choices() else {
            match choice {
                Some(choice) => machine.call(usize::from(choice % 2)),
                None => return machine,
            }
            continue;
        };
        let is_call_block = map.linkage_name.as_str() == "looped";
        match choice {
            Some(choice) if choice % 8 == 7 && is_call_block && machine.depth() < 6 => {
                machine.call(usize::from(choice / 8 % 2));
            }
            Some(choice) => machine.take(edges[usize::from(choice) / 8 % edges.len()]),
            None => machine.take(*edges.last().unwrap()),
        }
    }
}

/// An order of blocks that begins with the entry. Of `hidden`, the last block has no code.
fn order(blocks: u32, hidden: Option<u32>) -> impl Strategy<Value = Vec<u32>> {
    let others: Vec<u32> = (1..blocks).filter(|&block| Some(block) != hidden).collect();
    Just(others).prop_shuffle().prop_map(|mut others| {
        others.insert(0, 0);
        others
    })
}

fn of(counts: &Machine, function: u32) -> ExactCounts {
    let index = FunctionIndex {
        module: 0,
        function,
    };
    let counts = counts.counts();
    counts.get(&index).copied().cloned().unwrap_or_default()
}

fn choices() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 1..200)
}

proptest! {
    /// One stack that holds the whole execution shows everything.
    #[test]
    fn a_stack_of_all_branches_shows_all_edges_and_paths(
        slide_order in order(6, None),
        looped_order in order(7, Some(5)),
        choices in choices(),
    ) {
        let image = program();
        let machine = execute(&image, &[slide_order, looped_order], &choices);
        let (functions, quality) = counted(&image, machine.layout(), &[&machine.branches]);
        prop_assert_eq!((quality.impossible_runs, quality.unmatched, quality.ambiguous), (0, 0, 0));
        let mut executed = 0;
        for found in &functions {
            let exact = of(&machine, found.index.function);
            let taken: BTreeMap<u32, u64> = edges(found).into_iter().collect();
            prop_assert!(taken.keys().eq(exact.edges.keys()), "{:?} {:?}", taken, exact);
            let ran: Vec<u64> = paths(found).into_iter().map(|(path, _)| path).collect();
            prop_assert!(ran.iter().eq(exact.paths.keys()), "{:?} {:?}", ran, exact);
            executed += exact.paths.values().sum::<u64>();
        }
        prop_assert_eq!(quality.paths, executed);
    }

    /// Stacks of 32 branches at every branch show each edge 32 times as often as it ran, and each
    /// path that fits into a stack. Only the first and the last 32 branches are shown less often.
    #[test]
    fn a_stack_at_each_branch_gives_the_right_shares(
        slide_order in order(6, None),
        looped_order in order(7, Some(4)),
        choices in choices(),
    ) {
        let image = program();
        let machine = execute(&image, &[slide_order, looped_order], &choices);
        let branches = &machine.branches;
        let stacks = branches.windows(STACK.min(branches.len()));
        let stacks: Vec<&[TakenBranch]> = stacks.collect();
        let (functions, quality) = counted(&image, machine.layout(), &stacks);
        prop_assert_eq!((quality.impossible_runs, quality.unmatched, quality.ambiguous), (0, 0, 0));
        let size = STACK as u64;
        for found in &functions {
            let exact = of(&machine, found.index.function);
            for (edge, count) in edges(found) {
                let most = exact.edges.get(&edge).copied().unwrap_or(0) * size;
                // Rounding of weights, and of the sum.
                prop_assert!(count <= most + 1, "{:?} e{} {}", exact, edge, count);
            }
            for (path, count) in paths(found) {
                let most = exact.paths.get(&path).copied().unwrap_or(0) * size;
                prop_assert!(count <= most + 1, "{:?} p{} {}", exact, path, count);
            }
        }
    }

    /// Any branches give counts that a walk along the graph could have.
    #[test]
    fn any_stacks_give_counts(
        stacks in prop::collection::vec(prop::collection::vec((0u8..100, 0u8..100, 0u8..4), 0..12), 0..8),
    ) {
        let (image, layout) = example();
        let place = |number: u8| match number {
            90..95 => Place::Elsewhere,
            95.. => Place::Kernel,
            address => Place::Inside(address.into()),
        };
        let branch = |&(from, to, jump): &(u8, u8, u8)| TakenBranch {
            from: place(from),
            to: place(to),
            jump: [Jump::Jump, Jump::Call, Jump::Return, Jump::Unknown][usize::from(jump)],
            mispredicted: from % 2 == 0,
        };
        let stacks: Vec<Vec<TakenBranch>> = stacks.iter().map(|stack| stack.iter().map(branch).collect()).collect();
        let stacks: Vec<&[TakenBranch]> = stacks.iter().map(Vec::as_slice).collect();
        let (functions, quality) = counted(&image, &layout, &stacks);
        let map = image.function(FunctionIndex::default()).unwrap();
        for found in functions {
            prop_assert!(found.paths.iter().all(|(path, _)| *path < map.path_count));
            prop_assert!(found.edges.iter().all(|edge| (edge.edge as usize) < map.edges.len()));
        }
        prop_assert!(quality.unmatched + quality.ambiguous <= quality.transitions);
    }
}

/// With many stacks at random positions, the shares of edges and paths approach the exact ones.
#[test]
fn shares_of_random_stacks_converge() {
    let image = program();
    let mut state = 7u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize
    };
    let choices: Vec<u8> = (0..60_000).map(|_| random() as u8).collect();
    let orders = [vec![0, 2, 1, 3, 5, 4], vec![0, 1, 3, 2, 6, 5]];
    let machine = execute(&image, &orders, &choices);
    let branches = &machine.branches;
    let distance = |stacks: usize, random: &mut dyn FnMut() -> usize| {
        let stacks: Vec<&[TakenBranch]> = (0..stacks)
            .map(|_| {
                let start = random() % (branches.len() - STACK);
                &branches[start..start + STACK]
            })
            .collect();
        let (functions, _) = counted(&image, machine.layout(), &stacks);
        let mut distances = [0.0, 0.0];
        for (which, distance) in distances.iter_mut().enumerate() {
            let mut sampled = BTreeMap::new();
            let mut exact = BTreeMap::new();
            for number in 0..2 {
                let counts = of(&machine, number);
                let (edges_of, paths_of) = (counts.edges, counts.paths);
                let counts: Vec<(u64, u64)> = match which {
                    0 => edges_of
                        .into_iter()
                        .map(|(edge, count)| (edge.into(), count))
                        .collect(),
                    _ => paths_of.into_iter().collect(),
                };
                exact.extend(
                    counts
                        .into_iter()
                        .map(|(key, count)| ((number, key), count)),
                );
            }
            for found in &functions {
                let counts: Vec<(u64, u64)> = match which {
                    0 => edges(found)
                        .into_iter()
                        .map(|(edge, count)| (edge.into(), count))
                        .collect(),
                    _ => paths(found),
                };
                sampled.extend(
                    counts
                        .into_iter()
                        .map(|(key, count)| ((found.index.function, key), count)),
                );
            }
            let sum = |counts: &BTreeMap<(u32, u64), u64>| counts.values().sum::<u64>() as f64;
            let (all_exact, all_sampled) = (sum(&exact), sum(&sampled));
            for (key, &count) in &exact {
                let share = sampled.get(key).copied().unwrap_or(0) as f64 / all_sampled;
                *distance += (count as f64 / all_exact - share).abs() / 2.0;
            }
            assert!(sampled.keys().all(|key| exact.contains_key(key)));
        }
        distances
    };
    let few = distance(20, &mut random);
    let many = distance(20_000, &mut random);
    // Paths longer than a stack are missing: activations of `looped` that contain long calls.
    assert!(many[0] < 0.01 && many[1] < 0.06, "{few:?} {many:?}");
    assert!(many[0] < few[0] && many[1] < few[1], "{few:?} {many:?}");
}

/// Paths with calls are counted when the call returns within the stack.
#[test]
fn a_path_with_a_call_is_one_path() {
    let image = program();
    let mut orders = [vec![0, 1, 2, 3, 4, 5], vec![0, 1, 2, 3, 4, 5, 6]].into_iter();
    let mut machine = Machine::new(&image, &mut |_| orders.next().unwrap());
    machine.call(1);
    machine.take(0);
    machine.call(0);
    for edge in [0, 4, 5, 8] {
        machine.take(edge);
    }
    for edge in [1, 4, 10] {
        machine.take(edge);
    }
    let (functions, quality) = counted(&image, machine.layout(), &[&machine.branches]);
    assert_eq!(quality.paths, 2);
    let exact: Vec<u64> = of(&machine, 1).paths.into_keys().collect();
    let found: Vec<u64> = paths(&functions[1]).iter().map(|path| path.0).collect();
    assert_eq!((found.len(), found), (1, exact));
    assert_eq!(functions[1].calls, Count(1));
}
