//! Tests that need glibc: glibc unloads libraries, loads a library twice, and registers a `struct
//! rseq` for restartable sequences.

use crate::harness::streams;
use crate::harness::timed::{processes, program};
use crate::harness::{Libc, Profile, command, only, profiles, run_silently};
use crate::libraries::{library_of, loader_command, loader_command_of};
use crate::timed_events::{KINDS, count, printed};
use holloway_abi::SAMPLE_UNWATCHED;

/// Runs a scenario of the program that loads woven libraries. Returns the profiles.
fn load(test: &str) -> Vec<Profile> {
    let (mut command, data) = loader_command(Libc::Glibc, test);
    run_silently(&mut command);
    profiles(&data)
}

#[test]
fn two_thousand_loads() {
    let mut all = load("again-and-again");
    all.sort_by_key(|profile| profile.counter(1));
    let [child, parent] = &all[..] else {
        panic!("{} files", all.len())
    };
    assert_eq!((parent.counter(1), parent.hash_sum(2)), (40_000, 40_000));
    assert_eq!((child.counter(1), child.hash_sum(2)), (7, 7));
    assert!(parent.blocks < 10, "{} blocks", parent.blocks);
    assert_eq!((parent.name.as_str(), parent.lost), ("library.so", 0));
    assert!(parent.path.ends_with("/library.so"), "{}", parent.path);
}

#[test]
fn two_thousand_loads_of_streams() {
    let (mut command, data) = loader_command_of(Libc::Glibc, "again-and-again", "-DKIND=3");
    run_silently(&mut command);
    // The child loads the library again, so no profile has the flag of a fork.
    let mut runs = streams::runs(&data);
    runs.sort_by_key(|run| run.streams.len());
    let [child, parent] = &runs[..] else {
        panic!("two processes")
    };
    assert!(parent.rings.len() < 10, "{} rings", parent.rings.len());
    for (run, owners, words_per_owner) in [(parent, 4000, 10), (child, 1, 7)] {
        let with_words = run.streams.iter().filter(|s| !s.words.is_empty());
        assert_eq!(with_words.clone().count(), owners);
        assert!(
            with_words
                .map(|s| &s.words)
                .all(|words| *words == vec![7; words_per_owner])
        );
        assert_eq!(run.head.profile.lost, 0);
    }
}

#[test]
fn several_images_in_one_process() {
    let all = load("side-by-side");
    let mut sums: Vec<_> = all
        .iter()
        .map(|profile| (profile.name.as_str(), profile.counter(1)))
        .collect();
    sums.sort_unstable();
    // The image's name is fixed in the source, so both libraries have the same name.
    assert_eq!(
        sums,
        [("library.so", 30), ("library.so", 40), ("library.so", 900)]
    );
}

#[test]
fn threads_live_through_an_unload() {
    let profile = only(load("threads-live-on"));
    assert_eq!((profile.counter(1), profile.hash_sum(2)), (22, 22));
}

#[test]
fn another_librarys_sections_are_left_alone() {
    for (kind, burst) in KINDS {
        let (_, runs) = printed(Libc::Glibc, "foreign", kind, burst, "");
        let thread = only(only(runs).threads);
        assert_eq!((count(&thread, 1), count(&thread, 2)), (1001, 1000));
        assert!(
            thread
                .samples
                .iter()
                .all(|sample| sample.flags & SAMPLE_UNWATCHED == 0)
        );
    }
}

#[test]
fn unloaded_libraries_leave_nothing_behind() {
    for (kind, burst) in KINDS {
        let program = program(Libc::Glibc, &format!("unloaded{kind}"), kind);
        let test_directory = program.parent().unwrap();
        library_of(Libc::Glibc, test_directory, "timed-library.so", kind);
        let (mut command, data) = command(&program, &["unloaded"]);
        run_silently(command.env("HOLLOWAY_BURST", burst));
        let run = only(processes(&data));
        let samples = run.threads.iter().map(|thread| thread.samples.len());
        assert_eq!(samples.sum::<usize>(), 50 * 11);
    }
}
