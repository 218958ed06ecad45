//! Tests that hash counters are exact for many paths, for extreme path numbers, and with
//! collisions.

use crate::harness::{Libc, only, scenario};

#[test]
fn a_million_paths() {
    let profile = only(scenario(Libc::Glibc, "hashes.c", "million"));
    assert_eq!(profile.hashes[&2].len(), 1_000_000);
    // Path p runs for three values of i, with a distance of 10^6. It is counted if i < 10^6 + p.
    let mut expected = vec![0_u64; 1_000_000];
    for i in 0..3_000_000_u64 {
        let path = i.wrapping_mul(2_654_435_761) % 1_000_000;
        expected[path as usize] += u64::from(i < 1_000_000 + path);
    }
    assert!(
        (0_u64..)
            .zip(expected)
            .all(|(path, count)| profile.hashed(2, path) == count)
    );
}

#[test]
fn extreme_path_numbers() {
    let profile = only(scenario(Libc::Glibc, "hashes.c", "corners"));
    let paths = [
        0,
        1,
        2,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        1 << 40,
        1 << 62,
        (1 << 63) - 1,
    ];
    assert_eq!(profile.hashes[&2], paths.map(|path| (path, 6)).into());
    assert_eq!(
        profile.hashes[&3],
        [1, 0x7fff_ffff, 0xffff_ffff, 1 << 62]
            .map(|path| (path, 6))
            .into()
    );
}

#[test]
fn collisions() {
    let profile = only(scenario(Libc::Glibc, "hashes.c", "colliding"));
    let counts: Vec<u64> = profile.hashes[&2].values().copied().collect();
    assert_eq!(counts, (1..=90).collect::<Vec<u64>>());
}

#[test]
fn each_thread_has_its_own_segments() {
    let profile = only(scenario(Libc::Glibc, "hashes.c", "threads"));
    assert_eq!(
        profile.hashes[&2],
        (0..20_000).map(|path| (path * path, 20)).collect()
    );
}
