//! Fuzzes the reader of branch records: with the bytes as they are, and with a repaired checksum. A
//! record must be the same after writing and reading it.
#![no_main]

use holloway_format::branches::BranchFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    if let Some((content, _)) = bytes.split_last_chunk::<4>() {
        let mut repaired = content.to_vec();
        repaired.extend_from_slice(&crc32fast::hash(content).to_le_bytes());
        read(&repaired);
    }
});

fn read(bytes: &[u8]) {
    if let Ok(record) = BranchFile::decode(bytes) {
        assert_eq!(BranchFile::decode(&record.encode()), Ok(record));
    }
}
