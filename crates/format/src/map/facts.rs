//! Facts about blocks that neither the graph nor the places show: what the code of a block does.
//! Advice for people needs them, and no count depends on them.
//!
//! In a function's record, the list comes after the leaks. It is written only if it is not empty.
//! ```text
//! list of facts: z block - previous fact's block  1 byte kind: 0 allocates, 1 waits, 2 bytes
//!                place
//! ```
//! Example: block 3 calls an allocator at line 5, column 9 of scope 0. The previous place has line
//! 5, too: `01 06 00 00 00 09`.

use crate::cursor::Cursor;
use crate::error::FormatError;
use crate::map::place::{Place, Places, put_place, read_place};
use crate::varint::{put, put_signed};

/// What the code of a block does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockFact {
    /// The block. For a fact about a loop: the loop's head.
    pub block: u32,
    /// What it does.
    pub kind: FactKind,
    /// The source place of the code.
    pub place: Place,
}

/// The sorts of facts about blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactKind {
    /// The block calls a function that allocates memory.
    Allocates,
    /// The loop waits for another thread: it reads memory that others change, or tells the
    /// processor or the system to wait, and it neither stores nor calls anything else.
    Waits,
    /// The innermost loop reads or writes memory byte by byte, and neither calls anything nor was
    /// vectorized.
    Bytes,
}

impl FactKind {
    fn code(self) -> u8 {
        match self {
            Self::Allocates => 0,
            Self::Waits => 1,
            Self::Bytes => 2,
        }
    }

    fn from_code(code: u8) -> Option<Self> {
        [Self::Allocates, Self::Waits, Self::Bytes]
            .into_iter()
            .find(|kind| kind.code() == code)
    }
}

pub(super) fn put_facts(out: &mut Vec<u8>, facts: &[BlockFact], last_line: &mut u32) {
    put(out, facts.len() as u64);
    let mut last = 0;
    for fact in facts {
        put_signed(out, i64::from(fact.block) - i64::from(last));
        last = fact.block;
        out.push(fact.kind.code());
        put_place(out, fact.place, last_line);
    }
}

pub(super) fn read_facts(
    cursor: &mut Cursor<'_>,
    blocks: usize,
    places: &mut Places,
) -> Result<Vec<BlockFact>, FormatError> {
    if cursor.end().is_ok() {
        return Ok(Vec::new());
    }
    let count = cursor.count(5, "number of facts")?;
    let mut facts = Vec::with_capacity(count);
    let mut last = 0;
    for _ in 0..count {
        let block = cursor.near(last, blocks as u64, "block of a fact")?;
        last = block;
        let offset = cursor.offset();
        let code = cursor.u8()?;
        let Some(kind) = FactKind::from_code(code) else {
            return Err(FormatError::Code {
                what: "kind of fact",
                code: code.into(),
                offset,
            });
        };
        facts.push(BlockFact {
            block,
            kind,
            place: read_place(cursor, places)?,
        });
    }
    Ok(facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_has_the_documented_bytes() {
        let place = Place {
            scope: 0,
            line: 5,
            column: 9,
        };
        let fact = BlockFact {
            block: 3,
            kind: FactKind::Allocates,
            place,
        };
        let mut bytes = Vec::new();
        put_facts(&mut bytes, &[fact], &mut 5);
        assert_eq!(bytes, [1, 6, 0, 0, 0, 9]);
    }
}
