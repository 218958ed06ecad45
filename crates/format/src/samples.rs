//! Samples of the code that watched programs executed.
//!
//! A monitor writes the file anew every few seconds, while it watches. So readers always find a
//! complete file. The file contains facts only: the addresses that were sampled, and how to find
//! their blocks. The blocks of a program that was built with `--collect none` are found in a copy
//! of parts of the program, `<name of the copy>.elf`, beside the file. A store of profiles has
//! blocks and no addresses.
//!
//! ```text
//! OFFSET SIZE MEANING
//!      0    8  "HLWSAMPL"
//!      8    4  format version, 1
//!     12    …  1 byte clock: 0 processor cycles, 1 CPU time by a timer, 2 by the tick, 3 another
//!              event
//!              1 byte state: 0 the monitor still watches, 1 it has ended
//!              v samples per second of CPU time, on average
//!              v duration of the observation (nanoseconds)
//!              v lost records  v samples at addresses without a file
//!              v files, for each:
//!                  path  build id: v length, bytes
//!                  1 byte blocks: 0 not woven  1 woven, no pseudo-probes  2 no symbol table
//!                                 3 damaged    5 file not read: addresses are offsets in it
//!                                 4 known, then 16 bytes build id of the path map
//!                                 and v records that are left out
//!                                 6 in a copy, then 16 bytes name of the copy
//!                  v addresses, ascending, for each: v address - previous address  v samples
//!                      if the blocks are known: v module+1 (0: no block)  [v function  v block]
//!              v programs, for each: path, v samples
//!      …    4  crc32 of all bytes before it
//! ```
//! `v`: varint. A path: v length, UTF-8. An address is one of the file's symbols, not of a process.
//!
//! Example, an ended observation of 2 ns without samples:
//! `48 4c 57 53 41 4d 50 4c  01 00 00 00  01 01 80 08 02  00 00  00  00  (crc)`.

use crate::cpu_time::ProgramSamples;
use crate::cursor::Cursor;
use crate::error::FormatError;
use crate::function_index::FunctionIndex;
use crate::units::Count;
use crate::varint::put;

/// Extension of the files with samples.
pub const SAMPLES_EXTENSION: &str = "hws";

/// First eight bytes of the file.
const MAGIC: [u8; 8] = *b"HLWSAMPL";
/// The format version.
const VERSION: u32 = 1;

/// The samples of one monitor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleRecord {
    /// What is counted between two samples.
    pub clock: SampleClock,
    /// Whether the monitor still watches.
    pub state: MonitorState,
    /// Samples per second of CPU time, on average. 0 if it is not known.
    pub frequency: u64,
    /// Duration of the observation in nanoseconds.
    pub duration_ns: u64,
    /// Records that the kernel dropped because a buffer was full.
    pub lost: u64,
    /// Samples at addresses without a file: code generated at run time, or mappings that are not
    /// known.
    pub without_file: Count,
    /// The sampled files.
    pub files: Vec<MonitoredFile>,
    /// The programs that ran.
    pub programs: Vec<ProgramSamples>,
}

/// What is counted between two samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleClock {
    /// Processor cycles in user mode.
    Cycles,
    /// CPU time, by the kernel's timer. Samples are taken in user mode.
    CpuTime,
    /// CPU time, by the kernel's tick. Samples are taken in user mode.
    Tick,
    /// Another event, such as taken branches. Such samples do not show where time goes.
    Other,
}

/// The state of a monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MonitorState {
    /// The monitor watched when it wrote the file, or was killed later.
    Watching,
    /// The monitor has ended.
    Ended,
}

/// The samples in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MonitoredFile {
    /// Path of the file, as the process saw it.
    pub path: String,
    /// The build id in the file's notes. Empty if there is none.
    pub build_id: Vec<u8>,
    /// Whether the blocks of addresses are known.
    pub blocks: KnownBlocks,
    /// The sampled addresses, ascending.
    pub addresses: Vec<AddressSamples>,
}

/// Whether the blocks of a file's addresses are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KnownBlocks {
    /// No: Holloway did not build the file.
    NotWoven,
    /// No: the file was not built with `--collect none`.
    NoProbes,
    /// No: the file has no symbol table.
    NoSymbols,
    /// No: the path map or the section of pseudo-probes is damaged.
    Damaged,
    /// No: the monitor could not read the file. Its addresses are offsets in the file.
    Unread,
    /// Yes.
    Known {
        /// The build id of the path map.
        map: [u8; 16],
        /// Number of symbols without blocks, because their records are ambiguous.
        left_out: u64,
    },
    /// They can be found in a copy of parts of the program.
    Copied {
        /// The name of the copy.
        copy: [u8; 16],
    },
}

/// The samples at one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressSamples {
    /// The address, as the file's symbols name it.
    pub address: u64,
    /// The number of samples.
    pub samples: Count,
    /// The function and the number of the block at the address, if they are known.
    pub block: Option<(FunctionIndex, u32)>,
}

impl SampleRecord {
    /// The number of all samples.
    pub fn total(&self) -> Count {
        let files = self.files.iter().map(MonitoredFile::total);
        files.fold(self.without_file, Count::saturating_add)
    }

    /// Encodes the record.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.push(match self.clock {
            SampleClock::Cycles => 0,
            SampleClock::CpuTime => 1,
            SampleClock::Tick => 2,
            SampleClock::Other => 3,
        });
        out.push(match self.state {
            MonitorState::Watching => 0,
            MonitorState::Ended => 1,
        });
        for number in [self.frequency, self.duration_ns, self.lost] {
            put(&mut out, number);
        }
        put(&mut out, self.without_file.0);
        put(&mut out, self.files.len() as u64);
        self.files.iter().for_each(|file| put_file(&mut out, file));
        put(&mut out, self.programs.len() as u64);
        for program in &self.programs {
            put_bytes(&mut out, program.path.as_bytes());
            put(&mut out, program.samples.0);
        }
        let crc = crc32fast::hash(&out);
        out.extend_from_slice(&crc.to_le_bytes());
        out
    }

    /// Decodes a record.
    ///
    /// # Errors
    /// If the bytes are no record of samples, have another version, or are damaged.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        if !bytes.starts_with(&MAGIC) {
            return Err(FormatError::NotSamples);
        }
        let mut head = Cursor::new(bytes, 0);
        head.bytes(MAGIC.len())?;
        let found = head.u32()?;
        if found != VERSION {
            return Err(FormatError::Version {
                found,
                reads: VERSION..=VERSION,
            });
        }
        let offset = bytes.len() as u64;
        let (content, crc) = bytes
            .split_last_chunk::<4>()
            .ok_or(FormatError::Truncated { offset })?;
        if crc32fast::hash(content) != u32::from_le_bytes(*crc) {
            return Err(FormatError::Checksum { offset: 0 });
        }
        let mut cursor = Cursor::new(content, 0);
        cursor.bytes(MAGIC.len() + 4)?;
        let record = Self {
            clock: match cursor.u8()? {
                0 => SampleClock::Cycles,
                1 => SampleClock::CpuTime,
                2 => SampleClock::Tick,
                3 => SampleClock::Other,
                code => return Err(unknown("clock", code, &cursor)),
            },
            state: match cursor.u8()? {
                0 => MonitorState::Watching,
                1 => MonitorState::Ended,
                code => return Err(unknown("state of a monitor", code, &cursor)),
            },
            frequency: cursor.var()?,
            duration_ns: cursor.var()?,
            lost: cursor.var()?,
            without_file: Count(cursor.var()?),
            files: read_list(&mut cursor, 4, "number of files", read_file)?,
            programs: read_list(&mut cursor, 2, "number of programs", |cursor| {
                Ok(ProgramSamples {
                    path: read_text(cursor)?,
                    samples: Count(cursor.var()?),
                })
            })?,
        };
        cursor.end()?;
        Ok(record)
    }
}

impl MonitoredFile {
    /// The number of samples in the file.
    pub fn total(&self) -> Count {
        let samples = self.addresses.iter().map(|address| address.samples);
        samples.fold(Count::ZERO, Count::saturating_add)
    }
}

fn put_file(out: &mut Vec<u8>, file: &MonitoredFile) {
    put_bytes(out, file.path.as_bytes());
    put_bytes(out, &file.build_id);
    let code = match file.blocks {
        KnownBlocks::NotWoven => 0,
        KnownBlocks::NoProbes => 1,
        KnownBlocks::NoSymbols => 2,
        KnownBlocks::Damaged => 3,
        KnownBlocks::Known { .. } => 4,
        KnownBlocks::Unread => 5,
        KnownBlocks::Copied { .. } => 6,
    };
    out.push(code);
    let is_known = matches!(file.blocks, KnownBlocks::Known { .. });
    if let KnownBlocks::Known { map, left_out } = file.blocks {
        out.extend_from_slice(&map);
        put(out, left_out);
    }
    if let KnownBlocks::Copied { copy } = file.blocks {
        out.extend_from_slice(&copy);
    }
    put(out, file.addresses.len() as u64);
    let mut previous = 0u64;
    for address in &file.addresses {
        put(out, address.address.wrapping_sub(previous));
        previous = address.address;
        put(out, address.samples.0);
        if !is_known {
            continue;
        }
        match address.block {
            None => put(out, 0),
            Some((function, block)) => {
                put(out, u64::from(function.module) + 1);
                put(out, function.function.into());
                put(out, block.into());
            }
        }
    }
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn read_file(cursor: &mut Cursor<'_>) -> Result<MonitoredFile, FormatError> {
    let path = read_text(cursor)?;
    let length = cursor.count(1, "length of a build id")?;
    let build_id = cursor.bytes(length)?.to_vec();
    let blocks = match cursor.u8()? {
        0 => KnownBlocks::NotWoven,
        1 => KnownBlocks::NoProbes,
        2 => KnownBlocks::NoSymbols,
        3 => KnownBlocks::Damaged,
        4 => KnownBlocks::Known {
            map: cursor.id()?,
            left_out: cursor.var()?,
        },
        5 => KnownBlocks::Unread,
        6 => KnownBlocks::Copied { copy: cursor.id()? },
        code => return Err(unknown("state of blocks", code, cursor)),
    };
    let is_known = matches!(blocks, KnownBlocks::Known { .. });
    let mut previous = 0u64;
    let addresses = read_list(cursor, 2, "number of addresses", |cursor| {
        previous = previous.wrapping_add(cursor.var()?);
        Ok(AddressSamples {
            address: previous,
            samples: Count(cursor.var()?),
            block: match is_known {
                true => read_block(cursor)?,
                false => None,
            },
        })
    })?;
    Ok(MonitoredFile {
        path,
        build_id,
        blocks,
        addresses,
    })
}

fn read_block(cursor: &mut Cursor<'_>) -> Result<Option<(FunctionIndex, u32)>, FormatError> {
    let Some(module) = cursor.var32()?.checked_sub(1) else {
        return Ok(None);
    };
    let function = cursor.var32()?;
    let index = FunctionIndex { module, function };
    Ok(Some((index, cursor.var32()?)))
}

/// Reads a list whose items take at least `min_size` bytes each.
fn read_list<'a, T>(
    cursor: &mut Cursor<'a>,
    min_size: usize,
    noun: &'static str,
    mut read: impl FnMut(&mut Cursor<'a>) -> Result<T, FormatError>,
) -> Result<Vec<T>, FormatError> {
    let count = cursor.count(min_size, noun)?;
    (0..count).map(|_| read(cursor)).collect()
}

fn read_text(cursor: &mut Cursor<'_>) -> Result<String, FormatError> {
    let offset = cursor.offset();
    let length = cursor.count(1, "length of a text")?;
    let text = str::from_utf8(cursor.bytes(length)?);
    text.map(str::to_owned)
        .map_err(|_| FormatError::Text { index: 0, offset })
}

fn unknown(what: &'static str, code: u8, cursor: &Cursor<'_>) -> FormatError {
    FormatError::Code {
        what,
        code: u64::from(code),
        offset: cursor.offset(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn empty() -> SampleRecord {
        SampleRecord {
            clock: SampleClock::CpuTime,
            state: MonitorState::Ended,
            frequency: 1024,
            duration_ns: 2,
            lost: 0,
            without_file: Count(0),
            files: Vec::new(),
            programs: Vec::new(),
        }
    }

    fn record() -> SampleRecord {
        let function = FunctionIndex {
            module: 0,
            function: 300,
        };
        let address = |address, samples, block| AddressSamples {
            address,
            samples: Count(samples),
            block,
        };
        let reasons = [
            KnownBlocks::NotWoven,
            KnownBlocks::NoProbes,
            KnownBlocks::NoSymbols,
            KnownBlocks::Damaged,
            KnownBlocks::Unread,
            KnownBlocks::Copied { copy: [5; 16] },
        ];
        let mut files = vec![MonitoredFile {
            path: "/bin/app".to_owned(),
            build_id: vec![7; 20],
            blocks: KnownBlocks::Known {
                map: [9; 16],
                left_out: 2,
            },
            addresses: vec![
                address(0x1140, 200, Some((function, 4))),
                address(0x1143, 1, None),
                address(u64::MAX, 5, Some((FunctionIndex::default(), 0))),
            ],
        }];
        files.extend(reasons.map(|blocks| MonitoredFile {
            path: "/lib/libz.so".to_owned(),
            build_id: Vec::new(),
            blocks,
            addresses: vec![address(16, 3, None)],
        }));
        SampleRecord {
            clock: SampleClock::Cycles,
            state: MonitorState::Watching,
            lost: 4,
            without_file: Count(8),
            files,
            programs: vec![ProgramSamples {
                path: "/bin/app".to_owned(),
                samples: Count(229),
            }],
            ..empty()
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let bytes = empty().encode();
        assert_eq!(
            bytes[12..bytes.len() - 4],
            [1, 1, 0x80, 0x08, 2, 0, 0, 0, 0]
        );
        for record in [record(), empty()] {
            assert_eq!(SampleRecord::decode(&record.encode()), Ok(record));
        }
        assert_eq!(record().total(), Count(232));
    }

    #[test]
    fn every_damaged_byte_and_every_truncation_is_an_error() {
        let bytes = record().encode();
        for index in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[index] ^= 0x41;
            assert!(SampleRecord::decode(&damaged).is_err(), "byte {index}");
            assert!(
                SampleRecord::decode(&bytes[..index]).is_err(),
                "{index} bytes"
            );
        }
    }

    #[test]
    fn damage_behind_a_correct_checksum_is_an_error_or_a_value() {
        let bytes = record().encode();
        let content = bytes.len() - 4;
        for index in 12..content {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut damaged = bytes[..content].to_vec();
                damaged[index] = value;
                let crc = crc32fast::hash(&damaged);
                damaged.extend_from_slice(&crc.to_le_bytes());
                // Must not panic or reserve memory for an unchecked length.
                SampleRecord::decode(&damaged).ok();
            }
        }
    }
}
