//! Tests of the reader of files of `perf record`: any bytes give records or an error.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::io::Cursor;

use holloway_sample::perf_data::{EventClock, PerfData, Record};
use holloway_testkit::perf_data::PerfDataWriter;
use proptest::prelude::*;

fn writer() -> PerfDataWriter {
    let mut writer = PerfDataWriter::default();
    writer
        .exec(7)
        .map(7, (0x1000, 0x1000, 0), "/bin/app", &[9; 20])
        .map(7, (0x8000, 0x1000, 0), "/lib/libz.so", &[])
        .sample(
            7,
            0x1234,
            &[(0x1010, 0x1020, false), (0x1030, 0x1010, true)],
        )
        .sample(7, 0x1238, &[]);
    writer
}

/// All records, or the error.
fn read(bytes: &[u8]) -> Result<Vec<Record>, String> {
    let mut file = PerfData::read(Cursor::new(bytes)).map_err(|error| error.to_string())?;
    let mut records = Vec::new();
    while let Some(record) = file.next_record().map_err(|error| error.to_string())? {
        records.push(record);
    }
    Ok(records)
}

#[test]
fn records_are_read_in_both_containers() {
    let records = read(&writer().finish()).unwrap();
    assert_eq!(records.len(), 5, "{records:?}");
    let Record::Sample(sample) = &records[3] else {
        panic!("{records:?}");
    };
    let stack = sample.stack.iter();
    let stack: Vec<_> = stack
        .map(|entry| (entry.from, entry.to, entry.mispredicted))
        .collect();
    assert_eq!(stack, [(0x1010, 0x1020, false), (0x1030, 0x1010, true)]);
    assert_eq!((sample.process, sample.address), (7, 0x1234));
    assert_eq!(read(&writer().finish_pipe()).unwrap(), records);
    let bytes = writer().finish();
    let file = PerfData::read(Cursor::new(&bytes)).unwrap();
    let event = file.event();
    assert_eq!((event.clock, event.has_stacks), (EventClock::Cycles, true));
}

/// `perf record --call-graph lbr` stores the active calls in the place of the last branches.
#[test]
fn stacks_of_calls_are_not_taken_for_branches() {
    let mut calls = writer();
    calls.branch_sample_type = 1 | 1 << 11;
    // The kernel adds the sorts of branches to some files.
    let mut with_sorts = writer();
    with_sorts.branch_sample_type = 1 | 1 << 3 | 1 << 11;
    for writer in [calls, with_sorts] {
        for bytes in [writer.finish(), writer.finish_pipe()] {
            let file = PerfData::read(Cursor::new(&bytes)).unwrap();
            assert!(!file.event().has_stacks);
            let records = read(&bytes).unwrap();
            let stacks = records.iter().filter_map(|record| match record {
                Record::Sample(sample) => Some(sample.stack.len()),
                _ => None,
            });
            assert_eq!(stacks.collect::<Vec<_>>(), [0, 0], "{records:?}");
        }
    }
}

#[test]
fn every_truncation_is_an_error() {
    let bytes = writer().finish();
    for length in 0..bytes.len() {
        let error = read(&bytes[..length]).unwrap_err();
        assert!(!error.contains('\n'), "{length}: {error}");
    }
}

#[test]
fn every_damaged_byte_gives_records_or_an_error() {
    for bytes in [writer().finish(), writer().finish_pipe()] {
        for index in 0..bytes.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff, bytes[index] ^ 0x10] {
                let mut damaged = bytes.clone();
                damaged[index] = value;
                if let Ok(records) = read(&damaged) {
                    assert!(records.len() <= bytes.len() / 8);
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn any_changes_give_records_or_an_error(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        is_pipe in any::<bool>(),
    ) {
        let mut bytes = match is_pipe {
            true => writer().finish_pipe(),
            false => writer().finish(),
        };
        for (index, value) in changes {
            let index = index.index(bytes.len());
            bytes[index] = value;
        }
        drop(read(&bytes));
    }
}
