//! Fuzzes the reader of path timings (kinds variation and times), with repaired checksums. A file
//! must be the same after writing and reading it.
#![no_main]

mod with_map;

use holloway_format::{VariationProfile, read_variation, write_variation};
use holloway_testkit::repair;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((map, file)) = with_map::split(bytes, repair::variation) else {
        return;
    };
    let Ok(read) = read_variation(&file, &map) else {
        return;
    };
    let undamaged = VariationProfile {
        damage: Vec::new(),
        ..read
    };
    assert_eq!(
        read_variation(&write_variation(&undamaged), &map).as_ref(),
        Ok(&undamaged)
    );
});
