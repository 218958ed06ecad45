//! The file of timings, `*.hwv`.
//!
//! The head has the form of `crate::result_file`: magic "HLWTIMES", version 2, the kind of data as
//! parameter, and the 25 numbers of [`VariationStats`] in the order of its fields.
//!
//! After the function (`crate::function_record`), a record's payload has (`v`: varint):
//! ```text
//! v number of paths, then each path, in ascending order:
//!     v path - (previous path + 1)
//!     the timing of its calm samples, the timing of its disturbed samples
//!     v number of samples of unknown time   v number of paths timed inside its samples
//!     the sums of t², n t, and n² over its bursts, each: v low 64 bits  v high 64 bits
//! a timing:
//!     1 byte: 0 if exclusive times are equal to inclusive times, 1 if they follow
//!     the distribution of inclusive times  [the distribution of exclusive times]
//! a distribution:
//!     v number of buckets with values; if it is not 0:
//!     v smallest value  v largest value - smallest value  v sum
//!     sum of the squares: v low 64 bits  v high 64 bits
//!     each bucket, in ascending order: v number - (previous number + 1)  v number of values
//! ```
//!
//! Example: path 3 with two calm samples, of 5 and 7 cycles, and no burst:
//! `03  00 02 05 02 0c 4a 00 05 01 01 01  00 00  00 00  00 00 00 00 00 00`.

use crate::cursor::Cursor;
use crate::damage::Damage;
use crate::error::FormatError;
use crate::frames::FrameWriter;
use crate::function_index::FunctionIndex;
use crate::function_record::{RecordedFunction, path_below, put_function};
use crate::image::ImageMap;
use crate::result_file::{FileType, ProcessImage, ResultHead};
use crate::units::{Count, Cycles};
use crate::variation::distribution::{Distribution, Sums};
use crate::variation::stats::{VARIATION_NUMBERS, VariationStats};
use crate::variation::timing::{Bursts, PathTimings, Timing};
use crate::varint::put;
use holloway_abi::Kind;

/// First eight bytes of the file.
pub const VARIATION_MAGIC: [u8; 8] = *b"HLWTIMES";
/// Version of the file.
pub const VARIATION_VERSION: u32 = 2;

const FILE_TYPE: FileType = FileType {
    magic: VARIATION_MAGIC,
    version: VARIATION_VERSION,
    mismatch: FormatError::NotTimings,
};

/// The head of a file of timings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VariationHead {
    /// The process and the image.
    pub process: ProcessImage,
    /// Kind of data: [`Kind::Variation`] or [`Kind::Times`].
    pub kind: Kind,
    /// Totals of the samples.
    pub stats: VariationStats,
}

/// The timings of one process and image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VariationProfile {
    /// The head.
    pub head: VariationHead,
    /// Functions with samples, ascending by module and function.
    pub functions: Vec<FunctionTimings>,
    /// Damage: the parts that could not be read.
    pub damage: Vec<Damage>,
}

/// The timings of one function's paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionTimings {
    /// The function.
    pub index: FunctionIndex,
    /// Hash of the function's graph in the map.
    pub hash: u64,
    /// Paths with samples, ascending by number.
    pub paths: Vec<PathTimings>,
}

/// Encodes the profile as a file. Equal profiles have equal bytes.
///
/// # Panics
/// If a function's record or a name has 4 GiB or more.
pub fn write_variation(profile: &VariationProfile) -> Vec<u8> {
    let mut functions = FrameWriter::default();
    let mut payload = Vec::new();
    for timings in &profile.functions {
        payload.clear();
        put_function(&mut payload, timings.index, timings.hash);
        put_paths(&mut payload, &timings.paths);
        functions.push(timings.index.keys(), &payload);
    }
    let VariationHead {
        process,
        kind,
        stats,
    } = profile.head.clone();
    ResultHead::new(process, kind.number(), stats).write(&FILE_TYPE, functions)
}

fn put_paths(out: &mut Vec<u8>, paths: &[PathTimings]) {
    put(out, paths.len() as u64);
    let mut next = 0;
    for path in paths {
        put(out, path.path.0 - next);
        put_timing(out, &path.calm);
        put_timing(out, &path.disturbed);
        put(out, path.unknown.0);
        put(out, path.nested.0);
        for sum in burst_sums(path.bursts) {
            put_u128(out, sum);
        }
        next = path.path.0 + 1;
    }
}

fn burst_sums(bursts: Bursts) -> [u128; 3] {
    [bursts.t_squared, bursts.n_t, bursts.n_squared]
}

fn put_u128(out: &mut Vec<u8>, value: u128) {
    put(out, value as u64);
    put(out, (value >> 64) as u64);
}

fn put_timing(out: &mut Vec<u8>, timing: &Timing) {
    out.push(u8::from(timing.exclusive.is_some()));
    put_distribution(out, &timing.inclusive);
    if let Some(exclusive) = &timing.exclusive {
        put_distribution(out, exclusive);
    }
}

fn put_distribution(out: &mut Vec<u8>, times: &Distribution) {
    let buckets = times.buckets().count();
    put(out, buckets as u64);
    if buckets == 0 {
        return;
    }
    let sums = times.sums();
    put(out, sums.least.0);
    put(out, sums.largest.0 - sums.least.0);
    put(out, sums.sum.0);
    put_u128(out, sums.squares);
    let mut next = 0;
    for bucket in times.buckets() {
        put(out, u64::from(bucket.number - next));
        put(out, bucket.count.0);
        next = bucket.number + 1;
    }
}

/// Decodes a file with the map of its image. Damaged functions are left out, and the profile lists
/// them as damage.
///
/// # Errors
/// If the bytes are not timings, have another version or another build than the map, or if the head
/// is damaged.
pub fn read_variation(bytes: &[u8], map: &ImageMap) -> Result<VariationProfile, FormatError> {
    let (file, head, size) = read_head(bytes)?;
    let (functions, damage) = file.records(bytes, size, map, read_function)?;
    Ok(VariationProfile {
        head,
        functions,
        damage,
    })
}

fn read_head(
    bytes: &[u8],
) -> Result<(ResultHead<VARIATION_NUMBERS>, VariationHead, usize), FormatError> {
    let (file, size) = ResultHead::read(bytes, &FILE_TYPE)?;
    let kind = Kind::from_number(file.parameter).filter(|kind| kind.is_timed());
    let kind = kind.ok_or(FormatError::Head { offset: 0 })?;
    let head = VariationHead {
        process: file.process(),
        kind,
        stats: file.stats(),
    };
    Ok((file, head, size))
}

fn read_function(
    recorded: RecordedFunction<'_>,
    cursor: &mut Cursor<'_>,
) -> Result<FunctionTimings, FormatError> {
    let count = cursor.count(13, "number of paths")?;
    let mut paths = Vec::with_capacity(count);
    let mut next = 0u64;
    for _ in 0..count {
        let path = next.saturating_add(cursor.var()?);
        let path = path_below(path, recorded.map.path_count, cursor)?;
        paths.push(PathTimings {
            path,
            calm: read_timing(cursor)?,
            disturbed: read_timing(cursor)?,
            unknown: Count(cursor.var()?),
            nested: Count(cursor.var()?),
            bursts: Bursts {
                t_squared: read_u128(cursor)?,
                n_t: read_u128(cursor)?,
                n_squared: read_u128(cursor)?,
            },
        });
        next = path.0 + 1;
    }
    Ok(FunctionTimings {
        index: recorded.index,
        hash: recorded.hash,
        paths,
    })
}

fn read_u128(cursor: &mut Cursor<'_>) -> Result<u128, FormatError> {
    Ok(u128::from(cursor.var()?) | u128::from(cursor.var()?) << 64)
}

fn read_timing(cursor: &mut Cursor<'_>) -> Result<Timing, FormatError> {
    let code = cursor.u8()?;
    let inclusive = read_distribution(cursor)?;
    let exclusive = match code {
        0 => None,
        1 => Some(Box::new(read_distribution(cursor)?)),
        code => {
            return Err(FormatError::Code {
                what: "kind of timing",
                code: code.into(),
                offset: cursor.offset(),
            });
        }
    };
    let offset = cursor.offset();
    match exclusive.as_ref().map(|times| times.count()) {
        Some(count) if count > inclusive.count() => Err(FormatError::Range {
            what: "samples whose own time is known",
            value: count.0,
            limit: inclusive.count().0.saturating_add(1),
            offset,
        }),
        _ => Ok(Timing {
            inclusive,
            exclusive,
        }),
    }
}

fn read_distribution(cursor: &mut Cursor<'_>) -> Result<Distribution, FormatError> {
    let bucket_count = cursor.count(2, "number of buckets")?;
    if bucket_count == 0 {
        return Ok(Distribution::default());
    }
    let offset = cursor.offset();
    let (least, range, sum) = (cursor.var()?, cursor.var()?, cursor.var()?);
    let squares = read_u128(cursor)?;
    let sums = Sums {
        sum: Cycles(sum),
        squares,
        least: Cycles(least),
        largest: Cycles(least.saturating_add(range)),
    };
    let mut buckets = Vec::with_capacity(bucket_count);
    let mut next = 0u64;
    for _ in 0..bucket_count {
        let number = next.saturating_add(cursor.var()?);
        let number = u16::try_from(number).unwrap_or(u16::MAX);
        buckets.push((number, Count(cursor.var()?)));
        next = u64::from(number) + 1;
    }
    let what = "bucket";
    Distribution::from_parts(sums, buckets).ok_or(FormatError::Order { what, offset })
}
