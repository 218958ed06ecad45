//! Whatever fails, the program ends well, says one line, and what was recorded is right.

use std::path::PathBuf;

use crate::common::{Profile, command, compile, only, profiles, run, scenario, workshop};

/// Runs a scenario to a good end with nothing on stdout; what it said on stderr, and its directory.
fn failing(name: &str, data: Option<&str>) -> (String, PathBuf) {
    let workshop = workshop(&format!("failures-{name}"));
    let program = compile(&workshop, &["failures.c"], &[]);
    let (mut command, _) = command(&program, &[name]);
    if let Some(data) = data {
        command.env("HOLLOWAY_DATA", data);
    }
    let output = run(&mut command);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.success(),
        "{}: {}{said}",
        output.status,
        String::from_utf8_lossy(&output.stdout)
    );
    assert_eq!(output.stdout, b"");
    (said, workshop)
}

/// One line that names the file and the reason.
fn assert_says(said: &str, file: &str, reason: &str, ending: &str) {
    assert!(
        said.starts_with("holloway: cannot write ") && said.ends_with('\n'),
        "{said:?}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(
        said.contains(file) && said.contains(reason) && said.contains(ending),
        "{said}"
    );
}

/// Some counts are missing, and what is there is right: each thread counts 10, and once each of 1,000 paths.
fn assert_some_missing(profile: &Profile, threads: u64) {
    assert!(
        profile.counter(1).is_multiple_of(10) && profile.counter(1) <= threads * 10,
        "{}",
        profile.counter(1)
    );
    let paths = &profile.hashes[&2];
    assert!(
        paths
            .iter()
            .all(|(path, count)| *path < 1000 && *count <= threads)
    );
    assert!(profile.counter(1) + profile.hash_sum(2) < threads * 1010);
    assert!(profile.lost > 0);
}

#[test]
fn directory_that_cannot_be() {
    let (said, _) = failing("some-threads", Some("/dev/null/data"));
    assert_says(
        &said,
        "/dev/null/data/",
        "not a directory",
        "nothing of this process is recorded",
    );
}

#[test]
fn directory_name_too_long() {
    let (said, _) = failing("plain", Some(&format!("/tmp/{}", "x".repeat(300))));
    assert_says(
        &said,
        "/tmp/xxx",
        "name too long",
        "nothing of this process is recorded",
    );
}

#[test]
fn read_only_file_system() {
    let (said, _) = failing("read-only", None);
    assert_says(
        &said,
        "/data/",
        "read-only file system",
        "nothing of this process is recorded",
    );
}

#[test]
fn disk_that_fills_up() {
    let (said, workshop) = failing("full-disk", None);
    assert_says(
        &said,
        "/data/",
        "no space left on device",
        "counts of some threads of this process are lost",
    );
    let all = profiles(&workshop.join("copy"));
    let parent = all.iter().find(|profile| profile.flags == 0).unwrap();
    assert_some_missing(parent, 11);
}

#[test]
fn limit_on_file_sizes() {
    let (said, workshop) = failing("size-limit", None);
    assert_says(
        &said,
        "/data/",
        "larger than the limit on file sizes",
        "counts of some threads",
    );
    assert_some_missing(&only(profiles(&workshop.join("data"))), 11);
}

#[test]
fn no_room_for_a_header() {
    let (said, workshop) = failing("no-room-at-all", None);
    assert_says(
        &said,
        "/data/",
        "larger than the limit on file sizes",
        "nothing of this process is recorded",
    );
    assert_eq!(
        std::fs::read_dir(workshop.join("data")).unwrap().count(),
        0,
        "nothing half written"
    );
}

#[test]
fn standard_error_of_the_program() {
    let (said, workshop) = failing("redirected", None);
    assert_eq!(said, "");
    assert_eq!(std::fs::read(workshop.join("mine")).unwrap(), b"");
    assert!(only(profiles(&workshop.join("data"))).lost > 0);
}

#[test]
fn descriptors_closed_and_taken() {
    let all = scenario("failures.c", "closed");
    let counts: Vec<_> = all
        .iter()
        .map(|profile| (profile.flags, profile.counter(1), profile.hash_sum(2)))
        .collect();
    assert!(
        counts.contains(&(0, 310, 31_000)) && counts.contains(&(1, 10, 1_000)),
        "{counts:?}"
    );
    assert!(all.iter().all(|profile| profile.lost == 0));
}

#[test]
fn another_root() {
    let all = scenario("failures.c", "rooted");
    let counts: Vec<_> = all
        .iter()
        .map(|profile| (profile.flags, profile.counter(1), profile.lost))
        .collect();
    assert!(
        counts.contains(&(0, 310, 0)) && counts.contains(&(1, 10, 0)),
        "{counts:?}"
    );
}

#[test]
fn few_descriptors() {
    let profile = only(scenario("failures.c", "few-descriptors"));
    assert_eq!((profile.counter(1), profile.lost), (110, 0));
}

#[test]
fn no_proc() {
    let (said, workshop) = failing("no-proc", None);
    assert_eq!(said, "");
    let profile = only(profiles(&workshop.join("target/holloway/runs/latest")));
    assert_eq!(
        (
            profile.counter(1),
            profile.path.as_str(),
            profile.boot_start
        ),
        (110, "", 0)
    );
}

#[test]
fn sandbox_before_the_first_enter() {
    let (said, workshop) = failing("sandboxed", None);
    assert_eq!(
        said, "",
        "not even whether stderr takes a line can be asked"
    );
    assert!(!workshop.join("data").exists());
}

#[test]
fn sandbox_later() {
    let (said, workshop) = failing("sandboxed-later", None);
    assert_says(
        &said,
        "/data/",
        "operation not permitted",
        "counts of some threads",
    );
    assert_some_missing(&only(profiles(&workshop.join("data"))), 11);
}

#[test]
fn without_fallocate_and_renameat2() {
    let profile = only(scenario("failures.c", "old-system"));
    assert_eq!(
        (profile.counter(1), profile.hash_sum(2), profile.lost),
        (110, 11_000, 0)
    );
}

#[test]
fn address_space_runs_out() {
    let (said, workshop) = failing("little-memory", None);
    assert_says(&said, "/data/", "out of memory", "counts of some threads");
    let profile = only(profiles(&workshop.join("data")));
    assert_eq!(profile.counter(1), 20);
    assert!(profile.lost > 0);
}
