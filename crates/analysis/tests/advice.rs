//! Tests of each kind of advice on small graphs: evidence and bounds that were computed by hand.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use holloway_abi::Kind as Collection;
use holloway_analysis::RunProfile;
use holloway_analysis::advice::allocation::{Allocation, RepeatedBy};
use holloway_analysis::advice::busy_wait::BusyWait;
use holloway_analysis::advice::bytes::Bytes;
use holloway_analysis::advice::cost::Unit;
use holloway_analysis::advice::same_outcome::SameOutcome;
use holloway_analysis::advice::unpredictable::{Context, Unpredictable};
use holloway_analysis::advice::{Evidence, Finding, Kind, Saving, advise};
use holloway_analysis::branches::PreviousPaths;
use holloway_analysis::loops::{Limits, LoopsBuilder, LoopsRun, seal};
use holloway_analysis::stream::Words;
use holloway_flow::{BlockId, PathId, PathStart};
use holloway_format::{
    BlockFact, Count, Cycles, FactKind, FunctionIndex, FunctionMap, Load, LoadShape, LoopsHead,
    Outcome, Place, ProcessImage,
};
use holloway_testkit::build::{Build, function, numbering_of, run_of};
use holloway_testkit::samples::{Sample, clock, names, run, timed};
use holloway_testkit::streams::placed;

const PLACE: Place = Place {
    scope: 0,
    line: 3,
    column: 3,
};

fn with_fact(mut map: FunctionMap, block: u32, kind: FactKind) -> FunctionMap {
    map.facts.push(BlockFact {
        block,
        kind,
        place: PLACE,
    });
    map
}

/// The findings of a run of counts, with their bounds.
fn findings(run: &RunProfile) -> Vec<(Finding, Saving)> {
    let evidence = Evidence {
        run,
        previous_paths: None,
        loops: None,
        variation: None,
        is_library: |file| file.starts_with("lib/"),
    };
    let advised = advise(&evidence);
    let needs_more = [Kind::SameOutcome, Kind::Period, Kind::WaitingLoads];
    assert_eq!(advised.missing, needs_more);
    let pieces = advised.pieces.into_iter();
    pieces.map(|piece| (piece.finding, piece.saving)).collect()
}

/// Block 1 is a loop of `instructions` instructions. Block 0 enters it, block 2 returns.
fn small_loop(instructions: u32) -> Build {
    function("f", "a.c", 1)
        .block(1, &[(0, 2)])
        .block(instructions, &[(0, 3)])
        .block(1, &[(0, 4)])
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 1, Outcome::True)
        .edge(1, 2, Outcome::False)
        .edge(2, 3, Outcome::Return)
}

/// The number of the path that runs through these blocks, starts at the entry or not, and ends with
/// an edge to `end`.
fn number(map: &FunctionMap, start: PathStart, blocks: &[u32], end: u32) -> u64 {
    let numbering = numbering_of(map);
    let is_it = |&number: &u64| {
        let path = numbering.regenerate(PathId(number)).unwrap();
        let ids: Vec<u32> = path.blocks.iter().map(|block| block.0).collect();
        path.start == start && ids == blocks && map.edges[path.end.edge().index()].to == end
    };
    (0..map.path_count).find(is_it).unwrap()
}

/// The counts of a small loop: `entries` executions with `turns` turns each.
fn counts(map: &FunctionMap, entries: u64, turns: u64) -> Vec<(u64, u64)> {
    let head = PathStart::Loop(BlockId(1));
    let mut counts = vec![
        (number(map, PathStart::Entry, &[0, 1], 1), entries),
        (number(map, head, &[1], 1), entries * (turns - 2)),
        (number(map, head, &[1, 2], 3), entries),
    ];
    counts.sort_unstable();
    counts
}

fn check_loop(
    kind: FactKind,
    instructions: u32,
    (entries, turns): (u64, u64),
) -> Vec<(Finding, Saving)> {
    let map = with_fact(small_loop(instructions).done(), 1, kind);
    let counts = counts(&map, entries, turns);
    findings(&run_of(map, &counts))
}

/// 10 executions of 100 turns, 5 instructions each: 5,000 instructions of 5,020.
#[test]
fn busy_waits_may_save_the_loop() {
    let found = check_loop(FactKind::Waits, 5, (10, 100));
    let expected = Finding::BusyWait(BusyWait {
        turns: Count(1000),
        waits: Count(10),
    });
    let [(finding, saving)] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!(*finding, expected);
    assert_eq!(
        (saving.amount, saving.unit),
        (Count(5000), Unit::Instructions)
    );
    // The exit of the loop is mispredicted 10 times, and its second context costs one more.
    assert!((0.8..0.9).contains(&saving.share), "{saving:?}");
}

#[test]
fn loops_over_bytes_may_save_seven_eighths() {
    let found = check_loop(FactKind::Bytes, 8, (10, 100));
    let expected = Finding::Bytes(Bytes {
        turns: Count(1000),
        executions: Count(10),
    });
    assert_eq!(found[0].0, expected);
    assert_eq!(found[0].1.amount, Count(7000));
    assert_eq!(check_loop(FactKind::Bytes, 8, (10, 15)), [], "too short");
    assert_eq!(
        check_loop(FactKind::Bytes, 17, (10, 100)),
        [],
        "does too much"
    );
}

#[test]
fn allocations_count_if_they_are_repeated() {
    let found = check_loop(FactKind::Allocates, 5, (10, 100));
    let repeated_by = RepeatedBy::Loop { turns: Count(1000) };
    let expected = Finding::Allocation(Allocation {
        count: Count(1000),
        repeated_by,
    });
    assert_eq!(found[0].0, expected);
    assert_eq!(found[0].1.amount, Count(100_000));
    // Library code that was not inlined into the user's is nobody's to change.
    let mut map = with_fact(small_loop(5).done(), 1, FactKind::Allocates);
    map.scopes[0].file = "lib/vec.rs".into();
    let counts = counts(&map, 10, 100);
    assert_eq!(findings(&run_of(map, &counts)), []);
}

#[test]
fn an_allocation_in_few_iterations_gets_no_advice() {
    let map = with_fact(diamonds(), 1, FactKind::Allocates);
    // Without a loop, the calls repeat the allocation: 40 of 100 are too few.
    let few = run_of(map.clone(), &paths(&map, &[20, 30, 20, 30]));
    assert!(
        findings(&few)
            .iter()
            .all(|(finding, _)| finding.kind() != Kind::Allocation)
    );
    let many = run_of(map.clone(), &paths(&map, &[40, 20, 20, 20]));
    let found = findings(&many);
    let expected = Finding::Allocation(Allocation {
        count: Count(60),
        repeated_by: RepeatedBy::Calls { calls: Count(100) },
    });
    assert_eq!(found[0].0, expected);
}

/// Two decisions: b0 leads to b1 or b2, and b3 leads to b4 or b5.
fn diamonds() -> FunctionMap {
    function("f", "a.c", 1)
        .block(2, &[(0, 2)])
        .block(9, &[(0, 3)])
        .block(9, &[(0, 4)])
        .block(3, &[(0, 5)])
        .block(1, &[(0, 6)])
        .block(1, &[(0, 7)])
        .block(0, &[])
        .edge(0, 1, Outcome::True)
        .edge(0, 2, Outcome::False)
        .edge(1, 3, Outcome::Jump)
        .edge(2, 3, Outcome::Jump)
        .edge(3, 4, Outcome::True)
        .edge(3, 5, Outcome::False)
        .edge(4, 6, Outcome::Return)
        .edge(5, 6, Outcome::Return)
        .done()
}

/// The counts of the paths over b1 b4, b1 b5, b2 b4, and b2 b5. The first two counts are those of
/// b1 with b4 and b2 with b4, as the names say.
fn paths(map: &FunctionMap, [b14, b24, b15, b25]: &[u64; 4]) -> Vec<(u64, u64)> {
    let path = |first, second| number(map, PathStart::Entry, &[0, first, 3, second], 6);
    let mut counts = vec![
        (path(1, 4), *b14),
        (path(2, 4), *b24),
        (path(1, 5), *b15),
        (path(2, 5), *b25),
    ];
    counts.retain(|&(_, count)| count > 0);
    counts.sort_unstable();
    counts
}

#[test]
fn a_decision_that_was_made_before_is_found() {
    let map = diamonds();
    let found = findings(&run_of(map.clone(), &paths(&map, &[60, 0, 0, 40])));
    let decided: Vec<_> = found
        .iter()
        .filter_map(|(finding, saving)| match finding {
            Finding::Decided(decided) => Some((decided, saving)),
            _ => None,
        })
        .collect();
    let [(decided, saving)] = decided.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!(decided.by.unwrap().line, 2);
    assert_eq!((decided.executions, decided.paths), (Count(100), 2));
    assert_eq!(decided.outcomes, [Count(60), Count(40)]);
    assert!(!decided.in_callee);
    // The block of the second test has 3 instructions.
    assert_eq!(saving.amount, Count(300));
    let one_exception = findings(&run_of(map.clone(), &paths(&map, &[60, 1, 0, 40])));
    let one_outcome = findings(&run_of(map.clone(), &paths(&map, &[60, 40, 0, 0])));
    for found in [one_exception, one_outcome] {
        assert!(
            found
                .iter()
                .all(|(finding, _)| finding.kind() != Kind::Decided),
            "{found:?}"
        );
    }
}

#[test]
fn unpredictable_branches_cost_eighty_instructions() {
    let map = diamonds();
    let found = findings(&run_of(map.clone(), &paths(&map, &[30, 0, 0, 70])));
    let expected = Finding::Unpredictable(Unpredictable {
        executions: Count(100),
        usual: Count(70),
        mispredictions: Count(30),
        copies: 1,
        context: Context::Path,
    });
    let (_, saving) = found
        .iter()
        .find(|(finding, _)| *finding == expected)
        .unwrap();
    assert_eq!(saving.amount, Count(2400));
    let predictable = findings(&run_of(map.clone(), &paths(&map, &[5, 0, 0, 95])));
    assert!(
        predictable
            .iter()
            .all(|(finding, _)| finding.kind() != Kind::Unpredictable)
    );
}

/// A loop whose turns take b2 or b3, and end with the test in b4.
fn two_way_loop() -> FunctionMap {
    function("f", "a.c", 1)
        .block(1, &[(0, 1)])
        .block(3, &[(0, 2)])
        .block(9, &[(0, 3)])
        .block(9, &[(0, 4)])
        .block(1, &[(0, 5)])
        .block(1, &[(0, 6)])
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 2, Outcome::True)
        .edge(1, 3, Outcome::False)
        .edge(2, 4, Outcome::Jump)
        .edge(3, 4, Outcome::Jump)
        .edge(4, 1, Outcome::True)
        .edge(4, 5, Outcome::False)
        .edge(5, 6, Outcome::Return)
        .done()
}

/// The start of a path, its blocks, and the block after it.
type Walk = (PathStart, Vec<u32>, u32);

/// The findings for activations of the two-way loop, given as the blocks that their turns take.
fn findings_of(activations: &[Vec<u32>]) -> Vec<Finding> {
    let walks = activations.iter().map(|turns| {
        let walk = |(index, &block): (usize, &u32)| {
            let (start, mut blocks) = match index {
                0 => (PathStart::Entry, vec![0, 1, block, 4]),
                _ => (PathStart::Loop(BlockId(1)), vec![1, block, 4]),
            };
            let is_last = index + 1 == turns.len();
            blocks.extend(is_last.then_some(5));
            (start, blocks, if is_last { 6 } else { 1 })
        };
        turns.iter().enumerate().map(walk).collect()
    });
    findings_of_walks(two_way_loop(), &walks.collect::<Vec<_>>())
}

/// The findings for activations of a function.
fn findings_of_walks(map: FunctionMap, activations: &[Vec<Walk>]) -> Vec<Finding> {
    let image = placed(vec![map], Collection::Loops);
    let map = image.function(FunctionIndex::default()).unwrap();
    let words = Words::new(&image);
    let first = words.function(0).first;
    let mut builder = LoopsBuilder::new(words, 4, Limits::default());
    let mut position = 0;
    for walks in activations {
        let walks = walks.iter();
        let stream = walks.map(|(start, blocks, next)| {
            let number = number(map, *start, blocks, *next);
            first + u32::try_from(number).unwrap()
        });
        let stream: Vec<u32> = stream.collect();
        builder.feed(position, &stream);
        position += 4 * stream.len() as u64;
    }
    let head = LoopsHead {
        process: ProcessImage {
            build_id: image.build_id,
            ..ProcessImage::default()
        },
        ..LoopsHead::default()
    };
    let counts = builder.stream_counts();
    let sealed = seal(head, &Words::new(&image), &builder.finish(), counts);
    let loops = LoopsRun::new(vec![((*image).clone(), vec![sealed])]);
    let mut previous_paths = PreviousPaths::default();
    previous_paths.add_loops(&loops);
    let evidence = Evidence {
        run: &loops.run,
        previous_paths: Some(&previous_paths),
        loops: Some(&loops),
        variation: None,
        is_library: |_| false,
    };
    let advised = advise(&evidence);
    assert_eq!(advised.missing, [Kind::WaitingLoads]);
    advised
        .pieces
        .into_iter()
        .map(|piece| piece.finding)
        .collect()
}

#[test]
fn a_decision_with_the_same_outcome_in_every_iteration_is_found() {
    let some: Vec<Vec<u32>> = (0..20).map(|_| vec![3; 20]).collect();
    let others: Vec<Vec<u32>> = (0..10).map(|_| vec![2; 20]).collect();
    let both = [some.clone(), others].concat();
    let same_outcome = |activations: &[Vec<u32>]| {
        let found = findings_of(activations).into_iter();
        let mut found = found.filter_map(|finding| match finding {
            Finding::SameOutcome(found) => Some(found),
            _ => None,
        });
        found.next()
    };
    let expected = SameOutcome {
        turns: Count(30 * 19),
        outcomes: vec![Count(20 * 19), Count(10 * 19)],
        executions: Count(30),
    };
    assert_eq!(same_outcome(&both), Some(expected));
    assert_eq!(same_outcome(&some), None, "one outcome");
    let exception = [both, vec![vec![2, 3, 3, 3]]].concat();
    assert_eq!(same_outcome(&exception), None, "an exception");
}

/// An outer loop at b1 with an inner loop at b2, and the branch b3 after the inner loop.
fn nested_loops() -> FunctionMap {
    function("f", "a.c", 1)
        .block(1, &[(0, 1)])
        .block(1, &[(0, 2)])
        .block(2, &[(0, 3)])
        .block(3, &[(0, 4)])
        .block(9, &[(0, 5)])
        .block(9, &[(0, 6)])
        .block(1, &[(0, 7)])
        .block(1, &[(0, 8)])
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 2, Outcome::Jump)
        .edge(2, 2, Outcome::True)
        .edge(2, 3, Outcome::False)
        .edge(3, 4, Outcome::True)
        .edge(3, 5, Outcome::False)
        .edge(4, 6, Outcome::Jump)
        .edge(5, 6, Outcome::Jump)
        .edge(6, 1, Outcome::True)
        .edge(6, 7, Outcome::False)
        .edge(7, 8, Outcome::Return)
        .done()
}

/// The outcome changes only in turns that go around the inner loop, so no path shows the turn
/// before.
#[test]
fn an_outcome_that_changes_after_an_inner_loop_is_not_the_same() {
    let (outer, inner) = (PathStart::Loop(BlockId(1)), PathStart::Loop(BlockId(2)));
    let activation = |with_inner_loop: bool| {
        let mut walks = vec![(PathStart::Entry, vec![0, 1, 2, 3, 4, 6], 1)];
        walks.extend(vec![(outer, vec![1, 2, 3, 4, 6], 1); 5]);
        if with_inner_loop {
            walks.push((outer, vec![1, 2], 2));
            walks.push((inner, vec![2, 3, 5, 6], 1));
            walks.extend(vec![(outer, vec![1, 2, 3, 5, 6], 1); 5]);
            walks.push((outer, vec![1, 2, 3, 5, 6, 7], 8));
        } else {
            walks.push((outer, vec![1, 2, 3, 4, 6, 7], 8));
        }
        walks
    };
    let never: Vec<Walk> = {
        let mut walks = vec![(PathStart::Entry, vec![0, 1, 2, 3, 5, 6], 1)];
        walks.extend(vec![(outer, vec![1, 2, 3, 5, 6], 1); 5]);
        walks.push((outer, vec![1, 2, 3, 5, 6, 7], 8));
        walks
    };
    let is_advised = |activations: &[Vec<Walk>]| {
        let found = findings_of_walks(nested_loops(), activations);
        found
            .iter()
            .any(|finding| finding.kind() == Kind::SameOutcome)
    };
    let steady = [vec![activation(false); 10], vec![never; 10]].concat();
    assert!(is_advised(&steady));
    assert!(!is_advised(&vec![activation(true); 20]));
}

#[test]
fn periods_are_found() {
    let alternating: Vec<Vec<u32>> = (0..20).map(|_| [2, 3].repeat(50)).collect();
    let found = findings_of(&alternating);
    let period = found.iter().find_map(|finding| match finding {
        Finding::Period(period) => Some(period),
        _ => None,
    });
    let period = period.unwrap();
    assert_eq!(period.paths.len(), 2);
    assert!(period.turns.0 > 1800 && period.turns <= period.all_turns);
    let steady: Vec<Vec<u32>> = (0..20).map(|_| vec![3; 100]).collect();
    assert!(
        findings_of(&steady)
            .iter()
            .all(|finding| finding.kind() != Kind::Period)
    );
}

/// A list of 8,000 nodes, and the time of a load of each. The path of a turn has 5 instructions.
fn waiting_loads(cycles: u64) -> Vec<(Finding, Saving)> {
    let mut map = small_loop(5).done();
    map.loads.push(Load {
        block: 1,
        place: PLACE,
        shape: LoadShape::Chain { offset: 8 },
    });
    let image = timed(vec![map]);
    let names = names(&image);
    let mut words = clock(1_000, 0, 0, 0, 0);
    let mut now = 2_000;
    for _ in 0..8_000 {
        words.extend(Sample::new(names["f 1"], now, cycles).words());
        now += cycles + 10;
    }
    words.extend(clock(now, now, 0, 0, 0));
    let variation = run(&image, &words);
    let evidence = Evidence {
        run: &variation.run,
        previous_paths: None,
        loops: None,
        variation: Some(&variation),
        is_library: |_| false,
    };
    let pieces = advise(&evidence).pieces.into_iter();
    let found = pieces.map(|piece| (piece.finding, piece.saving));
    found
        .filter(|(finding, _)| finding.kind() == Kind::WaitingLoads)
        .collect()
}

#[test]
fn loads_of_a_list_that_always_wait_are_found() {
    let found = waiting_loads(400);
    let [(Finding::WaitingLoads(waiting), saving)] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!((waiting.instructions, waiting.loads.len()), (5, 1));
    assert!(waiting.median >= Cycles(380), "{waiting:?}");
    assert_eq!(saving.unit, Unit::Cycles);
    assert!((0.8..=1.0).contains(&saving.share), "{saving:?}");
    assert_eq!(waiting_loads(20), [], "in the first cache");
}
