//! Checks the lengths in a file of `perf record` before a library uses them, and reads the layout
//! of its samples.
//!
//! ```text
//! OFFSET SIZE MEANING   of a file's head
//!      0    8  "PERFILE2"; bytes in the other order on big-endian machines
//!      8    8  length of the head: 104, or 16 in pipe mode, where records follow
//!     16    8  length of an event's description
//!     24   16  section of descriptions: offset, length
//!     40   16  section of records
//!     56   16  section of old descriptions
//!     72   32  256 bits: the features. Their sections are listed after the records.
//!
//! OFFSET SIZE MEANING   of a record
//!      0    4  type
//!      4    2  flags
//!      6    2  length, with these 8 bytes
//!
//! OFFSET SIZE MEANING   of an event's description
//!      4    4  length
//!     24    8  sample_type
//!     32    8  read_format
//!     40    8  flags; bit 34: records of mappings have build ids
//!     72    8  branch_sample_type
//! ```

use std::io::{self, Read, Seek, SeekFrom};

/// Bytes of the head.
const HEAD: usize = 104;
/// Length of the head in pipe mode.
const PIPE_HEAD: u64 = 16;
/// Maximum length of an event's description.
const MAX_DESCRIPTION: u64 = 4096;
/// Minimum length of an event's description.
const MIN_DESCRIPTION: u64 = 64;
/// Maximum length of a feature's section. The largest sections hold build ids.
const MAX_FEATURE: u64 = 64 << 20;
/// The feature whose section describes events.
const EVENT_DESCRIPTIONS: usize = 12;
/// Features from this number on are those of Android's simpleperf.
const SIMPLEPERF: usize = 128;
/// The type of a record with an event's description, in pipe mode.
const DESCRIPTION_RECORD: u32 = 64;
/// The type of a record before the data of a hardware trace.
const TRACE_RECORD: u32 = 71;
/// The feature that a feature record contains, in pipe mode.
const FEATURE_RECORD: u32 = 80;

/// Number of the event's flag for build ids in records of mappings.
const MAPS_HAVE_BUILD_IDS: u32 = 34;

/// In `sample_type`: samples have an address.
const IP: u64 = 1;
/// In `sample_type`: samples have a process.
const TID: u64 = 2;
/// In `sample_type`: samples have branch stacks.
const BRANCH_STACK: u64 = 1 << 11;
/// In `branch_sample_type`: all branches are recorded.
const ANY_BRANCH: u64 = 1 << 3;
/// In `branch_sample_type`: the processor keeps a stack of calls instead of the last branches.
const CALL_STACK: u64 = 1 << 11;

/// The reason why a file of `perf record` cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PerfDataError {
    /// The system's error.
    #[error("{0}")]
    System(#[from] io::Error),
    /// The file has no bytes.
    #[error("it is empty: record again")]
    Empty,
    /// The file is shorter than it says.
    #[error(
        "it is truncated: it should have {expected} bytes, and has {found}; copy or record it again"
    )]
    Truncated {
        /// The length that the file states.
        expected: u64,
        /// Its length.
        found: u64,
    },
    /// `perf record` did not end normally.
    #[error("perf did not finish it: end `perf record` with Ctrl-C, and record again")]
    Unfinished,
    /// A part of the file is damaged.
    #[error("its {what} is damaged: record again")]
    Damaged {
        /// The part.
        what: &'static str,
    },
    /// The file comes from a big-endian machine.
    #[error("it comes from a big-endian machine: holloway reads files of x86-64 and AArch64")]
    BigEndian,
    /// The file comes from a machine whose code holloway does not know.
    #[error(
        "it comes from a machine of type {machine}: holloway reads files of x86-64 and AArch64"
    )]
    Machine {
        /// The machine, as `uname -m` names it.
        machine: String,
    },
    /// The file has an old version.
    #[error("its format is older than Linux 2.6.33: record again with a newer perf")]
    Old,
    /// The file comes from Android's simpleperf.
    #[error("simpleperf wrote it: record with perf")]
    Simpleperf,
    /// The file holds data of a hardware trace.
    #[error(
        "it holds a hardware trace: let perf decode it first, with `perf inject --itrace=i100usl --strip -i FILE -o DECODED`"
    )]
    HardwareTrace,
    /// The file has no samples with addresses and processes.
    #[error(
        "its samples have no addresses: record with `perf record`, without options of `perf stat` or `perf trace`"
    )]
    NoAddresses,
    /// The branch stacks lack branches.
    #[error(
        "its branch stacks hold only some sorts of branches: record with `perf record -j any,u`"
    )]
    SomeBranches,
    /// The library refused the file.
    #[error("it is damaged ({0}): record again")]
    Library(linux_perf_data::Error),
}

/// A function for records: gets the type and the body of each.
type VisitRecord<'a> = dyn FnMut(u32, &[u8]) -> Result<(), PerfDataError> + 'a;

/// How records are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Container {
    /// In a section.
    File,
    /// After a short head, as `perf record -o -` writes them.
    Pipe,
}

/// The layout of an event's samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Formats {
    pub(super) sample_type: u64,
    pub(super) read_format: u64,
    pub(super) branch_sample_type: u64,
    /// Whether records of mappings may have build ids.
    pub(super) maps_have_build_ids: bool,
}

impl Formats {
    /// Whether samples have branch stacks that hold the last branches.
    pub(super) fn has_stacks(&self) -> bool {
        self.sample_type & BRANCH_STACK != 0 && self.branch_sample_type & CALL_STACK == 0
    }

    /// Whether samples have branch stacks that hold the last branches of all sorts.
    pub(super) fn has_all_branches(&self) -> bool {
        self.has_stacks() && self.branch_sample_type & ANY_BRANCH != 0
    }

    /// Whether samples have an address and a process.
    pub(super) fn has_addresses(&self) -> bool {
        self.sample_type & (IP | TID) == IP | TID
    }
}

/// A file whose lengths were checked.
#[derive(Debug)]
pub(super) struct Screened {
    pub(super) container: Container,
    /// By number of the event.
    pub(super) events: Vec<Formats>,
}

impl Screened {
    /// The number of the event whose samples are read: the first with branch stacks, or the first.
    ///
    /// # Errors
    /// If no event has addresses, or stacks lack branches.
    pub(super) fn chosen(&self) -> Result<usize, PerfDataError> {
        let find = |is_chosen: &dyn Fn(&Formats) -> bool| {
            let mut events = self.events.iter();
            events.position(|event| event.has_addresses() && is_chosen(event))
        };
        let chosen = find(&Formats::has_stacks).or_else(|| find(&|_| true));
        let chosen = chosen.ok_or(PerfDataError::NoAddresses)?;
        let event = &self.events[chosen];
        match event.has_stacks() && !event.has_all_branches() {
            true => Err(PerfDataError::SomeBranches),
            false => Ok(chosen),
        }
    }
}

/// Checks a file.
///
/// # Errors
/// If it is damaged, or of a sort that is not read.
pub(super) fn check(file: &mut (impl Read + Seek)) -> Result<Screened, PerfDataError> {
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(0))?;
    if length == 0 {
        return Err(PerfDataError::Empty);
    }
    let mut head = [0; HEAD];
    let known = HEAD.min(usize::try_from(length).unwrap_or(HEAD));
    file.read_exact(&mut head[..known])?;
    match &head[..8] {
        b"PERFILE2" => {}
        b"2ELIFREP" => return Err(PerfDataError::BigEndian),
        b"PERFFILE" => return Err(PerfDataError::Old),
        _ => return Err(PerfDataError::Damaged { what: "head" }),
    }
    let truncated = |expected: u64| PerfDataError::Truncated {
        expected,
        found: length,
    };
    if length < PIPE_HEAD {
        return Err(truncated(PIPE_HEAD));
    }
    match number(&head, 8) {
        PIPE_HEAD => return check_pipe(file, length),
        104 if length >= HEAD as u64 => {}
        104 => return Err(truncated(HEAD as u64)),
        _ => return Err(PerfDataError::Damaged { what: "head" }),
    }
    let [_, records, old] = [24, 40, 56].map(|at| (number(&head, at), number(&head, at + 8)));
    let description = number(&head, 16);
    if !(MIN_DESCRIPTION..=MAX_DESCRIPTION).contains(&description) {
        return Err(PerfDataError::Damaged { what: "head" });
    }
    if records.1 == 0 {
        return Err(PerfDataError::Unfinished);
    }
    let end = records.0.checked_add(records.1);
    let end = end.ok_or(PerfDataError::Damaged { what: "head" })?;
    if end > length {
        return Err(truncated(end));
    }
    let features: Vec<usize> = (0..256)
        .filter(|&feature| head[72 + feature / 8] >> (feature % 8) & 1 == 1)
        .collect();
    if features.iter().any(|&feature| feature >= SIMPLEPERF) {
        return Err(PerfDataError::Simpleperf);
    }
    let mut events = None;
    for (position, &feature) in features.iter().enumerate() {
        let section = section(file, end + 16 * position as u64, length)?;
        if feature == EVENT_DESCRIPTIONS {
            events = Some(event_descriptions(&section)?);
        }
    }
    let events = match events {
        Some(events) => events,
        None if old.1 != 0 => return Err(PerfDataError::Old),
        None => plain_descriptions(file, &head, length)?,
    };
    check_records(file, records.0, end, &mut |_, _| Ok(()))?;
    Ok(Screened {
        container: Container::File,
        events,
    })
}

/// Reads the section of a feature. `at`: the place of its offset and length.
fn section(file: &mut (impl Read + Seek), at: u64, length: u64) -> Result<Vec<u8>, PerfDataError> {
    let truncated = |expected| PerfDataError::Truncated {
        expected,
        found: length,
    };
    if at + 16 > length {
        return Err(truncated(at + 16));
    }
    let mut range = [0; 16];
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(&mut range)?;
    let (offset, size) = (number(&range, 0), number(&range, 8));
    let end = offset.checked_add(size);
    let end = end.filter(|_| size <= MAX_FEATURE);
    let end = end.ok_or(PerfDataError::Damaged {
        what: "list of features",
    })?;
    if end > length {
        return Err(truncated(end));
    }
    let mut bytes = vec![0; size as usize];
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Reads the layouts from the section that describes events: their number, the length of a
/// description, and for each event: the description, the number of ids, length and text of its
/// name, and the ids.
fn event_descriptions(section: &[u8]) -> Result<Vec<Formats>, PerfDataError> {
    let read = || {
        let (head, mut rest) = section.split_at_checked(8)?;
        let [count, length] = [0, 4].map(|at| u32_at(head, at) as usize);
        let is_length = (MIN_DESCRIPTION..=MAX_DESCRIPTION).contains(&(length as u64));
        // Each description fills a part of the section.
        if !is_length || count > section.len() / length {
            return None;
        }
        let mut events = Vec::new();
        for _ in 0..count {
            let (description, after) = rest.split_at_checked(length)?;
            events.push(formats(description)?);
            let (lengths, after) = after.split_at_checked(8)?;
            let [ids, name] = [0, 4].map(|at| u32_at(lengths, at) as usize);
            rest = after.get(name.checked_add(ids.checked_mul(8)?)?..)?;
        }
        (!events.is_empty()).then_some(events)
    };
    read().ok_or(PerfDataError::Damaged {
        what: "list of events",
    })
}

/// Reads the layouts from the section of descriptions, in files without the feature.
fn plain_descriptions(
    file: &mut (impl Read + Seek),
    head: &[u8],
    length: u64,
) -> Result<Vec<Formats>, PerfDataError> {
    let damaged = || PerfDataError::Damaged {
        what: "list of events",
    };
    let (size, offset, section) = (number(head, 16), number(head, 24), number(head, 32));
    let is_inside = offset.checked_add(section).is_some_and(|end| end <= length);
    let count = section / size;
    if !is_inside || count == 0 || count > MAX_DESCRIPTION {
        return Err(damaged());
    }
    file.seek(SeekFrom::Start(offset))?;
    let mut events = Vec::new();
    for _ in 0..count {
        let mut description = vec![0; size as usize];
        file.read_exact(&mut description)?;
        events.push(formats(&description).ok_or_else(damaged)?);
    }
    Ok(events)
}

/// The layout in a description.
fn formats(description: &[u8]) -> Option<Formats> {
    let size = u64::from(u32_at(description.get(..MIN_DESCRIPTION as usize)?, 4));
    if !(MIN_DESCRIPTION..=description.len() as u64).contains(&size) {
        return None;
    }
    let has_branches = size >= 80;
    Some(Formats {
        sample_type: number(description, 24),
        read_format: number(description, 32),
        branch_sample_type: match has_branches {
            true => number(description, 72),
            false => 0,
        },
        maps_have_build_ids: number(description, 40) >> MAPS_HAVE_BUILD_IDS & 1 == 1,
    })
}

/// Checks a file in pipe mode: records follow its head.
fn check_pipe(file: &mut (impl Read + Seek), length: u64) -> Result<Screened, PerfDataError> {
    let mut events = Vec::new();
    check_records(file, PIPE_HEAD, length, &mut |record, body| {
        let damaged = || PerfDataError::Damaged {
            what: "list of events",
        };
        if record == DESCRIPTION_RECORD {
            events.push(formats(body).ok_or_else(damaged)?);
        }
        if record == FEATURE_RECORD {
            let (feature, section) = body.split_at_checked(8).ok_or_else(damaged)?;
            match number(feature, 0) as usize {
                EVENT_DESCRIPTIONS => drop(event_descriptions(section)?),
                SIMPLEPERF.. => return Err(PerfDataError::Simpleperf),
                _ => {}
            }
        }
        Ok(())
    })?;
    match events.is_empty() {
        true => Err(PerfDataError::Unfinished),
        false => Ok(Screened {
            container: Container::Pipe,
            events,
        }),
    }
}

/// Checks that records fill the bytes from `start` to `end`. Calls `visit` with the types and
/// bodies of records that describe the file.
fn check_records(
    file: &mut (impl Read + Seek),
    start: u64,
    end: u64,
    visit: &mut VisitRecord<'_>,
) -> Result<(), PerfDataError> {
    file.seek(SeekFrom::Start(start))?;
    let mut at = start;
    while at < end {
        let mut head = [0; 8];
        if end - at < 8 {
            return Err(PerfDataError::Damaged {
                what: "last record",
            });
        }
        file.read_exact(&mut head)?;
        let (record, size) = (
            u32_at(&head, 0),
            u64::from(u16::from_le_bytes([head[6], head[7]])),
        );
        if size < 8 {
            return Err(PerfDataError::Damaged {
                what: "list of records",
            });
        }
        if record == TRACE_RECORD {
            return Err(PerfDataError::HardwareTrace);
        }
        at += size;
        if at > end {
            return Err(PerfDataError::Truncated {
                expected: at,
                found: end,
            });
        }
        if [DESCRIPTION_RECORD, FEATURE_RECORD].contains(&record) {
            let mut body = vec![0; size as usize - 8];
            file.read_exact(&mut body)?;
            visit(record, &body)?;
        } else {
            file.seek_relative(size as i64 - 8)?;
        }
    }
    Ok(())
}

fn number(bytes: &[u8], at: usize) -> u64 {
    let bytes = bytes.get(at..).and_then(<[u8]>::first_chunk);
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let bytes = bytes.get(at..).and_then(<[u8]>::first_chunk);
    bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
}
