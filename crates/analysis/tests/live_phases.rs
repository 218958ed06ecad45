//! Tests that the detector on a running program's words finds what the detector on its trace finds.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::sync::Arc;

use holloway_abi::{Kind, OPERAND, WORD_OWNER};
use holloway_analysis::block_addresses::UnknownAddresses;
use holloway_analysis::branch_stream::{BranchSet, BranchSite, BranchStream};
use holloway_analysis::phases::{
    HotSpotDetector, HotSpots, LiveChange, LiveDetector, ModeChange, Parameters,
};
use holloway_analysis::stream::Words;
use holloway_analysis::trace::code::Code;
use holloway_format::{FunctionMap, ImageMap, Outcome};
use holloway_testkit::build::function;
use holloway_testkit::streams::placed;
use holloway_testkit::traces::trace;
use proptest::prelude::*;

/// A loop with two conditions.
fn looped(name: &str) -> FunctionMap {
    let mut build = function(name, "a.c", 1);
    for _ in 0..6 {
        build = build.block(3, &[]);
    }
    build
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

fn program() -> Arc<ImageMap> {
    let functions = ["a", "b", "c", "d"].map(looped);
    placed(functions.to_vec(), Kind::Trace)
}

/// The detector needs few branches with these parameters.
fn quick() -> Parameters {
    Parameters {
        candidate_threshold: 4,
        refresh_interval: 64,
        clear_interval: 1000,
        detection_bits: 6,
        monitor_bits: 5,
        ..Parameters::default()
    }
}

fn live(image: &Arc<ImageMap>, parameters: Parameters) -> LiveDetector {
    let addresses = Err(UnknownAddresses::NoProbes);
    LiveDetector::new(Words::new(image), &addresses, parameters, 1).unwrap()
}

/// A result without the numbers of branches: hot spots, as the branch number of the detection and
/// the branches by address, and the changes.
type Plain = (
    Vec<(u64, Vec<(u64, u32, u32)>)>,
    Vec<(u64, ModeChange)>,
    Vec<(u64, u32)>,
);

fn plain(result: &HotSpots, sites: &[BranchSite]) -> Plain {
    let hot_spots = result.hot_spots.iter().map(|hot_spot| {
        let branches = hot_spot.branches.iter().map(|hot| {
            let address = sites[hot.branch.index()].address;
            (address, hot.executed, hot.taken)
        });
        (hot_spot.detected_at.0, branches.collect())
    });
    let changes = result.changes.iter().map(|&(at, change)| (at.0, change));
    let entered = result.entered.iter().map(|&(at, id)| (at.0, id.0));
    (hot_spots.collect(), changes.collect(), entered.collect())
}

/// The words of paths of one function after the other: function, path, and number of executions.
fn words(image: &Arc<ImageMap>, parts: &[(u32, u64, usize)]) -> Vec<u32> {
    let first: Vec<u32> = Words::new(image).functions().map(|f| f.first).collect();
    let paths = image.modules[0].module.functions[0].path_count;
    let mut words = Vec::new();
    for &(function, path, length) in parts {
        // Most executions are of one path.
        words.extend((0..length as u64).map(|turn| {
            let path = if turn % 7 == 0 { path + turn } else { path };
            first[function as usize] + (path % paths) as u32
        }));
    }
    words
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_live_detector_equals_the_detector_on_the_trace(
        parts in prop::collection::vec((0u32..4, 0u64..8, 0usize..400), 1..8),
        batch in 1usize..200,
    ) {
        let image = program();
        let words = words(&image, &parts);
        let trace = trace(&image, &words);
        let code = Code::new(&image);
        let stream = BranchStream::new(&code, &trace, BranchSet::Choices);
        let mut detector = HotSpotDetector::new(quick(), stream.sites()).unwrap();
        stream.runs().for_each(|run| detector.feed(run));
        let expect = plain(detector.result(), stream.sites());

        let mut live = live(&image, quick());
        let mut transitions = Vec::new();
        for (index, batch_words) in words.chunks(batch).enumerate() {
            live.feed((4 * index * batch) as u64, batch_words);
            transitions.extend(live.take());
        }
        prop_assert_eq!(plain(live.result(), live.sites()), expect.clone());
        // Every change and every entry is reported once, in order.
        prop_assert_eq!(transitions.len(), expect.1.len() + expect.2.len());
        prop_assert!(transitions.is_sorted_by_key(|transition| transition.at));
        let left = transitions.iter().filter(|transition| transition.change == LiveChange::Left);
        let expect_left = expect.1.iter().filter(|change| change.1 == ModeChange::Left);
        prop_assert_eq!(left.count(), expect_left.count());
    }
}

/// When the ring goes to another thread, that thread's detector starts from nothing. A hot spot
/// names its function and its blocks.
#[test]
fn each_thread_has_its_detector() {
    let image = program();
    let first = words(&image, &[(0, 1, 200)]);
    let second = words(&image, &[(2, 1, 200)]);
    let all: Vec<u32> = first
        .iter()
        .copied()
        .chain([WORD_OWNER, OPERAND | 77])
        .chain(second)
        .collect();
    let mut live = live(&image, quick());
    live.feed(0, &all);
    let detected: Vec<(u32, u32)> = live
        .take()
        .into_iter()
        .filter_map(|transition| match transition.change {
            LiveChange::Detected(id, functions) => {
                assert_eq!(id.0, 0);
                assert!(functions[0].blocks.contains(&1), "{functions:?}");
                Some((transition.thread, functions[0].function))
            }
            LiveChange::Entered(..) | LiveChange::Left | LiveChange::Returned => None,
        })
        .collect();
    assert_eq!(detected, [(1, 0), (77, 2)]);
}
