//! Builds the programs of the tests with gcc (or musl-gcc) and the runtime object, runs them, and reads their raw profiles.
//!
//! The reader is a naive twin of the one in `holloway-format`, written from the tables in `abi.rs`.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "shared by tests that use a part of it; a test may panic"
)]

pub mod streams;
pub mod timed;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use holloway_abi::{ABI_VERSION, RING_SIZE};

/// What a profile says, summed over blocks and segments.
#[derive(Debug, Default)]
pub struct Profile {
    pub pid: u32,
    pub ppid: u32,
    pub lost: u64,
    pub threads: u32,
    pub flags: u32,
    pub boot_start: u64,
    pub pid_namespace: u64,
    pub name: String,
    pub path: String,
    pub blocks: usize,
    pub segments: usize,
    /// Sums of the words of the blocks; those of heads are left out.
    pub counters: BTreeMap<u64, u64>,
    /// By head (as index of a word): path and count.
    pub hashes: BTreeMap<u64, BTreeMap<u64, u64>>,
}

impl Profile {
    pub fn counter(&self, index: u64) -> u64 {
        self.counters.get(&index).copied().unwrap_or(0)
    }

    pub fn hashed(&self, index: u64, path: u64) -> u64 {
        self.hashes
            .get(&index)
            .and_then(|paths| paths.get(&path))
            .copied()
            .unwrap_or(0)
    }

    pub fn hash_sum(&self, index: u64) -> u64 {
        self.hashes
            .get(&index)
            .map_or(0, |paths| paths.values().sum())
    }
}

fn number<const N: usize>(bytes: &[u8], offset: usize) -> u64 {
    let mut wide = [0; 8];
    wide[..N].copy_from_slice(&bytes[offset..offset + N]);
    u64::from_le_bytes(wide)
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap();
    String::from_utf8(bytes[..end].to_vec()).unwrap()
}

pub fn read(path: &Path) -> Profile {
    let bytes = fs::read(path).unwrap();
    assert_eq!(&bytes[..8], b"HLWRAWPR", "{}", path.display());
    assert_eq!(number::<4>(&bytes, 8), u64::from(ABI_VERSION));
    assert_eq!(
        bytes[16..32],
        [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
    );
    let block_size = number::<8>(&bytes, 32) as usize;
    let end = number::<8>(&bytes, 40) as usize;
    let mut profile = Profile {
        pid: number::<4>(&bytes, 48) as u32,
        ppid: number::<4>(&bytes, 52) as u32,
        lost: number::<8>(&bytes, 64),
        threads: number::<4>(&bytes, 72) as u32,
        flags: number::<4>(&bytes, 76) as u32,
        boot_start: number::<8>(&bytes, 80),
        pid_namespace: number::<8>(&bytes, 88),
        name: text(&bytes[128..208]),
        path: text(&bytes[208..1232]),
        ..Profile::default()
    };
    assert!(number::<8>(&bytes, 56) > 1_600_000_000_000_000_000, "start");
    let mut at = 4096;
    while at < end {
        assert_eq!(&bytes[at..at + 8], b"HLWEXTNT", "extent at {at}");
        let size = number::<8>(&bytes, at + 16) as usize;
        assert!(
            size > 0 && size.is_multiple_of(4096) && at + size <= end,
            "size {size} at {at}"
        );
        let payload = &bytes[at + 64..at + size];
        match number::<4>(&bytes, at + 8) {
            1 => {
                profile.blocks += 1;
                for (index, word) in payload[..block_size].chunks_exact(8).enumerate() {
                    *profile.counters.entry(index as u64).or_default() += number::<8>(word, 0);
                }
            }
            2 => {
                profile.segments += 1;
                let slots = number::<8>(&bytes, at + 32) as usize;
                let paths = profile
                    .hashes
                    .entry(number::<8>(&bytes, at + 24) / 8)
                    .or_default();
                for record in payload[..slots * 16].chunks_exact(16) {
                    if number::<8>(record, 0) != 0 {
                        *paths.entry(number::<8>(record, 0) - 1).or_default() +=
                            number::<8>(record, 8);
                    }
                }
            }
            other => panic!("extent kind {other}"),
        }
        at += size;
    }
    let heads: Vec<u64> = profile.hashes.keys().copied().collect();
    profile
        .counters
        .retain(|index, count| *count != 0 && !heads.contains(index));
    profile
}

/// The profiles in a directory, in the order of their names.
pub fn profiles(directory: &Path) -> Vec<Profile> {
    let mut paths: Vec<PathBuf> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "hwp"));
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

/// A directory for one test, empty.
pub fn workshop(test: &str) -> PathBuf {
    let tests = env!("CARGO_CRATE_NAME");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(tests)
        .join(test);
    match fs::remove_dir_all(&path) {
        Ok(()) => {}
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{error}"),
    }
    fs::create_dir_all(&path).unwrap();
    path
}

pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(name)
}

/// The runtime object, as a file.
pub fn object(workshop: &Path) -> PathBuf {
    let path = workshop.join("holloway_rt.o");
    fs::write(&path, holloway_runtime::OBJECT).unwrap();
    path
}

pub fn run(command: &mut Command) -> Output {
    command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Runs to a good end, with nothing on stdout or stderr.
pub fn run_silently(command: &mut Command) {
    let output = run(command);
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success(),
        "{command:?}: {}\n{stdout}{stderr}",
        output.status
    );
    assert_eq!((stdout.as_ref(), stderr.as_ref()), ("", ""), "{command:?}");
}

/// The compiler of `tests/programs`.
pub fn gcc() -> Command {
    let mut gcc = Command::new(if crate::MUSL { "musl-gcc" } else { "gcc" });
    // musl leaves the kernel's headers to the system.
    let kernel = ["/usr/include", "/usr/include/x86_64-linux-gnu"];
    for headers in kernel.iter().filter(|_| crate::MUSL) {
        gcc.args(["-idirafter", headers]);
    }
    gcc.arg(format!("-DRING_SIZE={RING_SIZE}"));
    gcc
}

/// Compiles a program of `tests/programs` with the runtime; its path.
pub fn compile(workshop: &Path, sources: &[&str], flags: &[&str]) -> PathBuf {
    let program = workshop.join(sources[0].split('.').next().unwrap());
    let mut gcc = gcc();
    gcc.args(["-O2", "-g", "-Wall", "-mno-red-zone", "-pthread", "-o"])
        .arg(&program);
    gcc.args(sources.iter().map(|name| source(name)))
        .arg(object(workshop))
        .args(flags);
    run_silently(&mut gcc);
    program
}

/// A program run with its data in `data` below the workshop.
pub fn command(program: &Path, arguments: &[&str]) -> (Command, PathBuf) {
    let data = program.parent().unwrap().join("data");
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("HOLLOWAY_DATA", &data)
        .current_dir(program.parent().unwrap());
    (command, data)
}

/// Runs a program that notes on its stdin how far it is, kills it some 200 microseconds to `micros` later, and gives how far it was.
pub fn kill(command: &mut Command, seed: &mut u64, micros: u64) -> u64 {
    let finished = Path::new(command.get_program()).with_file_name("finished");
    let mut options = fs::File::options();
    options.read(true).write(true).create(true).truncate(true);
    let file = options.open(finished).unwrap();
    file.set_len(4096).unwrap();
    let stdin = Stdio::from(file.try_clone().unwrap());
    let mut child = command.stdin(stdin).spawn().unwrap();
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    std::thread::sleep(Duration::from_micros(200 + (*seed >> 33) % micros));
    child.kill().unwrap();
    child.wait().unwrap();
    let mut bytes = [0; 8];
    file.read_exact_at(&mut bytes, 0).unwrap();
    u64::from_le_bytes(bytes)
}

/// Compiles, runs one scenario silently, reads the profiles.
pub fn scenario(source: &str, name: &str) -> Vec<Profile> {
    let stem = source.split('.').next().unwrap();
    let program = compile(&workshop(&format!("{stem}-{name}")), &[source], &[]);
    let (mut command, data) = command(&program, &[name]);
    run_silently(&mut command);
    profiles(&data)
}

/// The only element.
pub fn only<T>(list: Vec<T>) -> T {
    assert_eq!(list.len(), 1);
    list.into_iter().next().unwrap()
}
