//! The common start of the function records in sealed profiles, forests, and timings.
//!
//! A record's payload begins with `v module  v function  8 bytes hash` (`v`: varint). This file
//! also reports lost records as [`Damage`].

use crate::cursor::Cursor;
use crate::damage::{Damage, DamagedFile, Fact};
use crate::error::FormatError;
use crate::frames::Frame;
use crate::function_index::FunctionIndex;
use crate::image::ImageMap;
use crate::map::FunctionMap;
use crate::varint::put;
use holloway_flow::PathId;

/// The function that a record is about.
#[derive(Clone, Copy)]
pub(crate) struct RecordedFunction<'a> {
    /// The function's indices.
    pub(crate) index: FunctionIndex,
    /// [`FunctionMap::structure_hash`] of the function.
    pub(crate) hash: u64,
    /// The function's map.
    pub(crate) map: &'a FunctionMap,
}

/// Writes the start of a function record's payload.
pub(crate) fn put_function(out: &mut Vec<u8>, index: FunctionIndex, hash: u64) {
    put(out, index.module.into());
    put(out, index.function.into());
    out.extend_from_slice(&hash.to_le_bytes());
}

/// Reads the start of a function record. Returns its function, and a cursor after the start.
///
/// Records ascend by module and function, so the function must come after `last`, the function of
/// the previous record.
///
/// # Errors
/// If the record is damaged or out of order, or if its function has another structure in the map.
pub(crate) fn read_function<'a, 'm>(
    frame: Frame<'a>,
    map: &'m ImageMap,
    last: Option<FunctionIndex>,
) -> Result<(RecordedFunction<'m>, Cursor<'a>), FormatError> {
    let offset = frame.offset;
    let mut cursor = frame.payload?;
    let module = cursor.index(map.modules.len(), "module")?;
    let functions = &map.modules[module as usize].module.functions;
    let function = cursor.index(functions.len(), "function")?;
    let index = FunctionIndex { module, function };
    if last >= Some(index) {
        let what = "function";
        return Err(FormatError::Order { what, offset });
    }
    let function_map = &functions[function as usize];
    if function_map.is_damaged() {
        return Err(FormatError::NoMap { offset });
    }
    let hash = cursor.u64()?;
    if hash != function_map.hash {
        return Err(FormatError::OtherFunction { offset });
    }
    let recorded = RecordedFunction {
        index,
        hash,
        map: function_map,
    };
    Ok((recorded, cursor))
}

/// The damage of a record that cannot be read. If the index is intact, its keys identify the
/// function.
pub(crate) fn lost_record(
    map: &ImageMap,
    keys: Option<[u32; 2]>,
    offset: u64,
    error: FormatError,
) -> Damage {
    let offset = error.offset().unwrap_or(offset);
    match keys {
        Some([module, function]) => {
            let index = FunctionIndex { module, function };
            lost_function(map, index, offset, error)
        }
        None => {
            let fact = Fact::LostFunction(error);
            Damage::of_file(DamagedFile::Profile, offset, fact)
        }
    }
}

/// The damage that leaves out a function of a profile.
pub(crate) fn lost_function(
    map: &ImageMap,
    index: FunctionIndex,
    offset: u64,
    fact: impl Into<Fact>,
) -> Damage {
    let (module, function) = (index.module as usize, index.function as usize);
    let name = map
        .modules
        .get(module)
        .and_then(|placed| placed.module.functions.get(function));
    let name = name.map_or("", |function| function.display_name());
    Damage::of_file(DamagedFile::Profile, offset, fact)
        .of_function(function, name)
        .in_module(module)
}

/// Checks that the path number `value` is less than `limit`.
///
/// # Errors
/// If the path number is out of range. The error has the offset of the cursor.
pub(crate) fn path_below(
    value: u64,
    limit: u64,
    cursor: &Cursor<'_>,
) -> Result<PathId, FormatError> {
    if value < limit {
        return Ok(PathId(value));
    }
    Err(FormatError::Range {
        what: "path",
        value,
        limit,
        offset: cursor.offset(),
    })
}
