//! Tests the AArch64 object: its undefined symbols, and, under an emulator, that its entry points
//! preserve every register.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use holloway_abi::RING_SIZE;

use crate::harness::{Libc, only, profiles, run, run_silently, source, test_directory};

/// Writes the object to a file.
fn object(test_directory: &Path) -> PathBuf {
    assert!(
        !holloway_runtime::AARCH64.is_empty(),
        "rustup target add aarch64-unknown-none-softfloat (`cargo xtask test` does)"
    );
    let path = test_directory.join("holloway_rt.o");
    fs::write(&path, holloway_runtime::AARCH64).unwrap();
    path
}

fn output_of(command: &mut Command) -> String {
    let output = run(command);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn undefined_symbols() {
    let object = object(&test_directory(Libc::Glibc, "aarch64-symbols"));
    let text = output_of(Command::new("aarch64-linux-gnu-nm").arg("-u").arg(object));
    let words = text.split_whitespace();
    let names: BTreeSet<&str> = words.filter(|word| !["U", "w"].contains(word)).collect();
    let known = ["pthread_atfork", "__holloway_image", "__holloway_slot"];
    let weak = ["__rseq_offset", "__rseq_size"];
    assert_eq!(names, known.into_iter().chain(weak).collect());
}

#[test]
fn no_code_uses_a_vector_register() {
    let object = object(&test_directory(Libc::Glibc, "aarch64-vectors"));
    let mut objdump = Command::new("aarch64-linux-gnu-objdump");
    let text = output_of(objdump.args(["-d", "--no-show-raw-insn"]).arg(object));
    let mut lines = 0;
    // `1c:  ldp  q0, q1, [sp, #16]`. A branch target like `d0 <name+0x8>` is no register.
    let operands = text.lines().filter_map(|line| line.splitn(3, '\t').nth(2));
    for code in operands.filter(|operands| !operands.contains('<')) {
        let operands = code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let is_vector = |word: &str| {
            let number = word.strip_prefix(['b', 'h', 's', 'd', 'q', 'v', 'z', 'p']);
            number.is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()))
        };
        assert!(!operands.into_iter().any(is_vector), "{code}");
        lines += 1;
    }
    assert!(lines > 5000, "{lines} lines");
}

/// Runs `registers_aarch64.c` for a kind of collection. Returns the directory of the run.
fn registers(kind: u32) -> PathBuf {
    let test_directory = test_directory(Libc::Glibc, &format!("aarch64-registers-{kind}"));
    let program = test_directory.join("registers");
    let mut gcc = Command::new("aarch64-linux-gnu-gcc");
    gcc.args(["-O2", "-Wall", "-pthread"])
        .arg(format!("-DRING_SIZE={RING_SIZE}"))
        .arg(format!("-DKIND={kind}"))
        .args([source("registers_aarch64.c"), object(&test_directory)]);
    run_silently(gcc.arg("-o").arg(&program));
    let data = test_directory.join("data");
    let mut emulator = Command::new("qemu-aarch64-static");
    emulator.args(["-L", "/usr/aarch64-linux-gnu"]).arg(program);
    emulator.env("HOLLOWAY_DATA", &data);
    run_silently(emulator.env("HOLLOWAY_BURST", "2:3"));
    data
}

#[test]
fn every_register_survives() {
    let profile = only(profiles(&registers(0)));
    assert_eq!(profile.hash_sum(2), 2 * 3 * 3000);
}

#[test]
fn every_register_survives_streams() {
    registers(2);
}

#[test]
fn every_register_survives_timed_paths() {
    for kind in [4, 5] {
        registers(kind);
    }
}
