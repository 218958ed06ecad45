//! Sequences over loop iterations, with right checksums: a file that can be read and is written
//! again reads the same.
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
    let whole = LoopsProfile {
        damage: Vec::new(),
        ..read
    };
    assert_eq!(read_loops(&write_loops(&whole), &map).as_ref(), Ok(&whole));
});
