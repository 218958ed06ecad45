//! Reads the kernel's buffers of samples and other events of processes, in the order of time.
//!
//! Each processor has a buffer of its own. A buffer holds *records*: samples, mappings, execs,
//! forks, exits, and the number of records that the kernel dropped because the buffer was full.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use perf_event::{Sampler, data};

use crate::address_spaces::{Action, BranchEntry, Event, FileIdentity, MappedFile};
use crate::tick;

/// `PERF_RECORD_MISC_COMM_EXEC`: the name of a process changed because of an exec.
const COMM_EXEC: u16 = 1 << 13;

/// The buffers of all processors.
pub(crate) struct Buffers {
    samplers: Vec<Sampler>,
    /// Events that were read and not taken yet.
    events: Vec<Event>,
    /// The latest time of the previous round. Events before it cannot come any more, because each
    /// buffer has been read since.
    previous_latest: u64,
    /// The latest time of all events that were read.
    latest: u64,
    /// Records that the kernel dropped because a buffer was full.
    pub(crate) lost: u64,
}

impl Buffers {
    pub(crate) fn new(samplers: Vec<Sampler>) -> Self {
        Self {
            samplers,
            events: Vec::new(),
            previous_latest: 0,
            latest: 0,
            lost: 0,
        }
    }

    /// The events that fill the buffers.
    pub(crate) fn samplers(&self) -> &[Sampler] {
        &self.samplers
    }

    /// Reads all buffers.
    pub(crate) fn read(&mut self) {
        self.previous_latest = self.latest;
        for sampler in &mut self.samplers {
            while let Some(record) = sampler.next_record() {
                let is_exec = record.misc() & COMM_EXEC != 0;
                match record.parse_record() {
                    Ok(data::Record::Lost(lost)) => self.lost += lost.lost,
                    Ok(data::Record::LostSamples(lost)) => self.lost += lost.lost,
                    Ok(parsed) => {
                        let time = trailing_time(&record.to_contiguous());
                        self.events.extend(branches(&parsed));
                        self.events.extend(event(parsed, is_exec, time));
                    }
                    Err(_) if is_without_registers(record.ty(), record.len()) => {}
                    Err(_) => self.lost += 1,
                }
            }
        }
        self.events.sort_by_key(|event| event.time);
        if let Some(last) = self.events.last() {
            self.latest = self.latest.max(last.time);
        }
    }

    /// Takes the events before which no other event can come any more, in the order of time.
    pub(crate) fn take_ordered(&mut self) -> impl Iterator<Item = Event> + '_ {
        let limit = self.previous_latest;
        let known = self.events.partition_point(|event| event.time <= limit);
        self.events.drain(..known)
    }

    /// Takes all events, in the order of time.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = Event> + '_ {
        self.events.drain(..)
    }
}

/// The numbers of the online processors.
pub(crate) fn online_processors() -> io::Result<Vec<usize>> {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/online")?;
    parse_processors(&list).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Parses a list of the kernel's: `0-3,6`.
fn parse_processors(list: &str) -> Option<Vec<usize>> {
    let mut processors = Vec::new();
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        processors.extend(first..=last);
    }
    Some(processors)
}

/// Whether a record is a sample of a thread without a user mode: process and thread, time, and 0
/// instead of registers. `perf-event2` expects registers.
fn is_without_registers(ty: u32, length: usize) -> bool {
    const PERF_RECORD_SAMPLE: u32 = 9;
    ty == PERF_RECORD_SAMPLE && length == 3 * size_of::<u64>()
}

/// The time of a record that is no sample: its last eight bytes.
fn trailing_time(record: &[u8]) -> u64 {
    record
        .last_chunk()
        .map_or(0, |time| u64::from_ne_bytes(*time))
}

/// The branch stack of a sample, as an event before the sample.
fn branches(record: &data::Record<'_>) -> Option<Event> {
    let data::Record::Sample(sample) = record else {
        return None;
    };
    let entries = sample.lbr()?.iter().map(|entry| BranchEntry {
        from: entry.from(),
        to: entry.to(),
        mispredicted: entry.mispred(),
    });
    // The kernel writes the newest branch first.
    let stack: Vec<BranchEntry> = entries.rev().collect();
    (!stack.is_empty()).then_some(Event {
        time: sample.time()?,
        process: sample.pid()?,
        action: Action::Branches { stack },
    })
}

/// The event of a record. `None` for records that do not matter here.
fn event(record: data::Record<'_>, is_exec: bool, trailing_time: u64) -> Option<Event> {
    let (time, process, action) = match record {
        data::Record::Sample(sample) => {
            let address = match sample.regs_user() {
                Some(registers) => tick::user_address(registers)?,
                None => sample.ip()?,
            };
            (sample.time()?, sample.pid()?, Action::Sample { address })
        }
        data::Record::Mmap2(map) => {
            let action = Action::Map {
                start: map.addr,
                length: map.len,
                offset: map.pgoff,
                file: mapped_file(&map),
            };
            (trailing_time, map.pid, action)
        }
        data::Record::Comm(comm) if is_exec => (trailing_time, comm.pid, Action::Exec),
        data::Record::Fork(fork) if fork.pid == fork.ppid => {
            (trailing_time, fork.pid, Action::ThreadStart)
        }
        data::Record::Fork(fork) => {
            let parent = fork.ppid;
            (trailing_time, fork.pid, Action::Fork { parent })
        }
        data::Record::Exit(exit) => (trailing_time, exit.pid, Action::ThreadEnd),
        _ => return None,
    };
    Some(Event {
        time,
        process,
        action,
    })
}

fn mapped_file(map: &data::Mmap2<'_>) -> MappedFile {
    let identity = match map.build_id() {
        Some(build_id) => FileIdentity::BuildId(build_id.to_vec()),
        None => FileIdentity::Inode {
            device: (map.maj().unwrap_or(0), map.min().unwrap_or(0)),
            inode: map.ino().unwrap_or(0),
        },
    };
    MappedFile {
        path: PathBuf::from(OsStr::from_bytes(&map.filename)),
        identity,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors_have_ranges() {
        assert_eq!(parse_processors("0\n"), Some(vec![0]));
        assert_eq!(
            parse_processors("0-2,5,7-8\n"),
            Some(vec![0, 1, 2, 5, 7, 8])
        );
        assert_eq!(parse_processors("none"), None);
    }
}
