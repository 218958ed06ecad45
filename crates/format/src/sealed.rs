//! Sealed profiles: the compact form of a profile with checksums, written after the process has
//! ended.
//!
//! ```text
//! OFFSET SIZE MEANING
//!      0    8  "HLWSEALD"
//!      8    4  format version, 5
//!     12    4  kind of data
//!     16   16  build id of the image
//!     32    4  process id                 36  4  parent's process id
//!     40    8  start: nanoseconds since 1970
//!     48    8  number of losses (`ProfileHead::lost`)
//!     56    4  threads                    60  4  flags (RawHeader)
//!     64    4  n: number of functions     68  4  d: number of notes of damage
//!     72    4  l: length of image name    76  4  p: length of the image's path
//!     80    8  r: bytes of function records
//!     88    l  image name, UTF-8
//!   88+l    p  path of the image's file (any bytes)
//!      …    4  crc32 of all bytes before it
//!      … 12n+4  index of the function records (crate::frames): keys are module and function
//!      … 12d+4  index of the notes: keys are 0
//!      …    r  function records (crate::frames), ascending by module and function
//!      …       notes of damage (crate::frames)
//! ```
//! The payload of a function's record (`v`: varint):
//! ```text
//! v module  v function  8 bytes hash  v number of pairs
//! each pair, ascending by path: v path - (previous path + 1)  v count
//! ```
//! If edges are counted, the number of the edge counter replaces the path. The counts of values
//! ([`crate::SiteValue`]), if there are any, follow in the same form, with the keys of the values
//! in place of paths. The payload of a note:
//! ```text
//! 1 byte file (0 map, 1 profile)  v module + 1 (0: none)  v function + 1 (0: none)  v offset
//! v length of the name, name  v length of the text, text
//! ```
//! The head has the number of records, so the parser detects a truncated file.
//!
//! Example: function 2 of module 0 (hash 0) ran path 0 five times and path 300 once: `00 02 00×8 02
//! 00 05 ab 02 01`.

use crate::cursor::{Cursor, known_kind};
use crate::damage::{Damage, DamagedFile, Fact, Index};
use crate::error::FormatError;
use crate::frames::{Frame, FrameWriter, Frames, index_size};
use crate::function_index::FunctionIndex;
use crate::function_record::{self, lost_record};
use crate::image::ImageMap;
use crate::profile::{
    FunctionCounts, Profile, ProfileHead, WriteFailure, add_up, bytes_of_path, path_of_bytes,
};
use crate::units::Count;
use crate::varint::put;
use crate::version::{MAP_VERSION, check_version};

/// First eight bytes of a sealed profile.
pub const SEALED_MAGIC: [u8; 8] = *b"HLWSEALD";

/// Encodes the profile as a sealed file. The order of the functions and of their counts does not
/// affect the bytes.
///
/// # Panics
/// If the record of a function or a name has 4 GiB or more.
pub fn write_sealed(profile: &Profile) -> Vec<u8> {
    let mut functions = FrameWriter::default();
    let mut order: Vec<&FunctionCounts> = profile.functions.iter().collect();
    order.sort_by_key(|counts| counts.index);
    let mut payload = Vec::new();
    for counts in order {
        payload.clear();
        put_function(&mut payload, counts);
        functions.push(counts.index.keys(), &payload);
    }
    let mut notes = FrameWriter::default();
    for damage in &profile.damage {
        payload.clear();
        put_note(&mut payload, damage);
        notes.push([0, 0], &payload);
    }
    let (function_count, note_count) = (functions.len(), notes.len());
    let (index, records) = functions.finish();
    let (notes_index, notes) = notes.finish();
    let mut out = write_head(
        &profile.head,
        function_count,
        note_count,
        records.len() as u64,
    );
    for part in [index, notes_index, records, notes] {
        out.extend_from_slice(&part);
    }
    out
}

fn write_head(head: &ProfileHead, functions: u32, notes: u32, records: u64) -> Vec<u8> {
    let mut out = SEALED_MAGIC.to_vec();
    let length = |name: &[u8]| u32::try_from(name.len()).expect("a name is below 4 GiB");
    for word in [MAP_VERSION, head.kind.number()] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    out.extend_from_slice(&head.build_id);
    for word in [head.pid, head.ppid] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    for word in [head.start_ns, head.lost] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    let failure = head.failure.map_or(0, WriteFailure::flags);
    let flags = u32::from(head.forked) | failure;
    for word in [
        head.threads,
        flags,
        functions,
        notes,
        length(head.image.as_bytes()),
        length(bytes_of_path(&head.image_path)),
    ] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    out.extend_from_slice(&records.to_le_bytes());
    out.extend_from_slice(head.image.as_bytes());
    out.extend_from_slice(bytes_of_path(&head.image_path));
    let crc = crc32fast::hash(&out);
    out.extend_from_slice(&crc.to_le_bytes());
    out
}

fn put_function(out: &mut Vec<u8>, counts: &FunctionCounts) {
    let mut pairs = counts.counts.clone();
    add_up(&mut pairs);
    function_record::put_function(out, counts.index, counts.hash);
    put_pairs(out, &pairs);
    if !counts.values.is_empty() {
        let mut pairs = counts.values.clone();
        add_up(&mut pairs);
        put_pairs(out, &pairs);
    }
}

fn put_pairs(out: &mut Vec<u8>, pairs: &[(u64, Count)]) {
    put(out, pairs.len() as u64);
    let mut next = 0;
    for &(number, count) in pairs {
        put(out, number - next);
        put(out, count.0);
        // Numbers ascend, so only the last one can be u64::MAX.
        next = number.wrapping_add(1);
    }
}

fn put_note(out: &mut Vec<u8>, damage: &Damage) {
    out.push(match damage.file {
        DamagedFile::Map => 0,
        DamagedFile::Profile => 1,
    });
    put(out, damage.module.map_or(0, |module| u64::from(module) + 1));
    put(
        out,
        damage
            .function
            .map_or(0, |function| u64::from(function) + 1),
    );
    put(out, damage.offset);
    for text in [&damage.name, &damage.fact.to_string()] {
        put(out, text.len() as u64);
        out.extend_from_slice(text.as_bytes());
    }
}

struct Head {
    profile: ProfileHead,
    /// Number of functions.
    functions: u32,
    /// Number of notes.
    notes: u32,
    /// Bytes of function records.
    records: u64,
    /// Size of the head.
    size: usize,
}

impl Head {
    fn read(bytes: &[u8]) -> Result<Self, FormatError> {
        let mut cursor = Cursor::new(bytes, 0);
        if !bytes.starts_with(&SEALED_MAGIC) {
            return Err(FormatError::NotAProfile);
        }
        cursor.bytes(8)?;
        let version = cursor.u32()?;
        check_version(version)?;
        let (kind, build_id) = (cursor.u32()?, cursor.id()?);
        let process = ProfileHead::read_process(&mut cursor)?;
        let (functions, notes) = (cursor.u32()?, cursor.u32()?);
        let (image, path) = (cursor.u32()? as usize, cursor.u32()? as usize);
        let records = cursor.u64()?;
        let (image, image_path) = (cursor.bytes(image)?, cursor.bytes(path)?);
        let end = cursor.offset() as usize;
        let damaged = FormatError::Head { offset: 0 };
        if cursor.u32()? != crc32fast::hash(&bytes[..end]) {
            return Err(damaged);
        }
        let Ok(image) = str::from_utf8(image).map(str::to_owned) else {
            return Err(damaged);
        };
        let image_path = path_of_bytes(image_path);
        let profile = ProfileHead {
            sealed: true,
            kind: known_kind(kind)?,
            build_id,
            image,
            image_path,
            ..process
        };
        Ok(Self {
            profile,
            functions,
            notes,
            records,
            size: end + 4,
        })
    }
}

/// Reads the head of a sealed profile.
pub(crate) fn read_head(bytes: &[u8]) -> Result<ProfileHead, FormatError> {
    Head::read(bytes).map(|head| head.profile)
}

/// Reads a sealed profile. The caller has checked that the map has the same build and kind.
pub(crate) fn read(bytes: &[u8], map: &ImageMap) -> Result<Profile, FormatError> {
    let head = Head::read(bytes)?;
    let mut cursor = Cursor::new(&bytes[head.size..], head.size as u64);
    let length = |size: u64| usize::try_from(size).unwrap_or(usize::MAX);
    let index = cursor.bytes(length(index_size(head.functions.into())))?;
    let notes_index = cursor.bytes(length(index_size(head.notes.into())))?;
    let start = cursor.offset();
    let after_indexes = &bytes[start as usize..];
    let records_size = length(head.records).min(after_indexes.len());
    let (records, notes) = after_indexes.split_at(records_size);
    let mut profile = Profile::from_head(head.profile);

    let frames = Frames::new(index, records, head.functions, start);
    let notes = Frames::new(notes_index, notes, head.notes, start + records.len() as u64);
    for is_intact in [frames.index_intact(), notes.index_intact()] {
        if !is_intact {
            let fact = Fact::Index(Index::SealedRecords);
            profile.damage.push(Damage::of_file(
                DamagedFile::Profile,
                head.size as u64,
                fact,
            ));
        }
    }
    let mut last = None;
    for frame in frames {
        let (keys, offset) = (frame.keys, frame.offset);
        match read_function(frame, map, last) {
            Ok(counts) => {
                last = Some(counts.index);
                profile.functions.push(counts);
            }
            Err(error) => profile.damage.push(lost_record(map, keys, offset, error)),
        }
    }
    for frame in notes {
        let offset = frame.offset;
        profile
            .damage
            .push(frame.payload.and_then(read_note).unwrap_or_else(|error| {
                Damage::of_file(DamagedFile::Profile, offset, Fact::LostNote(error))
            }));
    }
    Ok(profile)
}

fn read_function(
    frame: Frame<'_>,
    map: &ImageMap,
    last: Option<FunctionIndex>,
) -> Result<FunctionCounts, FormatError> {
    let (recorded, mut cursor) = function_record::read_function(frame, map, last)?;
    let function_map = recorded.map;
    let limit = function_map.counter_limit();
    let counts = read_pairs(&mut cursor, function_map.counted_thing(), limit)?;
    let values = match function_map.counters.values() {
        Some(_) if cursor.end().is_err() => read_pairs(&mut cursor, "value", u64::MAX)?,
        Some(_) | None => Vec::new(),
    };
    cursor.end()?;
    Ok(FunctionCounts {
        index: recorded.index,
        hash: recorded.hash,
        counts,
        values,
    })
}

/// Reads pairs of numbers below `limit` and their counts. `noun` names a number in errors.
fn read_pairs(
    cursor: &mut Cursor<'_>,
    noun: &'static str,
    limit: u64,
) -> Result<Vec<(u64, Count)>, FormatError> {
    let count = cursor.count(2, "number of counts")?;
    let mut pairs = Vec::with_capacity(count);
    let mut next = 0u64;
    for _ in 0..count {
        let offset = cursor.offset();
        let number = next.checked_add(cursor.var()?);
        let number = number.filter(|&number| number < limit);
        let number = number.ok_or(FormatError::Range {
            what: noun,
            value: next,
            limit,
            offset,
        })?;
        let count = cursor.var()?;
        if count == 0 {
            return Err(FormatError::Code {
                what: "count",
                code: 0,
                offset,
            });
        }
        pairs.push((number, Count(count)));
        next = number + 1;
    }
    Ok(pairs)
}

fn read_note(mut cursor: Cursor<'_>) -> Result<Damage, FormatError> {
    let start = cursor.offset();
    let file = match cursor.u8()? {
        0 => DamagedFile::Map,
        1 => DamagedFile::Profile,
        code => {
            return Err(FormatError::Code {
                what: "damaged file",
                code: code.into(),
                offset: start,
            });
        }
    };
    let optional = |value: u64| {
        value
            .checked_sub(1)
            .and_then(|index| u32::try_from(index).ok())
    };
    let (module, function, offset) = (
        optional(cursor.var()?),
        optional(cursor.var()?),
        cursor.var()?,
    );
    let mut text = || -> Result<String, FormatError> {
        let length = cursor.count(1, "length of a text")?;
        Ok(String::from_utf8_lossy(cursor.bytes(length)?).into_owned())
    };
    let (name, fact) = (text()?, Fact::parse(text()?));
    cursor.end()?;
    Ok(Damage {
        file,
        module,
        function,
        name,
        offset,
        fact,
    })
}
