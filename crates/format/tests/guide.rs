//! Tests of guides: round trips, look-ups, sums, and the rejection of damaged guides.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::guide_function;
use holloway_format::{Count, FormatError, Guide, GuideFunction};
use holloway_testkit::repair;
use proptest::collection::vec;
use proptest::prelude::*;

fn function(name: &str, graph_hash: u64, edges: &[u64]) -> GuideFunction {
    GuideFunction {
        linkage_name: name.into(),
        graph_hash,
        edges: edges.iter().copied().map(Count).collect(),
    }
}

#[test]
fn a_function_is_found_by_name_and_graph() {
    let functions = [
        function("g", 1, &[7]),
        function("f", 2, &[3, 4]),
        function("f", 1, &[5]),
    ];
    let guide: Guide = functions.into_iter().collect();
    assert_eq!(guide.find("f", 1), Some(&[Count(5)][..]));
    assert_eq!(guide.find("f", 2), Some(&[3, 4].map(Count)[..]));
    assert_eq!(guide.find("f", 3), None);
    assert_eq!(guide.find("h", 1), None);
    assert_eq!(Guide::default().find("f", 1), None);
}

#[test]
fn counts_of_equal_functions_are_added_up() {
    let functions = [
        function("f", 1, &[5, u64::MAX]),
        function("g", 1, &[1]),
        function("f", 1, &[2, 9, 4]),
    ];
    let guide: Guide = functions.into_iter().collect();
    assert_eq!(guide.find("f", 1), Some(&[7, u64::MAX, 4].map(Count)[..]));
    assert_eq!(guide.functions().len(), 2);
}

#[test]
fn the_example_of_the_layout() {
    let guide: Guide = [function("f", 0, &[300, 0])].into_iter().collect();
    let bytes = guide.encode();
    let mut expected = b"HLWGUIDE\x05\0\0\0\x01\0\0\0".to_vec();
    expected.extend([1, b'f', 0, 0, 0, 0, 0, 0, 0, 0, 2, 0xac, 2, 0]);
    assert_eq!(bytes[..bytes.len() - 4], expected);
    let mut old = bytes.clone();
    old[8] = 2;
    repair::guide(&mut old);
    assert_eq!(Guide::decode(&old), Guide::decode(&bytes));
}

#[test]
fn other_files_are_rejected() {
    assert_eq!(Guide::decode(b"HLWSEALD"), Err(FormatError::NotAGuide));
    assert_eq!(Guide::decode(b""), Err(FormatError::NotAGuide));
    let mut bytes = Guide::default().encode();
    bytes[8] = 7;
    assert_eq!(
        Guide::decode(&bytes),
        Err(FormatError::Version {
            found: 7,
            reads: 2..=5
        })
    );
}

#[test]
fn every_flipped_bit_and_every_truncation_is_detected() {
    let guide: Guide = [function("f", 9, &[300, 0]), function("g", 1, &[1])]
        .into_iter()
        .collect();
    let bytes = guide.encode();
    for bit in 0..8 * bytes.len() {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(Guide::decode(&flipped).is_err(), "bit {bit}");
    }
    for length in 0..bytes.len() {
        assert!(Guide::decode(&bytes[..length]).is_err(), "{length}");
    }
}

proptest! {
    #[test]
    fn decoding_inverts_encoding(functions in vec(guide_function(), 0..9)) {
        let guide: Guide = functions.into_iter().collect();
        prop_assert_eq!(Guide::decode(&guide.encode()), Ok(guide));
    }

    /// The parser checks the content even if the checksum is correct.
    #[test]
    fn altered_content_is_checked(
        functions in vec(guide_function(), 0..9),
        edits in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = functions.into_iter().collect::<Guide>().encode();
        for (index, byte) in edits {
            *index.get_mut(&mut bytes[12..]) = byte;
        }
        repair::guide(&mut bytes);
        if let Ok(guide) = Guide::decode(&bytes) {
            for function in guide.functions() {
                let counts = guide.find(&function.linkage_name, function.graph_hash);
                prop_assert_eq!(counts, Some(&function.edges[..]));
            }
            prop_assert_eq!(Guide::decode(&guide.encode()), Ok(guide));
        }
    }
}
