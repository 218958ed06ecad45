//! Streams in raw profiles: rings and spools are joined in order, and damage loses only the damaged
//! part.
#![allow(clippy::unwrap_used, reason = "tests")]

use holloway_abi::{CHUNK, FIRST_CELLS, Kind, PAGE, RING_SIZE, WORD_CONTROL};
use holloway_format::raw::{Piece, RingWords};
use holloway_format::{
    Damage, ImageMap, ProfileHead, RawProfile, peek_profile, read_profile, write_sealed,
};
use holloway_testkit::raw::RawWriter;
use proptest::collection::vec;
use proptest::prelude::*;

/// A profile of streams without threads.
fn writer() -> RawWriter {
    let head = ProfileHead {
        kind: Kind::Trace,
        pid: 42,
        ..ProfileHead::default()
    };
    RawWriter::new(head, PAGE - 64)
}

fn pieces(words: &RingWords<'_>) -> Vec<Piece> {
    words.pieces().collect::<Result<_, Damage>>().unwrap()
}

fn piece(position: u64, words: impl IntoIterator<Item = u32>) -> Piece {
    let words = words.into_iter().collect();
    Piece { position, words }
}

#[test]
fn a_ring_and_its_spools_are_in_order() {
    let mut writer = writer();
    let first = writer.ring(7, 4 * 300, &[300, 301, 0, 303], None);
    let second = writer.ring(8, CHUNK, &[1, 2], Some(CHUNK + 4));
    let spool: Vec<u32> = (100..300).collect();
    writer.spool(7, first, 0, &spool[..100]);
    writer.spool(8, second, 0, &[]);
    writer.spool(7, first, 400, &spool);
    let bytes = writer.finish();
    let raw = RawProfile::parse(&bytes).unwrap();
    assert_eq!(
        (raw.damage(), raw.rings().len(), raw.spools().len()),
        (&[][..], 2, 3)
    );
    let [first_ring, second_ring] = &raw.ring_words()[..] else {
        panic!("two rings")
    };
    assert_eq!((first_ring.offset, second_ring.offset), (first, second));
    assert_eq!(
        pieces(first_ring),
        [
            piece(0, 100..200),
            piece(400, 100..300),
            piece(1200, [300, 301, 0, 303])
        ]
    );
    let ring = first_ring.ring.as_ref().unwrap();
    assert_eq!(
        (ring.tid, ring.holes(), ring.missing, ring.owners),
        (7, 1, None, 1)
    );
    assert_eq!(ring.dropped_from(), None);
    assert_eq!(pieces(second_ring), [piece(CHUNK, [1])]);
    let ring = second_ring.ring.as_ref().unwrap();
    assert_eq!((ring.cursor, ring.end()), (CHUNK + 8, CHUNK + 4));
    assert_eq!(ring.missing, Some(CHUNK + 4));
    assert_eq!(ring.dropped_from(), Some(2));
}

/// The process was killed after it had written a spool, and before it advanced `taken`. By then, it
/// may have set some of the spooled words in the ring to 0.
#[test]
fn words_in_a_spool_and_in_the_ring_come_once() {
    for zeroed in 0..=20 {
        let words: Vec<u32> = (1..=50).collect();
        let mut in_ring = words.clone();
        in_ring[..zeroed].fill(0);
        let mut writer = writer();
        let ring = writer.ring(7, 400, &in_ring, None);
        writer.spool(7, ring, 400, &words[..20]);
        let bytes = writer.finish();
        let raw = RawProfile::parse(&bytes).unwrap();
        let all = pieces(&raw.ring_words()[0]);
        assert_eq!(all, [piece(400, 1..=20), piece(480, 21..=50)]);
    }
}

#[test]
fn words_of_a_ring_that_wraps_around_are_one_piece() {
    let words: Vec<u32> = (1..=(RING_SIZE / 4) as u32).collect();
    let mut writer = writer();
    writer.ring(7, 3 * RING_SIZE - 40, &words, None);
    let bytes = writer.finish();
    let raw = RawProfile::parse(&bytes).unwrap();
    let all = pieces(&raw.ring_words()[0]);
    assert_eq!(all, [piece(3 * RING_SIZE - 40, words)]);
}

/// A file may end inside a ring. The words before the end of the file are read, in two pieces if
/// they wrap around.
#[test]
fn words_of_a_ring_that_is_cut_off_are_read() {
    let words: Vec<u32> = (1..=(RING_SIZE / 4) as u32).collect();
    let mut writer = writer();
    let first = 3 * RING_SIZE - 40;
    let ring = writer.ring(7, first, &words, None) as usize;
    let bytes = writer.finish();
    let words_start = ring + PAGE as usize;
    let cut_after = |length: usize| {
        let raw = RawProfile::parse(&bytes[..words_start + length]).unwrap();
        let message = raw.damage()[0].to_string();
        assert!(message.contains("bytes are missing"), "{message}");
        pieces(&raw.ring_words()[0])
    };
    assert_eq!(cut_after(0), []);
    assert_eq!(cut_after(3), []);
    assert_eq!(
        cut_after(403),
        [piece(3 * RING_SIZE, words[10..110].to_vec())]
    );
    let expected = [
        piece(first, words[..5].to_vec()),
        piece(3 * RING_SIZE, words[10..].to_vec()),
    ];
    assert_eq!(cut_after(RING_SIZE as usize - 20), expected);
}

/// A regression test; a fuzzer found this file.
#[test]
fn a_ring_that_is_cut_off_may_seem_to_end_at_the_largest_position() {
    let mut writer = writer();
    let ring = writer.ring(7, 0, &[5; 1000], None) as usize;
    let mut bytes = writer.finish();
    bytes[ring + 64..ring + 72].copy_from_slice(&(u64::MAX - 3).to_le_bytes());
    let raw = RawProfile::parse(&bytes[..ring + PAGE as usize + 400]).unwrap();
    let words = pieces(&raw.ring_words()[0]);
    assert!(words.iter().all(|piece| piece.words.len() <= 100));
}

#[test]
fn overwritten_words_are_reported() {
    let mut writer = writer();
    let ring = writer.ring(7, 0, &[5; 1000], None) as usize;
    let mut bytes = writer.finish();
    bytes[ring + 64..ring + 72].copy_from_slice(&(RING_SIZE + 4 * CHUNK).to_le_bytes());
    let raw = RawProfile::parse(&bytes).unwrap();
    let message = raw.damage()[0].to_string();
    let expected =
        "profile damaged at byte 4096: 262144 bytes of words of thread 7 were written over";
    assert_eq!(message, expected);
    let words = &raw.ring_words()[0];
    assert_eq!(words.ring.as_ref().unwrap().overrun(), 4 * CHUNK);
    assert_eq!(pieces(words)[0].position, 4 * CHUNK);
}

#[test]
fn only_a_damaged_spool_is_lost() {
    let mut writer = writer();
    let ring = writer.ring(7, 4000, &[5; 10], None);
    let words: Vec<u32> = (0..500).map(|i| i * i).collect();
    writer
        .spool(7, ring, 0, &words)
        .spool(7, ring, 2000, &words);
    let intact = writer.finish();
    let spool = (PAGE + PAGE + RING_SIZE + 64) as usize;
    for byte in spool..spool + 2000 {
        for bit in [0, 3, 7] {
            let mut bytes = intact.clone();
            bytes[byte] ^= 1 << bit;
            let raw = RawProfile::parse(&bytes).unwrap();
            let all: Vec<_> = raw.ring_words()[0].pieces().collect();
            assert_eq!(all.len(), 3);
            if let Err(damage) = &all[0] {
                assert_eq!(damage.offset, spool as u64);
                let expected = "2000 bytes of words of thread 7 are lost: ";
                assert!(damage.fact.to_string().starts_with(expected), "{damage}");
            }
            assert!(all[1..].iter().all(Result::is_ok));
        }
    }
}

#[test]
fn a_ring_whose_head_is_damaged_keeps_its_spools() {
    let mut writer = writer();
    let ring = writer.ring(7, 40, &[5; 10], None);
    writer.spool(7, ring, 0, &[3; 10]);
    let mut bytes = writer.finish();
    bytes[ring as usize + 80] ^= 1; // ring_size
    let raw = RawProfile::parse(&bytes).unwrap();
    assert_eq!((raw.rings().len(), raw.damage().len()), (0, 1));
    let words = &raw.ring_words()[0];
    assert!(words.ring.is_none());
    assert_eq!(pieces(words), [piece(0, [3; 10])]);
}

/// A profile of streams has a head and damage, but no counts.
#[test]
fn profiles_of_streams_are_read_and_sealed() {
    for kind in [Kind::Loops, Kind::Trace, Kind::Variation, Kind::Times] {
        let map = ImageMap {
            kind,
            ..ImageMap::default()
        };
        let mut writer = writer();
        writer.head().kind = kind;
        writer.head().lost = 3;
        writer.ring(7, 0, &[1, 2, WORD_CONTROL], None);
        let bytes = writer.finish();
        let profile = read_profile(&bytes, &map).unwrap();
        assert_eq!(
            (profile.head.kind, profile.head.pid, profile.head.lost),
            (kind, 42, 3)
        );
        assert!(profile.functions.is_empty() && profile.damage.is_empty());
        let sealed = write_sealed(&profile);
        assert!(peek_profile(&sealed).unwrap().sealed);
        assert_eq!(read_profile(&sealed, &map).unwrap(), profile);
    }
}

/// Reads all words. For arbitrary bytes, there are no more words than the rings and spools can
/// hold.
fn read_all(bytes: &[u8]) {
    let Ok(raw) = RawProfile::parse(bytes) else {
        return;
    };
    for words in raw.ring_words() {
        let mut next = 0;
        for piece in words.pieces().flatten() {
            assert!(piece.position >= next && piece.words.len() as u64 <= RING_SIZE / 4);
            next = piece.position + 4 * piece.words.len() as u64;
        }
        let _ = words
            .ring
            .as_ref()
            .map(|ring| (ring.holes(), ring.overrun()));
    }
}

#[test]
fn the_parser_survives_every_flipped_bit() {
    let mut writer = writer();
    let ring = writer.ring(7, 2000, &[5; 100], Some(2300)) as usize;
    writer.spool(7, ring as u64, 0, &[7; 500]);
    let intact = writer.finish();
    let spool = ring + (PAGE + RING_SIZE) as usize;
    for byte in (ring..ring + 256).chain(spool..spool + 128) {
        for bit in 0..8 {
            let mut bytes = intact.clone();
            bytes[byte] ^= 1 << bit;
            read_all(&bytes);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn all_words_of_a_stream_are_read(
        words in vec(prop_oneof![0u32..5, any::<u32>()], 0..3000),
        cuts in vec(0..3000usize, 0..5),
        start in 0..3 * RING_SIZE / 4,
    ) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(words.len())).collect();
        cuts.sort_unstable();
        let spooled = cuts.last().copied().unwrap_or(0);
        let mut writer = writer();
        let position = |index: usize| 4 * (start + index as u64);
        let ring = writer.ring(7, position(spooled), &words[spooled..], None);
        let mut from = 0;
        for cut in cuts {
            writer.spool(7, ring, position(from), &words[from..cut]);
            from = cut;
        }
        let bytes = writer.finish();
        let raw = RawProfile::parse(&bytes).unwrap();
        let (mut next, mut all) = (position(0), Vec::new());
        for piece in pieces(&raw.ring_words()[0]) {
            prop_assert_eq!(piece.position, next);
            next += 4 * piece.words.len() as u64;
            all.extend(piece.words);
        }
        prop_assert_eq!(all, words);
    }

    #[test]
    fn any_head_is_read_or_rejected(
        fields in vec((0..40usize, prop_oneof![0..4 * RING_SIZE, any::<u64>()]), 1..6),
        in_spool in any::<bool>(),
    ) {
        let mut writer = writer();
        let ring = writer.ring(7, 2000, &[5; 100], None);
        writer.spool(7, ring, 0, &[7; 500]);
        let mut bytes = writer.finish();
        let extent = if in_spool { ring + PAGE + RING_SIZE } else { ring } as usize;
        for (field, value) in fields {
            let offset = extent + 8 + 8 * field;
            bytes[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
        }
        read_all(&bytes);
    }
}

/// A ring that began small, as the runtime writes it: its cells are in extents of their own, and
/// its first word is not at the start of a chunk.
#[test]
fn words_of_a_ring_that_began_small_are_one_piece() {
    let first = CHUNK - FIRST_CELLS;
    let cells = [FIRST_CELLS + PAGE, CHUNK, 2 * CHUNK];
    let words: Vec<u32> = (1..=30_000).collect();
    for origin in [first, 5 * RING_SIZE + first] {
        let mut writer = writer();
        let ring = writer.small_ring(7, origin, &words, &cells);
        let other = writer.small_ring(8, first, &words[..10], &cells[..1]);
        let bytes = writer.finish();
        let raw = RawProfile::parse(&bytes).unwrap();
        assert_eq!(raw.damage(), []);
        let rings = raw.ring_words();
        assert_eq!([ring, other], [rings[0].offset, rings[1].offset]);
        assert_eq!(pieces(&rings[0]), [piece(origin, words.clone())]);
        assert_eq!(pieces(&rings[1]), [piece(first, 1..=10)]);
    }
}

/// A small ring whose stream has gone around once, so that its first cells have the last words.
#[test]
fn a_ring_that_began_small_wraps_around() {
    let origin = CHUNK - FIRST_CELLS;
    let (middle, last) = (RING_SIZE - CHUNK, CHUNK - FIRST_CELLS);
    let mut writer = writer();
    let words: Vec<u32> = (1..=(RING_SIZE / 4) as u32).collect();
    let ring = writer.small_ring(7, origin, &words, &[FIRST_CELLS, middle, last]) as usize;
    let mut bytes = writer.finish();
    let raw = RawProfile::parse(&bytes).unwrap();
    assert_eq!(pieces(&raw.ring_words()[0]), [piece(origin, words.clone())]);
    // 1,000 words were spooled, and 400 more words took their cells.
    let cursor = origin + RING_SIZE + 1600;
    bytes[ring + 64..ring + 72].copy_from_slice(&cursor.to_le_bytes());
    bytes[ring + 128..ring + 136].copy_from_slice(&(origin + 4000).to_le_bytes());
    let raw = RawProfile::parse(&bytes).unwrap();
    let mut expected = words[1000..].to_vec();
    expected.extend(&words[..400]);
    assert_eq!(
        pieces(&raw.ring_words()[0]),
        [piece(origin + 4000, expected)]
    );
}

/// The process was killed before it moved its last words to the file, or the file is cut off.
#[test]
fn words_without_cells_are_missing_at_the_end() {
    let origin = CHUNK - FIRST_CELLS;
    let words: Vec<u32> = (1..=30_000).collect();
    let mut writer = writer();
    writer.small_ring(7, origin, &words, &[FIRST_CELLS + PAGE, CHUNK]);
    let bytes = writer.finish();
    let stored = ((FIRST_CELLS + PAGE + CHUNK) / 4) as usize;
    let raw = RawProfile::parse(&bytes).unwrap();
    assert_eq!(raw.damage(), []);
    let expected = piece(origin, words[..stored].to_vec());
    assert_eq!(pieces(&raw.ring_words()[0]), [expected]);
    let cut = RawProfile::parse(&bytes[..bytes.len() - 402]).unwrap();
    assert_eq!(cut.damage().len(), 1);
    let expected = piece(origin, words[..stored - 101].to_vec());
    assert_eq!(pieces(&cut.ring_words()[0]), [expected]);
}

#[test]
fn only_damaged_cells_are_lost() {
    let origin = CHUNK - FIRST_CELLS;
    let words: Vec<u32> = (1..=20_000).collect();
    let mut writer = writer();
    let ring = writer.small_ring(7, origin, &words, &[FIRST_CELLS, PAGE, CHUNK]);
    let mut bytes = writer.finish();
    let second = (ring + PAGE + PAGE + FIRST_CELLS) as usize;
    bytes[second] ^= 1;
    let raw = RawProfile::parse(&bytes).unwrap();
    assert_eq!(raw.damage().len(), 1);
    let (one, two) = (FIRST_CELLS as usize / 4, (FIRST_CELLS + PAGE) as usize / 4);
    let expected = [
        piece(origin, words[..one].to_vec()),
        piece(
            origin + FIRST_CELLS + PAGE,
            words[two..two + CHUNK as usize / 4].to_vec(),
        ),
    ];
    assert_eq!(pieces(&raw.ring_words()[0]), expected);
}
