//! Fuzzes the reader of raw profiles. A raw profile must be the same after sealing and reading it.
#![no_main]

mod image;

use holloway_format::{RawProfile, peek_profile, read_profile, write_sealed};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(head) = peek_profile(bytes) else {
        return;
    };
    let map = image::map(head.build_id);
    if let Ok(profile) = read_profile(bytes, &map) {
        image::check(&profile, &map);
        if !head.sealed {
            assert_eq!(read_profile(&write_sealed(&profile), &map), Ok(profile));
        }
    }
    if let Ok(raw) = RawProfile::parse(bytes) {
        let counters: usize = raw
            .blocks()
            .iter()
            .map(|block| block.counters().count())
            .sum();
        let slots: usize = raw
            .segments()
            .iter()
            .map(|segment| segment.entries().count())
            .sum();
        assert!(8 * counters + 16 * slots <= bytes.len());
    }
});
