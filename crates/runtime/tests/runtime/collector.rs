//! Tests streams with a collector, fast or slow: they are complete and in order. If the collector
//! ends early, the program prints a message.

use crate::harness;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::harness::streams::{
    Collector, MANY, Run, SERIES, assert_series, collect, collected, program, runs,
};
use crate::harness::{Libc, command, only, run, run_silently};

/// Runs a scenario with a collector that pauses after it took words. Returns the streams and the
/// standard output.
fn run_collected(name: &str, pause: Duration) -> (Run, String) {
    let (mut command, data) = collected(
        &program(Libc::Glibc, &format!("collected-{name}-{pause:?}")),
        name,
    );
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut collector = Collector::default();
    let mut child = child;
    let mut stdout = child.stdout.take().unwrap();
    collector.take(&data);
    let run = collector.collect(child, &data, pause);
    assert_eq!(run.head.collector, std::process::id());
    assert_eq!((run.spools, run.head.profile.lost), (0, 0));
    let mut text = String::new();
    std::io::Read::read_to_string(&mut stdout, &mut text).unwrap();
    (run, text)
}

#[test]
fn threads_and_a_collector() {
    let (run, _) = run_collected("threads", Duration::ZERO);
    assert_eq!(run.streams.len(), 4);
    for stream in &run.streams {
        assert_series(stream, &[(stream.words[0] - 1, MANY)]);
    }
}

#[test]
fn a_program_waits_for_a_slow_collector() {
    let (run, _) = run_collected("one", Duration::from_millis(60));
    assert_series(&only(run.streams), &[(0, MANY)]);
}

#[test]
fn rings_of_dead_threads() {
    let (run, _) = run_collected("in-turn", Duration::ZERO);
    assert_eq!(run.streams.len(), 100);
}

#[test]
fn signals_while_main_waits() {
    let (run, text) = run_collected("storm", Duration::from_millis(2));
    let counts: Vec<u32> = text
        .split_whitespace()
        .map(|n| n.parse().unwrap())
        .collect();
    assert_series(&only(run.streams), &[(0, counts[0]), (SERIES, counts[1])]);
}

#[test]
fn a_waiting_program_handles_its_signals() {
    let (run, text) = run_collected("waits", Duration::from_millis(40));
    assert_series(&only(run.streams), &[(0, MANY)]);
    let ticks: u64 = text.trim().parse().unwrap();
    assert!(ticks > 1, "{ticks} signals during the longest wait");
}

#[test]
fn handlers_at_the_boundaries_of_chunks() {
    let (run, _) = run_collected("boundaries", Duration::from_millis(5));
    let stream = only(run.streams);
    assert!(
        (3..)
            .zip(&stream.words)
            .all(|(expected, word)| *word == expected)
    );
}

#[test]
fn the_collector_passes_over_holes() {
    let (run, _) = run_collected("jumped", Duration::ZERO);
    let mut stream = only(run.streams);
    stream.words.dedup();
    stream.holes = 0;
    assert_series(&stream, &[(0, 3 * MANY)]);
    let (run, _) = run_collected("holes", Duration::ZERO);
    assert_eq!(run.streams.iter().map(|s| s.holes).sum::<usize>(), 10);
}

/// Does the program already have a profile?
fn has_profile(data: &std::path::Path) -> bool {
    let Ok(files) = std::fs::read_dir(data) else {
        return false;
    };
    let sizes = files.map(|file| file.unwrap().metadata().unwrap().len());
    sizes.sum::<u64>() > 0
}

#[test]
fn the_collector_is_killed() {
    let mut collector = Command::new("sleep").arg("1000").spawn().unwrap();
    let (mut command, data) = command(&program(Libc::Glibc, "orphan"), &["one"]);
    collect(&mut command, collector.id(), &data);
    let mut child = command
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    while !has_profile(&data) && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(100)); // now the program probably waits
    collector.kill().unwrap(); // the collector remains a zombie until `wait`
    let output = child.wait_with_output().unwrap();
    collector.wait().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && output.stdout.is_empty());
    assert!(
        stderr.starts_with("holloway: the collector of this run is gone"),
        "{stderr}"
    );
    let run = only(runs(&data));
    let missing_from = only(run.rings).1.unwrap();
    let stream = only(run.streams);
    let words = stream.words.len() as u32;
    assert_eq!(u64::from(8 + 4 * words), missing_from);
    assert!(words > 160_000);
    assert_series(&stream, &[(0, words)]);
    assert_eq!(run.head.profile.lost, 1);
}

/// The threads spool if the collector ended before the program started, if it reads another
/// directory, or if the variable is invalid.
#[test]
fn threads_spool_without_a_valid_collector() {
    let mut ended = Command::new("true").spawn().unwrap();
    ended.wait().unwrap();
    let (ended, living) = (ended.id(), std::process::id());
    let ended_collector = format!("{ended} DATA");
    let other_directory = [
        format!("{living}"),
        format!("{living} "),
        format!("{living} DATA/a"),
    ];
    let invalid = ["0 DATA", "x DATA", "12x DATA"].map(str::to_owned);
    for value in other_directory
        .into_iter()
        .chain(invalid)
        .chain([ended_collector])
    {
        let (mut command, data) = command(&program(Libc::Glibc, "no-collector"), &["one"]);
        let value = value.replace("DATA", &data.display().to_string());
        command.env("HOLLOWAY_COLLECTOR", &value);
        run_silently(&mut command);
        let run = only(runs(&data));
        assert_eq!(run.head.collector, 0, "{value}");
        assert_series(&only(run.streams), &[(0, MANY)]);
    }
}

#[test]
fn a_child_waits_for_the_same_collector() {
    let (mut command, data) = collected(&program(Libc::Glibc, "collected-fork"), "forked");
    let mut child = command.spawn().unwrap();
    let mut collectors: Vec<(std::path::PathBuf, Collector)> = Vec::new();
    while child.try_wait().unwrap().is_none() {
        for path in harness::streams::paths(&data) {
            if !collectors.iter().any(|(known, _)| *known == path) {
                let mut collector = Collector::default();
                collector.open(&path);
                collectors.push((path, collector));
            }
        }
        for (_, collector) in &mut collectors {
            collector.take(&data);
        }
    }
    let mut runs: Vec<Run> = collectors
        .iter()
        .map(|(path, collector)| {
            harness::streams::read(&std::fs::read(path).unwrap(), &collector.taken)
        })
        .collect();
    runs.sort_by_key(|run| run.head.profile.forked);
    assert_eq!(forked_and_spools(&runs), [(false, 0), (true, 0)]);
    assert_series(&runs[0].streams[0], &[(0, 2 * MANY)]);
    assert_series(&runs[1].streams[0], &[(SERIES, MANY)]);
}

fn forked_and_spools(runs: &[Run]) -> Vec<(bool, usize)> {
    runs.iter()
        .map(|run| (run.head.profile.forked, run.spools))
        .collect()
}

/// A slow collector takes the samples. Some samples begin in one batch and end in the next.
#[cfg(target_arch = "x86_64")]
#[test]
fn timed_paths_and_a_collector() {
    let program = harness::timed::program(Libc::Glibc, "collected", harness::timed::TIMES);
    let (mut command, data) = collected(&program, "many");
    let child = command.spawn().unwrap();
    let mut collector = Collector::default();
    let bytes = collector.collect_from(child, &data, Duration::from_millis(5));
    let run = harness::timed::read(&bytes, &collector.taken);
    assert_eq!((run.spools, run.head.profile.lost), (0, 0));
    let thread = only(run.threads);
    assert_eq!((thread.samples.len(), thread.damaged), (100_001, 0));
    let words = thread.samples.iter().map(|sample| sample.word);
    assert!(words.take(100_000).eq((0..100_000).map(|i| 1 + i % 3)));
}

/// A short program ends before its collector takes a word. It prints nothing.
#[test]
fn a_program_ends_before_its_collector_reads() {
    let (mut command, data) = collected(&program(Libc::Glibc, "collected-few"), "few");
    let output = run(&mut command);
    assert!(output.status.success() && output.stderr.is_empty());
    assert_series(&only(only(runs(&data)).streams), &[(0, 1000)]);
}
