//! Fuzzes the reader of fragments (path maps of modules): with the bytes as they are, and with
//! repaired checksums, so that the fuzzer reaches the code after the checks.
#![no_main]

use holloway_format::ModuleMap;
use holloway_testkit::repair;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    let mut repaired = bytes.to_vec();
    repair::fragment(&mut repaired);
    read(&repaired);
});

/// A fragment without damage must be the same after writing and reading it.
fn read(bytes: &[u8]) {
    if let Ok((module, damage)) = ModuleMap::decode(bytes)
        && damage.is_empty()
    {
        assert_eq!(ModuleMap::decode(&module.encode()), Ok((module, damage)));
    }
}
