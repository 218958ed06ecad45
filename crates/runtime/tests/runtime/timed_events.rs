//! Tests timed paths during preemption, signals, forks, and kills.

use crate::harness::timed::{
    ProcessSamples, Sample, TIMES, Thread, VARIATION, processes, program, scenario,
};
use crate::harness::{
    Libc, command, gcc, kill, object, only, run, run_silently, source, test_directory,
    test_with_each_libc,
};
use holloway_abi::{
    SAMPLE_CALLED, SAMPLE_MIGRATED, SAMPLE_PREEMPTED, SAMPLE_UNWATCHED, SAMPLE_WORDS,
};

test_with_each_libc! {
    preemption_sets_a_flag,
    unwatched_paths_are_not_marked,
    preemption_sets_a_flag_without_registration,
    migration_sets_a_flag,
    waking_up_on_another_processor_sets_no_flag,
    a_path_may_continue_in_another_thread,
    a_child_continues_its_parents_time,
    short_children_count_as_much_as_long_ones,
    the_child_of_a_vfork_is_timed_as_its_parent,
    raw_forks,
    signals_while_paths_are_timed,
    a_path_after_each_instruction,
    signals_among_bursts,
    handlers_that_jump_out_of_timed_paths,
    kill_at_any_moment,
    no_space_for_samples,
    visits_take_little_stack,
    static_programs,
    a_child_has_the_state_of_the_fork,
}

/// Each timed kind, with the value of HOLLOWAY_BURST that times every path.
pub(crate) const KINDS: [(&str, &str); 2] = [(TIMES, ""), (VARIATION, "0:1")];

/// The kinds of [`KINDS`] in which the runtime detects preemption. musl registers no `struct rseq`,
/// so the runtime would need a system call for each path. It does not do this for the kind times.
fn watched(libc: Libc) -> impl Iterator<Item = (&'static str, &'static str)> {
    let is_watched = move |kind: &str| !libc.is_musl() || kind != TIMES;
    KINDS.into_iter().filter(move |(kind, _)| is_watched(kind))
}

/// Runs a scenario. Returns the numbers that it printed, and the samples of its processes.
pub(crate) fn printed(
    libc: Libc,
    name: &str,
    kind: &str,
    burst: &str,
    tunables: &str,
) -> (Vec<u64>, Vec<ProcessSamples>) {
    let test = format!("{name}{kind}-{tunables}-{}", burst.replace(':', "-"));
    let (mut command, data) = command(&program(libc, &test, kind), &[name]);
    command.env("HOLLOWAY_BURST", burst);
    let output = run(command.env("GLIBC_TUNABLES", tunables));
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let numbers = text.split_whitespace().map(|word| word.parse().unwrap());
    (numbers.collect(), processes(&data))
}

pub(crate) fn count(thread: &Thread, word: u32) -> usize {
    thread.samples_of(word).count()
}

pub(crate) fn flags(thread: &Thread, word: u32) -> Vec<u32> {
    thread.samples_of(word).map(|sample| sample.flags).collect()
}

/// The words that the function `loop(first, times)` of `timed.c` appends.
fn loop_words(first: u32, times: u32) -> Vec<u32> {
    (0..times)
        .map(|i| first + i % 3)
        .chain([first + 3])
        .collect()
}

fn preemption_sets_a_flag(libc: Libc) {
    for (kind, burst) in watched(libc) {
        let thread = only(
            printed(libc, "preempted", kind, burst, "")
                .1
                .swap_remove(0)
                .threads,
        );
        let (quiet, preempted) = (flags(&thread, 1), flags(&thread, 2));
        assert!(preempted.len() >= 10);
        assert!(preempted.iter().all(|flags| flags & SAMPLE_PREEMPTED != 0));
        let wrong = quiet.iter().filter(|flags| **flags & SAMPLE_PREEMPTED != 0);
        // The thread may be preempted between the program's check for switches and the path's end.
        assert!(
            wrong.count() <= 1 + quiet.len() / 50,
            "{} paths",
            quiet.len()
        );
        for word in [3, 4] {
            let all = flags(&thread, word);
            let wrong = all.iter().filter(|flags| **flags & SAMPLE_PREEMPTED != 0);
            assert!(wrong.count() <= 5, "{word}: {all:?}");
        }
    }
}

/// A path in an unwatched thread never has the flag for preemption.
fn unwatched_paths_are_not_marked(libc: Libc) {
    let mut runs = printed(libc, "preempted", TIMES, "", "glibc.pthread.rseq=0").1;
    let thread = only(runs.swap_remove(0).threads);
    assert!(count(&thread, 2) >= 10);
    let mut all = thread.samples.iter();
    assert!(all.all(|sample| sample.flags == SAMPLE_UNWATCHED));
}

fn preemption_sets_a_flag_without_registration(libc: Libc) {
    let tunables = "glibc.pthread.rseq=0";
    let mut runs = printed(libc, "preempted", VARIATION, "0:1", tunables).1;
    let thread = only(runs.swap_remove(0).threads);
    let hit = flags(&thread, 2);
    assert!(hit.len() >= 10 && hit.iter().all(|flags| flags & SAMPLE_PREEMPTED != 0));
    assert!(
        thread
            .samples
            .iter()
            .all(|sample| sample.flags & SAMPLE_UNWATCHED == 0)
    );
}

fn migration_sets_a_flag(libc: Libc) {
    for (kind, burst) in watched(libc) {
        let (numbers, runs) = printed(libc, "migrated", kind, burst, "");
        let thread = only(only(runs).threads);
        let migrated = |word| {
            flags(&thread, word)
                .iter()
                .filter(|f| **f & SAMPLE_MIGRATED != 0)
                .count()
        };
        assert!(
            kind == TIMES || migrated(1) == 0,
            "no visit of the runtime when a path begins"
        );
        assert_eq!(migrated(2), if numbers[0] > 1 { 50 } else { 0 });
    }
}

fn waking_up_on_another_processor_sets_no_flag(libc: Libc) {
    for (kind, burst) in KINDS {
        let thread = only(only(printed(libc, "woken", kind, burst, "").1).threads);
        let slept = flags(&thread, 1);
        let moved = slept.iter().filter(|flags| **flags & SAMPLE_MIGRATED != 0);
        // The thread may also be moved between the program's check and the path's end, or before
        // the path began.
        assert!(moved.count() <= 1 + slept.len() / 20, "{slept:?}");
    }
}

fn a_path_may_continue_in_another_thread(libc: Libc) {
    for (kind, burst) in KINDS {
        let (_, runs) = printed(libc, "handed-on", kind, burst, "");
        let threads = only(runs).threads;
        let [first, second] = &threads[..] else {
            panic!("two threads")
        };
        assert_eq!((count(first, 1), count(first, 2)), (1, 1000));
        // The path that changed threads has no sample; in bursts, the next path has no sample,
        // either.
        let timed = if kind == TIMES { 1000 } else { 999 };
        assert_eq!((count(second, 6), count(second, 7)), (timed, 1), "{kind}");
        for thread in &threads {
            let sane = |sample: &&Sample| sample.duration < 1 << 32;
            assert_eq!(
                thread.samples.iter().filter(sane).count(),
                thread.samples.len()
            );
            assert_eq!(thread.damaged, 0);
        }
    }
}

fn a_child_continues_its_parents_time(libc: Libc) {
    for (kind, burst) in KINDS {
        let [parent, child] = &printed(libc, "forked", kind, burst, "").1[..] else {
            panic!("two processes")
        };
        let (parent, child) = (&parent.threads[0], &child.threads[0]);
        let before_fork = loop_words(1, 1000);
        assert!(parent.words() == [before_fork, vec![20], loop_words(21, 1000)].concat());
        assert!(child.words() == [vec![10], loop_words(11, 1000)].concat());
        assert_eq!((parent.damaged, child.damaged), (0, 0));
        assert_eq!(parent.bias(), child.bias());
        // The path around the fork began before the fork. Both the parent and the child count it.
        assert_eq!((parent.weight(), child.weight()), (2003, 1002), "{kind}");
        // The same path began before the fork, and took less than a second in the child.
        let (one, other) = (
            parent.samples_of(20).next().unwrap(),
            child.samples_of(10).next().unwrap(),
        );
        assert_eq!(one.start, other.start);
        assert!(other.duration < 1 << 32, "{other:?}");
        assert!(child.clocks[0].probes >= parent.clocks[0].probes);
        let inside = child
            .samples
            .iter()
            .all(|sample| sample.start >= other.start);
        assert!(
            inside
                && child.samples[1..]
                    .iter()
                    .all(|sample| sample.duration < 1 << 32)
        );
    }
}

/// Each child begins at a random point of an interval. A few children have samples, which stand for
/// the other children.
fn short_children_count_as_much_as_long_ones(libc: Libc) {
    const TOTAL: f64 = 1000.0 * 31.0;
    for (burst, untimed, timed) in [("100:1", 100.0, 1.0), ("60:20", 60.0, 20.0)] {
        let runs = scenario(libc, "brood", VARIATION, Some(burst));
        let children = runs.iter().filter(|run| run.head.profile.forked);
        let threads: Vec<&Thread> = children.flat_map(|run| &run.threads).collect();
        let weight: u64 = threads.iter().map(|thread| thread.weight()).sum();
        let samples: usize = threads.iter().map(|thread| thread.samples.len()).sum();
        let expected = TOTAL * timed / (untimed + timed);
        // The allowance is six standard errors, if a child has samples of all its paths or of none.
        assert!(
            (samples as f64 / expected - 1.0).abs() < 0.4,
            "{samples} for {expected}"
        );
        assert!(
            (weight as f64 / TOTAL - 1.0).abs() < 0.4,
            "{weight} for {TOTAL}"
        );
    }
}

fn the_child_of_a_vfork_is_timed_as_its_parent(libc: Libc) {
    for (kind, burst) in KINDS {
        let thread = only(only(printed(libc, "vforked", kind, burst, "").1).threads);
        assert_eq!(thread.words(), [1, 2]);
    }
}

fn raw_forks(libc: Libc) {
    for (kind, burst) in KINDS {
        let [parent, child] = &printed(libc, "raw", kind, burst, "").1[..] else {
            panic!("two processes")
        };
        let words = [loop_words(1, 1000), vec![20], loop_words(21, 1000)].concat();
        assert!(parent.threads[0].words() == words);
        let words = [vec![10], loop_words(11, 100_000)].concat();
        assert!(child.threads[0].words() == words);
    }
}

/// Checks that the paths of main and of its handlers are complete, each in order.
fn assert_mixed(thread: &Thread, first: &[u32], handled: u64) {
    let mut words = thread.words();
    words.retain(|word| *word != 100);
    assert!(words == first, "{} of {}", words.len(), first.len());
    assert_eq!((count(thread, 100) as u64, thread.damaged), (handled, 0));
    for sample in &thread.samples {
        assert!(
            sample.timed_inside <= sample.duration && sample.duration < 1 << 40,
            "{sample:?}"
        );
    }
}

fn signals_while_paths_are_timed(libc: Libc) {
    for (kind, burst) in KINDS {
        let (numbers, runs) = printed(libc, "storm", kind, burst, "");
        assert!(numbers[0] > 50, "{} signals", numbers[0]);
        let thread = only(only(runs).threads);
        assert_mixed(&thread, &loop_words(1, 1_000_000), numbers[0]);
        let disturbed = thread
            .samples
            .iter()
            .filter(|sample| sample.flags & 3 != 0)
            .count();
        let switches = thread.clocks[thread.clocks.len() - 1].switches as usize;
        assert!(
            disturbed <= 20 * (10 + switches),
            "{disturbed}, {switches} switches"
        );
    }
}

fn a_path_after_each_instruction(libc: Libc) {
    for (kind, burst) in KINDS {
        let (numbers, runs) = printed(libc, "every-instruction", kind, burst, "");
        assert!(numbers[0] > 5_000, "{} traps", numbers[0]);
        let words = [vec![99], loop_words(1, 30)].concat();
        assert_mixed(&only(only(runs).threads), &words, numbers[0]);
    }
}

fn signals_among_bursts(libc: Libc) {
    let (numbers, runs) = printed(libc, "storm", VARIATION, "100:10", "");
    let weight = only(only(runs).threads).weight();
    let began = 1_000_001 + numbers[0];
    assert!(weight.abs_diff(began) < began / 20, "{weight} for {began}");
}

fn handlers_that_jump_out_of_timed_paths(libc: Libc) {
    for (kind, burst) in [KINDS[0], KINDS[1], (VARIATION, "10:3")] {
        let (numbers, runs) = printed(libc, "jumping", kind, burst, "");
        let thread = only(only(runs).threads);
        let (finished, jumped) = (numbers[0], numbers[1]);
        assert!(jumped > 50);
        let weight = thread.weight();
        let allowance = 2 * jumped + if burst == "10:3" { finished / 50 } else { 0 };
        assert!(
            weight.abs_diff(finished) <= allowance,
            "{weight} of {finished}, {jumped} jumps"
        );
        let sane = thread
            .samples
            .iter()
            .all(|sample| sample.duration < 1 << 40);
        assert!(sane);
        // A jump may cut a sample between any two words.
        let damaged = thread.damaged as u64;
        let most = SAMPLE_WORDS as u64 * jumped;
        assert!(damaged <= most, "{damaged} damaged, {jumped} jumps");
    }
}

fn kill_at_any_moment(libc: Libc) {
    for (kind, burst) in KINDS {
        let program = program(libc, &format!("killed{kind}"), kind);
        let mut seed = 54321_u64;
        for round in 0..40 {
            let (mut command, data) = command(&program, &["until-killed"]);
            command.env("HOLLOWAY_BURST", burst);
            let finished = kill(&mut command, &mut seed, 40_000) as usize;
            let thread = processes(&data).pop().and_then(|mut run| run.threads.pop());
            let thread = thread.unwrap_or_default();
            let words = thread.words();
            let wrong = (1..).zip(&words).find(|(expected, word)| expected != *word);
            assert!(
                wrong.is_none(),
                "{round}: {wrong:?}, {} damaged",
                thread.damaged
            );
            let is_complete = words.len() == finished || words.len() == finished + 1;
            assert!(is_complete, "{round}: {} for {finished}", words.len());
            if data.exists() {
                std::fs::remove_dir_all(&data).unwrap();
            }
        }
    }
}

fn no_space_for_samples(libc: Libc) {
    let (mut command, data) = command(&program(libc, "size-limit", TIMES), &["size-limit"]);
    let output = run(&mut command);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{stderr}");
    let limit = "larger than the limit on file sizes";
    assert!(
        stderr.contains(limit) && stderr.lines().count() == 1,
        "{stderr}"
    );
    let run = only(processes(&data));
    assert!(run.spools > 0, "no space for any spool");
    let words = only(run.threads).words();
    assert!(run.head.profile.lost == 1 && words.len() > 60_000);
    assert!(
        words
            .iter()
            .eq(loop_words(1, 1_000_000).iter().take(words.len()))
    );
}

fn visits_take_little_stack(libc: Libc) {
    for (kind, burst) in KINDS {
        let numbers = printed(libc, "on-small-stack", kind, burst, "").0;
        assert!(numbers[0] < 4096 && numbers[1] < 768, "{numbers:?}");
    }
}

/// Static programs time paths, too.
fn static_programs(libc: Libc) {
    for (kind, burst) in KINDS {
        let test_directory = test_directory(libc, &format!("timed-static{kind}"));
        let program = test_directory.join("timed");
        let mut gcc = gcc(libc);
        gcc.args([
            "-O2",
            "-mno-red-zone",
            "-pthread",
            "-static",
            "-w",
            kind,
            "-o",
        ]);
        gcc.arg(&program)
            .arg(source("timed.c"))
            .arg(object(&test_directory));
        assert!(run(&mut gcc).status.success());
        let (mut command, data) = command(&program, &["many"]);
        run_silently(command.env("HOLLOWAY_BURST", burst));
        let thread = only(only(processes(&data)).threads);
        assert!(thread.words() == loop_words(1, 100_000));
        let known = SAMPLE_PREEMPTED | SAMPLE_MIGRATED | SAMPLE_UNWATCHED;
        assert!(
            thread
                .samples
                .iter()
                .all(|sample| sample.flags & !known == 0)
        );
        assert!(
            thread
                .samples
                .iter()
                .all(|sample| sample.flags & SAMPLE_CALLED == 0)
        );
    }
}

/// The parent continues at once after the fork, in a ring that the child still shares.
fn a_child_has_the_state_of_the_fork(libc: Libc) {
    for (kind, burst) in KINDS {
        let runs = printed(libc, "fork-at-once", kind, burst, "").1;
        assert_eq!(runs.len(), 21);
        for run in &runs[1..] {
            let thread = &run.threads[0];
            let path = thread.samples_of(10).next().unwrap();
            assert_eq!((path.timed_inside, thread.weight()), (0, 1), "{path:?}");
        }
    }
}
