//! Places in the source, and their scopes: the function, or a function inlined into it.

use crate::cursor::Cursor;
use crate::error::FormatError;
use crate::text::Text;
use crate::varint::{put, put_signed};

/// A place in the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Index of the place's scope in [`FunctionMap::scopes`](crate::FunctionMap::scopes).
    pub scope: u32,
    /// Line, 0 if unknown.
    pub line: u32,
    /// Column, 0 if unknown.
    pub column: u32,
}

/// A function, or a function that was inlined into it by one call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Source name. It may be empty.
    pub name: Text,
    /// Linkage name.
    pub linkage_name: Text,
    /// Source file.
    pub file: Text,
    /// Line of the declaration.
    pub line: u32,
    /// The scope into which this function was inlined. The parent always comes earlier in
    /// [`FunctionMap::scopes`](crate::FunctionMap::scopes), so that a walk from parent to parent
    /// ends. The parser rejects other maps.
    pub parent: Option<u32>,
    /// Line of the call in the parent.
    pub call_line: u32,
    /// Column of the call in the parent.
    pub call_column: u32,
}

pub(super) fn put_place(out: &mut Vec<u8>, place: Place, last_line: &mut u32) {
    put(out, place.scope.into());
    put_signed(out, i64::from(place.line) - i64::from(*last_line));
    put(out, place.column.into());
    *last_line = place.line;
}

/// The state for decoding a function's places.
pub(super) struct Places {
    /// Number of scopes of the function.
    scopes: usize,
    /// Line of the previous place.
    last_line: u32,
}

impl Places {
    /// The state before the first place of a function with this many scopes.
    pub(super) fn new(scopes: usize) -> Self {
        Self {
            scopes,
            last_line: 0,
        }
    }
}

#[inline]
pub(super) fn read_place(
    cursor: &mut Cursor<'_>,
    places: &mut Places,
) -> Result<Place, FormatError> {
    let scope = cursor.index(places.scopes, "scope")?;
    let line = cursor.near(places.last_line, 1 << 32, "line")?;
    places.last_line = line;
    Ok(Place {
        scope,
        line,
        column: cursor.var32()?,
    })
}
