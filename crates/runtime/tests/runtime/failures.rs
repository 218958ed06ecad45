//! Tests failures of the runtime: the program succeeds and prints at most one line, and the
//! recorded counts are right.

use std::path::PathBuf;

use crate::harness::{
    Libc, Profile, command, compile, only, profiles, run, scenario, test_directory,
    test_with_each_libc,
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

/// Runs a scenario. Checks that it succeeds and prints nothing on standard output. Returns its
/// standard error and the directory of the test.
fn failing(libc: Libc, name: &str, data: Option<&str>) -> (String, PathBuf) {
    let test_directory = test_directory(libc, &format!("failures-{name}"));
    let program = compile(libc, &test_directory, &["failures.c"], &[]);
    let (mut command, _) = command(&program, &[name]);
    if let Some(data) = data {
        command.env("HOLLOWAY_DATA", data);
    }
    let output = run(&mut command);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.success(),
        "{}: {}{stderr}",
        output.status,
        String::from_utf8_lossy(&output.stdout)
    );
    assert_eq!(output.stdout, b"");
    (stderr, test_directory)
}

/// Checks for one line that names the file and the reason.
fn assert_stderr(stderr: &str, file: &str, reason: &str, ending: &str) {
    assert!(
        stderr.starts_with("holloway: cannot write ") && stderr.ends_with('\n'),
        "{stderr:?}"
    );
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(
        stderr.contains(file) && stderr.contains(reason) && stderr.contains(ending),
        "{stderr}"
    );
}

/// Checks that some counts are missing, and that the others are right: each thread counts 10 at
/// counter 1, and counts each of 1,000 hashed paths once.
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
    let (stderr, _) = failing(libc, "some-threads", Some("/dev/null/data"));
    assert_stderr(
        &stderr,
        "/dev/null/data/",
        "not a directory",
        "nothing of this process is recorded",
    );
}

fn directory_name_too_long(libc: Libc) {
    let (stderr, _) = failing(libc, "plain", Some(&format!("/tmp/{}", "x".repeat(300))));
    assert_stderr(
        &stderr,
        "/tmp/xxx",
        "name too long",
        "nothing of this process is recorded",
    );
}

fn read_only_file_system(libc: Libc) {
    let (stderr, _) = failing(libc, "read-only", None);
    assert_stderr(
        &stderr,
        "/data/",
        "read-only file system",
        "nothing of this process is recorded",
    );
}

fn disk_that_fills_up(libc: Libc) {
    let (stderr, test_directory) = failing(libc, "full-disk", None);
    assert_stderr(
        &stderr,
        "/data/",
        "no space left on device",
        "counts of some threads of this process are lost",
    );
    let all = profiles(&test_directory.join("copy"));
    // Bit 0 marks the child of the fork. The bits from 16 on are the error: ENOSPC.
    let parent = all.iter().find(|profile| profile.flags & 1 == 0).unwrap();
    assert_eq!(parent.flags >> 16, 28);
    assert_some_missing(parent, 11);
}

fn limit_on_file_sizes(libc: Libc) {
    let (stderr, test_directory) = failing(libc, "size-limit", None);
    assert_stderr(
        &stderr,
        "/data/",
        "larger than the limit on file sizes",
        "counts of some threads",
    );
    assert_some_missing(&only(profiles(&test_directory.join("data"))), 11);
}

fn no_room_for_a_header(libc: Libc) {
    let (stderr, test_directory) = failing(libc, "no-room-at-all", None);
    assert_stderr(
        &stderr,
        "/data/",
        "larger than the limit on file sizes",
        "nothing of this process is recorded",
    );
    assert_eq!(
        std::fs::read_dir(test_directory.join("data"))
            .unwrap()
            .count(),
        0,
        "the directory is empty"
    );
}

fn standard_error_of_the_program(libc: Libc) {
    let (stderr, test_directory) = failing(libc, "redirected", None);
    assert_eq!(stderr, "");
    assert_eq!(std::fs::read(test_directory.join("mine")).unwrap(), b"");
    assert!(only(profiles(&test_directory.join("data"))).lost > 0);
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
    let (stderr, test_directory) = failing(libc, "no-proc", None);
    assert_eq!(stderr, "");
    let profile = only(profiles(
        &test_directory.join("target/holloway/runs/latest"),
    ));
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
    let (stderr, test_directory) = failing(libc, "sandboxed", None);
    assert_eq!(
        stderr, "",
        "the sandbox forbids the check of standard error"
    );
    assert!(!test_directory.join("data").exists());
}

fn sandbox_later(libc: Libc) {
    let (stderr, test_directory) = failing(libc, "sandboxed-later", None);
    assert_stderr(
        &stderr,
        "/data/",
        "operation not permitted",
        "counts of some threads",
    );
    assert_some_missing(&only(profiles(&test_directory.join("data"))), 11);
}

fn without_fallocate_and_renameat2(libc: Libc) {
    let profile = only(scenario(libc, "failures.c", "old-system"));
    assert_eq!(
        (profile.counter(1), profile.hash_sum(2), profile.lost),
        (110, 11_000, 0)
    );
}

fn address_space_runs_out(libc: Libc) {
    let (stderr, test_directory) = failing(libc, "little-memory", None);
    assert_stderr(&stderr, "/data/", "out of memory", "counts of some threads");
    let profile = only(profiles(&test_directory.join("data")));
    assert_eq!(profile.counter(1), 20);
    assert!(profile.lost > 0);
}
