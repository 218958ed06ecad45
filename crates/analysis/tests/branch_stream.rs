//! Tests of the branch stream: a naive expansion, hand-checked numbers, and the counts of the run.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use holloway_abi::Kind;
use holloway_analysis::block_addresses::BlockAddresses;
use holloway_analysis::branch_stream::{
    AddressKind, BranchEvent, BranchKind, BranchSet, BranchStream, Direction, ImageBranches,
    MAX_RUN,
};
use holloway_analysis::stream::Words;
use holloway_analysis::trace::code::Code;
use holloway_analysis::trace::{Terminal, Trace};
use holloway_format::{FunctionIndex, FunctionMap, ImageMap, Outcome, PathId};
use holloway_testkit::build::{self, function, path_number, slide};
use holloway_testkit::streams::placed;
use holloway_testkit::traces::trace;
use proptest::prelude::*;

/// A loop with a condition, a switch with two cases that lead to the same block, a switch whose
/// cases all lead to one block, and a computed jump.
fn branches() -> FunctionMap {
    let mut build = function("f", "f.c", 1);
    for block in 0..8 {
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
        .edge(3, 4, Outcome::Case(1))
        .edge(3, 4, Outcome::Default)
        .edge(4, 5, Outcome::Indirect)
        .edge(4, 6, Outcome::Indirect)
        .edge(5, 1, Outcome::Jump)
        .edge(6, 1, Outcome::True)
        .edge(6, 7, Outcome::False)
        .edge(7, 8, Outcome::Return)
        .done()
}

fn program() -> Arc<ImageMap> {
    placed(vec![branches(), slide()], Kind::Trace)
}

/// The words of paths, given by function and path number.
fn words(image: &Arc<ImageMap>, paths: &[(u32, u64)]) -> Vec<u32> {
    let functions: Vec<u32> = Words::new(image).functions().map(|f| f.first).collect();
    let words = paths.iter();
    let word = |&(function, path): &(u32, u64)| functions[function as usize] + path as u32;
    words.map(word).collect()
}

/// Random paths of both functions. The order makes no sense as calls; the stream does not care.
fn paths(image: &ImageMap, choices: &[(u32, u64)], repetitions: usize) -> Vec<(u32, u64)> {
    let counts: Vec<u64> = Code::new(image)
        .functions()
        .map(|(_, map)| map.path_count)
        .collect();
    let path = |&(function, path): &(u32, u64)| (function, path % counts[function as usize]);
    let once: Vec<(u32, u64)> = choices.iter().map(path).collect();
    once.repeat(repetitions)
}

/// A branch as (function, block, target, direction).
type Plain = (u32, u32, u32, Direction);

fn plain(stream: &BranchStream<'_>, event: BranchEvent) -> Plain {
    let site = stream.site(event.branch);
    (site.function, site.block, event.target, event.direction)
}

/// The branches of paths: every edge that a block with several targets chose.
fn naive(image: &ImageMap, trace: &Trace) -> Vec<Plain> {
    let code = Code::new(image);
    let mut events = Vec::new();
    for terminal in trace.events(0) {
        let Terminal::Path { function, path } = terminal else {
            continue;
        };
        let map = code.function(function).unwrap();
        let path = code.path(function, PathId(path.into())).unwrap();
        for edge in path.edges.iter().chain([&path.end.edge()]) {
            let edge = &map.edges[edge.index()];
            let chosen = map.edges.iter().filter(|other| {
                other.from == edge.from
                    && !matches!(
                        other.outcome,
                        Outcome::Jump | Outcome::Return | Outcome::Left
                    )
            });
            let targets: BTreeSet<u32> = chosen.map(|other| other.to).collect();
            if targets.len() >= 2 {
                let direction = match edge.outcome {
                    Outcome::False | Outcome::Default => Direction::NotTaken,
                    _ => Direction::Taken,
                };
                events.push((function, edge.from, edge.to, direction));
            }
        }
    }
    events
}

/// The path through b0 b1 b2 b4 b6 b7 and the path through b0 b1 b3 b4 b6 b7. The switch at the end
/// of b3 leads to one block, so it is no branch. Addresses are the last instructions of the blocks:
/// b0 has one instruction, b1 has two, and so on.
#[test]
fn a_path_has_its_branches_in_order() {
    let image = program();
    let map = branches();
    let first = path_number(&map, &[0, 1, 2, 4, 6, 7]);
    let second = path_number(&map, &[0, 1, 3, 4, 6, 7]);
    let trace = trace(&image, &words(&image, &[(0, first), (0, second)]));
    let code = Code::new(&image);
    let stream = BranchStream::new(&code, &trace, BranchSet::Choices);
    let sites: Vec<_> = stream
        .sites()
        .iter()
        .map(|s| (s.block, s.address, s.kind))
        .collect();
    let expect = [
        (1, 2, BranchKind::Conditional),
        (2, 5, BranchKind::Indirect),
        (4, 14, BranchKind::Indirect),
        (6, 27, BranchKind::Conditional),
    ];
    assert_eq!(sites, expect);
    let events: Vec<_> = stream
        .events()
        .map(|e| {
            (
                stream.site(e.branch).block,
                e.target,
                e.direction,
                e.instructions,
            )
        })
        .collect();
    use Direction::{NotTaken, Taken};
    // The blocks before the first branch belong to it, and the blocks after the last branch to the
    // last.
    let expect = [
        (1, 2, Taken, 3),
        (2, 4, Taken, 3),
        (4, 6, Taken, 5),
        (6, 7, NotTaken, 15),
        (1, 3, NotTaken, 3),
        (4, 6, Taken, 9),
        (6, 7, NotTaken, 15),
    ];
    assert_eq!(events, expect);
    assert_eq!(stream.len(), 7);
}

/// Addresses are real where they are known. The others come after them, in the order of the map.
#[test]
fn known_addresses_are_used() {
    let image = program();
    let path = path_number(&branches(), &[0, 1, 2, 4, 6, 7]);
    let trace = trace(&image, &words(&image, &[(0, path)]));
    let function = FunctionIndex {
        module: 0,
        function: 0,
    };
    // The code of block 4 comes first. Block 2 has no code.
    let starts = [(1, 0x40), (4, 0x10), (6, 0x30)];
    let starts = starts.map(|(block, address)| (function, block, address));
    let addresses = BlockAddresses::new(&image, starts);
    let code = Code::new(&image).with_addresses(Ok(addresses));
    let stream = BranchStream::new(&code, &trace, BranchSet::Choices);
    let sites: Vec<_> = stream
        .sites()
        .iter()
        .map(|site| (site.block, site.address, site.address_kind))
        .collect();
    use AddressKind::{Real, Synthetic};
    let expect = [
        (4, 0x10, Real),
        (6, 0x30, Real),
        (1, 0x40, Real),
        (2, 0x41 + 5, Synthetic),
    ];
    assert_eq!(sites, expect);
    assert_eq!(
        (stream.real_addresses(), stream.unknown_addresses()),
        (3, None)
    );
    let blocks: Vec<u32> = stream
        .events()
        .map(|event| stream.site(event.branch).block)
        .collect();
    assert_eq!(blocks, [1, 2, 4, 6]);
}

/// A block that is divided at a call has its probe in its first part.
#[test]
fn a_branch_after_a_call_has_the_address_of_the_first_part() {
    let map = function("f", "f.c", 1)
        .block(3, &[])
        .block(2, &[])
        .block(1, &[])
        .block(0, &[])
        .edge(0, 1, Outcome::Split)
        .edge(1, 2, Outcome::True)
        .edge(1, 3, Outcome::False)
        .edge(2, 3, Outcome::Return)
        .done();
    let image = placed(vec![map], Kind::Trace);
    let function = FunctionIndex {
        module: 0,
        function: 0,
    };
    let addresses = BlockAddresses::new(&image, [(function, 0, 0x20)]);
    let branches = ImageBranches::new(&image, &Ok(addresses), BranchSet::Choices);
    let sites: Vec<_> = branches
        .sites()
        .iter()
        .map(|site| (site.block, site.address, site.address_kind))
        .collect();
    assert_eq!(sites, [(1, 0x20, AddressKind::Real)]);
}

/// All branches also has the jumps that do not lead to the next block, and returns.
#[test]
fn all_branches_include_jumps_and_returns() {
    let image = program();
    let map = branches();
    let first = path_number(&map, &[0, 1, 3, 4, 6, 7]);
    let trace = trace(&image, &words(&image, &[(0, first)]));
    let code = Code::new(&image);
    let stream = BranchStream::new(&code, &trace, BranchSet::All);
    let kinds: Vec<_> = stream
        .events()
        .map(|event| {
            (
                stream.site(event.branch).block,
                stream.site(event.branch).kind,
            )
        })
        .collect();
    let next_is_b4 = [
        (1, BranchKind::Conditional),
        (4, BranchKind::Indirect),
        (6, BranchKind::Conditional),
        (7, BranchKind::Return),
    ];
    assert_eq!(kinds, next_is_b4);
}

#[test]
fn a_trace_without_branches_has_an_empty_stream() {
    let image = program();
    let trace = Trace::default();
    let code = Code::new(&image);
    let stream = BranchStream::new(&code, &trace, BranchSet::Choices);
    assert!(stream.is_empty());
    assert_eq!(stream.runs().count(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_stream_equals_a_naive_expansion(
        choices in prop::collection::vec((0u32..2, 0u64..64), 1..40),
        repetitions in 1usize..80,
    ) {
        let image = program();
        let trace = trace(&image, &words(&image, &paths(&image, &choices, repetitions)));
        let code = Code::new(&image);
        let stream = BranchStream::new(&code, &trace, BranchSet::Choices);
        let naive = naive(&image, &trace);
        prop_assert_eq!(stream.len(), naive.len() as u64);
        prop_assert!(stream.runs().all(|run| !run.is_empty() && run.len() <= MAX_RUN));
        let events: Vec<Plain> = stream.events().map(|event| plain(&stream, event)).collect();
        prop_assert_eq!(events, naive);
    }

    /// The executions of each branch with each outcome are the edge counts of a run with the same
    /// paths. Every path of the function has a branch, so all instructions
    /// belong to branches.
    #[test]
    fn the_stream_has_the_counts_of_the_run(
        choices in prop::collection::vec((0u32..1, 0u64..64), 1..40),
        repetitions in 1usize..40,
    ) {
        let image = program();
        let paths = paths(&image, &choices, repetitions);
        let trace = trace(&image, &words(&image, &paths));
        let code = Code::new(&image);
        let stream = BranchStream::new(&code, &trace, BranchSet::Choices);
        let mut counts: BTreeMap<(u32, u32), i64> = BTreeMap::new();
        let mut instructions = 0;
        for event in stream.events() {
            let site = stream.site(event.branch);
            *counts.entry((site.block, event.target)).or_default() += 1;
            instructions += u64::from(event.instructions);
        }
        let mut counters: BTreeMap<u64, u64> = BTreeMap::new();
        for &(_, path) in &paths {
            *counters.entry(path).or_default() += 1;
        }
        let counters: Vec<(u64, u64)> = counters.into_iter().collect();
        let run = build::run_of(branches(), &counters);
        let function = &run.functions[0];
        let mut expect: BTreeMap<(u32, u32), i64> = BTreeMap::new();
        for (edge, &count) in function.map.edges.iter().zip(&function.flow().edges) {
            if [1, 2, 4, 6].contains(&edge.from) && count > 0 {
                *expect.entry((edge.from, edge.to)).or_default() += count;
            }
        }
        prop_assert_eq!(counts, expect);
        let executed: u64 = trace.events(0).map(|event| code.event(event).instructions()).sum();
        prop_assert_eq!(instructions, executed);
    }
}
