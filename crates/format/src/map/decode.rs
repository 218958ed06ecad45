//! Decodes a fragment. [`crate::map`] has the layout.
//!
//! For arbitrary bytes, the parser returns a module and a list of its damage, or an error if the
//! head is damaged. It accepts a function only if each index in its record is in range, and if its
//! counters are inside the module's counters and overlap no other function's counters. An empty
//! function replaces a rejected one, so that the indices of the others do not change. Allocations
//! are at most a few dozen times as large as the file.
//!
//! Cost: linear, except for the sort that finds overlapping counters.

use crate::checksum::numbered_crc;
use crate::cursor::Cursor;
use crate::damage::{Damage, DamagedFile, Fact, Index};
use crate::error::FormatError;
use crate::frames::{Frames, index_size};
use crate::map::counters::FunctionCounters;
use crate::map::function::FunctionMap;
use crate::map::layout::FRAGMENT_MAGIC;
use crate::map::module::{ModuleMap, Skipped, SourceFile, VanishedFunction};
use crate::map::record::{read_counters_only, read_function};
use crate::map::strings::Strings;
use crate::text::Text;
use crate::version::check_version;

/// Size of a fragment's head.
const HEAD_SIZE: usize = 64;

impl ModuleMap {
    /// Decodes a fragment, and lists its damage.
    ///
    /// # Errors
    /// If the bytes are not a fragment, have another version, are cut off before the function
    /// records, or if the head is damaged.
    pub fn decode(bytes: &[u8]) -> Result<(Self, Vec<Damage>), FormatError> {
        Self::decode_at(bytes, 0)
    }

    /// Like [`decode`](Self::decode), for a fragment at offset `base` of its file.
    pub(crate) fn decode_at(bytes: &[u8], base: u64) -> Result<(Self, Vec<Damage>), FormatError> {
        let head = Head::read(bytes, base)?;
        let parts = head.split(bytes, base)?;
        let strings = Strings::read(parts.strings.0, parts.text);
        let mut damage = Vec::new();
        for (string, fact) in [
            (head.name, Fact::ModuleName),
            (head.producer, Fact::ProducerName),
        ] {
            if strings.get(string, base).is_err() {
                damage.push(Damage::of_file(DamagedFile::Map, base, fact));
            }
        }
        let module = Self {
            name: strings.find(head.name),
            producer: strings.find(head.producer),
            counters_size: head.counters_size,
            functions: read_functions(&head, &parts, &strings, &mut damage),
            skipped: read_entries(parts.skipped, &mut damage, |words, offset| {
                let [name, linkage_name, reason] = strings.all(words, offset)?;
                Ok(Skipped {
                    name,
                    linkage_name,
                    reason,
                })
            }),
            gone: read_entries(parts.gone, &mut damage, |words, offset| {
                let [name, linkage_name] = strings.all(words, offset)?;
                Ok(VanishedFunction { name, linkage_name })
            }),
            sources: read_entries(parts.sources, &mut damage, |words, offset| {
                let [file, digest @ ..]: [u32; 5] = words;
                let mut md5 = [0; 16];
                for (bytes, word) in md5.as_chunks_mut().0.iter_mut().zip(digest) {
                    *bytes = word.to_le_bytes();
                }
                Ok(SourceFile {
                    file: strings.get(file, offset)?,
                    md5,
                })
            }),
        };
        Ok((module, damage))
    }
}

/// Returns the part of a fragment that says what the code is: all but the source files. A comment
/// that changes makes no other build.
pub(crate) fn code_of(fragment: &[u8]) -> &[u8] {
    let head = Head::read(fragment, 0);
    let parts = head.and_then(|head| head.split(fragment, 0));
    let sources = parts.map_or(0, |parts| parts.sources.0.len());
    &fragment[..fragment.len() - sources]
}

/// Returns the number of bytes of ring counters that the module of a fragment needs.
pub(crate) fn ring_counters_size(fragment: &[u8]) -> u64 {
    Head::read(fragment, 0).map_or(0, |head| 8 * u64::from(head.ring_counters))
}

/// Bytes of counters that a thread needs for the module of a fragment. `head` has at least the
/// fragment's first 64 bytes.
pub(crate) fn fragment_counters_size(head: &[u8]) -> Result<u64, FormatError> {
    Head::read(head, 0).map(|head| head.counters_size)
}

/// The counters of the functions of an undamaged fragment at offset `base` of its file. Nothing
/// else in the records of the functions is read.
///
/// # Errors
/// If the head, the index, or a record is damaged, or the counters of two functions overlap.
pub(crate) fn fragment_counters(
    bytes: &[u8],
    base: u64,
) -> Result<Vec<Option<FunctionCounters>>, FormatError> {
    let head = Head::read(bytes, base)?;
    let parts = head.split(bytes, base)?;
    let (records, start) = parts.records;
    let frames = Frames::new(parts.index.0, records, head.functions, start);
    if !frames.index_intact() {
        return Err(FormatError::Checksum {
            offset: parts.index.1,
        });
    }
    let mut functions = Vec::with_capacity(head.functions as usize);
    let mut ranges = Vec::with_capacity(head.functions as usize);
    for frame in frames {
        let counters = read_counters_only(frame.payload?, head.counters_size, head.ring_counters)?;
        ranges.push((counters.counters.offset(), counters.counters.size()));
        functions.push(Some(counters));
    }
    ranges.sort_unstable();
    let apart =
        ranges.is_sorted_by(|&(left, size), &(right, _)| left.saturating_add(size) <= right);
    match apart {
        true => Ok(functions),
        false => Err(FormatError::Counters { offset: base }),
    }
}

/// Reads the functions. A placeholder replaces a damaged function.
fn read_functions(
    head: &Head,
    parts: &Parts<'_>,
    strings: &Strings,
    damage: &mut Vec<Damage>,
) -> Vec<FunctionMap> {
    let frames = Frames::new(
        parts.index.0,
        parts.records.0,
        head.functions,
        parts.records.1,
    );
    if !frames.index_intact() {
        let fact = Fact::Index(Index::Functions);
        damage.push(Damage::of_file(DamagedFile::Map, parts.index.1, fact));
    }
    let mut functions = Vec::with_capacity(head.functions as usize);
    let mut offsets = Vec::with_capacity(head.functions as usize);
    for (number, frame) in frames.enumerate() {
        let function = frame.payload.and_then(|cursor| {
            read_function(cursor, strings, head.counters_size, head.ring_counters)
        });
        functions.push(function.unwrap_or_else(|error| {
            let lost = placeholder(frame.keys.map(|keys| keys.map(|key| strings.find(key))));
            let unreadable = Damage::of_file(
                DamagedFile::Map,
                error.offset().unwrap_or(frame.offset),
                error,
            );
            damage.push(unreadable.of_function(number, lost.display_name()));
            lost
        }));
        offsets.push(frame.offset);
    }
    remove_overlapping_functions(&mut functions, &offsets, damage);
    functions
}

fn placeholder(keys: Option<[Text; 2]>) -> FunctionMap {
    let [linkage_name, name] = keys.unwrap_or_default();
    FunctionMap {
        name,
        linkage_name,
        ..FunctionMap::default()
    }
}

struct Head {
    functions: u32,
    counters_size: u64,
    strings: u32,
    text: u32,
    name: u32,
    producer: u32,
    skipped: u32,
    gone: u32,
    records: u64,
    /// Number of ring counters.
    ring_counters: u32,
}

/// The bytes of a part, and their offset in the file.
type Part<'a> = (&'a [u8], u64);

struct Parts<'a> {
    strings: Part<'a>,
    text: &'a [u8],
    index: Part<'a>,
    skipped: Part<'a>,
    gone: Part<'a>,
    records: Part<'a>,
    sources: Part<'a>,
}

impl Head {
    fn read(bytes: &[u8], base: u64) -> Result<Self, FormatError> {
        let mut cursor = Cursor::new(bytes, base);
        if cursor.bytes(8)? != FRAGMENT_MAGIC {
            return Err(FormatError::NotAFragment);
        }
        let version = cursor.u32()?;
        check_version(version)?;
        let functions = cursor.u32()?;
        let counters_size = cursor.u64()?;
        let mut word = || cursor.u32();
        let (strings, text, name, producer, skipped, gone) =
            (word()?, word()?, word()?, word()?, word()?, word()?);
        let records = cursor.u64()?;
        let ring_counters = cursor.u32()?;
        if cursor.u32()? != crc32fast::hash(&bytes[..HEAD_SIZE - 4]) {
            return Err(FormatError::Head { offset: base });
        }
        Ok(Self {
            functions,
            counters_size,
            strings,
            text,
            name,
            producer,
            skipped,
            gone,
            records,
            ring_counters,
        })
    }

    /// Splits the bytes after the head into parts. Only the function records and the source files,
    /// which come last, may be cut short.
    fn split<'a>(&self, bytes: &'a [u8], base: u64) -> Result<Parts<'a>, FormatError> {
        let mut start = HEAD_SIZE as u64;
        let mut take = |size: u64| -> Result<Part<'a>, FormatError> {
            let end = start.saturating_add(size);
            let truncated = FormatError::Truncated {
                offset: base + bytes.len() as u64,
            };
            let (Ok(from), Ok(to)) = (usize::try_from(start), usize::try_from(end)) else {
                return Err(truncated);
            };
            let part = (bytes.get(from..to).ok_or(truncated)?, base + start);
            start = end;
            Ok(part)
        };
        let strings = take(8 * u64::from(self.strings))?;
        let text = take(self.text.into())?.0;
        let index = take(index_size(self.functions.into()))?;
        let skipped = take(16 * u64::from(self.skipped))?;
        let gone = take(12 * u64::from(self.gone))?;
        let remaining = bytes.len() as u64 - (gone.1 - base) - gone.0.len() as u64;
        let records = take(self.records.min(remaining))?;
        let sources = take(remaining - records.0.len() as u64)?;
        Ok(Parts {
            strings,
            text,
            index,
            skipped,
            gone,
            records,
            sources,
        })
    }
}

/// Reads entries of `4 * (N + 1)` bytes: `N` words, and a checksum. `make` gets the words and the
/// offset of the entry.
fn read_entries<T, const N: usize>(
    part: Part<'_>,
    damage: &mut Vec<Damage>,
    make: impl Fn([u32; N], u64) -> Result<T, FormatError>,
) -> Vec<T> {
    let size = 4 * (N + 1);
    let mut entries = Vec::with_capacity(part.0.len() / size);
    for (number, bytes) in part.0.chunks_exact(size).enumerate() {
        let offset = part.1 + (number * size) as u64;
        let entry = read_entry(number, bytes, offset).and_then(|words| make(words, offset));
        match entry {
            Ok(entry) => entries.push(entry),
            Err(error) => {
                let fact = Fact::LostEntry(error);
                damage.push(Damage::of_file(DamagedFile::Map, offset, fact));
            }
        }
    }
    entries
}

fn read_entry<const N: usize>(
    number: usize,
    bytes: &[u8],
    offset: u64,
) -> Result<[u32; N], FormatError> {
    let (entry, crc) = bytes.split_at(4 * N);
    if Cursor::new(crc, offset).u32()? != numbered_crc(number, entry) {
        return Err(FormatError::Checksum { offset });
    }
    let mut cursor = Cursor::new(entry, offset);
    let mut words = [0; N];
    for word in &mut words {
        *word = cursor.u32()?;
    }
    Ok(words)
}

/// Leaves out functions whose counters overlap another function's counters. Of two overlapping
/// functions, the function with the higher offset is left out.
fn remove_overlapping_functions(
    functions: &mut [FunctionMap],
    offsets: &[u64],
    damage: &mut Vec<Damage>,
) {
    let counters = functions.iter().map(|function| function.counters);
    let mut order: Vec<(u64, usize)> = counters
        .enumerate()
        .map(|(index, counters)| (counters.offset(), index))
        .collect();
    order.sort_unstable();
    let mut end = 0;
    for (start, index) in order {
        let function = &mut functions[index];
        if function.is_damaged() {
            continue;
        }
        if start < end {
            let error = FormatError::Counters {
                offset: offsets[index],
            };
            let overlap = Damage::of_file(DamagedFile::Map, offsets[index], error);
            damage.push(overlap.of_function(index, function.display_name()));
            *function = placeholder(Some([function.linkage_name.clone(), function.name.clone()]));
        } else {
            end = start.saturating_add(function.counters.size());
        }
    }
}
