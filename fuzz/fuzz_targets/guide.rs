//! A guide: as it is, and with a right checksum. A guide that can be read and is written again
//! reads the same.
#![no_main]

use holloway_format::Guide;
use holloway_testkit::repair;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    let mut repaired = bytes.to_vec();
    repair::guide(&mut repaired);
    read(&repaired);
});

fn read(bytes: &[u8]) {
    let Ok(guide) = Guide::decode(bytes) else {
        return;
    };
    for function in guide.functions() {
        let found = guide.find(&function.linkage_name, function.graph_hash);
        assert_eq!(found, Some(function.edges.as_slice()));
    }
    assert_eq!(Guide::decode(&guide.encode()), Ok(guide));
}
