//! Fuzzes the reader of slab forests (kind loops), with repaired checksums. A file must be the same
//! after writing and reading it.
#![no_main]

mod with_map;

use holloway_format::{LoopsProfile, read_loops, write_loops};
use holloway_testkit::repair;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((map, file)) = with_map::split(bytes, repair::loops) else {
        return;
    };
    let Ok(read) = read_loops(&file, &map) else {
        return;
    };
    let undamaged = LoopsProfile {
        damage: Vec::new(),
        ..read
    };
    assert_eq!(
        read_loops(&write_loops(&undamaged), &map).as_ref(),
        Ok(&undamaged)
    );
});
