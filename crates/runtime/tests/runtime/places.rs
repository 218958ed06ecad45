//! Tests the directories of profiles: HOLLOWAY_DATA, the directory of runs in the image header, or
//! `target/holloway/runs`.

use crate::harness;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::harness::{Libc, compile, only, profiles, run_silently, test_directory};

/// Runs `threads one` with or without HOLLOWAY_DATA.
fn run_in(program: &Path, directory: &Path, data: Option<&str>) {
    let mut command = Command::new(program);
    command
        .arg("one")
        .current_dir(directory)
        .env_remove("HOLLOWAY_DATA");
    if let Some(data) = data {
        command.env("HOLLOWAY_DATA", data);
    }
    run_silently(&mut command);
}

/// The runs in a directory, without the link `latest`.
fn runs(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name != "latest").collect();
    names.sort();
    names
}

#[test]
fn below_the_current_directory() {
    let test_directory = test_directory(Libc::Glibc, "places-default");
    let program = compile(Libc::Glibc, &test_directory, &["threads.c"], &[]);
    let directory = test_directory.join("target/holloway/runs");
    for count in 1..=3 {
        run_in(&program, &test_directory, None);
        assert_eq!(runs(&directory).len(), count, "an earlier run is kept");
        let latest = fs::read_link(directory.join("latest")).unwrap();
        let name = latest.to_str().unwrap();
        assert!(runs(&directory).contains(&name.to_owned()));
        let profile = only(profiles(&directory.join(&latest)));
        assert!(
            name.ends_with(&format!("-threads-{}", profile.pid)),
            "{name}"
        );
        assert_eq!(profile.counter(1), 100);
    }
}

#[test]
fn directory_in_the_image_header() {
    let test_directory = test_directory(Libc::Glibc, "places-baked");
    let directory = test_directory.join("deep/er/runs");
    let program = compile(
        Libc::Glibc,
        &test_directory,
        &["threads.c"],
        &[&format!("-DRUNS=\"{}\"", directory.display())],
    );
    run_in(&program, Path::new("/"), None);
    assert_eq!(only(profiles(&directory.join("latest"))).counter(1), 100);
}

#[test]
fn directory_in_the_variable() {
    let test_directory = test_directory(Libc::Glibc, "places-variable");
    let program = compile(Libc::Glibc, &test_directory, &["threads.c"], &[]);
    run_in(&program, &test_directory, Some("some/where/else/"));
    run_in(&program, &test_directory, Some("some/where/else"));
    let all = profiles(&test_directory.join("some/where/else"));
    assert_eq!(all.len(), 2);
    assert!(all.iter().all(|profile| profile.counter(1) == 100));
    assert!(
        !test_directory.join("target").exists(),
        "no directory of runs"
    );
}

#[test]
fn a_directory_named_latest_stays() {
    let test_directory = test_directory(Libc::Glibc, "places-latest");
    let program = compile(Libc::Glibc, &test_directory, &["threads.c"], &[]);
    let directory = test_directory.join("target/holloway/runs");
    fs::create_dir_all(directory.join("latest/mine")).unwrap();
    run_in(&program, &test_directory, None);
    assert!(directory.join("latest/mine").exists());
    assert_eq!(
        only(profiles(&directory.join(only(runs(&directory))))).counter(1),
        100
    );
}

#[test]
fn large_blocks() {
    let program = compile(
        Libc::Glibc,
        &test_directory(Libc::Glibc, "places-large"),
        &["threads.c"],
        &["-DBLOCK=(1048576*3-64)"],
    );
    let (mut command, data) = harness::command(&program, &["waves"]);
    run_silently(&mut command);
    let profile = only(profiles(&data));
    assert_eq!(
        (profile.counter(1), profile.hash_sum(2), profile.lost),
        (20_000, 2_000, 0)
    );
    fs::remove_dir_all(data).unwrap();
}
