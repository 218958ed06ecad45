//! Tests of exact phases: runs whose transitions are known.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::BTreeMap;
use std::sync::Arc;

use holloway_abi::Kind;
use holloway_analysis::branch_stream::{BranchSet, BranchStream};
use holloway_analysis::phases::{
    Answer, Detector, ExactPhases, Question, QuestionError, Trigger, TriggerParameters,
};
use holloway_analysis::stream::Words;
use holloway_analysis::trace::code::Code;
use holloway_analysis::trace::{Terminal, Trace};
use holloway_format::{Count, FunctionMap, ImageMap, Outcome};
use holloway_testkit::build::function;
use holloway_testkit::streams::placed;
use holloway_testkit::traces::trace;
use proptest::prelude::*;

/// A loop with two conditions, so a turn has three branches.
fn looped(name: &str) -> FunctionMap {
    let mut build = function(name, "a.c", 1);
    for _ in 0..7 {
        build = build.block(3, &[]);
    }
    build
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 2, Outcome::True)
        .edge(1, 3, Outcome::False)
        .edge(2, 4, Outcome::Jump)
        .edge(3, 4, Outcome::True)
        .edge(3, 5, Outcome::False)
        .edge(4, 6, Outcome::Jump)
        .edge(5, 6, Outcome::Jump)
        .edge(6, 1, Outcome::True)
        .edge(6, 7, Outcome::False)
        .done()
}

fn program() -> Arc<ImageMap> {
    let functions = ["a", "b", "c"].map(looped);
    placed(functions.to_vec(), Kind::Trace)
}

/// A random number generator (Knuth's constants).
fn random(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Runs random paths of one function after the other: `(function, number of paths)`. Also returns
/// the number of branches at the end of each part.
fn run(image: &Arc<ImageMap>, parts: &[(usize, usize)]) -> (Trace, Vec<u64>) {
    let first: Vec<u32> = Words::new(image).functions().map(|f| f.first).collect();
    let paths = image.modules[0].module.functions[0].path_count;
    let (mut words, mut state) = (Vec::new(), 7);
    let mut lengths = Vec::new();
    for &(function, length) in parts {
        words.extend((0..length).map(|_| first[function] + (random(&mut state) % paths) as u32));
        lengths.push(words.len());
    }
    let trace = trace(image, &words);
    let code = Code::new(image);
    let stream = BranchStream::new(&code, &trace, BranchSet::Choices);
    let mut ends = Vec::new();
    let (mut branches, mut events) = (0, 0);
    for terminal in trace.grammar.expand() {
        branches += stream.of_terminal(terminal).len() as u64;
        events += usize::from(is_path(&trace, terminal));
        if is_path(&trace, terminal) && lengths.contains(&events) {
            ends.push(branches);
        }
    }
    (trace, ends)
}

fn is_path(trace: &Trace, terminal: u32) -> bool {
    matches!(trace.terminals[terminal as usize], Terminal::Path { .. })
}

fn exact(image: &Arc<ImageMap>, trace: &Trace, window: Option<u64>) -> ExactPhases {
    let code = Code::new(image);
    let stream = BranchStream::new(&code, trace, BranchSet::Choices);
    ExactPhases::new(&code, trace, &stream, window)
}

/// The phases a b a c a, with random paths in each. Every transition is found at its very path.
#[test]
fn transitions_are_found_at_their_paths() {
    let image = program();
    let parts = [
        (0, 40_000),
        (1, 30_000),
        (0, 20_000),
        (2, 30_000),
        (0, 10_000),
    ];
    let (trace, ends) = run(&image, &parts);
    let exact = exact(&image, &trace, None);
    let segments: Vec<(u32, u64)> = exact
        .segments
        .iter()
        .map(|segment| (segment.phase.0, segment.end.0))
        .collect();
    let phases = [0, 1, 0, 2, 0];
    let expect: Vec<(u32, u64)> = phases.into_iter().zip(ends).collect();
    assert_eq!(segments, expect);
    assert_eq!(exact.phases.len(), 3);
    assert_eq!(exact.phases[0].segments, 3);
    let executions = exact.phases.iter().map(|phase| {
        let paths = phase.paths.iter().filter(|path| is_path(&trace, path.0));
        paths.map(|&(_, count)| count.0).sum::<u64>()
    });
    assert_eq!(executions.collect::<Vec<_>>(), [70_000, 30_000, 30_000]);
    assert!(exact.silhouette > 0.8, "{}", exact.silhouette);
}

/// Random paths of one function are one phase, however small the windows are.
#[test]
fn random_paths_are_one_phase() {
    let image = program();
    let (trace, ends) = run(&image, &[(0, 30_000)]);
    for window in [None, Some(100)] {
        let exact = exact(&image, &trace, window);
        assert_eq!(exact.phases.len(), 1, "{window:?}");
        assert_eq!(exact.segments.len(), 1);
        assert_eq!(exact.segments[0].end, Count(ends[0]));
        assert_eq!(exact.transitions().count(), 0);
    }
}

/// A phrase of paths that recurs is one phase, though windows cut it at different places.
#[test]
fn a_loop_is_one_phase() {
    let image = program();
    let first = Words::new(&image).functions().next().unwrap().first;
    let phrase: Vec<u32> = (0..37).map(|turn| first + turn % 6).collect();
    let trace = trace(&image, &phrase.repeat(2000));
    let exact = exact(&image, &trace, None);
    assert_eq!((exact.phases.len(), exact.segments.len()), (1, 1));
}

/// Phases that differ only in the frequencies of the same paths are told apart.
#[test]
fn phases_may_share_all_paths() {
    let image = program();
    let first = Words::new(&image).functions().next().unwrap().first;
    let mut words = Vec::new();
    for (common, rare) in [(2, 3), (3, 2)] {
        words.extend((0..20_000).map(|turn| first + if turn % 20 == 0 { rare } else { common }));
    }
    let trace = trace(&image, &words);
    let exact = exact(&image, &trace, None);
    assert_eq!((exact.phases.len(), exact.segments.len()), (2, 2));
    let counts: BTreeMap<u32, u64> = exact.phases[0]
        .paths
        .iter()
        .map(|&(terminal, count)| (terminal, count.0))
        .collect();
    let sum: u64 = counts.values().sum();
    assert!((19_980..20_020).contains(&sum), "{counts:?}");
}

#[test]
fn detectors_are_compared_with_the_exact_transitions() {
    let image = program();
    let (trace, ends) = run(&image, &[(0, 90_000), (1, 40_000), (2, 1_500), (0, 40_000)]);
    let code = Code::new(&image);
    let question = Question {
        trigger: Some(TriggerParameters::default()),
        ..Question::default()
    };
    let answer = Answer::new(&code, &trace, &question).unwrap();
    let transitions: Vec<u64> = answer.exact.transitions().map(|(at, _, _)| at.0).collect();
    assert_eq!(transitions, ends[..3]);
    let detectors: BTreeMap<&str, _> = answer
        .detectors()
        .into_iter()
        .map(|(detector, result)| match detector {
            Detector::HotSpotsLeft => ("left", result),
            Detector::HotSpotDetected => ("detected", result),
            Detector::HotSpotEntered => ("entered", result),
            Detector::Trigger => ("trigger", result),
        })
        .collect();
    // The first hot spot belongs to the start. The second transition leads to code that runs too
    // briefly, and the third leads back to known code.
    let detected = &detectors["detected"];
    assert_eq!(
        (detected.signals, detected.found(), detected.missed),
        (2, 1, 2)
    );
    assert_eq!(detected.false_alarms, 0);
    let latency = detected.latencies[0].0;
    assert!(
        (8191 + 4095..8191 + 4095 + 100).contains(&latency),
        "{latency}"
    );
    assert!(detectors["left"].latencies[0] >= Count(4095));
    // The return to known code is an entry, after at most two intervals.
    let entered = &detectors["entered"];
    assert_eq!(
        (entered.signals, entered.found(), entered.false_alarms),
        (3, 2, 0),
        "{entered:?}"
    );
    assert!(entered.latencies[0] <= Count(2 * 4096), "{entered:?}");
    // Every phase but the short one has code of its own, so the trigger counter sees the first
    // transition. Back at the first function, the reference set still has its edges.
    let trigger = &detectors["trigger"];
    assert_eq!(
        (trigger.found(), trigger.false_alarms),
        (1, 0),
        "{trigger:?}"
    );
    assert!(trigger.latencies[0] >= Count(4096));
}

/// The positions, from 1, of the edges on which a trigger counter fires.
fn fires(edges: impl IntoIterator<Item = u32>) -> Vec<u64> {
    let mut trigger = Trigger::new(TriggerParameters::default(), 200);
    let fires = (1u64..).zip(edges).filter(|&(_, edge)| trigger.edge(edge));
    fires.map(|(position, _)| position).collect()
}

/// After a full switch of behavior, it fires on the 4,096th selected edge and once only.
#[test]
fn section_9_the_trigger_fires_once_after_a_full_switch() {
    for (old, new) in [(1, 1), (10, 16), (256, 5)] {
        let before = (0..old % 100).cycle().take(100_000);
        let after = (100..100 + new).cycle().take(100_000);
        assert_eq!(fires(before.chain(after)), [104_096], "{old} {new}");
    }
}

/// No reference set exists before the first 65,536 edges. An edge that runs in a third of the time
/// more than it did before is not enough: it adds as much as it subtracts.
#[test]
fn section_9_the_trigger_waits_and_tolerates() {
    assert_eq!(fires((0..100).cycle().take(60_000)), [0u64; 0]);
    let before = (0..1).cycle().take(70_000);
    let mixed = [0, 0, 100].into_iter().cycle().take(100_000);
    assert_eq!(fires(before.chain(mixed)), [0u64; 0]);
    // Two thirds of new edges: −2 −2 +1 in three edges.
    let before = (0..1).cycle().take(70_000);
    let mixed = [0, 100, 101].into_iter().cycle().take(100_000);
    let fired = fires(before.chain(mixed));
    assert_eq!(fired.len(), 1);
    assert!(
        (70_000 + 8180..70_000 + 8200).contains(&fired[0]),
        "{fired:?}"
    );
}

#[test]
fn windows_that_are_too_small_are_refused() {
    let image = program();
    let (trace, ends) = run(&image, &[(0, 40_000)]);
    let code = Code::new(&image);
    let question = Question {
        window: Some(2),
        ..Question::default()
    };
    let error = Answer::new(&code, &trace, &question).unwrap_err();
    let expect = QuestionError::Window {
        window: 2,
        branches: ends[0],
        smallest: ends[0].div_ceil(4096),
    };
    assert_eq!(error, expect);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// The segments cover the run, and the counts of each phase are those of its segments.
    #[test]
    fn phases_have_the_counts_of_their_segments(
        parts in prop::collection::vec((0usize..3, 1usize..4000), 1..8),
        window in 50u64..800,
    ) {
        let image = program();
        let (trace, ends) = run(&image, &parts);
        let exact = exact(&image, &trace, Some(window.max(ends[ends.len() - 1].div_ceil(4096))));
        let mut next = Count::ZERO;
        for segment in &exact.segments {
            prop_assert_eq!(segment.start, next);
            next = segment.end;
        }
        prop_assert_eq!(next, Count(*ends.last().unwrap()));
        let code = Code::new(&image);
        let stream = BranchStream::new(&code, &trace, BranchSet::Choices);
        let mut expect = vec![BTreeMap::<u32, u64>::new(); exact.phases.len()];
        let (mut position, mut segment) = (0, 0);
        for terminal in trace.grammar.expand() {
            // Every path of the program has a branch, so a position is one path's. Frames that were
            // left have no branch.
            if !is_path(&trace, terminal) {
                continue;
            }
            while position >= exact.segments[segment].end.0 {
                segment += 1;
            }
            let phase = exact.segments[segment].phase.index();
            *expect[phase].entry(terminal).or_default() += 1;
            position += stream.of_terminal(terminal).len() as u64;
        }
        for (phase, expect) in exact.phases.iter().zip(expect) {
            let paths = phase.paths.iter().filter(|&&(terminal, _)| is_path(&trace, terminal));
            let counts = paths.map(|&(terminal, count)| (terminal, count.0));
            prop_assert_eq!(counts.collect::<BTreeMap<_, _>>(), expect);
        }
    }
}
