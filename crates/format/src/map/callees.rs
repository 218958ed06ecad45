//! The functions that a function calls directly, for the order of functions in a program.
//!
//! In a function's record, the list comes last. It is written only if it is not empty.
//! ```text
//! list of callees: z block - previous callee's block  v linkage name
//! ```
//! Example: block 2 calls `f` (string 7), then block 3 calls it again: `02 04 07 02 07`.

use crate::cursor::Cursor;
use crate::error::FormatError;
use crate::map::strings::{StringWriter, Strings};
use crate::text::Text;
use crate::varint::{put, put_signed};

/// A direct call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Callee {
    /// The block of the call.
    pub block: u32,
    /// The linkage name of the called function.
    pub name: Text,
}

pub(super) fn put_callees<'a>(
    out: &mut Vec<u8>,
    strings: &mut StringWriter<'a>,
    callees: &'a [Callee],
) {
    put(out, callees.len() as u64);
    let mut last = 0;
    for Callee { block, name } in callees {
        put_signed(out, i64::from(*block) - i64::from(last));
        last = *block;
        put(out, strings.number(name).into());
    }
}

pub(super) fn read_callees(
    cursor: &mut Cursor<'_>,
    blocks: usize,
    strings: &Strings,
) -> Result<Vec<Callee>, FormatError> {
    if cursor.end().is_ok() {
        return Ok(Vec::new());
    }
    let count = cursor.count(2, "number of callees")?;
    let mut callees = Vec::with_capacity(count);
    let mut last = 0;
    for _ in 0..count {
        let block = cursor.near(last, blocks as u64, "block of a callee")?;
        last = block;
        let offset = cursor.offset();
        let name = strings.get(cursor.var32()?, offset)?;
        callees.push(Callee { block, name });
    }
    Ok(callees)
}
