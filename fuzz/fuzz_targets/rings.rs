//! Fuzzes the reader of the words in a raw profile's rings and spools. The stream positions of the
//! pieces must increase.
#![no_main]

use holloway_abi::RING_SIZE;
use holloway_format::RawProfile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(raw) = RawProfile::parse(bytes) else {
        return;
    };
    for words in raw.ring_words() {
        let mut next = 0;
        for piece in words.pieces().flatten() {
            assert!(piece.position >= next);
            assert!(4 * piece.words.len() <= bytes.len().max(RING_SIZE as usize));
            next = piece.position + 4 * piece.words.len() as u64;
        }
        if let Some(ring) = words.ring {
            assert!(ring.holes() <= ring.words().count() as u64);
        }
    }
});
