//! Reads files of `perf record`: samples, branch stacks, and the events of processes.
//!
//! The crates linux-perf-data and linux-perf-event-reader read the file, decompress it, and sort
//! its records. They drop branch stacks, and they trust the file. So `screen` checks all lengths
//! that they use first, and `sample_record` reads the samples.
//!
//! Files of x86-64 and AArch64 machines are read on any of these machines.

mod sample_record;
mod screen;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use linux_perf_data::linux_perf_event_reader::{
    CpuMode, EventRecord, HardwareEventId, Mmap2FileId, Mmap2Record, MmapRecord, PerfEventType,
    RawEventRecord, RecordType, SamplingPolicy, SoftwareCounterType,
};
use linux_perf_data::{DsoKey, PerfFileReader, PerfFileRecord};

use crate::address_spaces::{Action, Event, FileIdentity, MappedFile};
use screen::{Container, Formats};

pub use sample_record::RecordedSample;
pub use screen::PerfDataError;

/// `PERF_RECORD_MISC_MMAP_BUILD_ID`: a record of a mapping has a build id.
const HAS_BUILD_ID: u16 = 1 << 14;
/// Longest build id that such a record can hold.
const MAX_BUILD_ID: u8 = 20;
/// Bytes of a record of a mapping before the length of its build id.
const BEFORE_BUILD_ID: usize = 32;

/// What an event counts between two samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventClock {
    /// Processor cycles.
    Cycles,
    /// CPU time in nanoseconds.
    CpuTime,
    /// Something else.
    Other,
}

/// The event whose samples are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledEvent {
    /// Its name, such as `cycles:u`.
    pub name: String,
    /// What it counts.
    pub clock: EventClock,
    /// Samples per second, if the file says so.
    pub frequency: Option<u64>,
    /// Whether its samples have branch stacks.
    pub has_stacks: bool,
}

/// A record that matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// Something happened to a process.
    Event(Event),
    /// A sample in user mode.
    Sample(RecordedSample),
    /// A sample in the kernel or in a hypervisor.
    KernelSample,
    /// A sample of another event.
    OtherEvent,
    /// The kernel dropped this number of records.
    Lost(u64),
    /// A record that cannot be read.
    Damaged,
}

/// A file of `perf record`.
pub struct PerfData<R: Read> {
    reader: PerfFileReader<R>,
    event: SampledEvent,
    /// By number: whether the event's samples are read, and the layout of its records.
    events: Vec<(bool, Formats)>,
    /// Build ids by path, from the file's head.
    build_ids: HashMap<Vec<u8>, Vec<u8>>,
}

/// Whether a file begins like a file of `perf record`, of any version and byte order.
pub fn is_perf_data(bytes: &[u8]) -> bool {
    [b"PERFILE2", b"2ELIFREP", b"PERFFILE"]
        .iter()
        .any(|magic| bytes.starts_with(*magic))
}

/// Opens a file.
///
/// # Errors
/// If it is no complete file of `perf record`, or has no samples of code.
pub fn open(path: &Path) -> Result<PerfData<BufReader<File>>, PerfDataError> {
    PerfData::read(BufReader::new(File::open(path)?))
}

impl<R: Read + Seek> PerfData<R> {
    /// Reads the head of a file.
    ///
    /// # Errors
    /// If it is no complete file of `perf record`, or has no samples of code.
    pub fn read(mut file: R) -> Result<Self, PerfDataError> {
        let screened = screen::check(&mut file)?;
        file.seek(SeekFrom::Start(0))?;
        let reader = match screened.container {
            Container::File => PerfFileReader::parse_file(file),
            Container::Pipe => PerfFileReader::parse_pipe(file),
        };
        let reader = reader.map_err(PerfDataError::Library)?;
        check_machine(reader.perf_file.arch().ok().flatten())?;
        let attributes = reader.perf_file.event_attributes();
        if attributes.len() != screened.events.len() {
            return Err(PerfDataError::Damaged {
                what: "list of events",
            });
        }
        let described = attributes.iter().zip(&screened.events);
        let events: Vec<SampledEvent> = described
            .map(|(attribute, formats)| sampled_event(attribute, formats))
            .collect();
        // Hybrid processors count one event on each sort of core.
        let chosen = screened.chosen()?;
        let event = events[chosen].clone();
        let is_chosen = |number: usize| {
            number == chosen
                || event.clock != EventClock::Other && events[number].clock == event.clock
        };
        let formats = screened.events.into_iter().enumerate();
        let formats = formats.map(|(number, formats)| {
            let is_read = formats.has_addresses() && is_chosen(number);
            (is_read, formats)
        });
        let formats: Vec<(bool, Formats)> = formats.collect();
        let build_ids = reader.perf_file.build_ids().unwrap_or_default();
        let is_user = |key: &DsoKey| {
            matches!(
                key,
                DsoKey::User { .. } | DsoKey::Vdso32 | DsoKey::VdsoX32 | DsoKey::Vdso64
            )
        };
        let build_ids = build_ids
            .into_iter()
            .filter(|(key, _)| is_user(key))
            .map(|(_, dso)| (dso.path, dso.build_id));
        Ok(Self {
            event,
            events: formats,
            build_ids: build_ids.collect(),
            reader,
        })
    }
}

impl<R: Read> PerfData<R> {
    /// The event whose samples are read.
    pub fn event(&self) -> &SampledEvent {
        &self.event
    }

    /// The next record that matters, in the order of time. `None` at the end.
    ///
    /// # Errors
    /// If the file is damaged.
    pub fn next_record(&mut self) -> Result<Option<Record>, PerfDataError> {
        let PerfFileReader {
            perf_file,
            record_iter,
        } = &mut self.reader;
        loop {
            let record = record_iter.next_record(perf_file);
            let found = match record.map_err(PerfDataError::Library)? {
                None => return Ok(None),
                Some(PerfFileRecord::UserRecord(_)) => continue,
                Some(PerfFileRecord::EventRecord { attr_index, record }) => {
                    let (is_read, formats) = &self.events[attr_index];
                    match record.record_type {
                        RecordType::SAMPLE if !is_read => Some(Record::OtherEvent),
                        RecordType::SAMPLE => Some(sample(&record, formats)),
                        _ => other(&record, formats, &self.build_ids),
                    }
                }
            };
            if found.is_some() {
                return Ok(found);
            }
        }
    }
}

/// Checks that the addresses and instructions of a machine can be read.
fn check_machine(machine: Option<&str>) -> Result<(), PerfDataError> {
    match machine {
        None | Some("x86_64" | "aarch64" | "arm64") => Ok(()),
        Some(machine) => Err(PerfDataError::Machine {
            machine: machine.to_owned(),
        }),
    }
}

fn sampled_event(
    attribute: &linux_perf_data::AttributeDescription,
    formats: &Formats,
) -> SampledEvent {
    let attr = attribute.attributes();
    let clock = match attr.type_ {
        PerfEventType::Hardware(HardwareEventId::CpuCycles, _) => EventClock::Cycles,
        PerfEventType::Software(SoftwareCounterType::CpuClock | SoftwareCounterType::TaskClock) => {
            EventClock::CpuTime
        }
        _ => EventClock::Other,
    };
    let frequency = match (attr.sampling_policy, clock) {
        (SamplingPolicy::Frequency(frequency), _) => Some(frequency),
        (SamplingPolicy::Period(period), EventClock::CpuTime) => {
            Some((1_000_000_000 / period.get()).max(1))
        }
        (SamplingPolicy::Period(_) | SamplingPolicy::NoSampling, _) => None,
    };
    let unnamed = match clock {
        EventClock::Cycles => "cycles",
        EventClock::CpuTime => "cpu-clock",
        EventClock::Other => "an event without a name",
    };
    SampledEvent {
        name: attribute.name().unwrap_or(unnamed).to_owned(),
        clock,
        frequency,
        has_stacks: formats.has_stacks(),
    }
}

fn sample(record: &RawEventRecord<'_>, formats: &Formats) -> Record {
    if CpuMode::from_misc(record.misc) != CpuMode::User {
        return Record::KernelSample;
    }
    match sample_record::parse(&record.data.as_slice(), formats) {
        Some(mut sample) => {
            sample.time = record.timestamp().unwrap_or(0);
            Record::Sample(sample)
        }
        None => Record::Damaged,
    }
}

/// A record that is no sample.
fn other(
    record: &RawEventRecord<'_>,
    formats: &Formats,
    build_ids: &HashMap<Vec<u8>, Vec<u8>>,
) -> Option<Record> {
    let mut record = record.clone();
    // Linux 6.18 sets the flag in the records of all events, if any event of the machine asks for
    // build ids.
    if !formats.maps_have_build_ids && record.record_type == RecordType::MMAP2 {
        record.misc &= !HAS_BUILD_ID;
    }
    let time = record.timestamp().unwrap_or(0);
    let event = |process: i32, action| {
        let process = process as u32;
        Some(Record::Event(Event {
            time,
            process,
            action,
        }))
    };
    if record.record_type == RecordType::LOST_SAMPLES {
        let lost = record.data.as_slice();
        let lost = lost.first_chunk().map(|lost| u64::from_le_bytes(*lost));
        return Some(lost.map_or(Record::Damaged, Record::Lost));
    }
    // The library asserts this.
    let data = record.data.as_slice();
    let build_id_length = data.get(BEFORE_BUILD_ID).copied().unwrap_or(0);
    let has_build_id = record.record_type == RecordType::MMAP2 && record.misc & HAS_BUILD_ID != 0;
    if has_build_id && build_id_length > MAX_BUILD_ID {
        return Some(Record::Damaged);
    }
    match record.parse() {
        Ok(EventRecord::Mmap2(map)) if map.cpu_mode == CpuMode::User => {
            event(map.pid, mapping_with_identity(&map, build_ids))
        }
        Ok(EventRecord::Mmap(map)) if map.cpu_mode == CpuMode::User && map.is_executable => {
            event(map.pid, mapping(&map, build_ids))
        }
        Ok(EventRecord::Comm(comm)) if comm.is_execve => event(comm.pid, Action::Exec),
        Ok(EventRecord::Fork(fork)) if fork.pid == fork.ppid => {
            event(fork.pid, Action::ThreadStart)
        }
        Ok(EventRecord::Fork(fork)) => {
            let parent = fork.ppid as u32;
            event(fork.pid, Action::Fork { parent })
        }
        Ok(EventRecord::Exit(exit)) => event(exit.pid, Action::ThreadEnd),
        Ok(EventRecord::Lost(lost)) => Some(Record::Lost(lost.count)),
        Ok(_) => None,
        Err(_) => Some(Record::Damaged),
    }
}

fn mapping_with_identity(map: &Mmap2Record<'_>, build_ids: &HashMap<Vec<u8>, Vec<u8>>) -> Action {
    let path = map.path.as_slice();
    let identity = match (&map.file_id, build_ids.get(&*path)) {
        (Mmap2FileId::BuildId(build_id), _) => FileIdentity::BuildId(build_id.clone()),
        (_, Some(build_id)) => FileIdentity::BuildId(build_id.clone()),
        (Mmap2FileId::InodeAndVersion(file), None) => FileIdentity::Inode {
            device: (file.major, file.minor),
            inode: file.inode,
        },
    };
    Action::Map {
        start: map.address,
        length: map.length,
        offset: map.page_offset,
        file: MappedFile {
            path: PathBuf::from(OsStr::from_bytes(&path)),
            identity,
        },
    }
}

fn mapping(map: &MmapRecord<'_>, build_ids: &HashMap<Vec<u8>, Vec<u8>>) -> Action {
    let path = map.path.as_slice();
    let identity = match build_ids.get(&*path) {
        Some(build_id) => FileIdentity::BuildId(build_id.clone()),
        None => FileIdentity::Inode {
            device: (0, 0),
            inode: 0,
        },
    };
    Action::Map {
        start: map.address,
        length: map.length,
        offset: map.page_offset,
        file: MappedFile {
            path: PathBuf::from(OsStr::from_bytes(&path)),
            identity,
        },
    }
}
