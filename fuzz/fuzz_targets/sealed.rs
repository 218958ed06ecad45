//! Fuzzes the reader of sealed profiles: with the bytes as they are, and with repaired checksums.
#![no_main]

mod image;

use holloway_format::{peek_profile, read_profile, write_sealed};
use holloway_testkit::repair;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    let mut repaired = bytes.to_vec();
    repair::sealed_profile(&mut repaired);
    read(&repaired);
});

/// A profile without damage must be the same after writing and reading it.
fn read(bytes: &[u8]) {
    let Ok(head) = peek_profile(bytes) else {
        return;
    };
    let map = image::map(head.build_id);
    if let Ok(profile) = read_profile(bytes, &map) {
        image::check(&profile, &map);
        if profile.damage.is_empty() {
            assert_eq!(read_profile(&write_sealed(&profile), &map), Ok(profile));
        }
    }
}
