//! Hash counters are exact, however many paths there are and wherever they fall.

use crate::harness::{Libc, only, scenario};

#[test]
fn a_million_paths() {
    let profile = only(scenario(Libc::Glibc, "hashes.c", "million"));
    assert_eq!(profile.hashes[&2].len(), 1_000_000);
    // path p runs at i = p', p' + 10^6, p' + 2·10^6, and is counted while i < 10^6 + p
    let mut wanted = vec![0_u64; 1_000_000];
    for i in 0..3_000_000_u64 {
        let path = i.wrapping_mul(2_654_435_761) % 1_000_000;
        wanted[path as usize] += u64::from(i < 1_000_000 + path);
    }
    assert!(
        (0_u64..)
            .zip(wanted)
            .all(|(path, count)| profile.hashed(2, path) == count)
    );
}

#[test]
fn corners() {
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
fn threads_have_segments_of_their_own() {
    let profile = only(scenario(Libc::Glibc, "hashes.c", "threads"));
    assert_eq!(
        profile.hashes[&2],
        (0..20_000).map(|path| (path * path, 20)).collect()
    );
}
