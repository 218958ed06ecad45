//! The contents of blocks: what their instructions do, and which functions they call. Only builds
//! for training have them.
//!
//! In a function's record, the list comes after the leaks. The records of earlier versions end
//! before it.
//! ```text
//! list of contents, one for each block: 4 bytes hash  list of strings
//!                                       v indirect calls  v sized operations
//! ```
//! Example: the entry block of an empty function calls the function with string 7, and copies
//! memory of a size that the compiler does not know. The exit is empty. The record has no loads,
//! selects, loops, cases, or leaks:
//! `00  00 00  00  00  02  12 34 56 78 01 07 00 01  00 00 00 00 00 00 00`.

use crate::cursor::Cursor;
use crate::error::FormatError;
use crate::map::strings::{StringWriter, Strings};
use crate::text::Text;
use crate::varint::put;

/// The content of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockContent {
    /// A hash of the instructions, without their operands. If the block has several parts, the
    /// first part has the hash and the callees of the whole block, and the others have none.
    pub hash: u32,
    /// The linkage names of the functions that the block calls directly, in order.
    pub callees: Vec<Text>,
    /// The number of its indirect calls.
    pub indirect_calls: u32,
    /// The number of its memory operations whose size the compiler does not know.
    pub sized_operations: u32,
}

pub(super) fn put_contents<'a>(
    out: &mut Vec<u8>,
    strings: &mut StringWriter<'a>,
    contents: &'a [BlockContent],
) {
    put(out, contents.len() as u64);
    for content in contents {
        out.extend_from_slice(&content.hash.to_le_bytes());
        put(out, content.callees.len() as u64);
        for callee in &content.callees {
            put(out, strings.number(callee).into());
        }
        put(out, content.indirect_calls.into());
        put(out, content.sized_operations.into());
    }
}

pub(super) fn read_contents(
    cursor: &mut Cursor<'_>,
    strings: &Strings,
) -> Result<Vec<BlockContent>, FormatError> {
    if cursor.end().is_ok() {
        return Ok(Vec::new());
    }
    let count = cursor.count(7, "number of contents of blocks")?;
    let mut contents = Vec::with_capacity(count);
    for _ in 0..count {
        let hash = cursor.u32()?;
        let callees = cursor.count(1, "number of callees")?;
        let callees = (0..callees).map(|_| {
            let offset = cursor.offset();
            strings.get(cursor.var32()?, offset)
        });
        let callees = callees.collect::<Result<_, _>>()?;
        contents.push(BlockContent {
            hash,
            callees,
            indirect_calls: cursor.var32()?,
            sized_operations: cursor.var32()?,
        });
    }
    Ok(contents)
}
