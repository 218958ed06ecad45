//! Branch records of programs: the edges and paths that they show, and where they come from.
//!
//! The file lies beside the samples ([`samples`](crate::samples)) of the same run.
//! `holloway import` writes it for each import, and `holloway monitor --branch-stacks` when it
//! records stacks.
//!
//! ```text
//! OFFSET SIZE MEANING
//!      0    8  "HLWBRNCH"
//!      8    4  format version, 1
//!     12    …  1 byte source: 0 perf.data  1 BOLT's pre-aggregated text  2 a monitor
//!              text name of the imported file  text event
//!              v branches of the longest stack, 0 without stacks
//!              v samples in the kernel  v samples of other events  v damaged records
//!              v stacks  v branches  v runs  v impossible runs
//!              v transitions  v unmatched transitions  v ambiguous transitions  v paths
//!              v files, for each:
//!                  text path  16 bytes build id of the path map
//!                  v functions, for each:
//!                      v module  v function  v calls
//!                      v edges, for each: v edge - previous edge  v count  v mispredicted
//!                      v paths, for each: v path - previous path  v count
//!      …    4  crc32 of all bytes before it
//! ```
//! `v`: varint. A text: v length, UTF-8.
//!
//! Example, an import of `p` with 3 samples of `c` in the kernel, and no stacks:
//! ```text
//! 48 4c 57 42 52 4e 43 48  01 00 00 00
//! 00 01 70 01 63 00 03 00 00  00 00 00 00  00 00 00 00  00 (crc)
//! ```

use crate::cursor::Cursor;
use crate::error::FormatError;
use crate::function_index::FunctionIndex;
use crate::units::Count;
use crate::varint::put;

/// Extension of the files with branch records.
pub const BRANCHES_EXTENSION: &str = "hwb";

/// First eight bytes of the file.
const MAGIC: [u8; 8] = *b"HLWBRNCH";
/// The format version.
const VERSION: u32 = 1;

/// Where the samples of a run come from, and the branch records among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchFile {
    /// The source.
    pub source: RecordSource,
    /// The name of the imported file. Empty for a monitor.
    pub name: String,
    /// The event that was sampled, such as `cycles:u`.
    pub event: String,
    /// Branches of the longest stack. 0 without stacks.
    pub depth: u64,
    /// Samples in the kernel, which are left out.
    pub kernel: u64,
    /// Samples of other events, which are left out.
    pub other_events: u64,
    /// Records that could not be read.
    pub damaged: u64,
    /// How much of the branch records could be used.
    pub quality: BranchQuality,
    /// The files with branches in known code.
    pub files: Vec<FileBranches>,
}

/// Where samples come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordSource {
    /// A file of `perf record`.
    PerfData,
    /// BOLT's pre-aggregated text.
    PreAggregated,
    /// `holloway monitor`.
    Monitor,
}

/// The branch records in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileBranches {
    /// Path of the file.
    pub path: String,
    /// The build id of its path map.
    pub map: [u8; 16],
    /// The functions that records show, by index.
    pub functions: Vec<FunctionBranches>,
}

/// The counts of a function. They are a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionBranches {
    /// The function.
    pub index: FunctionIndex,
    /// Calls that records show.
    pub calls: Count,
    /// The edges that records show, by number.
    pub edges: Vec<EdgeSamples>,
    /// The number and the count of each path that lies within one stack, by number.
    pub paths: Vec<(u64, Count)>,
}

/// The count of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeSamples {
    /// The edge.
    pub edge: u32,
    /// Times that records show it.
    pub count: Count,
    /// Times that the branch was taken along this edge, and mispredicted.
    pub mispredicted: Count,
}

/// How much of the branch records could be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BranchQuality {
    /// Stacks.
    pub stacks: u64,
    /// Branches in stacks.
    pub branches: u64,
    /// Runs in known code.
    pub runs: u64,
    /// Runs that leave their function or go backward: the processor lost branches.
    pub impossible_runs: u64,
    /// Transitions between two blocks.
    pub transitions: u64,
    /// Transitions for which the graph has no way. The code generator changed the code.
    pub unmatched: u64,
    /// Transitions with several ways.
    pub ambiguous: u64,
    /// Paths within one stack, before weighting.
    pub paths: u64,
}

impl BranchQuality {
    /// Adds the records of another file or run. The stacks of several files are the same stacks.
    pub fn add(&mut self, other: &Self) {
        for (sum, number) in self.numbers_mut().into_iter().zip(other.numbers()) {
            *sum = sum.saturating_add(number);
        }
    }

    fn numbers(&self) -> [u64; 8] {
        let mut copy = *self;
        copy.numbers_mut().map(|number| *number)
    }

    fn numbers_mut(&mut self) -> [&mut u64; 8] {
        [
            &mut self.stacks,
            &mut self.branches,
            &mut self.runs,
            &mut self.impossible_runs,
            &mut self.transitions,
            &mut self.unmatched,
            &mut self.ambiguous,
            &mut self.paths,
        ]
    }
}

impl BranchFile {
    /// Encodes the record.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.push(match self.source {
            RecordSource::PerfData => 0,
            RecordSource::PreAggregated => 1,
            RecordSource::Monitor => 2,
        });
        put_text(&mut out, &self.name);
        put_text(&mut out, &self.event);
        let numbers = [self.depth, self.kernel, self.other_events, self.damaged];
        let numbers = numbers.into_iter().chain(self.quality.numbers());
        numbers.for_each(|number| put(&mut out, number));
        put(&mut out, self.files.len() as u64);
        for file in &self.files {
            put_text(&mut out, &file.path);
            out.extend_from_slice(&file.map);
            put(&mut out, file.functions.len() as u64);
            for function in &file.functions {
                put_function(&mut out, function);
            }
        }
        let crc = crc32fast::hash(&out);
        out.extend_from_slice(&crc.to_le_bytes());
        out
    }

    /// Decodes a record.
    ///
    /// # Errors
    /// If the bytes are no branch records, have another version, or are damaged.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        if !bytes.starts_with(&MAGIC) {
            return Err(FormatError::NotBranches);
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
        let source = match cursor.u8()? {
            0 => RecordSource::PerfData,
            1 => RecordSource::PreAggregated,
            2 => RecordSource::Monitor,
            code => {
                return Err(FormatError::Code {
                    what: "source of samples",
                    code: code.into(),
                    offset: cursor.offset(),
                });
            }
        };
        let (name, event) = (read_text(&mut cursor)?, read_text(&mut cursor)?);
        let [depth, kernel, other_events, damaged] = read_numbers(&mut cursor)?;
        let mut quality = BranchQuality::default();
        for number in quality.numbers_mut() {
            *number = cursor.var()?;
        }
        let count = cursor.count(18, "number of files")?;
        let files = (0..count).map(|_| read_file(&mut cursor));
        let record = Self {
            source,
            name,
            event,
            depth,
            kernel,
            other_events,
            damaged,
            quality,
            files: files.collect::<Result<_, _>>()?,
        };
        cursor.end()?;
        Ok(record)
    }
}

fn put_function(out: &mut Vec<u8>, function: &FunctionBranches) {
    put(out, function.index.module.into());
    put(out, function.index.function.into());
    put(out, function.calls.0);
    put(out, function.edges.len() as u64);
    let mut previous = 0u32;
    for edge in &function.edges {
        put(out, edge.edge.wrapping_sub(previous).into());
        previous = edge.edge;
        put(out, edge.count.0);
        put(out, edge.mispredicted.0);
    }
    put(out, function.paths.len() as u64);
    let mut previous = 0u64;
    for &(path, count) in &function.paths {
        put(out, path.wrapping_sub(previous));
        previous = path;
        put(out, count.0);
    }
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

fn read_numbers<const N: usize>(cursor: &mut Cursor<'_>) -> Result<[u64; N], FormatError> {
    let mut numbers = [0; N];
    for number in &mut numbers {
        *number = cursor.var()?;
    }
    Ok(numbers)
}

fn read_file(cursor: &mut Cursor<'_>) -> Result<FileBranches, FormatError> {
    let path = read_text(cursor)?;
    let map = cursor.id()?;
    let count = cursor.count(5, "number of functions")?;
    let functions = (0..count).map(|_| read_function(cursor));
    Ok(FileBranches {
        path,
        map,
        functions: functions.collect::<Result<_, _>>()?,
    })
}

fn read_function(cursor: &mut Cursor<'_>) -> Result<FunctionBranches, FormatError> {
    let index = FunctionIndex {
        module: cursor.var32()?,
        function: cursor.var32()?,
    };
    let calls = Count(cursor.var()?);
    let count = cursor.count(3, "number of edges")?;
    let mut edges = Vec::with_capacity(count);
    let mut edge = 0u32;
    for _ in 0..count {
        edge = edge.wrapping_add(cursor.var32()?);
        edges.push(EdgeSamples {
            edge,
            count: Count(cursor.var()?),
            mispredicted: Count(cursor.var()?),
        });
    }
    let count = cursor.count(2, "number of paths")?;
    let mut paths = Vec::with_capacity(count);
    let mut path = 0u64;
    for _ in 0..count {
        path = path.wrapping_add(cursor.var()?);
        paths.push((path, Count(cursor.var()?)));
    }
    Ok(FunctionBranches {
        index,
        calls,
        edges,
        paths,
    })
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

    fn empty() -> BranchFile {
        BranchFile {
            source: RecordSource::PerfData,
            name: "p".to_owned(),
            event: "c".to_owned(),
            depth: 0,
            kernel: 3,
            other_events: 0,
            damaged: 0,
            quality: BranchQuality::default(),
            files: Vec::new(),
        }
    }

    fn record() -> BranchFile {
        let edge = |edge, count, mispredicted| EdgeSamples {
            edge,
            count: Count(count),
            mispredicted: Count(mispredicted),
        };
        BranchFile {
            source: RecordSource::Monitor,
            depth: 32,
            other_events: 4,
            damaged: 1,
            quality: BranchQuality {
                stacks: 5,
                branches: 160,
                runs: 155,
                impossible_runs: 1,
                transitions: 300,
                unmatched: 2,
                ambiguous: 3,
                paths: 60,
            },
            files: vec![FileBranches {
                path: "/bin/app".to_owned(),
                map: [7; 16],
                functions: vec![FunctionBranches {
                    index: FunctionIndex {
                        module: 1,
                        function: 300,
                    },
                    calls: Count(9),
                    edges: vec![edge(0, 1, 0), edge(5, 1000, 7), edge(u32::MAX, 2, 0)],
                    paths: vec![(3, Count(8)), (1 << 40, Count(9))],
                }],
            }],
            ..empty()
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let bytes = empty().encode();
        let expected = [0, 1, b'p', 1, b'c', 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(bytes[12..bytes.len() - 4], expected);
        for record in [record(), empty()] {
            assert_eq!(BranchFile::decode(&record.encode()), Ok(record));
        }
    }

    #[test]
    fn every_damaged_byte_and_every_truncation_is_an_error() {
        let bytes = record().encode();
        for index in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[index] ^= 0x41;
            assert!(BranchFile::decode(&damaged).is_err(), "byte {index}");
            assert!(BranchFile::decode(&bytes[..index]).is_err(), "{index}");
        }
    }

    #[test]
    fn damage_behind_a_correct_checksum_is_an_error_or_a_value() {
        let bytes = record().encode();
        let content = bytes.len() - 4;
        for index in 12..content {
            for value in 0..=255 {
                let mut damaged = bytes.clone();
                damaged[index] = value;
                let crc = crc32fast::hash(&damaged[..content]);
                damaged[content..].copy_from_slice(&crc.to_le_bytes());
                if let Ok(record) = BranchFile::decode(&damaged) {
                    let functions = record.files.iter().map(|file| file.functions.len());
                    assert!(functions.sum::<usize>() <= bytes.len());
                }
            }
        }
    }
}
