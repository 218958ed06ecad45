//! Whatever fails, the program ends well, says one line, and what was recorded is right.

use std::path::PathBuf;

use crate::harness::{
    Libc, Profile, command, compile, only, profiles, run, scenario, test_with_each_libc, workshop,
};

test_with_each_libc! {
    directory_that_cannot_be,
    directory_name_too_long,
    read_only_file_system,
    disk_that_fills_up,
    limit_on_file_sizes,
    no_room_for_a_header,
    standard_error_of_the_program,
    descriptors_closed_and_taken,
    another_root,
    few_descriptors,
    no_proc,
    sandbox_before_the_first_enter,
    sandbox_later,
    without_fallocate_and_renameat2,
    address_space_runs_out,
}

/// Runs a scenario to a good end with nothing on stdout; what it said on stderr, and its directory.
fn failing(libc: Libc, name: &str, data: Option<&str>) -> (String, PathBuf) {
    let workshop = workshop(libc, &format!("failures-{name}"));
    let program = compile(libc, &workshop, &["failures.c"], &[]);
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

fn directory_that_cannot_be(libc: Libc) {
    let (said, _) = failing(libc, "some-threads", Some("/dev/null/data"));
    assert_says(
        &said,
        "/dev/null/data/",
        "not a directory",
        "nothing of this process is recorded",
    );
}

fn directory_name_too_long(libc: Libc) {
    let (said, _) = failing(libc, "plain", Some(&format!("/tmp/{}", "x".repeat(300))));
    assert_says(
        &said,
        "/tmp/xxx",
        "name too long",
        "nothing of this process is recorded",
    );
}

fn read_only_file_system(libc: Libc) {
    let (said, _) = failing(libc, "read-only", None);
    assert_says(
        &said,
        "/data/",
        "read-only file system",
        "nothing of this process is recorded",
    );
}

fn disk_that_fills_up(libc: Libc) {
    let (said, workshop) = failing(libc, "full-disk", None);
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

fn limit_on_file_sizes(libc: Libc) {
    let (said, workshop) = failing(libc, "size-limit", None);
    assert_says(
        &said,
        "/data/",
        "larger than the limit on file sizes",
        "counts of some threads",
    );
    assert_some_missing(&only(profiles(&workshop.join("data"))), 11);
}

fn no_room_for_a_header(libc: Libc) {
    let (said, workshop) = failing(libc, "no-room-at-all", None);
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

fn standard_error_of_the_program(libc: Libc) {
    let (said, workshop) = failing(libc, "redirected", None);
    assert_eq!(said, "");
    assert_eq!(std::fs::read(workshop.join("mine")).unwrap(), b"");
    assert!(only(profiles(&workshop.join("data"))).lost > 0);
}

fn descriptors_closed_and_taken(libc: Libc) {
    let all = scenario(libc, "failures.c", "closed");
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

fn another_root(libc: Libc) {
    let all = scenario(libc, "failures.c", "rooted");
    let counts: Vec<_> = all
        .iter()
        .map(|profile| (profile.flags, profile.counter(1), profile.lost))
        .collect();
    assert!(
        counts.contains(&(0, 310, 0)) && counts.contains(&(1, 10, 0)),
        "{counts:?}"
    );
}

fn few_descriptors(libc: Libc) {
    let profile = only(scenario(libc, "failures.c", "few-descriptors"));
    assert_eq!((profile.counter(1), profile.lost), (110, 0));
}

fn no_proc(libc: Libc) {
    let (said, workshop) = failing(libc, "no-proc", None);
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

fn sandbox_before_the_first_enter(libc: Libc) {
    let (said, workshop) = failing(libc, "sandboxed", None);
    assert_eq!(
        said, "",
        "not even whether stderr takes a line can be asked"
    );
    assert!(!workshop.join("data").exists());
}

fn sandbox_later(libc: Libc) {
    let (said, workshop) = failing(libc, "sandboxed-later", None);
    assert_says(
        &said,
        "/data/",
        "operation not permitted",
        "counts of some threads",
    );
    assert_some_missing(&only(profiles(&workshop.join("data"))), 11);
}

fn without_fallocate_and_renameat2(libc: Libc) {
    let profile = only(scenario(libc, "failures.c", "old-system"));
    assert_eq!(
        (profile.counter(1), profile.hash_sum(2), profile.lost),
        (110, 11_000, 0)
    );
}

fn address_space_runs_out(libc: Libc) {
    let (said, workshop) = failing(libc, "little-memory", None);
    assert_says(&said, "/data/", "out of memory", "counts of some threads");
    let profile = only(profiles(&workshop.join("data")));
    assert_eq!(profile.counter(1), 20);
    assert!(profile.lost > 0);
}
