//! Fuzzes the reader of CPU time records (`.hwc`), with the bytes as they are and with a repaired
//! checksum. A record must be the same after writing and reading it, and any record has a report.
#![no_main]

use holloway_analysis::RunProfile;
use holloway_format::CpuRecord;
use holloway_report::{Files, Options, json, terminal};
use holloway_testkit::repair;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    let mut repaired = bytes.to_vec();
    repair::cpu_time(&mut repaired);
    read(&repaired);
});

fn read(bytes: &[u8]) {
    let Ok(record) = CpuRecord::decode(bytes) else {
        return;
    };
    assert_eq!(CpuRecord::decode(&record.encode()).as_ref(), Ok(&record));
    let mut run = RunProfile::new(Vec::new());
    run.add_cpu_time(&[record.clone(), record]);
    let source = Files::default();
    let options = Options::new(&source);
    for write in [terminal::write, json::write] {
        write(&run, &options, &mut std::io::sink()).expect("a sink takes all bytes");
    }
}
