//! Tests that the entry points preserve every register (LLVM's convention `preserve_all`), with
//! SSE, AVX, and AVX-512, at any stack alignment.

use crate::harness::{Libc, command, compile, only, profiles, run_silently, test_directory};

#[test]
fn every_register_survives() {
    let program = compile(
        Libc::Glibc,
        &test_directory(Libc::Glibc, "registers"),
        &["registers.c", "probe.S"],
        &[],
    );
    let (mut command, data) = command(&program, &[]);
    run_silently(&mut command);
    assert!(only(profiles(&data)).hash_sum(2) > 0);
}

#[test]
fn every_register_survives_streams() {
    let test_directory = test_directory(Libc::Glibc, "registers-streams");
    let program = compile(
        Libc::Glibc,
        &test_directory,
        &["registers.c", "probe.S"],
        &["-DKIND=2"],
    );
    run_silently(&mut command(&program, &[]).0);
}

#[test]
fn every_register_survives_timed_paths() {
    for kind in ["4", "5"] {
        let test_directory = test_directory(Libc::Glibc, &format!("registers-timed-{kind}"));
        let kind = format!("-DKIND={kind}");
        let program = compile(
            Libc::Glibc,
            &test_directory,
            &["registers.c", "probe.S"],
            &[&kind],
        );
        let (mut command, _) = command(&program, &[]);
        run_silently(command.env("HOLLOWAY_BURST", "2:3"));
    }
}
