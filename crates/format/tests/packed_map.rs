//! Compressed path maps: round trips, and the cost of damage.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{image, module, small_modules};
use holloway_format::{
    Counters, FormatError, ImageMap, ModuleMap, decode_image, is_intact_packed_map, pack_map,
    peek_map, read_map, unpack_map,
};
use proptest::collection::vec;
use proptest::prelude::*;

fn packed() -> (Vec<u8>, Vec<u8>) {
    let map = image(&small_modules());
    let build_id = decode_image(&map).unwrap().build_id;
    let packed = pack_map(&map, &build_id);
    (map, packed)
}

fn is_intact(mut bytes: &[u8]) -> bool {
    is_intact_packed_map(&mut bytes)
}

proptest! {
    #[test]
    fn a_map_survives(modules in vec(module(), 0..4)) {
        let bytes = image(&modules);
        let map = decode_image(&bytes).unwrap();
        let packed = pack_map(&bytes, &map.build_id);
        prop_assert_eq!(peek_map(&packed), Ok(map.build_id));
        prop_assert_eq!(peek_map(&bytes), Ok(map.build_id));
        prop_assert_eq!(read_map(&packed).unwrap(), map);
    }

    #[test]
    fn random_bytes_after_the_magic_are_refused(bytes in vec(any::<u8>(), 0..300)) {
        let mut packed = b"HLWPCMAP".to_vec();
        packed.extend(bytes);
        prop_assert!(read_map(&packed).is_err());
        prop_assert!(peek_map(&packed).is_err());
    }
}

#[test]
fn maps_that_are_not_compressed_are_read_too() {
    let (map, packed) = packed();
    assert_eq!(read_map(&map), read_map(&packed));
    assert_eq!(read_map(b"\x7fELF").unwrap_err(), FormatError::NotAMap);
}

/// Tests maps of many chunks. A chunk of a packed map that compresses too well is stored
/// uncompressed, so that a map is at most 64 times as long as its file.
#[test]
fn a_damaged_chunk_costs_its_functions_only() {
    let functions = (0..4000u32).map(|number| {
        let offset = u64::from(number) * 64;
        let counters = Counters::Array { offset, len: 8 };
        common::small_function(&format!("function_{number}"), 4, counters)
    });
    let module = ModuleMap {
        counters_size: 4000 * 64,
        functions: functions.collect(),
        ..ModuleMap::default()
    };
    let map = image(&[module]);
    let whole = decode_image(&map).unwrap();
    let packed = pack_map(&map, &whole.build_id);
    assert!(packed.len() < map.len() / 2);
    let mut flipped = packed.clone();
    let table = u32::from_le_bytes(packed[40..44].try_into().unwrap()) as usize;
    let last = flipped.len() - table - 100;
    flipped[last] ^= 1;
    assert!(!is_intact(&flipped));
    let read = read_map(&flipped).unwrap();
    let intact = |map: &ImageMap| {
        let functions = map.modules[0].module.functions.iter();
        functions.filter(|function| !function.is_damaged()).count()
    };
    let lost = intact(&whole) - intact(&read);
    assert!((1..2000).contains(&lost), "{lost} functions are lost");
    assert!(!read.damage.is_empty());

    let zeros = pack_map(&[0; 1 << 20], &[7; 16]);
    assert!(zeros.len() > (1 << 20) / 64);
    assert_eq!(unpack_map(&zeros).unwrap(), [0; 1 << 20]);
    let error = read_map(&zeros).unwrap_err();
    assert_eq!(error, FormatError::Head { offset: 0 });
}

#[test]
fn a_flipped_byte_is_harmless_or_noticed() {
    let (map, packed) = packed();
    let whole = decode_image(&map).unwrap();
    for at in 0..packed.len() {
        let mut flipped = packed.clone();
        flipped[at] ^= 0x15;
        let sound = read_map(&flipped).map_or(true, |map| !map.damage.is_empty() || map == whole);
        assert!(sound, "byte {at}");
        assert!(!is_intact(&flipped), "byte {at}");
    }
    assert!(is_intact(&packed));
    for length in 0..packed.len() {
        assert!(!is_intact(&packed[..length]), "{length} bytes");
        // The table of counters is not needed to read the map.
        let sound =
            read_map(&packed[..length]).map_or(true, |map| !map.damage.is_empty() || map == whole);
        assert!(sound, "{length} bytes");
    }
}

#[test]
fn bytes_after_the_end_are_noticed() {
    let (_, mut packed) = packed();
    packed.push(0);
    assert!(!is_intact(&packed));
}

/// A head that announces more than the file can hold asks for no memory.
#[test]
fn a_length_that_lies_is_refused() {
    let (_, mut packed) = packed();
    packed[32..40].copy_from_slice(&(1u64 << 40).to_le_bytes());
    let crc = crc32(&packed[..44]);
    packed[44..48].copy_from_slice(&crc.to_le_bytes());
    let error = read_map(&packed).unwrap_err();
    assert!(matches!(error, FormatError::Truncated { .. }), "{error}");
}

/// CRC-32, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    })
}
