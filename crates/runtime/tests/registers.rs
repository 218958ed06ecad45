//! `preserve_all`: both entry points give back every register, with SSE, AVX and AVX-512, at any stack alignment.

#![cfg(target_arch = "x86_64")]

mod common;

use common::{command, compile, only, profiles, run_silently, workshop};

#[test]
fn every_register_survives() {
    let program = compile(&workshop("registers"), &["registers.c", "probe.S"], &[]);
    let (mut command, data) = command(&program, &[]);
    run_silently(&mut command);
    assert!(only(profiles(&data)).hash_sum(2) > 0);
}
