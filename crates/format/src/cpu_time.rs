//! The CPU time of a run, and samples of the code that used it.
//!
//! The collector writes the file after the program has ended. The file contains facts only: file
//! names, function names, and sample counts. A report compares the function names with the path
//! maps, and so finds out which samples lie in woven code.
//!
//! ```text
//! OFFSET SIZE MEANING
//!      0    8  "HLWCPUTM"
//!      8    4  format version, 1
//!     12    …  v user time, v system time (nanoseconds)
//!              v 0: samples follow    v 1: no samples, v errno of perf_event_open
//!              v 2: no samples, because reading them failed
//!              samples:
//!                v period (nanoseconds)  v lost records  v samples at unknown addresses
//!                v files, for each: path  1 byte 1 and 16 bytes build id, or 1 byte 0
//!                                   v samples without a function
//!                                   v functions, for each: v samples, v names, each name
//!                v programs without woven code, for each: path, v samples
//!                v unused libraries, for each: path of the loaded copy, path of the woven copy
//!      …    4  crc32 of all bytes before it
//! ```
//! `v`: varint. A path or name: v length, UTF-8.
//!
//! Example, 3 ms of user time and 1 ns of system time without samples because of errno 13:
//! `48 4c 57 43 50 55 54 4d  01 00 00 00  c0 8d b7 01  01  01 0d  (crc)`.

use crate::cursor::Cursor;
use crate::error::FormatError;
use crate::units::Count;
use crate::varint::put;

/// Extension of the files with the CPU time of a run.
pub const CPU_TIME_EXTENSION: &str = "hwc";

/// First eight bytes of the file.
const MAGIC: [u8; 8] = *b"HLWCPUTM";
/// The format version.
const VERSION: u32 = 1;

/// The CPU time of one program that holloway started, with its child processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuRecord {
    /// User time in nanoseconds.
    pub user_ns: u64,
    /// System time in nanoseconds.
    pub system_ns: u64,
    /// Samples of the user time.
    pub sampling: Sampling,
}

/// Samples, or the reason why there are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// The kernel refused to sample.
    Refused {
        /// The error number of `perf_event_open`.
        errno: u32,
    },
    /// The program was sampled.
    Sampled(Samples),
    /// The program was sampled, but the collector failed to read the samples.
    Failed,
}

impl Default for Sampling {
    fn default() -> Self {
        Self::Sampled(Samples::default())
    }
}

/// Samples of the user time of a program and its child processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// CPU time between two samples of a thread, in nanoseconds.
    pub period_ns: u64,
    /// Records that the kernel dropped because a buffer was full.
    pub lost: u64,
    /// Samples in woven processes at addresses without a file: code generated at run time, or
    /// mappings that are not known.
    pub without_file: Count,
    /// The files with samples in woven processes: processes that loaded at least one woven image.
    pub files: Vec<SampledFile>,
    /// The programs of the other processes.
    pub other_programs: Vec<ProgramSamples>,
    /// Woven shared libraries that did not run, because another copy was loaded.
    pub unused_libraries: Vec<UnusedLibrary>,
}

/// The samples in one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampledFile {
    /// Path of the file, as the process saw it.
    pub path: String,
    /// The build id of the path map if the file is woven.
    pub build_id: Option<[u8; 16]>,
    /// Samples that belong to no symbol. In files that are not woven: all samples.
    pub without_function: Count,
    /// The sampled functions of a woven file.
    pub functions: Vec<FunctionSamples>,
}

/// The samples in one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionSamples {
    /// All symbols at the function's address.
    pub linkage_names: Vec<String>,
    /// The number of samples.
    pub samples: Count,
}

/// The samples in processes of a program that loaded no woven image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramSamples {
    /// Path of the program's file.
    pub path: String,
    /// The number of samples.
    pub samples: Count,
}

/// A woven shared library that did not run, because another copy was loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnusedLibrary {
    /// Path of the copy that ran. It is not woven.
    pub loaded: String,
    /// Path of the woven copy.
    pub woven: String,
}

impl CpuRecord {
    /// Encodes the record.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&VERSION.to_le_bytes());
        put(&mut out, self.user_ns);
        put(&mut out, self.system_ns);
        match &self.sampling {
            Sampling::Sampled(samples) => {
                put(&mut out, 0);
                put_samples(&mut out, samples);
            }
            Sampling::Refused { errno } => {
                put(&mut out, 1);
                put(&mut out, u64::from(*errno));
            }
            Sampling::Failed => put(&mut out, 2),
        }
        let crc = crc32fast::hash(&out);
        out.extend_from_slice(&crc.to_le_bytes());
        out
    }

    /// Decodes a record.
    ///
    /// # Errors
    /// If the bytes are no record of CPU time, have another version, or are damaged.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        if !bytes.starts_with(&MAGIC) {
            return Err(FormatError::NotCpuTime);
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
            user_ns: cursor.var()?,
            system_ns: cursor.var()?,
            sampling: match cursor.var()? {
                0 => Sampling::Sampled(read_samples(&mut cursor)?),
                1 => Sampling::Refused {
                    errno: cursor.var32()?,
                },
                2 => Sampling::Failed,
                code => {
                    return Err(FormatError::Code {
                        what: "state of sampling",
                        code,
                        offset: cursor.offset(),
                    });
                }
            },
        };
        cursor.end()?;
        Ok(record)
    }
}

fn put_samples(out: &mut Vec<u8>, samples: &Samples) {
    put(out, samples.period_ns);
    put(out, samples.lost);
    put(out, samples.without_file.0);
    put(out, samples.files.len() as u64);
    for file in &samples.files {
        put_text(out, &file.path);
        out.push(u8::from(file.build_id.is_some()));
        out.extend(file.build_id.iter().flatten());
        put(out, file.without_function.0);
        put(out, file.functions.len() as u64);
        for function in &file.functions {
            put(out, function.samples.0);
            put(out, function.linkage_names.len() as u64);
            for name in &function.linkage_names {
                put_text(out, name);
            }
        }
    }
    put(out, samples.other_programs.len() as u64);
    for program in &samples.other_programs {
        put_text(out, &program.path);
        put(out, program.samples.0);
    }
    put(out, samples.unused_libraries.len() as u64);
    for library in &samples.unused_libraries {
        put_text(out, &library.loaded);
        put_text(out, &library.woven);
    }
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

fn read_samples(cursor: &mut Cursor<'_>) -> Result<Samples, FormatError> {
    Ok(Samples {
        period_ns: cursor.var()?,
        lost: cursor.var()?,
        without_file: Count(cursor.var()?),
        files: read_list(cursor, 4, "number of files", read_file)?,
        other_programs: read_list(cursor, 2, "number of programs", |cursor| {
            Ok(ProgramSamples {
                path: read_text(cursor)?,
                samples: Count(cursor.var()?),
            })
        })?,
        unused_libraries: read_list(cursor, 2, "number of libraries", |cursor| {
            Ok(UnusedLibrary {
                loaded: read_text(cursor)?,
                woven: read_text(cursor)?,
            })
        })?,
    })
}

fn read_file(cursor: &mut Cursor<'_>) -> Result<SampledFile, FormatError> {
    Ok(SampledFile {
        path: read_text(cursor)?,
        build_id: match cursor.u8()? {
            0 => None,
            1 => Some(cursor.id()?),
            code => {
                return Err(FormatError::Code {
                    what: "mark of a build id",
                    code: u64::from(code),
                    offset: cursor.offset(),
                });
            }
        },
        without_function: Count(cursor.var()?),
        functions: read_list(cursor, 2, "number of functions", |cursor| {
            Ok(FunctionSamples {
                samples: Count(cursor.var()?),
                linkage_names: read_list(cursor, 1, "number of names", read_text)?,
            })
        })?,
    })
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn record() -> CpuRecord {
        CpuRecord {
            user_ns: 1_920_000_000,
            system_ns: 110_000_000,
            sampling: Sampling::Sampled(Samples {
                period_ns: 999_983,
                lost: 1,
                without_file: Count(2),
                files: vec![
                    SampledFile {
                        path: "/bin/app".to_owned(),
                        build_id: Some([7; 16]),
                        without_function: Count(3),
                        functions: vec![FunctionSamples {
                            linkage_names: vec!["scan".to_owned(), "scan_alias".to_owned()],
                            samples: Count(1_200),
                        }],
                    },
                    SampledFile {
                        path: "/lib/libbz2.so.1.0".to_owned(),
                        build_id: None,
                        without_function: Count(700),
                        functions: Vec::new(),
                    },
                ],
                other_programs: vec![ProgramSamples {
                    path: "/bin/sh".to_owned(),
                    samples: Count(4),
                }],
                unused_libraries: vec![UnusedLibrary {
                    loaded: "/lib/libbz2.so.1.0".to_owned(),
                    woven: "/build/libbz2.so.1.0".to_owned(),
                }],
            }),
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let refused = CpuRecord {
            user_ns: 3_000_000,
            system_ns: 1,
            sampling: Sampling::Refused { errno: 13 },
        };
        let bytes = refused.encode();
        let content = [0xc0, 0x8d, 0xb7, 0x01, 0x01, 0x01, 0x0d];
        assert_eq!(bytes[12..19], content);
        let failed = CpuRecord {
            sampling: Sampling::Failed,
            ..CpuRecord::default()
        };
        for record in [record(), refused, failed, CpuRecord::default()] {
            assert_eq!(CpuRecord::decode(&record.encode()).unwrap(), record);
        }
    }

    #[test]
    fn every_damaged_byte_and_every_truncation_is_an_error() {
        let bytes = record().encode();
        for index in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[index] ^= 0x41;
            assert!(CpuRecord::decode(&damaged).is_err(), "byte {index}");
            assert!(CpuRecord::decode(&bytes[..index]).is_err(), "{index} bytes");
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
                CpuRecord::decode(&damaged).ok();
            }
        }
    }
}
