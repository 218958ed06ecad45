//! Fuzzes the reader of traces: with the bytes as they are, and with repaired checksums. Checking
//! the blocks of a stream and assembling them to a trace must give the same counts.
#![no_main]

use holloway_analysis::trace::stats::counts;
use holloway_analysis::trace::{Trace, check};
use holloway_format::trace::TraceFile;
use holloway_testkit::repair;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    let mut repaired = bytes.to_vec();
    repair::trace(&mut repaired);
    read(&repaired);
});

fn read(bytes: &[u8]) {
    let Ok(file) = TraceFile::read(bytes) else {
        return;
    };
    for stream in &file.streams {
        for block in stream.blocks() {
            let Ok(block) = block else {
                break;
            };
            assert!(block.terminals.len() <= stream.terminals.len());
        }
        let checked = check(stream);
        if let Ok((trace, damage)) = Trace::read(stream) {
            let checked = checked.expect("blocks that form a trace can be checked");
            assert_eq!(checked.damage, damage);
            assert_eq!(
                checked.counts,
                counts(&trace.grammar, trace.terminals.len())
            );
        }
    }
}
