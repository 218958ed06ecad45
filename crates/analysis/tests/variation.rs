//! Tests of timed paths: the paper's example, streams that are divided anywhere, incomplete
//! samples, rankings, and the stability of rankings over several runs.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use holloway_testkit::{build, samples};
use std::rc::Rc;
use std::sync::Arc;

use build::function;
use holloway_abi::{
    Kind, OPERAND, SAMPLE_CALLED, SAMPLE_MIGRATED, SAMPLE_PREEMPTED, SAMPLE_UNKNOWN,
    SAMPLE_UNWATCHED, WORD_CLOCK, WORD_CONTROL, WORD_OWNER,
};
use holloway_analysis::stream::Words;
use holloway_analysis::variation::RankedPath;
use holloway_analysis::variation::rank::{Disturbed, Time};
use holloway_analysis::variation::stability::stability;
use holloway_analysis::variation::{
    Certainty, RankOptions, Timings, VariationBuilder, VariationRun, join, rank,
};
use holloway_format::{Count, Cycles, FunctionMap, ImageMap, Outcome};
use proptest::collection::vec;
use proptest::prelude::*;
use samples::{Sample, clock, names, owner, read, resolution, run, sealed, timed};

/// A loop whose turns take one of two paths. Block 0 is the entry, block 1 the loop head, and block
/// 4 the return.
fn two_way_loop(name: &str) -> FunctionMap {
    function(name, "a.c", 1)
        .block(1, &[(0, 1)])
        .block(1, &[(0, 2)])
        .block(1, &[(0, 3)])
        .block(1, &[(0, 4)])
        .block(1, &[(0, 5)])
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 2, Outcome::True)
        .edge(1, 3, Outcome::False)
        .edge(2, 1, Outcome::Jump)
        .edge(3, 1, Outcome::True)
        .edge(3, 4, Outcome::False)
        .edge(4, 5, Outcome::Return)
        .done()
}

fn app() -> Arc<ImageMap> {
    timed(vec![
        two_way_loop("walk"),
        two_way_loop("scan"),
        two_way_loop("idle"),
    ])
}

/// Consecutive samples with these durations.
fn stream(samples: &[(u32, u64)]) -> Vec<u32> {
    let mut words = Vec::new();
    let mut now = 1_000_000;
    for &(word, duration) in samples {
        words.extend(Sample::new(word, now, duration).words());
        now += duration + 10;
    }
    words
}

/// Ten calls of `walk`, of which each begins `gap` cycles after the one before.
#[test]
fn functions_whose_calls_overlap_are_recursive() {
    let image = app();
    let word = names(&image)["walk 12"];
    let overlapping = |gap: u64| {
        let starts = (1..=10).map(|call| 1_000_000 + gap * call);
        let words: Vec<u32> = starts
            .flat_map(|start| Sample::new(word, start, 100_000).words())
            .collect();
        let run = run(&image, &words);
        let functions = rank(&run, RankOptions::default()).overlapping().into_iter();
        let names = functions.map(|function| run.run.function(function).map.name.to_string());
        names.collect::<Vec<_>>()
    };
    assert_eq!(overlapping(100), ["walk"]);
    assert_eq!(overlapping(100_010), [""; 0]);
}

/// The example of Perelman, Chilimbi, Calder 2005, section 5.1.
#[test]
fn net_variation_is_time_above_the_base() {
    let image = app();
    let word = names(&image)["walk 12"];
    let words = stream(&[100, 130, 100, 400, 110].map(|time| (word, time)));
    let run = run(&image, &words);
    let ranking = rank(&run, RankOptions::default());
    assert_eq!(ranking.paths.len(), 1);
    let path = &ranking.paths[0];
    assert_eq!(
        (path.base, path.samples(), path.net),
        (Cycles(100), Count(5), 340.0)
    );
    assert_eq!((path.executions, path.total), (5.0, 840.0));
    // The root of 30² + 300² + 10², divided by 340.
    assert!((path.error - 301.66 / 340.0).abs() < 1e-5, "{}", path.error);
    assert_eq!(path.times.quantile(0.5), Cycles(110));
    assert_eq!(path.times.largest(), Cycles(400));
}

/// One sample of a path was interrupted. It is longer than all slow samples of another path
/// together, but it occurred only once.
#[test]
fn one_outlier_does_not_lead() {
    let image = app();
    let names = names(&image);
    let (once, often) = (names["walk 12"], names["scan 12"]);
    let odd = [(once, 100); 400].into_iter().chain([(once, 100_000)]);
    let slow = [(often, 100), (often, 300)].repeat(200);
    let run = run(&image, &stream(&odd.chain(slow).collect::<Vec<_>>()));
    let ranking = rank(&run, RankOptions::default());
    let [first, last] = &ranking.paths[..] else {
        panic!("{ranking:?}")
    };
    // The odd sample counts as long as the longest of the others.
    assert_eq!((first.net, last.net), (40_000.0, 0.0));
    assert_eq!((last.interrupted, last.total), (Count(1), 40_100.0));
    assert_eq!((ranking.certain, ranking.certain_net()), (1, 40_000.0));
    assert_eq!(last.certainty, Certainty::FewBursts);
    // After two samples at either end are left out, 198 slow samples remain. A loss of 5 % may be
    // noise of the machine.
    let certain_net = 198.0 * 200.0 - 396.0 * 100.0 * 0.05;
    assert!(
        (first.certain_net - certain_net).abs() < 0.01 * certain_net,
        "{first:?}"
    );
    let name = |function: &holloway_analysis::Function| Rc::from(&*function.map.name);
    let actual = stability(&[&run, &run], RankOptions::default(), 10, &name);
    assert_eq!((actual.paths.len(), actual.paths[0].path), (1, first.path));
}

/// The second path is slow almost as often as the third. The fourth and the fifth path have few
/// samples. The last path does not vary.
#[test]
fn ranks_that_may_be_chance_are_ties() {
    let image = app();
    let names = names(&image);
    let mut samples = Vec::new();
    let mut path = |name: &str, fast: usize, slow: usize, delay: u64| {
        samples.extend([(names[name], 100)].repeat(fast));
        samples.extend([(names[name], 100 + delay)].repeat(slow));
    };
    path("walk 12", 100, 900, 1000);
    path("walk 13", 100, 400, 1000);
    path("scan 12", 100, 390, 1000);
    path("scan 13", 10, 4, 10_000);
    path("idle 12", 20, 4, 7_500);
    path("idle 13", 900, 0, 0);
    let run = run(&image, &stream(&samples));
    let ranking = rank(&run, RankOptions::default());
    let nets: Vec<f64> = ranking.paths.iter().map(|path| path.net).collect();
    let expect = [900_000.0, 400_000.0, 390_000.0, 40_000.0, 30_000.0, 0.0];
    assert_eq!(nets, expect);
    assert_eq!(ranking.ties(10), [1..3, 3..5]);
    let fewer = ranking.ties(3);
    assert_eq!((fewer.len(), &fewer[0]), (1, &(1..3)));
    assert!(ranking.ties(2).is_empty() && ranking.ties(0).is_empty());
}

/// The worked example of `ties.rs`. If n samples of a path are slow by t, its net variation is
/// n t ± √n t.
#[test]
fn ties_may_overlap() {
    let image = app();
    let names = names(&image);
    let mut samples = Vec::new();
    for (name, slow, delay) in [
        ("walk 12", 25, 400),
        ("walk 13", 16, 500),
        ("scan 12", 49, 120),
        ("scan 13", 16, 300),
    ] {
        samples.extend([(names[name], 100), (names[name], 100 + delay)].repeat(slow));
    }
    let run = run(&image, &stream(&samples));
    let ranking = rank(&run, RankOptions::default());
    let nets: Vec<f64> = ranking.paths.iter().map(|path| path.net).collect();
    assert_eq!(nets, [10_000.0, 8_000.0, 5_880.0, 4_800.0]);
    assert_eq!(ranking.ties(4), [0..3, 1..4]);
}

/// A clock with steps of 26 cycles. A difference of one step is no variation. Neither is a
/// difference of two steps if few samples determine the base time.
#[test]
fn differences_below_the_resolution_are_no_variation() {
    let image = app();
    let names = names(&image);
    let (tiny, slow) = (names["walk 12"], names["scan 12"]);
    let mut words = owner(7).to_vec();
    words.extend(resolution(26));
    let times = [(tiny, 0); 600].into_iter().chain([(tiny, 26); 300]);
    let times = times.chain([(tiny, 27); 2]);
    let seldom = [(slow, 0), (slow, 26), (slow, 26), (slow, 600)];
    words.extend(stream(&times.chain(seldom).collect::<Vec<_>>()));
    let run = run(&image, &words);
    let ranking = rank(&run, RankOptions::default());
    let [first, last] = &ranking.paths[..] else {
        panic!("{ranking:?}")
    };
    assert_eq!((first.samples(), ranking.window), (Count(4), Cycles(52)));
    // Base times are at least one cycle.
    assert_eq!(
        (first.base, first.net, first.unresolved),
        (Cycles(1), 599.0, 50.0)
    );
    assert_eq!(
        (last.base, last.net, last.unresolved),
        (Cycles(1), 0.0, 300.0 * 25.0 + 2.0 * 26.0)
    );
    assert!(first.is_resolved() && !last.is_resolved());
    // The error of one slow sample by chance, and the error of a base time that may be a step too
    // short.
    let error = 1f64.hypot(26.0 / 599.0);
    assert!((first.error - error).abs() < 1e-9, "{}", first.error);
    assert_eq!(ranking.unresolved(), (7_552.0 + 50.0, 1));
    // A difference of one step between two paths is no choice.
    assert!(
        ranking
            .spreads(&run)
            .iter()
            .all(|spread| spread.choice == 0.0)
    );
}

/// Four callees were timed in each call, and the times of their probes vary as well.
#[test]
fn noise_of_callees_probes_is_no_variation() {
    let image = app();
    let names = names(&image);
    let (leaf, caller) = (names["walk 12"], names["scan 12"]);
    let mut words = owner(7).to_vec();
    words.extend(resolution(10));
    for (call, time) in (0..).zip([100, 150, 170]) {
        let start = 10_000 * (call + 1);
        for turn in 0..4 {
            words.extend(Sample::new(leaf, start + 10 * turn, 5).words());
        }
        words.extend(Sample::new(caller, start, time).words());
    }
    let ranking = rank(&run(&image, &words), RankOptions::default());
    let caller = &ranking.paths[0];
    assert_eq!(
        (caller.nested, caller.window, ranking.window),
        (4.0, Cycles(60), Cycles(20))
    );
    assert_eq!(ranking.paths[1].nested, 0.0);
    assert_eq!((caller.net, caller.unresolved), (70.0, 50.0));
}

/// All times in three bursts are long, and all times in the other seven bursts are short. So ten
/// bursts prove as much as ten single samples.
#[test]
fn samples_of_a_burst_are_not_independent() {
    let image = app();
    let word = names(&image)["walk 12"];
    let rank_of = |burst_size: u32| {
        let mut words = Vec::new();
        for burst in 0..10 {
            for sample in 0..burst_size {
                let time = if burst % 3 == 2 { 300 } else { 100 };
                let start = 1_000_000 * (burst + 1) + 1_000 * u64::from(sample);
                let begun = if sample == 0 { 1_000 } else { 1 };
                words.extend(
                    Sample {
                        begun,
                        ..Sample::new(word, start, time)
                    }
                    .words(),
                );
            }
        }
        rank(&run(&image, &words), RankOptions::default()).paths[0].clone()
    };
    let (single, burst) = (rank_of(1), rank_of(8));
    assert_eq!(burst.samples(), Count(80));
    let error = 3f64.sqrt().recip();
    assert!((single.error - error).abs() < 1e-9, "{}", single.error);
    assert!((burst.error - single.error).abs() < 1e-9, "{}", burst.error);
}

#[test]
fn samples_with_unknown_time_count_only_as_executions() {
    let image = app();
    let word = names(&image)["walk 12"];
    let mut words = stream(&[(word, 100), (word, 104)]);
    let flags = SAMPLE_UNKNOWN;
    words.extend(
        Sample {
            flags,
            ..Sample::new(word, 0, 0)
        }
        .words(),
    );
    let run = run(&image, &words);
    for disturbed in [Disturbed::LeftOut, Disturbed::Included] {
        let options = RankOptions {
            disturbed,
            ..RankOptions::default()
        };
        let path = &rank(&run, options).paths[0];
        assert_eq!(
            (path.samples(), path.unknown, path.executions),
            (Count(2), Count(1), 3.0)
        );
        assert_eq!((path.base, path.net), (Cycles(100), 6.0));
    }
}

#[test]
fn a_sample_represents_the_paths_begun_since_the_last_sample() {
    let image = app();
    let word = names(&image)["walk 12"];
    let words: Vec<u32> = [(100, 9_000), (130, 11_000)]
        .into_iter()
        .flat_map(|(duration, begun)| {
            let sample = Sample::new(word, 1_000_000 * u64::from(begun), duration);
            Sample { begun, ..sample }.words()
        })
        .collect();
    let run = run(&image, &words);
    let path = &rank(&run, RankOptions::default()).paths[0];
    assert_eq!((path.executions, path.net), (20_000.0, 15.0 * 20_000.0));
    assert_eq!(run.run.functions[0].executions(), Count(20_000));
}

#[test]
fn the_bias_of_the_probe_is_subtracted() {
    let image = app();
    let word = names(&image)["walk 12"];
    let mut words = owner(7).to_vec();
    words.extend(clock(5_000, 1_000, 20, 3, 100));
    for (duration, inner) in [(120, 0), (320, 150), (15, 0)] {
        let sample = Sample::new(word, 6_000, duration);
        words.extend(Sample { inner, ..sample }.words());
    }
    words.extend(clock(6_000_000_000, 2_000_001_000, 22, 5, 600));
    let run = run(&image, &words);
    let inclusive = rank(&run, RankOptions::default()).paths[0].times.clone();
    assert_eq!(
        (inclusive.least(), inclusive.largest(), inclusive.sum()),
        (Cycles::ZERO, Cycles(300), Cycles(400))
    );
    let options = RankOptions {
        time: Time::Exclusive,
        ..RankOptions::default()
    };
    let exclusive = rank(&run, options).paths[0].times.clone();
    assert_eq!(
        (exclusive.least(), exclusive.largest(), exclusive.sum()),
        (Cycles::ZERO, Cycles(150), Cycles(250))
    );
    let stats = run.stats;
    assert_eq!(
        (stats.least_bias, stats.largest_bias),
        (Cycles(20), Cycles(22))
    );
    assert_eq!((stats.switches, stats.probes), (Count(2), Cycles(500)));
    // From 4,900 to 5,999,999,400 in program time.
    assert_eq!(stats.cycles, Cycles(5_999_994_500));
    let frequency = run.frequency().unwrap();
    assert!(
        (frequency / 2.999_997_5e9 - 1.0).abs() < 1e-9,
        "{frequency}"
    );
}

#[test]
fn threads_run_side_by_side() {
    let image = app();
    let word = names(&image)["walk 12"];
    let mut words = Vec::new();
    for thread in [1, 2] {
        words.extend(owner(thread));
        words.extend(clock(1_000, 10, 0, 0, 0));
        words.extend(Sample::new(word, 2_000, 50).words());
        words.extend(Sample::new(word, 9_000, 1_000).words());
    }
    let stats = read(&image, &words).stats;
    assert_eq!((stats.cycles, stats.samples), (Cycles(18_000), Count(4)));
    // One clock reading does not measure the clock's speed.
    assert_eq!(run(&image, &words).frequency(), None);
}

#[test]
fn disturbed_samples_are_no_variation_of_the_code() {
    let image = app();
    let word = names(&image)["walk 12"];
    let mut words = stream(&[(word, 100), (word, 104)]);
    for flags in [SAMPLE_PREEMPTED, SAMPLE_MIGRATED | SAMPLE_PREEMPTED] {
        let sample = Sample::new(word, 10_000_000 * u64::from(flags), 1_000_000);
        words.extend(Sample { flags, ..sample }.words());
    }
    let sample = Sample::new(word, 0, 102);
    let flags = SAMPLE_UNWATCHED;
    words.extend(Sample { flags, ..sample }.words());
    let run = run(&image, &words);
    let without_disturbed = rank(&run, RankOptions::default());
    let path = &without_disturbed.paths[0];
    assert_eq!(
        (path.samples(), path.disturbed, path.executions),
        (Count(3), Count(2), 5.0)
    );
    assert_eq!(path.net, 10.0);
    let options = RankOptions {
        disturbed: Disturbed::Included,
        ..RankOptions::default()
    };
    let with_disturbed = rank(&run, options);
    assert_eq!(with_disturbed.paths[0].samples(), Count(5));
    assert_eq!(with_disturbed.paths[0].net, 2.0 * 999_900.0 + 6.0);
    let stats = run.stats;
    assert_eq!(
        (stats.preempted, stats.migrated, stats.unwatched),
        (Count(2), Count(1), Count(1))
    );
}

#[test]
fn exclusive_time_is_known_if_all_callees_were_timed() {
    let image = app();
    let names = names(&image);
    let (sometimes, never) = (names["walk 12"], names["scan 12"]);
    let mut words = Vec::new();
    for (start, (word, inner, flags)) in (1..).zip([
        (sometimes, 40, 0),
        (sometimes, 0, SAMPLE_CALLED),
        (sometimes, 10, 0),
        (never, 0, SAMPLE_CALLED),
        (never, 0, SAMPLE_CALLED),
    ]) {
        let sample = Sample::new(word, 1_000 * start, 100);
        words.extend(
            Sample {
                inner,
                flags,
                ..sample
            }
            .words(),
        );
    }
    let run = run(&image, &words);
    let options = RankOptions {
        time: Time::Exclusive,
        ..RankOptions::default()
    };
    let ranking = rank(&run, options);
    assert_eq!(ranking.paths.len(), 1);
    let path = &ranking.paths[0];
    assert_eq!(
        (path.base, path.samples(), path.with_untimed_callees),
        (Cycles(60), Count(2), Count(1))
    );
    assert_eq!((path.executions, path.net), (3.0, 45.0));
    assert_eq!((ranking.seldom, ranking.without_own), (1, 1));
}

#[test]
fn incomplete_samples_are_left_out() {
    let image = app();
    let word = names(&image)["walk 12"];
    let complete = stream(&[(word, 100)]);
    for index in 1..8 {
        // One word was never written, so the sample is discarded.
        let mut holed = complete.clone();
        holed[index] = 0;
        holed.extend(&complete);
        let stats = read(&image, &holed).stats;
        let counts = (
            stats.samples,
            stats.cut_samples,
            stats.holes,
            stats.strangers,
        );
        assert_eq!(counts, (Count(1), Count(1), 1, 0), "hole at {index}");
        // The end is missing, and another sample begins.
        let mut cut = complete[..index].to_vec();
        cut.extend(&complete);
        let stats = read(&image, &cut).stats;
        let counts = (stats.samples, stats.cut_samples, stats.strangers);
        assert_eq!(counts, (Count(1), Count(1), 0), "cut at {index}");
        // Words are missing.
        let mut builder = VariationBuilder::new(Words::new(&image));
        builder.feed(0, &complete[..index]);
        builder.feed(400, &complete);
        let stats = builder.finish().stats;
        let counts = (stats.samples, stats.cut_samples, stats.gaps);
        assert_eq!(counts, (Count(1), Count(1), 1), "gap at {index}");
        // The stream ends.
        assert_eq!(read(&image, &complete[..index]).stats.cut_samples, Count(1));
    }
}

#[test]
fn operands_may_look_like_control_words() {
    let image = app();
    let word = names(&image)["walk 12"];
    let like = |control: u32| u64::from(control & !OPERAND);
    let odd = Sample {
        start: like(WORD_OWNER) << 31 | like(WORD_CLOCK),
        inner: like(WORD_CLOCK) << 31 | like(WORD_OWNER),
        begun: WORD_CLOCK & !OPERAND,
        ..Sample::new(word, 0, like(WORD_OWNER))
    };
    let mut words = odd.words().to_vec();
    words.extend(Sample::new(word, 0, 7).words());
    // The stream is read word by word, and as one batch.
    for step in [1, words.len()] {
        let mut builder = VariationBuilder::new(Words::new(&image));
        for (position, batch) in (0..).step_by(4 * step).zip(words.chunks(step)) {
            builder.feed(position, batch);
        }
        let stats = builder.finish().stats;
        assert_eq!(
            (stats.samples, stats.clocks, stats.strangers),
            (Count(2), Count(0), 0)
        );
        assert_eq!(stats.begun, Count(like(WORD_CLOCK) + 1));
    }
}

#[test]
fn other_rankings_show_other_paths() {
    let image = app();
    let names = names(&image);
    let mut list = Vec::new();
    // A frequent steady path, a rare long path, and a path that varies.
    list.extend([(names["scan 12"], 10); 50]);
    list.extend([(names["scan 13"], 5_000); 3]);
    for time in [20, 20, 20, 900] {
        list.push((names["walk 12"], time));
    }
    list.push((names["idle 12"], 700));
    let run = run(&image, &stream(&list));
    let ranking = rank(&run, RankOptions::default());
    let path = |index: usize| ranking.paths[index].path.0 as u32 + 1;
    assert_eq!(path(0), names["walk 12"]);
    assert_eq!(ranking.paths[ranking.by_count[0]].executions, 50.0);
    assert_eq!(ranking.paths[ranking.by_total[0]].total, 15_000.0);
    let missed = |order| ranking.missed(1, order).collect::<Vec<_>>();
    assert_eq!(missed(&ranking.by_count), [0]);
    assert_eq!(missed(&ranking.by_total), [0]);
    assert_eq!(ranking.missed(10, &ranking.by_count).count(), 0);
    assert_eq!((ranking.seldom, ranking.seldom_executions), (1, 1.0));
}

#[test]
fn choice_is_distinguished_from_variation() {
    let image = app();
    let names = names(&image);
    let mut list = Vec::new();
    // Two steady paths begin at the same block.
    list.extend([(names["walk 12"], 100); 6]);
    list.extend([(names["walk 13"], 300); 4]);
    // One path is sometimes fast and sometimes slow.
    list.extend([(names["scan 12"], 50); 24]);
    list.extend([(names["scan 12"], 150); 8]);
    // A path that begins at another block is no choice.
    list.extend([(names["scan 012"], 5_000); 2]);
    let run = run(&image, &stream(&list));
    let spreads = rank(&run, RankOptions::default()).spreads(&run);
    let actual: Vec<_> = spreads
        .iter()
        .map(|spread| (spread.choice, spread.same, spread.by_choice(), spread.paths))
        .collect();
    assert_eq!(actual, [(800.0, 0.0, 1.0, 2), (0.0, 800.0, 0.0, 2)]);
    // The means are 100 (six times) and 300 (four times), and their mean is 180.
    assert_eq!((spreads[0].between, spreads[0].within), (9_600.0, 0.0));
    assert_eq!(spreads[1].between, 0.0);
    // 32 samples with variance 1,875, and two with variance 0.
    assert!((spreads[1].within - 32.0 * 1_875.0 / 34.0).abs() < 1e-6);
}

#[test]
fn first_paths_of_each_run_are_evaluated_on_all_runs() {
    let image = app();
    let names = names(&image);
    let run_of = |times: &[(&str, [u64; 2])]| {
        let list = times
            .iter()
            .flat_map(|(name, pair)| pair.map(|time| (names[*name], time)).repeat(10));
        let mut run = run(&image, &stream(&list.collect::<Vec<_>>()));
        run.stats.cycles = Cycles(100_000);
        run
    };
    let a = run_of(&[("walk 12", [100, 600]), ("scan 12", [100, 300])]);
    let b = run_of(&[
        ("scan 12", [100, 900]),
        ("walk 12", [100, 260]),
        ("idle 12", [1, 51]),
    ]);
    let name = |function: &holloway_analysis::Function| Rc::from(&*function.map.name);
    let actual = stability(&[&a, &b], RankOptions::default(), 1, &name);
    assert_eq!(actual.all, [0.07, 0.101]);
    assert_eq!(actual.shares, [[0.05, 0.016], [0.02, 0.08]]);
    let ranks: Vec<_> = actual
        .paths
        .iter()
        .map(|path| (path.run, &*path.ranks))
        .collect();
    let expect: [(usize, &[Option<usize>]); 2] =
        [(0, &[Some(0), Some(1)]), (1, &[Some(1), Some(0)])];
    assert_eq!(ranks, expect);
    let whole = stability(&[&a, &b], RankOptions::default(), 10, &name);
    assert_eq!(whole.paths.len(), 3);
    assert_eq!(whole.paths[2].ranks, [None, Some(2)]);
    assert_eq!(whole.paths[2].shares, [0.0, 0.005]);
}

/// Builds of one program may number paths differently. A changed function is another function.
#[test]
fn functions_with_different_graphs_are_different() {
    let changed = function("walk", "a.c", 1)
        .block(1, &[(0, 1)])
        .block(1, &[(0, 2)])
        .block(0, &[])
        .edge(0, 1, Outcome::Jump)
        .edge(1, 2, Outcome::Return)
        .done();
    let (old, new) = (app(), timed(vec![changed, two_way_loop("scan")]));
    let run_of = |image: &Arc<ImageMap>, paths: &[&str]| {
        let names = names(image);
        let list = paths
            .iter()
            .flat_map(|name| [(names[*name], 10), (names[*name], 30)].repeat(10));
        run(image, &stream(&list.collect::<Vec<_>>()))
    };
    let (a, b) = (
        run_of(&old, &["walk 12", "scan 12"]),
        run_of(&new, &["walk 01", "scan 12"]),
    );
    let name = |function: &holloway_analysis::Function| Rc::from(&*function.map.name);
    let actual = stability(&[&a, &b], RankOptions::default(), 10, &name);
    let ranks = actual.paths.iter().map(|path| path.ranks.clone());
    assert_eq!(
        ranks.collect::<Vec<_>>(),
        [
            vec![Some(0), None],
            vec![None, Some(0)],
            vec![Some(1), Some(1)]
        ]
    );
}

fn sample(most: u32) -> impl Strategy<Value = Sample> {
    let times = (0u64..1 << 44, 0u64..1 << 40, 0u64..1 << 30);
    (1..most, times, 0u32..1 << 31, 0u32..16).prop_map(
        |(word, (start, duration, inner), begun, flags)| Sample {
            word,
            start,
            duration,
            inner,
            begun,
            flags,
        },
    )
}

/// Generates samples, clock readings, and owners; if `wild`, also invalid words and holes.
fn records(wild: bool) -> impl Strategy<Value = Vec<u32>> {
    let most = Words::new(&app()).end();
    let any_clock = (0u64..1 << 40, 0u64..1 << 40, 0u32..1 << 31, 0u64..1 << 30)
        .prop_map(|(stamp, time, bias, probes)| clock(stamp, time, bias % 64, bias, probes));
    let odd = prop_oneof![
        Just(0),
        any::<u32>(),
        1..most,
        Just(WORD_CLOCK),
        Just(WORD_OWNER),
        WORD_CONTROL..,
        any::<u32>().prop_map(|word| word | OPERAND),
    ];
    let record = prop_oneof![
        6 => sample(most).prop_map(|sample| sample.words().to_vec()),
        1 => any_clock,
        1 => (0u32..9).prop_map(|thread| owner(thread).to_vec()),
        u32::from(wild) * 3 => vec(odd, 1..4),
    ];
    vec(record, 0..20).prop_map(|records| records.concat())
}

proptest! {
    /// The result does not depend on the ends of batches or on calls of `take`.
    #[test]
    fn batches_may_end_anywhere(words in records(true), cuts in vec(any::<prop::sample::Index>(), 0..6), take in any::<bool>()) {
        let image = app();
        let whole = read(&image, &words);
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(words.len() + 1)).collect();
        ends.push(words.len());
        ends.sort_unstable();
        let mut builder = VariationBuilder::new(Words::new(&image));
        let (mut begin, mut sum) = (0, Timings::default());
        for end in ends {
            builder.feed(4 * begin as u64, &words[begin..end]);
            begin = end;
            if take {
                sum.merge(&builder.take());
            }
        }
        sum.merge(&builder.finish());
        prop_assert_eq!(sum, whole);
    }

    /// The result does not depend on the order in which the streams of threads are merged.
    #[test]
    fn threads_merge_in_any_order(threads in vec(records(false), 1..4)) {
        let image = app();
        let read_all = |order: &mut dyn Iterator<Item = &Vec<u32>>| {
            let mut sum = Timings::default();
            order.for_each(|words| sum.merge(&read(&image, words)));
            sum
        };
        let in_order = read_all(&mut threads.iter());
        prop_assert_eq!(&in_order, &read_all(&mut threads.iter().rev()));
        // The same holds for files of one process.
        let whole = sealed(&image, &in_order, Kind::Times);
        let mut parts = threads.iter().map(|words| sealed(&image, &read(&image, words), Kind::Times));
        let mut joined = parts.next().unwrap();
        parts.for_each(|part| join(&mut joined, part));
        prop_assert_eq!(joined, whole);
    }

    /// Each sample is counted once: as read, or as invalid because its word is no path's.
    #[test]
    fn each_sample_is_counted_once(samples in vec(sample(60), 0..30)) {
        let image = app();
        let most = Words::new(&image).end();
        let words: Vec<u32> = samples.iter().flat_map(|sample| sample.words()).collect();
        let timings = read(&image, &words);
        let known = samples.iter().filter(|sample| sample.word < most);
        prop_assert_eq!(timings.stats.samples, Count(known.clone().count() as u64));
        prop_assert_eq!(timings.stats.samples.0 + timings.stats.strangers, samples.len() as u64);
        let begun: u64 = known.clone().map(|sample| u64::from(sample.begun)).sum();
        prop_assert_eq!(timings.stats.begun, Count(begun));
        let profile = sealed(&image, &timings, Kind::Variation);
        let run = VariationRun::new(vec![((*image).clone(), vec![profile])]);
        let options = RankOptions { disturbed: Disturbed::Included, ..RankOptions::default() };
        let ranking = rank(&run, options);
        let ranked: Count = ranking.paths.iter().map(RankedPath::samples).sum();
        prop_assert_eq!(ranked + Count(ranking.seldom), timings.stats.samples);
        let executions: f64 = ranking.paths.iter().map(|path| path.executions).sum();
        let total = executions + ranking.seldom_executions;
        prop_assert!((total - begun as f64).abs() <= 1e-6 * begun as f64 + 1e-6);
    }

    #[test]
    fn any_words_can_be_read(words in vec(any::<u32>(), 0..200), later_words in records(true)) {
        let image = app();
        let mut builder = VariationBuilder::new(Words::new(&image)).with_bias(Cycles(30));
        builder.feed(u64::MAX - 3, &words);
        builder.feed(8, &later_words);
        let timings = builder.finish();
        let profile = sealed(&image, &timings, Kind::Variation);
        let run = VariationRun::new(vec![((*image).clone(), vec![profile])]);
        let ranking = rank(&run, RankOptions::default());
        ranking.spreads(&run);
        prop_assert!(ranking.paths.iter().all(|path| path.net.is_finite() && path.net >= 0.0));
    }
}
