//! Tests of raw and sealed profiles: round trips, sums over threads and processes, and damage.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::collections::BTreeMap;
use std::ops::Range;

use common::{add, image, map_and_profile, small_edge_function, small_modules};
use holloway_abi::Kind;
use holloway_format::raw::SparseBytes;
use holloway_format::{
    CallTarget, Count, CounterPlaces, Counters, Fact, FormatError, FunctionCounts, FunctionIndex,
    ImageMap, OperationSize, Profile, ProfileHead, RawProfile, SiteValue, decode_image,
    encode_image, pack_map, peek_profile, raw, read_counters, read_profile, write_sealed,
};
use holloway_testkit::{raw::RawWriter, repair};
use proptest::collection::vec;
use proptest::prelude::*;

/// Module index, function index, and the counts of the function's paths.
type CountsOfFunction = (u32, u32, Vec<(u64, u64)>);

fn map() -> ImageMap {
    decode_image(&image(&small_modules())).unwrap()
}

/// The second function of the first module.
const SECOND: FunctionIndex = FunctionIndex {
    module: 0,
    function: 1,
};

fn counts(profile: &Profile) -> Vec<CountsOfFunction> {
    profile
        .functions
        .iter()
        .map(|function| {
            let counts = function.counts.iter();
            let counts = counts.map(|&(path, count)| (path, count.0)).collect();
            (function.index.module, function.index.function, counts)
        })
        .collect()
}

/// Writes a raw profile with two threads of the small map.
fn writer(map: &ImageMap) -> RawWriter {
    let mut writer = RawWriter::for_image(map);
    writer.thread(
        map,
        11,
        &[
            (0, 0, 0, 5),
            (0, 0, 2, 1),
            (0, 1, 1 << 39, 4),
            (0, 1, 3, 2),
            (1, 0, 0, 9),
        ],
    );
    writer.thread(map, 12, &[(0, 0, 0, 10), (0, 1, 3, 7), (0, 2, 1, 1)]);
    writer
}

fn sums() -> Vec<CountsOfFunction> {
    vec![
        (0, 0, vec![(0, 15), (2, 1)]),
        (0, 1, vec![(3, 9), (1 << 39, 4)]),
        (0, 2, vec![(1, 1)]),
        (1, 0, vec![(0, 9)]),
    ]
}

#[test]
fn threads_are_summed() {
    let map = map();
    let bytes = writer(&map).finish();
    let profile = read_profile(&bytes, &map).unwrap();
    assert_eq!(profile.damage, []);
    assert_eq!(counts(&profile), sums());
    assert_eq!(
        (
            profile.head.threads,
            profile.head.pid,
            profile.head.image.as_str()
        ),
        (2, 1, "app")
    );
    assert_eq!(profile.function(SECOND).unwrap().total(), 13);
    let sealed = write_sealed(&profile);
    assert_eq!(read_profile(&sealed, &map).unwrap(), profile);
}

/// The bytes of a map as [`read_counters`] asks for them. The ranges are noted.
fn read_range<'m>(
    map: &'m [u8],
    asked: &'m mut Vec<Range<u64>>,
) -> impl FnMut(Range<u64>) -> Option<Vec<u8>> + 'm {
    |range| {
        let end = map.len().min(range.end as usize);
        let bytes = map.get(range.start as usize..end)?.to_vec();
        asked.push(range);
        Some(bytes)
    }
}

/// A file whose pages of zeros are holes.
fn sparse(bytes: &[u8]) -> SparseBytes {
    let pages = bytes.chunks(4096).enumerate();
    let data = pages.filter(|(_, page)| page.iter().any(|&byte| byte != 0));
    let data = data.map(|(number, page)| {
        let start = number as u64 * 4096;
        start..start + page.len() as u64
    });
    SparseBytes {
        bytes: bytes.to_vec(),
        data: data.collect(),
    }
}

fn read_with_map(raw: &[u8], map: &[u8], asked: &mut Vec<Range<u64>>) -> Option<Profile> {
    let places = &mut read_range(map, asked);
    read_counters(&sparse(raw), CounterPlaces::Map(places))
}

fn read_with_table(raw: &[u8], packed: &[u8]) -> Option<Profile> {
    let mut asked = Vec::new();
    let places = &mut read_range(packed, &mut asked);
    read_counters(
        &sparse(raw),
        CounterPlaces::Packed(places, packed.len() as u64),
    )
}

#[test]
fn counters_are_read_with_the_used_modules_only() {
    let bytes = image(&small_modules());
    let map = decode_image(&bytes).unwrap();
    let mut asked = Vec::new();
    let raw = writer(&map).finish();
    let profile = read_with_map(&raw, &bytes, &mut asked);
    assert_eq!(profile.unwrap(), read_profile(&raw, &map).unwrap());

    let mut first_module = RawWriter::for_image(&map);
    first_module.thread(&map, 1, &[(0, 0, 0, 5), (0, 1, 3, 2)]);
    let raw = first_module.finish();
    asked.clear();
    let profile = read_with_map(&raw, &bytes, &mut asked);
    assert_eq!(profile.unwrap(), read_profile(&raw, &map).unwrap());
    let last_byte = bytes.len() as u64 - 1;
    assert!(
        !asked.iter().any(|range| range.contains(&last_byte)),
        "{asked:?}"
    );
}

/// Whatever is damaged in map or profile: either all counts are right, or nothing is read.
#[test]
fn counters_of_damaged_files_are_not_guessed() {
    let bytes = image(&small_modules());
    let map = decode_image(&bytes).unwrap();
    let raw = writer(&map).finish();
    let whole = read_profile(&raw, &map).unwrap();
    let mut refused = 0;
    for bit in 0..8 * bytes.len() {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        match read_with_map(&raw, &flipped, &mut Vec::new()) {
            Some(profile) => assert_eq!(profile, whole, "bit {bit}"),
            None => refused += 1,
        }
    }
    assert!(refused > 1000, "{refused}");
    for length in 0..bytes.len() {
        let profile = read_with_map(&raw, &bytes[..length], &mut Vec::new());
        assert!(profile.is_none_or(|profile| profile == whole), "{length}");
    }
    for byte in 0..raw.len() {
        let mut flipped = raw.clone();
        flipped[byte] ^= 0x41;
        let profile = read_with_map(&flipped, &bytes, &mut Vec::new());
        let expected = read_profile(&flipped, &map).ok();
        let expected = expected.filter(|profile| profile.damage.is_empty());
        assert!(profile.is_none() || profile == expected, "byte {byte}");
    }
}

#[test]
fn counters_are_read_with_the_table_of_a_compressed_map() {
    let bytes = image(&small_modules());
    let map = decode_image(&bytes).unwrap();
    let raw = writer(&map).finish();
    let whole = read_profile(&raw, &map).unwrap();
    let packed = pack_map(&bytes, &map.build_id);
    assert_eq!(read_with_table(&raw, &packed), Some(whole.clone()));

    let mut refused = 0;
    for bit in 0..8 * packed.len() {
        let mut flipped = packed.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        match read_with_table(&raw, &flipped) {
            Some(profile) => assert_eq!(profile, whole, "bit {bit}"),
            None => refused += 1,
        }
    }
    assert!(refused > 8 * 48, "{refused}");
    for length in 0..packed.len() {
        assert_eq!(read_with_table(&raw, &packed[..length]), None, "{length}");
    }
    let other_build = pack_map(&bytes, &[1; 16]);
    assert_eq!(read_with_table(&raw, &other_build), None);
}

proptest! {
    /// Holes change nothing, wherever they are, and whether or not the ranges of data touch or
    /// begin in the middle of a counter.
    #[test]
    fn holes_are_zeros(
        counts in vec((0u32..3, 0u64..2, 1u64..9), 0..9),
        cuts in vec(0u64..20_000, 0..12),
    ) {
        let bytes = image(&small_modules());
        let map = decode_image(&bytes).unwrap();
        let mut writer = RawWriter::for_image(&map);
        for thread in 1..3 {
            let counts: Vec<_> = (counts.iter())
                .map(|&(function, path, count)| (0, function, path, count))
                .collect();
            writer.thread(&map, thread, &counts);
        }
        let raw = writer.finish();
        let length = raw.len() as u64;
        let mut cuts: Vec<u64> = cuts.into_iter().map(|cut| cut.min(length)).collect();
        cuts.extend([0, length]);
        cuts.sort_unstable();
        let is_data = |range: &Range<u64>| {
            raw[range.start as usize..range.end as usize].iter().any(|&byte| byte != 0)
        };
        let ranges = cuts.windows(2).map(|cut| cut[0]..cut[1]);
        let file = SparseBytes {
            bytes: raw.clone(),
            data: ranges.filter(is_data).collect(),
        };
        let mut asked = Vec::new();
        let places = &mut read_range(&bytes, &mut asked);
        let expected = read_profile(&raw, &map).unwrap();
        let expected = expected.damage.is_empty().then_some(expected);
        prop_assert_eq!(read_counters(&file, CounterPlaces::Map(places)), expected);
    }
}

/// The map of a function determines whether its counters count paths or edges, not the kind of the
/// profile.
#[test]
fn edge_counters_are_read_by_number() {
    let mut module = small_modules()[0].clone();
    common::add(&mut module, common::small_edge_function("edges"));
    let bytes = encode_image(Kind::Edges, "app", &[(0, &module.encode())]).0;
    let map = decode_image(&bytes).unwrap();
    let mut writer = RawWriter::for_image(&map);
    writer.thread(&map, 1, &[(0, 0, 2, 4), (0, 3, 0, 5)]);
    writer.thread(&map, 2, &[(0, 3, 0, 7)]);
    let profile = read_profile(&writer.finish(), &map).unwrap();
    assert_eq!((profile.head.kind, profile.damage.len()), (Kind::Edges, 0));
    assert_eq!(
        counts(&profile),
        [(0, 0, vec![(2, 4)]), (0, 3, vec![(0, 12)])]
    );
    let sealed = write_sealed(&profile);
    assert_eq!(read_profile(&sealed, &map).unwrap(), profile);

    let mut out_of_range = profile;
    out_of_range.functions[1].counts.push((1, Count(1)));
    let read = read_profile(&write_sealed(&out_of_range), &map).unwrap();
    assert_eq!(counts(&read), [(0, 0, vec![(2, 4)])]);
    assert!(
        read.damage[0]
            .fact
            .to_string()
            .starts_with("edge counter 1 at byte "),
        "{}",
        read.damage[0]
    );
}

#[test]
fn a_file_may_be_longer_than_its_end() {
    let map = map();
    let mut bytes = writer(&map).finish();
    bytes.extend(vec![0xaa; 5000]);
    let profile = read_profile(&bytes, &map).unwrap();
    assert_eq!((counts(&profile), profile.damage.len()), (sums(), 0));
}

#[test]
fn another_build_is_rejected() {
    let mut map = map();
    let bytes = writer(&map).finish();
    let sealed = write_sealed(&read_profile(&bytes, &map).unwrap());
    let profile_id = map.build_id;
    map.build_id = *b"0123456789abcdef";
    for bytes in [bytes, sealed] {
        let error = read_profile(&bytes, &map).unwrap_err();
        assert_eq!(
            error,
            FormatError::BuildMismatch {
                profile: profile_id,
                map: map.build_id,
                image: "app".into()
            }
        );
        let short_id: String = profile_id[..8]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let expected = format!(
            "the profile is of build {short_id} of app, the path map of build 3031323334353637; record it again with this build"
        );
        assert_eq!(error.to_string(), expected);
    }
}

/// Versions 2 to 4 of sealed profiles have the same layout.
#[test]
fn sealed_profiles_of_version_2_are_read() {
    let map = map();
    let profile = read_profile(&writer(&map).finish(), &map).unwrap();
    let mut sealed = write_sealed(&profile);
    assert_eq!(sealed[8], 5);
    sealed[8] = 2;
    repair::sealed_profile(&mut sealed);
    assert_eq!(read_profile(&sealed, &map), Ok(profile));
}

#[test]
fn other_files_and_versions_are_rejected() {
    let map = map();
    let check = |bytes: &[u8], error: FormatError| {
        assert_eq!(read_profile(bytes, &map), Err(error.clone()));
        assert_eq!(peek_profile(bytes), Err(error));
    };
    check(b"\x7fELF\x02\x01\x01\0", FormatError::NotAProfile);
    check(b"", FormatError::Unfinished);
    check(&[0; 8192], FormatError::Unfinished);
    check(b"HLWRAWPR", FormatError::Truncated { offset: 8 });
    check(b"HLWSEALD", FormatError::Truncated { offset: 8 });
    check(b"short", FormatError::NotAProfile);
    let mut raw = writer(&map).finish();
    let mut sealed = write_sealed(&read_profile(&raw, &map).unwrap());
    raw[8] = 7;
    sealed[8] = 9;
    let abi = holloway_abi::ABI_VERSION;
    let version = |found, reads| FormatError::Version { found, reads };
    check(&raw, version(7, holloway_abi::OLDEST_ABI_VERSION..=abi));
    check(&sealed, version(9, 2..=5));
    raw[8] = abi as u8;
    raw[12] = 9;
    assert_eq!(
        read_profile(&raw, &map),
        Err(FormatError::UnknownKind {
            kind: 9,
            offset: 12
        })
    );
}

#[test]
fn values_of_all_threads_are_added_up() {
    let mut function = small_edge_function("calls");
    function.counters = Counters::Edges {
        offset: 0,
        len: 1,
        has_values: true,
    };
    let mut modules = small_modules();
    add(&mut modules[1], function);
    let index = FunctionIndex {
        module: 1,
        function: 1,
    };
    let map = decode_image(&image(&modules)).unwrap();
    let counters = map.function(index).unwrap().counters;
    let head = map.modules[1].base + counters.values().unwrap();
    let target = |site, address| SiteValue::Target(CallTarget { site, address });
    let size = |site, bytes| SiteValue::Size(OperationSize { site, bytes });
    let keys = [
        target(0, 0x1150),
        target(1, 0x1150),
        target(2, (1 << SiteValue::VALUE_BITS) - 1),
        size(0, 0),
        size((1 << 15) - 1, OperationSize::LARGE),
    ]
    .map(SiteValue::key);
    let mut writer = RawWriter::for_image(&map);
    for thread in [11, 12] {
        // The address of the segment in the process.
        writer.block(thread, &[(head, 0x7f00_0000_1000)]);
        let counts = keys.map(|key| (key, u64::from(thread)));
        writer.segment(thread, head, 32, &counts);
    }
    let profile = read_profile(&writer.finish(), &map).unwrap();
    assert_eq!(profile.damage, []);
    let counts = profile.function(index).unwrap();
    assert_eq!(counts.counts, []);
    assert_eq!(counts.values, keys.map(|key| (key, Count(23))));
    let mut sum = profile.clone();
    sum.merge(profile.clone()).unwrap();
    let values = &sum.function(index).unwrap().values;
    assert_eq!(*values, keys.map(|key| (key, Count(46))));
    let sealed = write_sealed(&profile);
    assert_eq!(read_profile(&sealed, &map), Ok(profile));
}

#[test]
fn a_function_with_counts_of_no_path_is_left_out() {
    let map = map();
    let mut writer = writer(&map);
    // Function 0 has 3 paths and 4 counters; the block has more room than counters.
    writer.block(13, &[(24, 1), (32, 1 << 20), (8 * 100, 3)]);
    writer.segment(13, 32, 2, &[(1 << 40, 6)]);
    writer.segment(13, 8, 2, &[(0, 6)]);
    let profile = read_profile(&writer.finish(), &map).unwrap();
    assert_eq!(counts(&profile), sums()[2..]);
    let damage: Vec<String> = profile.damage.iter().map(ToString::to_string).collect();
    assert_eq!(damage.len(), 4, "{damage:#?}");
    assert!(
        damage[0]
            .ends_with("a segment of counters belongs to no function that the path map has intact")
    );
    assert!(
        damage[1].ends_with("function 0 of module 0 (one): a count for path 3, of 3"),
        "{damage:?}"
    );
    assert!(damage[2].ends_with(
        "function 1 of module 0 (two): a count for path 1099511627776, of 1099511627776"
    ));
    assert!(
        damage[3].ends_with("1 counters belong to no function that the path map has intact"),
        "{damage:?}"
    );
}

#[test]
fn a_function_whose_counts_overflow_is_left_out() {
    let map = map();
    let mut writer = RawWriter::for_image(&map);
    writer.thread(
        &map,
        1,
        &[(0, 0, 1, u64::MAX - 1), (0, 1, 7, 1 << 63), (1, 0, 0, 2)],
    );
    writer.thread(&map, 2, &[(0, 0, 1, 3), (0, 1, 7, 1 << 63)]);
    let profile = read_profile(&writer.finish(), &map).unwrap();
    assert_eq!(counts(&profile), [(1, 0, vec![(0, 2)])]);
    assert_eq!(profile.damage.len(), 2);
}

#[test]
fn functions_that_the_map_lost_are_reported() {
    let map_bytes = image(&small_modules());
    let intact = decode_image(&map_bytes).unwrap();
    let raw = writer(&intact).finish();
    let sealed = write_sealed(&read_profile(&raw, &intact).unwrap());
    let mut bytes = map_bytes.clone();
    *bytes.last_mut().unwrap() ^= 1;
    let map = decode_image(&bytes).unwrap();
    for bytes in [raw, sealed] {
        let profile = read_profile(&bytes, &map).unwrap();
        assert_eq!(counts(&profile), sums()[..3]);
        assert_eq!(profile.damage.len(), 1);
        assert!(
            profile.damage[0].fact.to_string().contains("path map"),
            "{}",
            profile.damage[0]
        );
    }
}

#[test]
fn processes_are_summed() {
    let map = map();
    let profile = read_profile(&writer(&map).finish(), &map).unwrap();
    let mut other = profile.clone();
    other.functions.remove(1);
    other.functions[0].counts = vec![(1, Count(7)), (2, Count(u64::MAX))];
    let sum = Profile::sum([profile.clone(), other]).unwrap().unwrap();
    let mut expected = sums();
    expected[0].2 = vec![(0, 15), (1, 7), (2, u64::MAX)];
    expected[2].2 = vec![(1, 2)];
    expected[3].2 = vec![(0, 18)];
    assert_eq!(counts(&sum), expected);
    assert_eq!(sum.head.threads, 4);
    assert_eq!(Profile::sum([]).unwrap(), None);
    let mut stranger = profile.clone();
    stranger.head.build_id[3] ^= 1;
    let mut profile = profile;
    let before = profile.clone();
    assert!(matches!(
        profile.merge(stranger),
        Err(FormatError::BuildMismatch { .. })
    ));
    assert_eq!(profile, before);
}

#[test]
fn peeking_needs_only_the_head() {
    let map = map();
    let mut writer = writer(&map);
    *writer.head() = ProfileHead {
        image_path: "/a/path".into(),
        ppid: 3,
        start_ns: 4,
        threads: 5,
        lost: 6,
        forked: true,
        ..writer.head().clone()
    };
    let raw = writer.finish();
    let mut head = peek_profile(&raw[..4096]).unwrap();
    assert_eq!(head, *writer.head());
    let profile = read_profile(&raw, &map).unwrap();
    head.sealed = true;
    assert_eq!(peek_profile(&write_sealed(&profile)).unwrap(), head);
}

#[test]
fn sealed_profiles_keep_the_damage() {
    let map = map();
    let mut writer = writer(&map);
    writer.block(13, &[(24, 1)]);
    let profile = read_profile(&writer.finish(), &map).unwrap();
    assert_eq!(profile.damage.len(), 1);
    // A note is text.
    let mut expect = profile.clone();
    expect.damage[0].fact = Fact::Text(profile.damage[0].fact.to_string());
    assert_eq!(read_profile(&write_sealed(&profile), &map).unwrap(), expect);
}

/// The functions that `damaged` lacks. Every other function must have the same counts as in
/// `intact`.
fn missing(intact: &Profile, damaged: &Profile) -> Vec<(u32, u32)> {
    let mut missing = Vec::new();
    for function in &intact.functions {
        match damaged.function(function.index) {
            Some(counts) => assert_eq!(counts, function),
            None => missing.push((function.index.module, function.index.function)),
        }
    }
    assert!(damaged.functions.len() + missing.len() == intact.functions.len());
    missing
}

#[test]
fn every_flipped_bit_of_a_sealed_profile_is_detected_and_loses_one_function() {
    let map = map();
    let mut writer = writer(&map);
    writer.block(13, &[(800, 1)]);
    let intact = read_profile(&writer.finish(), &map).unwrap();
    let bytes = write_sealed(&intact);
    let head = 88 + 3 + 3 + 4;
    for bit in 0..8 * bytes.len() {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        match read_profile(&flipped, &map) {
            Ok(profile) => {
                assert!(
                    bit >= 8 * head && profile.damage != intact.damage,
                    "bit {bit}"
                );
                let missing = missing(&intact, &profile);
                assert!(missing.len() <= 1, "bit {bit}: {missing:?}");
                for (module, function) in missing {
                    let expected = (Some(module), Some(function));
                    assert!(
                        profile
                            .damage
                            .iter()
                            .any(|damage| (damage.module, damage.function) == expected),
                        "bit {bit}"
                    );
                }
            }
            Err(_) => assert!(bit < 8 * head, "bit {bit}"),
        }
    }
}

#[test]
fn every_truncation_of_a_sealed_profile_is_detected() {
    let map = map();
    let intact = read_profile(&writer(&map).finish(), &map).unwrap();
    let bytes = write_sealed(&intact);
    for length in 0..bytes.len() {
        if let Ok(profile) = read_profile(&bytes[..length], &map) {
            assert!(!profile.damage.is_empty(), "{length}");
            missing(&intact, &profile);
        }
    }
}

#[test]
fn a_truncated_raw_profile_keeps_its_complete_extents() {
    let map = map();
    let mut writer = RawWriter::for_image(&map);
    writer
        .thread(&map, 1, &[(0, 0, 0, 1)])
        .thread(&map, 2, &[(0, 0, 0, 10)])
        .thread(&map, 3, &[(0, 0, 0, 100)]);
    let bytes = writer.finish();
    assert_eq!(bytes.len(), 4 * 4096);
    let heads = (0..3984).chain((3984..bytes.len()).step_by(97));
    for length in heads.chain(bytes.len() - 100..bytes.len()) {
        match read_profile(&bytes[..length], &map) {
            Ok(profile) => {
                let threads = (length / 4096).saturating_sub(1);
                let expected = [0, 1, 11, 111][threads];
                assert_eq!(
                    profile
                        .functions
                        .iter()
                        .map(FunctionCounts::total)
                        .sum::<u128>(),
                    expected,
                    "{length}"
                );
                let missing = format!("the last {} bytes are missing", bytes.len() - length);
                assert_eq!(profile.damage[0].fact.to_string(), missing);
            }
            Err(_) => assert!(length < 3984, "{length}"),
        }
    }
}

/// Profiles of programs that earlier versions built have less room for the path.
#[test]
fn raw_profiles_of_earlier_versions_are_read() {
    let map = map();
    let mut writer = writer(&map);
    let new = read_profile(&writer.finish(), &map).unwrap();
    let old = writer.version(holloway_abi::OLDEST_ABI_VERSION).finish();
    assert_eq!(read_profile(&old, &map).unwrap(), new);
    assert!(!new.functions.is_empty());
}

/// Paths are any bytes, and may be as long as the system allows.
#[test]
fn paths_of_any_bytes_and_length_are_kept() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let map = map();
    let long = "/x".repeat(1800);
    for path in [&b"/no \xff UTF-8/new\nline"[..], long.as_bytes(), b""] {
        let mut writer = writer(&map);
        writer.head().image_path = OsStr::from_bytes(path).into();
        let raw = writer.finish();
        let profile = read_profile(&raw, &map).unwrap();
        assert_eq!(profile.head.image_path.as_os_str().as_bytes(), path);
        let sealed = write_sealed(&profile);
        let read = read_profile(&sealed, &map).unwrap();
        assert_eq!(read.head.image_path, profile.head.image_path);
        // The beginning of a file has the whole head.
        for bytes in [&raw, &sealed] {
            let head = peek_profile(&bytes[..bytes.len().min(8192)]).unwrap();
            assert_eq!(head.image_path, profile.head.image_path);
        }
    }
}

/// An extent with a damaged head is lost, and the damage lists it. The extents before and after it
/// are read.
#[test]
fn only_a_damaged_extent_is_lost() {
    let map = map();
    let mut writer = RawWriter::for_image(&map);
    writer
        .thread(&map, 1, &[(0, 0, 0, 1)])
        .thread(&map, 2, &[(0, 0, 0, 10)])
        .thread(&map, 3, &[(0, 0, 0, 100)]);
    let bytes = writer.finish();
    for byte in (0..12).chain(16..24) {
        let mut flipped = bytes.clone();
        flipped[2 * 4096 + byte] ^= 4;
        let profile = read_profile(&flipped, &map).unwrap();
        assert_eq!(counts(&profile), [(0, 0, vec![(0, 101)])], "byte {byte}");
        let expected = "4096 bytes are lost: the head of an extent is damaged or cut off";
        assert_eq!(
            (profile.damage[0].offset, profile.damage[0].fact.to_string()),
            (8192, expected.to_owned())
        );
    }
}

#[test]
fn the_parser_survives_every_flipped_bit_of_a_raw_profile() {
    let map = map();
    let bytes = writer(&map).finish();
    let heads = (0..bytes.len())
        .step_by(4096)
        .flat_map(|page| page..page + 300);
    for byte in heads {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[byte] ^= 1 << bit;
            let Ok(profile) = read_profile(&flipped, &map) else {
                assert!(byte < 3984);
                continue;
            };
            // All counts belong to existing paths.
            for function in &profile.functions {
                let limit = map.function(function.index).unwrap().counter_limit();
                assert!(
                    function
                        .counts
                        .iter()
                        .all(|&(path, count)| path < limit && count > Count(0))
                );
            }
            let _ = peek_profile(&flipped);
        }
    }
}

#[test]
fn a_function_with_a_key_in_a_wrong_slot_is_left_out() {
    let map = map();
    let bytes = writer(&map).finish();
    let raw = RawProfile::parse(&bytes).unwrap();
    let segment = raw.segments()[0];
    assert_eq!(
        (segment.head, segment.entries().count(), segment.misplaced()),
        (32, 2, None)
    );
    let slots = segment.offset as usize..segment.offset as usize + 64;
    let used = slots.step_by(16).find(|&slot| bytes[slot] != 0).unwrap();
    let detected = (0..40).filter(|bit| {
        let mut flipped = bytes.clone();
        flipped[used + bit / 8] ^= 1 << (bit % 8);
        let profile = read_profile(&flipped, &map).unwrap();
        profile.function(SECOND).is_none() && !profile.damage.is_empty()
    });
    // Two of the four slots are used. So the probability that a wrong key is valid in its slot is
    // 1/4 to 1/2.
    assert!(detected.count() >= 15);
}

/// The process was killed between writing the key and the count of a new path, so the path was not
/// counted yet. The reverse order cannot occur.
#[test]
fn a_key_without_a_count_is_no_damage() {
    let map = map();
    let mut bytes = writer(&map).segment(7, 32, 4, &[(0, 0)]).finish();
    let segment = RawProfile::parse(&bytes).unwrap().segments()[0].offset as usize;
    let free = (segment..)
        .step_by(16)
        .find(|&slot| bytes[slot..slot + 16] == [0; 16])
        .unwrap();
    let profile = read_profile(&bytes, &map).unwrap();
    assert_eq!((counts(&profile), profile.damage.len()), (sums(), 0));
    bytes[free + 8] = 1;
    let profile = read_profile(&bytes, &map).unwrap();
    assert_eq!((profile.functions.len(), profile.damage.len()), (3, 1));
}

#[test]
fn the_example_of_the_sealed_layout() {
    let index = FunctionIndex {
        module: 0,
        function: 2,
    };
    let counts = FunctionCounts::new(index, 0, [(0, Count(5)), (300, Count(1))]);
    let profile = Profile {
        functions: vec![counts],
        ..Profile::default()
    };
    let record = [0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 5, 0xab, 2, 1];
    assert!(write_sealed(&profile).ends_with(&record));
}

proptest! {
    #[test]
    fn reading_inverts_writing((map, profile) in map_and_profile()) {
        let bytes = write_sealed(&profile);
        prop_assert_eq!(&read_profile(&bytes, &map).unwrap(), &profile);
        let mut shuffled = profile.clone();
        shuffled.functions.reverse();
        shuffled.functions.iter_mut().for_each(|function| function.counts.reverse());
        prop_assert_eq!(write_sealed(&shuffled), bytes);
    }

    /// Compares the sums with naive sums in a map.
    #[test]
    fn sums_over_threads_are_exact((map, profile) in map_and_profile(), split in vec(0..3usize, 64)) {
        let mut threads = vec![Vec::new(); 3];
        let mut naive: BTreeMap<(u32, u32, u64), u64> = BTreeMap::new();
        let mut split = split.into_iter().cycle();
        for function in &profile.functions {
            for &(path, count) in function.counts.iter().filter(|&&(path, _)| path < u64::MAX - 1) {
                for part in [count.0 / 3, count.0 - count.0 / 3] {
                    threads[split.next().unwrap()].push((function.index.module, function.index.function, path, part));
                    if part > 0 {
                        *naive.entry((function.index.module, function.index.function, path)).or_default() += part;
                    }
                }
            }
        }
        let mut writer = RawWriter::for_image(&map);
        for thread in &threads {
            writer.thread(&map, 1, thread);
        }
        let read = read_profile(&writer.finish(), &map).unwrap();
        prop_assert_eq!(&read.damage, &[]);
        let flat = read.functions.iter().flat_map(|f| f.counts.iter().map(|&(path, count)| ((f.index.module, f.index.function, path), count.0)));
        prop_assert_eq!(flat.collect::<BTreeMap<_, _>>(), naive);
    }

    #[test]
    fn merged_sums_are_exact((_, profile) in map_and_profile(), kept in vec(any::<bool>(), 9)) {
        let mut part = profile.clone();
        let mut keep = kept.into_iter().cycle();
        part.functions.retain(|_| keep.next().unwrap());
        let sum = Profile::sum([part.clone(), profile.clone()]).unwrap().unwrap();
        for function in &profile.functions {
            let times = 1 + u64::from(part.function(function.index).is_some());
            let expected: Vec<_> = function.counts.iter().map(|&(path, count)| (path, Count(count.0 * times))).collect();
            prop_assert_eq!(&sum.function(function.index).unwrap().counts, &expected);
        }
    }

    #[test]
    fn any_bytes_are_read_or_rejected(bytes in vec(any::<u8>(), 0..300), magic in 0..3usize) {
        let map = map();
        let mut bytes = bytes;
        if magic < 2 {
            bytes.splice(..0, [*b"HLWRAWPR\x02\0\0\0", *b"HLWSEALD\x02\0\0\0"][magic]);
        }
        let _ = read_profile(&bytes, &map);
        let _ = peek_profile(&bytes);
        let _ = RawProfile::parse(&bytes);
    }

    /// The parser checks the content even if the checksums are correct.
    #[test]
    fn altered_content_is_checked(
        (map, profile) in map_and_profile(),
        edits in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = write_sealed(&profile);
        for (index, byte) in edits {
            *index.get_mut(&mut bytes[32..]) = byte;
        }
        repair::sealed_profile(&mut bytes);
        if let Ok(profile) = read_profile(&bytes, &map) {
            for function in &profile.functions {
                let function_map = map.function(function.index).unwrap();
                prop_assert!(function.counts.is_sorted());
                prop_assert!(function.counts.iter().all(|&(path, count)| path < function_map.counter_limit() && count > Count(0)));
            }
        }
    }
}

#[test]
fn block_sizes_fill_pages() {
    let check = |counters: u64, size: u64| assert_eq!(raw::block_size(counters), size);
    check(0, 4032);
    check(4032, 4032);
    check(4033, 8128);
    check(u64::MAX, 0u64.wrapping_sub(4096 + 64));
}
