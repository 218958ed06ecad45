//! Tests of the hot spot detector: the numbers of Merten et al. (1999), and hand-checked streams.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use holloway_analysis::branch_stream::{
    AddressKind, BranchEvent, BranchId, BranchKind, BranchSite, Direction,
};
use holloway_analysis::phases::parameters::{
    Index, Monitored, Parameters, ParametersError, Targets,
};
use holloway_analysis::phases::{HotSpotDetector, HotSpotId, HotSpots, ModeChange};
use holloway_format::Count;
use proptest::prelude::*;

/// Branches with adjacent addresses, so that up to 2,048 of them have no conflict in the buffer.
fn sites(count: u32) -> Vec<BranchSite> {
    let site = |number: u32| BranchSite {
        address: u64::from(number),
        address_kind: AddressKind::Synthetic,
        function: number / 100,
        block: number,
        kind: BranchKind::Conditional,
    };
    (0..count).map(site).collect()
}

fn taken(branch: u32) -> BranchEvent {
    BranchEvent {
        branch: BranchId(branch),
        target: 0,
        direction: Direction::Taken,
        instructions: 1,
    }
}

fn not_taken(branch: u32) -> BranchEvent {
    BranchEvent {
        direction: Direction::NotTaken,
        ..taken(branch)
    }
}

fn simulate(
    parameters: Parameters,
    sites: &[BranchSite],
    events: impl IntoIterator<Item = BranchEvent>,
) -> HotSpots {
    let mut detector = HotSpotDetector::new(parameters, sites).unwrap();
    for event in events {
        detector.feed(&[event]);
    }
    detector.finish()
}

/// `count` branches in turn, from branch `first` on.
fn in_turn(first: u32, count: u32, length: usize) -> impl Iterator<Item = BranchEvent> {
    (first..first + count).cycle().take(length).map(taken)
}

fn detections(result: &HotSpots) -> Vec<u64> {
    let hot_spots = result.hot_spots.iter();
    hot_spots.map(|hot_spot| hot_spot.detected_at.0).collect()
}

/// n branches in turn are found after 15 n + 8,191 branches.
#[test]
fn section_2_1_branches_in_turn_are_found_after_the_latency() {
    for (branches, expect) in [(1, 8206), (10, 8341), (100, 9691), (256, 12_031)] {
        let sites = sites(branches);
        let events = in_turn(0, branches, 100_000);
        let result = simulate(Parameters::default(), &sites, events);
        assert_eq!(detections(&result), [expect], "{branches}");
        assert_eq!(result.hot_spots[0].branches.len(), branches as usize);
    }
}

/// The defaults are the paper's parameters.
#[test]
fn table_2_has_the_defaults() {
    let expect = Parameters {
        entries: 2048,
        ways: 2,
        counter_bits: 9,
        candidate_threshold: 16,
        refresh_interval: 4096,
        clear_interval: 65_535,
        detection_bits: 13,
        detection_increment: 2,
        detection_decrement: 1,
        monitor_bits: 12,
        monitor_increment: 1,
        monitor_decrement: 1,
        index: Index::Address,
        targets: Targets::Ignored,
        monitored: Monitored::Branches,
    };
    assert_eq!(Parameters::default(), expect);
    // The share of candidates that keeps the counter: I / (D + I).
    let [increment, decrement] =
        [expect.detection_increment, expect.detection_decrement].map(f64::from);
    assert!((increment / (decrement + increment) - 2.0 / 3.0).abs() < 1e-9);
}

/// Candidates with the share X of the branches are found after HDC_MAX / ((D + I) (X - 2/3))
/// branches, for any X.
#[test]
fn section_2_1_the_latency_follows_from_the_share() {
    let sites = sites(100_000);
    for (hot, all) in [(4, 5), (9, 10), (19, 20), (11, 15)] {
        let events = (0..300_000u64).map(|position| {
            if position % all < hot {
                taken(0)
            } else {
                taken(1 + (position % 99_991) as u32)
            }
        });
        let found = detections(&simulate(Parameters::default(), &sites, events))[0] as f64;
        let share = hot as f64 / all as f64;
        let latency = 8191.0 / (3.0 * (share - 2.0 / 3.0));
        // The executions before the candidate come on top, and the detection may fall anywhere in
        // a turn of the pattern.
        let late = found - latency;
        assert!(
            (-(all as f64)..60.0).contains(&late),
            "{hot}/{all}: {found} {latency}"
        );
    }
}

/// Between two refreshes, each of 300 branches executes 13 or 14 times. None becomes a candidate.
#[test]
fn section_2_1_300_branches_are_never_found() {
    let sites = sites(300);
    let events = in_turn(0, 300, 1_000_000);
    let result = simulate(Parameters::default(), &sites, events);
    assert_eq!(result.hot_spots, []);
    assert_eq!(result.changes, []);
    assert_eq!(result.profiled, Count(1_000_000));
}

/// Candidates with a share of 3/4 of the branches subtract 1 in 4 branches. Candidates with a share
/// of 7/10 subtract 1 in 10 branches, which takes longer than the time between two clears: shares
/// below 0.708 are too small.
#[test]
fn section_2_1_shares_below_0_708_do_not_fit_between_two_clears() {
    let sites = sites(100_000);
    let mix = |hot: u64, all: u64| {
        (0..300_000u64).map(move |position| {
            if position % all < hot {
                taken(0)
            } else {
                // Every other branch runs once in 99,999 executions.
                taken(1 + (position % 99_999) as u32)
            }
        })
    };
    let result = simulate(Parameters::default(), &sites, mix(3, 4));
    let found = detections(&result)[0];
    // 15 executions before the candidate, and the first branches that add to a full counter.
    assert!((4 * 8191..4 * 8191 + 30).contains(&found), "{found}");
    assert_eq!(result.hot_spots[0].branches.len(), 1);
    let result = simulate(Parameters::default(), &sites, mix(7, 10));
    assert_eq!(detections(&result), [0u64; 0]);
}

/// After 20,000 executions of branch 0, branch 1 executes. The monitor counter reaches 4,095, and
/// profile mode finds the second hot spot 8,206 branches later. Back at branch 0, which is known,
/// nothing happens.
#[test]
fn section_2_2_the_monitor_restarts_profiling_outside_known_hot_spots() {
    let sites = sites(2);
    let events = in_turn(0, 1, 20_000)
        .chain(in_turn(1, 1, 20_000))
        .chain(in_turn(0, 1, 20_000));
    let result = simulate(Parameters::default(), &sites, events);
    let expect = [
        (Count(8206), ModeChange::Detected(HotSpotId(0))),
        (Count(20_000 + 4095), ModeChange::Left),
        (
            Count(20_000 + 4095 + 8206),
            ModeChange::Detected(HotSpotId(1)),
        ),
    ];
    assert_eq!(result.changes, expect);
    assert_eq!(result.profiled, Count(2 * 8206));
    let [first, second] = &result.hot_spots[..] else {
        panic!("two hot spots")
    };
    assert_eq!(first.whole.branches, Count(40_000));
    assert_eq!(first.detected.branches, Count(40_000 - 8206));
    assert_eq!(second.whole.branches, Count(20_000));
    assert_eq!(second.detected.branches, Count(20_000 - 4095 - 8206));
}

/// Profiling starts after 4,095 branches outside, and stops after as many branches inside.
#[test]
fn section_2_2_profiling_stops_when_control_returns() {
    let sites = sites(2);
    let events = in_turn(0, 1, 10_000)
        .chain(in_turn(1, 1, 5000))
        .chain(in_turn(0, 1, 10_000));
    let result = simulate(Parameters::default(), &sites, events);
    let expect = [
        (Count(8206), ModeChange::Detected(HotSpotId(0))),
        (Count(10_000 + 4095), ModeChange::Left),
        (Count(15_000 + 4095), ModeChange::Returned),
    ];
    assert_eq!(result.changes, expect);
}

/// Branch 0 belongs to both hot spots. Its executions belong to the hot spot entered last.
#[test]
fn table_3_a_shared_branch_belongs_to_the_hot_spot_entered_last() {
    let sites = sites(3);
    let pair = |a: u32, b: u32, length| [a, b].into_iter().cycle().take(length).map(taken);
    let events = pair(0, 1, 20_000)
        .chain(in_turn(2, 1, 8000))
        .chain(pair(0, 2, 20_000))
        .chain(in_turn(0, 1, 1000))
        .chain(in_turn(1, 1, 10))
        .chain(in_turn(0, 1, 1000));
    let result = simulate(Parameters::default(), &sites, events);
    assert_eq!(result.hot_spots.len(), 2);
    let [first, second] = &result.hot_spots[..] else {
        panic!("two hot spots")
    };
    let numbers = |spot: &[holloway_analysis::phases::hot_spots::HotBranch]| {
        spot.iter().map(|hot| hot.branch.0).collect::<Vec<_>>()
    };
    assert_eq!(numbers(&first.branches), [0, 1]);
    assert!(numbers(&second.branches).contains(&2));
    let sum = first.whole.branches + second.whole.branches;
    assert_eq!(sum, Count(20_000 + 8000 + 20_000 + 2010));
    // The last 1,010 branches belong to the first hot spot, because branch 1 entered it again.
    if numbers(&second.branches).contains(&0) {
        assert!(first.whole.branches >= Count(20_000 + 1010));
    }
}

/// Branch 0, branch 1, and branch 0 again. The paper's detector does not notice the last change. It
/// is found when more than half of 4,096 branches belong to the first hot spot.
#[test]
fn a_known_hot_spot_is_entered_again() {
    let sites = sites(2);
    let events = [0, 1, 0]
        .into_iter()
        .flat_map(|branch| in_turn(branch, 1, 50_000));
    let result = simulate(Parameters::default(), &sites, events);
    assert_eq!(detections(&result).len(), 2);
    let [(at, hot_spot)] = result.entered[..] else {
        panic!("{:?}", result.entered);
    };
    assert_eq!(hot_spot, HotSpotId(0));
    assert!((102_048..104_097).contains(&at.0), "{at:?}");
}

/// Control that left all known hot spots and returns to one of them has entered it.
#[test]
fn a_hot_spot_is_entered_after_control_left() {
    let sites = sites(301);
    let events = in_turn(300, 1, 20_000)
        .chain(in_turn(0, 300, 30_000))
        .chain(in_turn(300, 1, 30_000));
    let result = simulate(Parameters::default(), &sites, events);
    let changes: Vec<ModeChange> = result.changes.iter().map(|&(_, change)| change).collect();
    let expect = [
        ModeChange::Detected(HotSpotId(0)),
        ModeChange::Left,
        ModeChange::Returned,
    ];
    assert_eq!(changes, expect);
    let entered: Vec<HotSpotId> = result.entered.iter().map(|&(_, id)| id).collect();
    assert_eq!(entered, [HotSpotId(0)]);
}

/// Enhancement 2: entries by direction. A branch that changes its direction leaves its hot spot.
#[test]
fn section_2_5_directions_have_entries_of_their_own() {
    let sites = sites(1);
    let events = || {
        let taken = (0..20_000).map(|_| taken(0));
        taken.chain((0..20_000).map(|_| not_taken(0)))
    };
    let by_address = simulate(Parameters::default(), &sites, events());
    assert_eq!(detections(&by_address), [8206]);
    let parameters = Parameters {
        index: Index::Direction,
        ..Parameters::default()
    };
    let by_direction = simulate(parameters, &sites, events());
    assert_eq!(detections(&by_direction), [8206, 20_000 + 4095 + 8206]);
    let directions = by_direction.hot_spots.iter();
    let directions: Vec<_> = directions.map(|spot| spot.branches[0].direction).collect();
    assert_eq!(
        directions,
        [Some(Direction::Taken), Some(Direction::NotTaken)]
    );
}

/// Enhancement 3: an indirect branch goes to target 5 twice as often as to target 9.
#[test]
fn section_2_5_targets_of_indirect_branches_are_counted() {
    let mut sites = sites(1);
    sites[0].kind = BranchKind::Indirect;
    let to = |target| BranchEvent { target, ..taken(0) };
    let events = [5, 9, 5].into_iter().cycle().take(8206).map(to);
    let parameters = Parameters {
        targets: Targets::Counted,
        ..Parameters::default()
    };
    let result = simulate(parameters, &sites, events);
    assert_eq!(
        result.hot_spots[0].branches[0].targets,
        [(5, 511), (9, 511)]
    );
    let few = Parameters {
        detection_bits: 8,
        ..parameters
    };
    let events = [5, 9, 5].into_iter().cycle().take(270).map(to);
    let result = simulate(few, &sites, events);
    assert_eq!(result.hot_spots[0].branches[0].targets, [(5, 180), (9, 90)]);
}

/// Enhancement 4: branches 10 and 20 of a function are hot, then branches 11 to 19.
#[test]
fn section_2_5_ranges_contain_the_branches_between_hot_ones() {
    let sites = sites(30);
    let events = || {
        let ends = [10, 20].into_iter().cycle().take(20_000).map(taken);
        ends.chain(in_turn(11, 9, 20_000))
    };
    let branches = simulate(Parameters::default(), &sites, events());
    assert_eq!(branches.hot_spots.len(), 2);
    let parameters = Parameters {
        monitored: Monitored::Ranges,
        ..Parameters::default()
    };
    let ranges = simulate(parameters, &sites, events());
    assert_eq!(ranges.hot_spots.len(), 1);
    assert_eq!(ranges.hot_spots[0].whole.branches, Count(40_000));
}

#[test]
fn impossible_parameters_are_refused() {
    let check = |parameters: Parameters| parameters.check().unwrap_err();
    let default = Parameters::default();
    let (entries, ways) = (2047, 2);
    let sets = ParametersError::Sets { entries, ways };
    assert_eq!(check(Parameters { entries, ..default }), sets);
    let bits = ParametersError::Bits { bits: 32 };
    let parameters = Parameters {
        monitor_bits: 32,
        ..default
    };
    assert_eq!(check(parameters), bits);
    let parameters = Parameters {
        candidate_threshold: 512,
        ..default
    };
    let (threshold, maximum) = (512, 511);
    let expect = ParametersError::Threshold { threshold, maximum };
    assert_eq!(check(parameters), expect);
}

/// A slow twin of the paper's base hardware: lists instead of tables, every step spelled out.
/// Returns the positions of detections and of restarts.
fn naive(parameters: &Parameters, events: &[u32]) -> (Vec<u64>, Vec<u64>) {
    let maximum = (1i64 << parameters.detection_bits) - 1;
    let monitor_maximum = (1i64 << parameters.monitor_bits) - 1;
    let sets = parameters.entries / parameters.ways;
    let mut buffer: Vec<(u32, u32)> = Vec::new();
    let mut known: Vec<u32> = Vec::new();
    let (mut profiling, mut counter, mut monitor) = (true, maximum, monitor_maximum);
    let (mut refresh, mut clear) = (0, 0);
    let (mut detections, mut restarts) = (Vec::new(), Vec::new());
    for (position, &branch) in (1u64..).zip(events) {
        let is_known = known.contains(&branch);
        let step = if is_known { -1 } else { 1 };
        let next_monitor = (monitor + step).clamp(0, monitor_maximum);
        if !profiling {
            monitor = next_monitor;
            if monitor == monitor_maximum {
                (profiling, counter, refresh, clear) = (true, maximum, 0, 0);
                buffer.clear();
                restarts.push(position);
            }
            continue;
        }
        let same_set = buffer
            .iter()
            .filter(|entry| entry.0 % sets == branch % sets);
        let has_room = same_set.count() < parameters.ways as usize;
        if !buffer.iter().any(|entry| entry.0 == branch) && has_room {
            buffer.push((branch, 0));
        }
        let mut is_candidate = false;
        if let Some(entry) = buffer.iter_mut().find(|entry| entry.0 == branch) {
            entry.1 += 1;
            is_candidate = entry.1 >= parameters.candidate_threshold;
        }
        counter = if is_candidate {
            counter - 1
        } else {
            (counter + 2).min(maximum)
        };
        if counter == 0 {
            let threshold = parameters.candidate_threshold;
            let candidates = buffer.iter().filter(|entry| entry.1 >= threshold);
            known.extend(candidates.map(|entry| entry.0));
            detections.push(position);
            (profiling, monitor) = (false, 0);
            continue;
        }
        (refresh, clear) = (refresh + 1, clear + 1);
        if refresh == parameters.refresh_interval {
            refresh = 0;
            buffer.retain(|entry| entry.1 >= parameters.candidate_threshold);
        }
        if clear == parameters.clear_interval {
            (clear, counter) = (0, maximum);
            buffer.clear();
        }
        monitor = next_monitor;
        if monitor == 0 {
            profiling = false;
        }
    }
    (detections, restarts)
}

proptest! {
    /// Small tables and counters, so that conflicts, refreshes, and clears matter.
    #[test]
    fn the_detector_equals_a_slow_reference(
        spans in prop::collection::vec((0u32..40, 1u32..12, 1usize..400), 1..12),
        entries in 1u32..8,
        ways in 1u32..4,
        refresh_interval in 20u32..60,
        clear_interval in 60u32..300,
    ) {
        let parameters = Parameters {
            entries: entries * ways,
            ways,
            candidate_threshold: 3,
            refresh_interval,
            clear_interval,
            detection_bits: 5,
            monitor_bits: 4,
            ..Parameters::default()
        };
        let span = |&(first, count, length): &(u32, u32, usize)| in_turn(first, count, length);
        let events: Vec<BranchEvent> = spans.iter().flat_map(span).collect();
        let branches: Vec<u32> = events.iter().map(|event| event.branch.0).collect();
        let sites = sites(60);
        let result = simulate(parameters, &sites, events.iter().copied());
        let left = result.changes.iter().filter(|(_, change)| *change == ModeChange::Left);
        let left: Vec<u64> = left.map(|(at, _)| at.0).collect();
        prop_assert_eq!((detections(&result), left), naive(&parameters, &branches));
        let whole: u64 = result.hot_spots.iter().map(|spot| spot.whole.branches.0).sum();
        let hot: Vec<u32> = result
            .hot_spots
            .iter()
            .flat_map(|spot| spot.branches.iter().map(|hot| hot.branch.0))
            .collect();
        let expect = branches.iter().filter(|branch| hot.contains(branch)).count();
        prop_assert_eq!(whole, expect as u64);
    }
}
