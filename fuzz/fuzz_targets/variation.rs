//! Timings of paths, with right checksums: a file that can be read and is written again reads the
//! same.
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
    let whole = VariationProfile {
        damage: Vec::new(),
        ..read
    };
    assert_eq!(
        read_variation(&write_variation(&whole), &map).as_ref(),
        Ok(&whole)
    );
});
