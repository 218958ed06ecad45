//! Tests streams without a collector: the threads spool, and the streams are complete and in order.

use crate::harness::streams::{MANY, Run, SERIES, assert_series, paths, program, runs};
use crate::harness::{Libc, command, kill, only, run, run_silently, test_with_each_libc};
use holloway_abi::{CHUNK, FIRST_CELLS, Kind, PAGE, RING_SIZE};

/// Position of the first word of a stream.
const FIRST: u64 = CHUNK - FIRST_CELLS;

test_with_each_libc! {
    words_of_a_short_run_are_in_the_ring,
    words_that_do_not_repeat,
    words_that_repeat_take_little_space,
    each_thread_has_its_own_stream,
    rings_of_dead_threads_are_handed_on,
    holes_of_dead_threads_do_not_stop_the_reader,
    a_child_begins_at_a_later_position,
    the_child_of_a_vfork_appends_to_its_parents_stream,
    frames_that_catch,
    signals_while_main_appends,
    a_signal_at_every_instruction,
    handlers_at_the_boundaries_of_chunks,
    spooling_takes_little_stack,
    forks_among_threads,
    raw_forks,
    masks_are_kept,
    handlers_that_jump_out,
    kill_at_any_moment,
    limit_on_file_sizes,
    disk_that_fills_up,
    disk_without_room_for_a_ring,
}

/// Runs a scenario, and checks that it prints nothing. Returns the streams of its processes.
fn run_spooled(libc: Libc, name: &str) -> Vec<Run> {
    let (mut command, data) = command(&program(libc, name), &[name]);
    run_silently(&mut command);
    let runs = runs(&data);
    for run in &runs {
        assert_eq!(
            (run.head.profile.kind, run.head.profile.lost),
            (Kind::Trace, 0)
        );
        assert!(run.rings.iter().all(|(_, missing)| missing.is_none()));
        assert_eq!(run.head.collector, 0);
    }
    runs
}

fn words_of_a_short_run_are_in_the_ring(libc: Libc) {
    let run = only(run_spooled(libc, "few"));
    assert_eq!((run.spools, run.rings.len()), (0, 1));
    let pid = run.head.profile.pid;
    let stream = only(run.streams);
    assert_series(&stream, &[(0, 1000)]);
    assert_eq!(stream.tid, pid);
    // The file's first page, the ring's first page, the header of the cells, and the first cells.
    assert_eq!(run.size as u64, 3 * PAGE + FIRST_CELLS + PAGE);
}

fn words_that_do_not_repeat(libc: Libc) {
    let run = only(run_spooled(libc, "one"));
    assert!(run.spools >= 4, "{} spools", run.spools);
    assert_series(&only(run.streams), &[(0, MANY)]);
}

fn words_that_repeat_take_little_space(libc: Libc) {
    let run = only(run_spooled(libc, "loops"));
    let stream = only(run.streams);
    assert_eq!(stream.words.len() as u32, 4 * MANY);
    assert!((0..).zip(&stream.words).all(|(i, word)| *word == 1 + i % 7));
    let words = 4 * stream.words.len();
    assert!(
        run.size < RING_SIZE as usize + words / 8,
        "{} bytes",
        run.size
    );
}

fn each_thread_has_its_own_stream(libc: Libc) {
    let run = only(run_spooled(libc, "threads"));
    assert_eq!(run.streams.len(), 4);
    let firsts: Vec<u32> = run.streams.iter().map(|s| s.words[0] - 1).collect();
    for (first, stream) in firsts.iter().zip(&run.streams) {
        assert_series(stream, &[(*first, MANY)]);
    }
    assert_eq!(run.head.profile.threads, 4);
}

fn rings_of_dead_threads_are_handed_on(libc: Libc) {
    let run = only(run_spooled(libc, "in-turn"));
    assert!(run.rings.len() < 10, "{} rings", run.rings.len());
    let mut firsts: Vec<u32> = run.streams.iter().map(|s| s.words[0] - 1).collect();
    for (first, stream) in firsts.iter().zip(&run.streams) {
        assert_series(stream, &[(*first, 1000)]);
    }
    firsts.sort_unstable();
    assert_eq!(firsts, (0..100).map(|i| i * SERIES).collect::<Vec<_>>());
}

fn holes_of_dead_threads_do_not_stop_the_reader(libc: Libc) {
    let run = only(run_spooled(libc, "holes"));
    let holes: usize = run.streams.iter().map(|stream| stream.holes).sum();
    assert_eq!((run.streams.len(), holes), (11, 10));
    let main = run.streams.iter().find(|s| s.holes == 0).unwrap();
    assert_series(main, &[(SERIES, MANY)]);
}

fn a_child_begins_at_a_later_position(libc: Libc) {
    let [parent, child] = &run_spooled(libc, "forked")[..] else {
        panic!("two processes")
    };
    assert_series(&parent.streams[0], &[(0, 2 * MANY)]);
    assert_series(&child.streams[0], &[(SERIES, MANY)]);
    assert!(child.rings[0].0 >= u64::from(4 * MANY));
    assert_eq!(child.streams[0].tid, child.head.profile.pid);
}

fn the_child_of_a_vfork_appends_to_its_parents_stream(libc: Libc) {
    let run = only(run_spooled(libc, "vforked"));
    assert_series(&run.streams[0], &[(0, 20), (SERIES, 1)]);
}

fn frames_that_catch(libc: Libc) {
    let run = only(run_spooled(libc, "come-back"));
    let stream = only(run.streams);
    assert_series(&stream, &[(0, 100 + MANY)]);
    let (words, position) = (100 + MANY as usize, FIRST + 8 + 4 * u64::from(104 + MANY));
    assert_eq!(
        stream.caught[..2],
        [(100, FIRST + 8, 77), (words, position, 78)]
    );
    for (i, caught) in (0..).zip(&stream.caught[2..]) {
        assert_eq!(*caught, (words, i << 33 & !3, 1 + i as u32));
    }
    assert_eq!(stream.caught.len(), 30_002);
}

/// Runs a scenario that prints the numbers of words that main and its handlers appended.
fn run_storm(libc: Libc, name: &str) {
    let (mut command, data) = command(&program(libc, name), &[name]);
    let output = run(&mut command);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let counts: Vec<u32> = text
        .split_whitespace()
        .map(|n| n.parse().unwrap())
        .collect();
    let run = only(runs(&data));
    assert_series(&only(run.streams), &[(0, counts[0]), (SERIES, counts[1])]);
    assert!(counts[1] > 50, "{} in handlers", counts[1]);
}

fn signals_while_main_appends(libc: Libc) {
    run_storm(libc, "storm");
}

fn a_signal_at_every_instruction(libc: Libc) {
    run_storm(libc, "every-instruction");
}

fn handlers_at_the_boundaries_of_chunks(libc: Libc) {
    let run = only(run_spooled(libc, "boundaries"));
    let stream = only(run.streams);
    assert!(stream.words.len() as u32 > MANY);
    assert!(
        (FIRST as u32 / 4 + 3..)
            .zip(&stream.words)
            .all(|(expected, word)| *word == expected)
    );
    assert_eq!(stream.holes, 0);
}

fn spooling_takes_little_stack(libc: Libc) {
    let (mut command, data) = command(&program(libc, "stack"), &["on-small-stack"]);
    let text = String::from_utf8(run(&mut command).stdout).unwrap();
    let used: u64 = text.trim().parse().unwrap();
    assert!(used < 3072, "{used} bytes of stack");
    assert_series(&only(only(runs(&data)).streams), &[(0, MANY), (SERIES, 1)]);
}

fn forks_among_threads(libc: Libc) {
    let all = run_spooled(libc, "family");
    assert_eq!(all.len(), 21);
    for child in &all[1..] {
        let [main, thread] = &child.streams[..] else {
            panic!("{} streams", child.streams.len())
        };
        assert_series(main, &[(20 * SERIES, 30_000)]);
        assert_series(thread, &[(0, MANY)]);
    }
    assert_eq!(all[0].streams.len(), 4);
    for stream in &all[0].streams {
        let first = (stream.words[0] - 1) / SERIES * SERIES;
        if first < 12 * SERIES {
            let expected = (1..).map(|i| first + 1 + i % 1000);
            assert!(
                stream
                    .words
                    .iter()
                    .copied()
                    .eq(expected.take(stream.words.len()))
            );
        } else {
            let expected = (0..10).flat_map(|_| 1..=30_000).map(|i| first + i);
            assert!(stream.words.iter().copied().eq(expected));
        }
    }
}

fn raw_forks(libc: Libc) {
    let [parent, child] = &run_spooled(libc, "raw")[..] else {
        panic!("two processes")
    };
    assert_series(&parent.streams[0], &[(0, 100 + MANY)]);
    assert_series(&child.streams[0], &[(SERIES, MANY)]);
    assert_eq!(child.streams[0].caught, [(0, 0, 1)]);
}

fn masks_are_kept(libc: Libc) {
    run_spooled(libc, "masks");
}

fn handlers_that_jump_out(libc: Libc) {
    let (mut command, data) = command(&program(libc, "jumped"), &["jumped"]);
    run_silently(&mut command);
    let mut stream = only(only(runs(&data)).streams);
    // After a jump, the program appends its last word again if it had not yet counted the word.
    stream.words.dedup();
    stream.holes = 0;
    assert_series(&stream, &[(0, 3 * MANY)]);
}

fn kill_at_any_moment(libc: Libc) {
    let program = program(libc, "killed");
    let mut seed = 12345_u64;
    for round in 0..100 {
        let (mut command, data) = command(&program, &["until-killed"]);
        let finished = kill(&mut command, &mut seed, 40_000) as u32;
        let stream = runs(&data)
            .pop()
            .and_then(|mut run| run.streams.pop())
            .unwrap_or_default();
        let appended = stream.words.len() as u32;
        assert!(
            appended == finished || appended == finished + 1,
            "{round}: {appended} for {finished}"
        );
        assert!(stream.holes <= 1 && stream.words.into_iter().eq(1..=appended));
        if data.exists() {
            std::fs::remove_dir_all(&data).unwrap();
        }
    }
}

/// Runs a scenario without enough space for its words. Checks that the file contains the beginning
/// of each stream. Returns the number of spools.
fn run_without_space(libc: Libc, name: &str, directory: &str, reason: &str) -> usize {
    let (mut command, data) = command(&program(libc, name), &[name]);
    let output = run(&mut command);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.success() && output.stdout.is_empty(),
        "{stderr}"
    );
    assert!(stderr.starts_with("holloway: cannot write "), "{stderr}");
    assert!(
        stderr.contains(reason) && stderr.lines().count() == 1,
        "{stderr}"
    );
    let directory = data.with_file_name(directory);
    assert_eq!(paths(&directory).len(), 1);
    let run = only(runs(&directory));
    assert!(run.head.profile.lost > 0);
    for (stream, (_, missing_from)) in run.streams.iter().zip(&run.rings) {
        // An early thread had space for all its words.
        let Some(missing_from) = *missing_from else {
            continue;
        };
        let words = stream.words.len() as u32;
        assert_eq!(FIRST + u64::from(8 + 4 * words), missing_from);
        assert_series(stream, &[(stream.words[0] - 1, words)]);
    }
    run.spools
}

fn limit_on_file_sizes(libc: Libc) {
    let spools = run_without_space(
        libc,
        "size-limit",
        "data",
        "larger than the limit on file sizes",
    );
    assert!(spools > 0);
}

fn disk_that_fills_up(libc: Libc) {
    let spools = run_without_space(libc, "full-disk", "copy", "no space left on device");
    assert!(spools > 0);
}

fn disk_without_room_for_a_ring(libc: Libc) {
    let spools = run_without_space(libc, "tiny-disk", "copy", "no space left on device");
    assert_eq!(spools, 0);
}
