//! Facts about loops that the compiler's metadata has and the graph lacks.
//!
//! The list follows the loads and the number of selects in a function's record. These are written
//! only if one of them, or a list behind them, has an item. The maps of earlier builds end before
//! them.
//! ```text
//! v selects
//! list of loops: z head (less the previous one's)  1 byte: 1 if a start follows + 2 if vectorized
//!                + 4 if it has to end
//!                [place: the start]  v copies  v peeled
//! ```
//! Example: three selects; a loop with head 2 that starts at line 5, column 9 of scope 0 (line 5
//! was the previous place's), and has to end, one copy, nothing peeled: `03 01 04 05 00 00 09 01
//! 00`.

use crate::cursor::Cursor;
use crate::error::FormatError;
use crate::map::place::{Place, Places, put_place, read_place};
use crate::varint::{put, put_signed};

/// A loop, as the compiler describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopMap {
    /// The target of its back edges.
    pub head: u32,
    /// Source place of the loop's keyword. A branch at this place is the loop's own condition
    /// (`for`, `while`), not a `break`.
    pub start: Option<Place>,
    /// Copies of its code that one turn runs: more than 1 if the compiler unrolled it.
    pub copies: u32,
    /// Number of its first turns that the compiler put before the loop.
    pub peeled: u32,
    /// Whether the compiler vectorized it: a turn stands for several of the source's iterations.
    pub vectorized: bool,
    /// Whether the compiler may assume that it ends or has an effect. In C it may not if the source
    /// gives no condition (`for (;;)`).
    pub must_progress: bool,
}

pub(super) fn put_loops(out: &mut Vec<u8>, selects: u32, loops: &[LoopMap], last_line: &mut u32) {
    put(out, selects.into());
    put(out, loops.len() as u64);
    let mut last = 0;
    for described in loops {
        put_signed(out, i64::from(described.head) - i64::from(last));
        last = described.head;
        let flags = [
            described.start.is_some(),
            described.vectorized,
            described.must_progress,
        ];
        out.push(
            (0..)
                .zip(flags)
                .map(|(bit, flag)| u8::from(flag) << bit)
                .sum(),
        );
        if let Some(place) = described.start {
            put_place(out, place, last_line);
        }
        put(out, described.copies.into());
        put(out, described.peeled.into());
    }
}

/// The number of selects, and the loops.
pub(super) fn read_loops(
    cursor: &mut Cursor<'_>,
    blocks: usize,
    places: &mut Places,
) -> Result<(u32, Vec<LoopMap>), FormatError> {
    if cursor.end().is_ok() {
        return Ok((0, Vec::new()));
    }
    let selects = cursor.var32()?;
    let count = cursor.count(4, "number of loops")?;
    let mut loops = Vec::with_capacity(count);
    let mut last = 0;
    for _ in 0..count {
        let head = cursor.near(last, blocks as u64, "head of a loop")?;
        last = head;
        let offset = cursor.offset();
        let flags = cursor.u8()?;
        if flags > 7 {
            return Err(FormatError::Code {
                what: "description of a loop",
                code: flags.into(),
                offset,
            });
        }
        let start = match flags & 1 {
            0 => None,
            _ => Some(read_place(cursor, places)?),
        };
        loops.push(LoopMap {
            head,
            start,
            copies: cursor.var32()?,
            peeled: cursor.var32()?,
            vectorized: flags & 2 != 0,
            must_progress: flags & 4 != 0,
        });
    }
    Ok((selects, loops))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_read_and_written() {
        let place = Place {
            scope: 0,
            line: 5,
            column: 9,
        };
        let described = LoopMap {
            head: 2,
            start: Some(place),
            copies: 1,
            peeled: 0,
            vectorized: false,
            must_progress: true,
        };
        let mut bytes = Vec::new();
        put_loops(&mut bytes, 3, &[described], &mut 5);
        assert_eq!(bytes, [3, 1, 4, 5, 0, 0, 9, 1, 0]);
    }
}
