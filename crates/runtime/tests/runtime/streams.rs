//! Streams are whole and in order without a collector: the threads spool.

use crate::common::streams::{KINDS, MANY, Run, assert_series, paths, program, runs};
use crate::common::{command, kill, only, run, run_silently};
use holloway_abi::Kind;
use holloway_abi::RING_SIZE;

/// Runs a scenario silently; what its processes appended.
fn spooled(name: &str) -> Vec<Run> {
    let (mut command, data) = command(&program(name), &[name]);
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

#[test]
fn words_of_a_short_run_are_in_the_ring() {
    let run = only(spooled("few"));
    assert_eq!((run.spools, run.rings.len()), (0, 1));
    let pid = run.head.profile.pid;
    let stream = only(run.streams);
    assert_series(&stream, &[(0, 1000)]);
    assert_eq!(stream.tid, pid);
}

#[test]
fn words_that_do_not_repeat() {
    let run = only(spooled("one"));
    assert!(run.spools >= 4, "{} spools", run.spools);
    assert_series(&only(run.streams), &[(0, MANY)]);
}

#[test]
fn words_that_repeat_take_little_space() {
    let run = only(spooled("loops"));
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

#[test]
fn threads_have_streams_of_their_own() {
    let run = only(spooled("threads"));
    assert_eq!(run.streams.len(), 4);
    let firsts: Vec<u32> = run.streams.iter().map(|s| s.words[0] - 1).collect();
    for (first, stream) in firsts.iter().zip(&run.streams) {
        assert_series(stream, &[(*first, MANY)]);
    }
    assert_eq!(run.head.profile.threads, 4);
}

#[test]
fn rings_of_dead_threads_are_handed_on() {
    let run = only(spooled("in-turn"));
    assert!(run.rings.len() < 10, "{} rings", run.rings.len());
    let mut firsts: Vec<u32> = run.streams.iter().map(|s| s.words[0] - 1).collect();
    for (first, stream) in firsts.iter().zip(&run.streams) {
        assert_series(stream, &[(*first, 1000)]);
    }
    firsts.sort_unstable();
    assert_eq!(firsts, (0..100).map(|i| i * KINDS).collect::<Vec<_>>());
}

#[test]
fn holes_of_dead_threads_stop_nothing() {
    let run = only(spooled("holes"));
    let holes: usize = run.streams.iter().map(|stream| stream.holes).sum();
    assert_eq!((run.streams.len(), holes), (11, 10));
    let main = run.streams.iter().find(|s| s.holes == 0).unwrap();
    assert_series(main, &[(KINDS, MANY)]);
}

#[test]
fn a_child_begins_at_the_next_chunk() {
    let [parent, child] = &spooled("forked")[..] else {
        panic!("two processes")
    };
    assert_series(&parent.streams[0], &[(0, 2 * MANY)]);
    assert_series(&child.streams[0], &[(KINDS, MANY)]);
    assert!(child.rings[0].0 >= u64::from(4 * MANY));
    assert_eq!(child.streams[0].tid, child.head.profile.pid);
}

#[test]
fn the_child_of_a_vfork_appends_to_its_parents() {
    let run = only(spooled("vforked"));
    assert_series(&run.streams[0], &[(0, 20), (KINDS, 1)]);
}

#[test]
fn frames_that_were_come_back_to() {
    let run = only(spooled("come-back"));
    let stream = only(run.streams);
    assert_series(&stream, &[(0, 100 + MANY)]);
    let (words, position) = (100 + MANY as usize, 8 + 4 * u64::from(104 + MANY));
    assert_eq!(stream.caught[..2], [(100, 8, 77), (words, position, 78)]);
    for (i, caught) in (0..).zip(&stream.caught[2..]) {
        assert_eq!(*caught, (words, i << 33 & !3, 1 + i as u32));
    }
    assert_eq!(stream.caught.len(), 30_002);
}

/// Runs a scenario that prints how many words main and its handlers appended.
fn stormy(name: &str) {
    let (mut command, data) = command(&program(name), &[name]);
    let output = run(&mut command);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let counts: Vec<u32> = text
        .split_whitespace()
        .map(|n| n.parse().unwrap())
        .collect();
    let run = only(runs(&data));
    assert_series(&only(run.streams), &[(0, counts[0]), (KINDS, counts[1])]);
    assert!(counts[1] > 50, "{} in handlers", counts[1]);
}

#[test]
fn signals_while_main_appends() {
    stormy("storm");
}

#[test]
fn a_signal_at_every_instruction() {
    stormy("every-instruction");
}

#[test]
fn handlers_at_the_boundaries_of_chunks() {
    let run = only(spooled("boundaries"));
    let stream = only(run.streams);
    assert!(stream.words.len() as u32 > MANY);
    assert!((3..).zip(&stream.words).all(|(place, word)| *word == place));
    assert_eq!(stream.holes, 0);
}

#[test]
fn spooling_takes_little_stack() {
    let (mut command, data) = command(&program("stack"), &["on-small-stack"]);
    let text = String::from_utf8(run(&mut command).stdout).unwrap();
    let used: u64 = text.trim().parse().unwrap();
    assert!(used < 3072, "{used} bytes of stack");
    assert_series(&only(only(runs(&data)).streams), &[(0, MANY), (KINDS, 1)]);
}

#[test]
fn forks_among_threads() {
    let all = spooled("family");
    assert_eq!(all.len(), 21);
    for child in &all[1..] {
        let [main, thread] = &child.streams[..] else {
            panic!("{} streams", child.streams.len())
        };
        assert_series(main, &[(20 * KINDS, 30_000)]);
        assert_series(thread, &[(0, MANY)]);
    }
    assert_eq!(all[0].streams.len(), 4);
    for stream in &all[0].streams {
        let first = (stream.words[0] - 1) / KINDS * KINDS;
        if first < 12 * KINDS {
            let due = (1..).map(|i| first + 1 + i % 1000);
            assert!(
                stream
                    .words
                    .iter()
                    .copied()
                    .eq(due.take(stream.words.len()))
            );
        } else {
            let due = (0..10).flat_map(|_| 1..=30_000).map(|i| first + i);
            assert!(stream.words.iter().copied().eq(due));
        }
    }
}

#[test]
fn raw_forks() {
    let [parent, child] = &spooled("raw")[..] else {
        panic!("two processes")
    };
    assert_series(&parent.streams[0], &[(0, 100 + MANY)]);
    assert_series(&child.streams[0], &[(KINDS, MANY)]);
    assert_eq!(child.streams[0].caught, [(0, 0, 1)]);
}

#[test]
fn masks_are_kept() {
    spooled("masks");
}

#[test]
fn handlers_that_jump_out() {
    let (mut command, data) = command(&program("jumped"), &["jumped"]);
    run_silently(&mut command);
    let mut stream = only(only(runs(&data)).streams);
    stream.words.dedup(); // a word that was finished, but not marked as finished, comes once more
    stream.holes = 0;
    assert_series(&stream, &[(0, 3 * MANY)]);
}

#[test]
fn kill_at_any_moment() {
    let program = program("killed");
    let mut seed = 12345_u64;
    for round in 0..100 {
        let (mut command, data) = command(&program, &["until-killed"]);
        let finished = kill(&mut command, &mut seed, 40_000) as u32;
        let stream = runs(&data)
            .pop()
            .and_then(|mut run| run.streams.pop())
            .unwrap_or_default();
        let found = stream.words.len() as u32;
        assert!(
            found == finished || found == finished + 1,
            "{round}: {found} for {finished}"
        );
        assert!(stream.holes <= 1 && stream.words.into_iter().eq(1..=found));
        if data.exists() {
            std::fs::remove_dir_all(&data).unwrap();
        }
    }
}

/// Runs a scenario for whose words there is no space; what is there is the front of each stream. Gives the number of spools.
fn cut_short(name: &str, place: &str, reason: &str) -> usize {
    let (mut command, data) = command(&program(name), &[name]);
    let output = run(&mut command);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.success() && output.stdout.is_empty(),
        "{said}"
    );
    assert!(said.starts_with("holloway: cannot write "), "{said}");
    assert!(said.contains(reason) && said.lines().count() == 1, "{said}");
    let directory = data.with_file_name(place);
    assert_eq!(paths(&directory).len(), 1);
    let run = only(runs(&directory));
    assert!(run.head.profile.lost > 0);
    for (stream, (_, missing)) in run.streams.iter().zip(&run.rings) {
        // There was space for all words of a thread that was early.
        let Some(missing) = *missing else { continue };
        let words = stream.words.len() as u32;
        assert_eq!(u64::from(8 + 4 * words), missing);
        assert_series(stream, &[(stream.words[0] - 1, words)]);
    }
    run.spools
}

#[test]
fn limit_on_file_sizes() {
    let spools = cut_short("size-limit", "data", "larger than the limit on file sizes");
    assert!(spools > 0);
}

#[test]
fn disk_that_fills_up() {
    let spools = cut_short("full-disk", "copy", "no space left on device");
    assert!(spools > 0);
}

#[test]
fn disk_without_room_for_a_ring() {
    let spools = cut_short("tiny-disk", "copy", "no space left on device");
    assert_eq!(spools, 0);
}
