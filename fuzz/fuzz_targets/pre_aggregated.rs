//! Fuzzes the reader of BOLT's pre-aggregated text.
#![no_main]

use holloway_sample::pre_aggregated::read;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut lines = 0;
    read(bytes, &mut |_| lines += 1).ok();
    assert!(lines <= bytes.len());
});
