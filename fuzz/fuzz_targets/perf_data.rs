//! Fuzzes the reader of files of `perf record`, to the last record or the first error.
#![no_main]

use std::io::Cursor;

use holloway_sample::perf_data::PerfData;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(mut file) = PerfData::read(Cursor::new(bytes)) {
        while let Ok(Some(_)) = file.next_record() {}
    }
});
