//! Fuzzes the reader of guides: with the bytes as they are, and with a repaired checksum. A guide
//! must be the same after writing and reading it.
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
        let edges = guide.find(&function.linkage_name, function.graph_hash);
        assert_eq!(edges, Some(function.edges.as_slice()));
    }
    assert_eq!(Guide::decode(&guide.encode()), Ok(guide));
}
