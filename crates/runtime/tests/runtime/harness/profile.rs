//! Reads raw profiles with counters.
//!
//! This is a slow reference implementation, written from the layout tables in `holloway_abi`. It
//! shares no code with the reader in `holloway-format`.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    reason = "shared by the tests of this target; a test may panic"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use holloway_abi::ABI_VERSION;

use super::program::{Libc, command, compile, run_silently, test_directory};

/// The contents of a profile, summed over blocks and segments.
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
    /// The path, byte for byte.
    pub path_bytes: Vec<u8>,
    pub blocks: usize,
    pub segments: usize,
    /// Sums of the counters of the blocks, by index, without the segment pointers of hashed
    /// functions.
    pub counters: BTreeMap<u64, u64>,
    /// Counts of hashed functions by the index of the segment pointer, then by path.
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

/// Compiles a program, runs one of its scenarios, checks that it prints nothing, and reads its
/// profiles.
pub fn scenario(libc: Libc, source: &str, name: &str) -> Vec<Profile> {
    let stem = source.split('.').next().unwrap();
    let program = compile(
        libc,
        &test_directory(libc, &format!("{stem}-{name}")),
        &[source],
        &[],
    );
    let (mut command, data) = command(&program, &[name]);
    run_silently(&mut command);
    profiles(&data)
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
        path: text(&bytes[208..3984]),
        path_bytes: until_nul(&bytes[208..3984]).to_vec(),
        ..Profile::default()
    };
    assert!(number::<8>(&bytes, 56) > 1_600_000_000_000_000_000, "start");
    let mut extent = 4096;
    while extent < end {
        assert_eq!(
            &bytes[extent..extent + 8],
            b"HLWEXTNT",
            "extent at {extent}"
        );
        let size = number::<8>(&bytes, extent + 16) as usize;
        assert!(
            size > 0 && size.is_multiple_of(4096) && extent + size <= end,
            "size {size} at {extent}"
        );
        let payload = &bytes[extent + 64..extent + size];
        match number::<4>(&bytes, extent + 8) {
            1 => {
                profile.blocks += 1;
                for (index, word) in payload[..block_size].chunks_exact(8).enumerate() {
                    *profile.counters.entry(index as u64).or_default() += number::<8>(word, 0);
                }
            }
            2 => {
                profile.segments += 1;
                let slots = number::<8>(&bytes, extent + 32) as usize;
                let paths = profile
                    .hashes
                    .entry(number::<8>(&bytes, extent + 24) / 8)
                    .or_default();
                for slot in payload[..slots * 16].chunks_exact(16) {
                    if number::<8>(slot, 0) != 0 {
                        *paths.entry(number::<8>(slot, 0) - 1).or_default() += number::<8>(slot, 8);
                    }
                }
            }
            other => panic!("extent kind {other}"),
        }
        extent += size;
    }
    let segment_pointers: Vec<u64> = profile.hashes.keys().copied().collect();
    profile
        .counters
        .retain(|index, count| *count != 0 && !segment_pointers.contains(index));
    profile
}

fn number<const N: usize>(bytes: &[u8], offset: usize) -> u64 {
    let mut wide = [0; 8];
    wide[..N].copy_from_slice(&bytes[offset..offset + N]);
    u64::from_le_bytes(wide)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(until_nul(bytes)).into_owned()
}

fn until_nul(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap();
    &bytes[..end]
}
