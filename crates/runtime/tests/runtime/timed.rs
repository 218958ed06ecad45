//! Tests timed paths: which paths have samples, and the durations of the samples.

use std::collections::BTreeMap;
use std::path::Path;

use crate::harness::timed::{Sample, TIMES, Thread, VARIATION, processes, program, scenario};
use crate::harness::{Libc, command, only, run, run_silently, test_with_each_libc};
use holloway_abi::{SAMPLE_CALLED, SAMPLE_MIGRATED, SAMPLE_PREEMPTED, SAMPLE_UNWATCHED};

test_with_each_libc! {
    all_paths_in_order,
    samples_are_proportional_to_executions,
    bursts_that_are_close,
    bursts_are_never_in_step,
    exclusive_time_excludes_paths_timed_inside,
    probe_time_is_no_path_time,
    a_path_of_known_cost,
    untimed_calls_set_a_flag,
    short_threads_count_as_much_as_long_ones,
    each_thread_is_timed_separately,
    clock_records_give_the_cycles_per_second,
    burst_of_the_environment,
    without_registration_preemption_is_unknown,
}

/// The words that the function `loop(first, times)` of `timed.c` appends.
fn loop_words(first: u32, times: u32) -> Vec<u32> {
    let turns = (0..times).map(|i| first + i % 3);
    turns.chain([first + 3]).collect()
}

/// The only thread of the only process.
fn only_thread(libc: Libc, name: &str, kind: &str, burst: Option<&str>) -> Thread {
    let run = only(scenario(libc, name, kind, burst));
    assert_eq!(run.head.profile.lost, 0);
    let thread = only(run.threads);
    assert_eq!((thread.tid, thread.damaged), (run.head.profile.pid, 0));
    thread
}

/// Does a sample have only expected flags? The flags for preemption and migration occur by chance.
///
/// Preemption is detected by the `struct rseq` that glibc registers with the kernel. Without this
/// registration (musl), the visits of bursts compare counts of context switches instead, and for
/// the kind times, preemption is unknown.
fn is_plain(libc: Libc, kind: &str, sample: &Sample) -> bool {
    let is_watched = !libc.is_musl() || kind != TIMES;
    let others = sample.flags & !(SAMPLE_PREEMPTED | SAMPLE_MIGRATED);
    others == if is_watched { 0 } else { SAMPLE_UNWATCHED }
}

/// Checks properties of all clock records and samples.
fn assert_sane(thread: &Thread) {
    let mut last = thread.clocks[0];
    for clock in &thread.clocks[1..] {
        assert!(clock.stamp >= last.stamp + (1 << 26), "{clock:?} {last:?}");
        assert!(
            clock.nanoseconds > last.nanoseconds && clock.probes >= last.probes,
            "{clock:?} {last:?}"
        );
        assert!(clock.switches >= last.switches && clock.bias == last.bias);
        last = *clock;
    }
    let first = thread.clocks[0];
    for sample in &thread.samples {
        assert!(sample.timed_inside <= sample.duration, "{sample:?}");
        assert!(
            sample.start + (1 << 12) >= first.stamp - first.probes,
            "{sample:?} {first:?}"
        );
    }
}

fn all_paths_in_order(libc: Libc) {
    for (kind, burst) in [
        (TIMES, None),
        (VARIATION, Some("0:1")),
        (VARIATION, Some("0:1000000000")),
    ] {
        let thread = only_thread(libc, "many", kind, burst);
        assert!(thread.words() == loop_words(1, 100_000));
        assert!(thread.samples.iter().all(|sample| sample.paths == 1));
        assert!(
            thread
                .samples
                .iter()
                .all(|sample| is_plain(libc, kind, sample))
        );
        let ordered = thread
            .samples
            .windows(2)
            .all(|pair| pair[0].start + pair[0].duration <= pair[1].start + thread.bias() + 200);
        assert!(ordered);
        assert_sane(&thread);
    }
}

/// Checks that a run of `total` paths has as many samples as expected, and that they stand for all
/// paths.
fn check_samples(
    libc: Libc,
    name: &str,
    total: u64,
    burst: Option<&str>,
    untimed: u64,
    timed: u64,
) {
    let thread = only_thread(libc, name, VARIATION, burst);
    let expected = total * timed / (untimed + timed);
    let samples = thread.samples.len() as u64;
    let weight = thread.weight();
    assert!(
        samples.abs_diff(expected) * 20 < expected,
        "{burst:?}: {samples} for {expected}"
    );
    assert!(
        weight.abs_diff(total) < 3 * (untimed + timed),
        "{burst:?}: {weight} for {total}"
    );
    for word in 1..=3 {
        let executions = thread.samples_of(word).count() as u64 * weight / samples;
        let allowance = total / 3 / 20 + total / 3 * 5 / (expected as f64).sqrt() as u64;
        assert!(
            executions.abs_diff(total / 3) < allowance,
            "{burst:?}: {executions} of {word}"
        );
    }
    assert_sane(&thread);
}

fn samples_are_proportional_to_executions(libc: Libc) {
    check_samples(libc, "bursts", 30_000_001, None, 10_000, 1);
    check_samples(libc, "bursts", 30_000_001, Some("1000:1"), 1_000, 1);
    check_samples(libc, "bursts", 30_000_001, Some("2000:7"), 2_000, 7);
}

fn bursts_that_are_close(libc: Libc) {
    check_samples(libc, "million", 1_000_001, Some("100:100"), 100, 100);
    check_samples(libc, "million", 1_000_001, Some("7:1"), 7, 1);
    check_samples(libc, "million", 1_000_001, Some("3"), 3, 1);
    check_samples(libc, "million", 1_000_001, Some("1:1"), 1, 1);
}

fn bursts_are_never_in_step(libc: Libc) {
    let thread = only_thread(libc, "million", VARIATION, Some("100:1"));
    let mut gaps: BTreeMap<u64, u32> = BTreeMap::new();
    for sample in &thread.samples[1..] {
        *gaps.entry(sample.paths).or_default() += 1;
    }
    assert_eq!(
        (gaps.keys().min(), gaps.keys().max()),
        (Some(&76), Some(&126))
    );
    assert_eq!(gaps.len(), 51);
}

fn exclusive_time_excludes_paths_timed_inside(libc: Libc) {
    for (kind, burst) in [(TIMES, None), (VARIATION, Some("0:1"))] {
        let thread = only_thread(libc, "nested", kind, burst);
        assert_sane(&thread);
        assert_eq!(thread.samples.len(), 4_000);
        let bias = thread.bias();
        for samples in thread.samples.chunks_exact(4) {
            let [one, two, outer, last] = samples else {
                panic!()
            };
            assert_eq!([one.word, two.word, outer.word, last.word], [1, 2, 3, 4]);
            assert_eq!(
                [one.timed_inside, two.timed_inside, last.timed_inside],
                [0; 3]
            );
            let inside = [one, two].map(|sample| sample.duration.saturating_sub(bias));
            assert_eq!(outer.timed_inside, inside[0] + inside[1]);
            assert!(samples.iter().all(|sample| is_plain(libc, kind, sample)));
        }
    }
}

fn probe_time_is_no_path_time(libc: Libc) {
    for (kind, burst) in [(TIMES, None), (VARIATION, Some("0:1"))] {
        let thread = only_thread(libc, "crowded", kind, burst);
        let least = |word| *thread.durations(word).iter().min().unwrap();
        assert_eq!(least(1) / 64, 0, "an empty path takes no time");
        assert!(least(2) < 60 * 1000, "{} for 1,000 calls", least(2));
        let exclusive = thread
            .samples_of(2)
            .map(|sample| sample.duration - sample.timed_inside);
        assert!(exclusive.min().unwrap() < 60 * 1000);
    }
}

/// The result of a run of the scenario `known`, whose paths have known costs.
struct KnownCosts {
    bias: u64,
    resolution: u64,
    /// Least durations of paths without work, with some work, and with twice that work.
    times: [u64; 3],
}

fn known(program: &Path) -> KnownCosts {
    let (mut command, data) = command(program, &["known"]);
    run_silently(&mut command);
    let thread = only(only(processes(&data)).threads);
    std::fs::remove_dir_all(data).unwrap();
    KnownCosts {
        bias: thread.bias(),
        resolution: thread.clocks[0].resolution,
        times: [1, 2, 3].map(|word| *thread.durations(word).iter().min().unwrap()),
    }
}

/// Makes three attempts of three runs each. Other load on the machine makes times longer, so the
/// least time of each attempt counts. These times differ by at most the clock's resolution, plus an
/// allowance because the processor's frequency varies relative to the time stamp counter.
fn a_path_of_known_cost(libc: Libc) {
    let program = program(libc, "known", TIMES);
    let runs: Vec<KnownCosts> = (0..9).map(|_| known(&program)).collect();
    let resolutions: Vec<u64> = runs.iter().map(|run| run.resolution).collect();
    assert!(
        resolutions.iter().all(|cycles| (1..=128).contains(cycles)),
        "{resolutions:?}"
    );
    // The cost of probes varies by a few cycles, even if the clock counts single cycles.
    let resolution = (*resolutions.iter().min().unwrap()).max(32);
    let least = |cost: &dyn Fn(&KnownCosts) -> u64| -> Vec<u64> {
        let attempts = runs.chunks(3);
        attempts
            .map(|runs| runs.iter().map(cost).min().unwrap())
            .collect()
    };
    let assert_alike = |costs: &[u64]| {
        let (least, most) = (costs.iter().min().unwrap(), costs.iter().max().unwrap());
        assert!(most - least <= resolution + least / 4, "{costs:?}");
    };
    assert_alike(&least(&|run| run.bias));
    let [none, one, two] = [0, 1, 2].map(|index| least(&|run| run.times[index]));
    assert!(none.iter().all(|none| *none <= resolution), "{none:?}");
    for (one, two) in one.iter().zip(&two) {
        assert!((1000..6000).contains(one), "{one}");
        // The doubled shorter time contains the error of the bias twice.
        let error = two.abs_diff(2 * one);
        assert!(error <= 2 * resolution + one / 100, "{one} {two}");
    }
    let costs: Vec<u64> = one.iter().zip(&two).map(|(one, two)| two - one).collect();
    assert_alike(&costs);
}

fn untimed_calls_set_a_flag(libc: Libc) {
    let thread = only_thread(libc, "calls", VARIATION, Some("1000:1"));
    let mut counts = [0, 0];
    for sample in &thread.samples {
        if let word @ 1..=2 = sample.word {
            counts[word as usize - 1] += 1;
            let called = sample.flags & SAMPLE_CALLED != 0;
            assert_eq!(called, word == 2, "{sample:?}");
        }
    }
    assert!(counts[0] > 1_000 && counts[1] > 1_000, "{counts:?}");
    let thread = only_thread(libc, "calls", VARIATION, Some("1000000:3000000"));
    let without_flag = thread
        .samples
        .iter()
        .filter(|sample| sample.flags & SAMPLE_CALLED == 0);
    assert!(without_flag.count() * 100 > thread.samples.len() * 99);
}

fn short_threads_count_as_much_as_long_ones(libc: Libc) {
    const TOTAL: u64 = 20_000 * 31;
    let run = only(scenario(libc, "brief", VARIATION, Some("500:1")));
    let weight: u64 = run.threads.iter().map(Thread::weight).sum();
    let samples: usize = run.threads.iter().map(|thread| thread.samples.len()).sum();
    assert!(samples > 900, "{samples} samples");
    assert!(weight.abs_diff(TOTAL) < TOTAL / 6, "{weight} for {TOTAL}");
    assert_eq!(run.head.profile.threads, 20_000);
}

fn each_thread_is_timed_separately(libc: Libc) {
    let run = only(scenario(libc, "threads", TIMES, None));
    let mut firsts: Vec<u32> = Vec::new();
    for thread in &run.threads {
        let first = thread.samples[0].word;
        assert!(thread.words() == loop_words(first, 200_000));
        assert_sane(thread);
        firsts.push(first);
    }
    firsts.sort_unstable();
    assert_eq!(firsts, [1, 11, 21, 31]);
    assert!(run.spools > 4, "{} spools", run.spools);
}

fn clock_records_give_the_cycles_per_second(libc: Libc) {
    let thread = only_thread(libc, "million", VARIATION, Some("3:1"));
    let (first, last) = (thread.clocks[0], thread.clocks[thread.clocks.len() - 1]);
    let seconds = (last.nanoseconds - first.nanoseconds) as f64 / 1e9;
    let rate = (last.stamp - first.stamp) as f64 / seconds;
    assert!((1e8..1e10).contains(&rate), "{rate}");
    for pair in thread.clocks.windows(2) {
        let expected = (pair[1].stamp - pair[0].stamp) as f64 / rate * 1e9;
        let measured = (pair[1].nanoseconds - pair[0].nanoseconds) as f64;
        assert!(
            (measured / expected - 1.0).abs() < 0.01,
            "{measured} {expected}"
        );
    }
}

fn burst_of_the_environment(libc: Libc) {
    let program = program(libc, "environment", VARIATION);
    for (value, is_valid) in [
        ("", true),
        ("0:1", true),
        ("5", true),
        ("1000000000:1000000000", true),
        ("1000000001:1", false),
        ("5:0", false),
        ("5:", false),
        (":5", false),
        ("5:1x", false),
        (" 5:1", false),
        ("-5:1", false),
        ("18446744073709551617:1", false),
        ("often", false),
    ] {
        let (mut command, data) = command(&program, &["many"]);
        let output = run(command.env("HOLLOWAY_BURST", value));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success());
        let line = format!(
            "holloway: HOLLOWAY_BURST is {value}, but must be N or N:M, with N from 0 \
             and M from 1 to 1000000000; this run uses 10000:1\n"
        );
        assert_eq!(stderr, if is_valid { "" } else { &line });
        let samples = only(only(processes(&data)).threads).samples.len();
        let expected = match value {
            "0:1" => 100_001..=100_001,
            "5" => 16_000..=17_400,
            "1000000000:1000000000" => 0..=100_001, // the thread may begin in a burst
            _ => 8..=13,
        };
        assert!(expected.contains(&samples), "{value}: {samples}");
        std::fs::remove_dir_all(data).unwrap();
    }
}

fn without_registration_preemption_is_unknown(libc: Libc) {
    for (kind, burst, is_unwatched) in [(TIMES, "", true), (VARIATION, "0:1", false)] {
        let name = format!("unregistered{kind}");
        let (mut command, data) = command(&program(libc, &name, kind), &["many"]);
        command.env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
        run_silently(command.env("HOLLOWAY_BURST", burst));
        let thread = only(only(processes(&data)).threads);
        assert!(thread.words() == loop_words(1, 100_000));
        let has_flag = |flags| flags & SAMPLE_UNWATCHED != 0;
        assert!(
            thread
                .samples
                .iter()
                .all(|sample| has_flag(sample.flags) == is_unwatched)
        );
    }
}
