//! Woven shared objects: loaded 2,000 times, side by side, twice at a time; they export nothing of ours.

use crate::common;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::streams;
use crate::common::{Profile, command, only, profiles, run, run_silently, workshop};

/// A woven library and a program that loads it; their profiles after one scenario.
fn load(test: &str) -> Vec<Profile> {
    let (mut command, data) = loading(test);
    run_silently(&mut command);
    profiles(&data)
}

/// The command that does it, and where the data goes.
fn loading(test: &str) -> (Command, PathBuf) {
    loading_kind(test, "0")
}

/// The same with libraries that collect another kind.
fn loading_kind(test: &str, kind: &str) -> (Command, PathBuf) {
    let workshop = workshop(&format!("libraries-{test}-{kind}"));
    let first = library_of(&workshop, "library.so", kind);
    let second = library_of(&workshop, "other.so", kind);
    let loader = workshop.join("loader");
    run_silently(
        common::gcc()
            .arg("-o")
            .arg(&loader)
            .arg(common::source("loader.c"))
            .args(["-pthread", "-ldl"]),
    );
    let (mut command, data) = command(&loader, &[test]);
    command.arg(&first).arg(&second);
    (command, data)
}

fn library(workshop: &Path, name: &str) -> PathBuf {
    library_of(workshop, name, "0")
}

fn library_of(workshop: &Path, name: &str, kind: &str) -> PathBuf {
    let path = workshop.join(name);
    let mut gcc = common::gcc();
    gcc.args([
        "-O2",
        "-fPIC",
        "-shared",
        "-mno-red-zone",
        "-Wl,-z,defs",
        "-o",
    ])
    .arg(&path)
    .arg(format!("-DKIND={kind}"));
    gcc.arg(common::source("library.c"))
        .arg(common::object(workshop));
    run_silently(&mut gcc);
    path
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
    let (mut command, data) = loading_kind("again-and-again", "3");
    run_silently(&mut command);
    // the child loads the library anew, so neither is a fork of the other's profile
    let mut runs = streams::runs(&data);
    runs.sort_by_key(|run| run.streams.len());
    let [child, parent] = &runs[..] else {
        panic!("two processes")
    };
    assert!(parent.rings.len() < 10, "{} rings", parent.rings.len());
    for (run, owners, each) in [(parent, 4000, 10), (child, 1, 7)] {
        let with_words = run.streams.iter().filter(|s| !s.words.is_empty());
        assert_eq!(with_words.clone().count(), owners);
        assert!(
            with_words
                .map(|s| &s.words)
                .all(|words| *words == vec![7; each])
        );
        assert_eq!(run.head.profile.lost, 0);
    }
}

#[test]
fn loads_without_a_file_do_not_pile_up_either() {
    let workshop = workshop("libraries-no-file");
    let path = library(&workshop, "library.so");
    let loader = workshop.join("loader");
    run_silently(
        common::gcc()
            .arg("-o")
            .arg(&loader)
            .arg(common::source("loader.c"))
            .args(["-pthread", "-ldl"]),
    );
    let mut command = Command::new(&loader);
    let output = run(command
        .arg("again-and-again")
        .arg(&path)
        .arg(&path)
        .env("HOLLOWAY_DATA", "/dev/null/no"));
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.starts_with("holloway: cannot write /dev/null/no/"),
        "{said}"
    );
    assert!(said.contains("not a directory"), "{said}");
}

#[test]
fn several_images_in_one_process() {
    let all = load("side-by-side");
    let mut sums: Vec<_> = all
        .iter()
        .map(|profile| (profile.name.as_str(), profile.counter(1)))
        .collect();
    sums.sort_unstable();
    // the image's name is in its source, so both libraries have the same one
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
fn images_of_one_process_share_a_run() {
    let (mut command, data) = loading("two-libraries");
    run_silently(command.env("HOLLOWAY_DATA", ""));
    let runs = data.with_file_name("target/holloway/runs");
    let latest = std::fs::read_link(runs.join("latest")).unwrap();
    assert_eq!(profiles(&runs.join(&latest)).len(), 2);
    assert_eq!(
        std::fs::read_dir(&runs).unwrap().count(),
        2,
        "one run and the link"
    );
    let name = latest.to_str().unwrap();
    let (time, rest) = name.split_at(15);
    assert!(time.bytes().enumerate().all(|(i, byte)| if i == 8 {
        byte == b'-'
    } else {
        byte.is_ascii_digit()
    }));
    assert!(rest.starts_with("-loader-"), "{name}");
}

#[test]
fn nothing_is_exported() {
    let workshop = workshop("libraries-exports");
    let output = run(Command::new("nm")
        .args(["-D", "--defined-only"])
        .arg(library(&workshop, "library.so")));
    let symbols = String::from_utf8(output.stdout).unwrap();
    let names: Vec<&str> = symbols
        .lines()
        .filter_map(|line| line.split(' ').next_back())
        .collect();
    assert_eq!(names, ["work"]);
}
