//! A module's path map: as it is, and with right checksums, so that the fuzzer gets behind them.
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

/// What was read without damage and is written reads the same again.
fn read(bytes: &[u8]) {
    if let Ok((module, damage)) = ModuleMap::decode(bytes)
        && damage.is_empty()
    {
        assert_eq!(ModuleMap::decode(&module.encode()), Ok((module, damage)));
    }
}
