//! Facts about loops that only the compiler's metadata has, not the graph.
//!
//! In a function's record, the number of selects and this list come after the loads. They are
//! written only if there are selects, or if one of the lists of loads, loops, cases, and leaks is
//! not empty. The records of earlier versions end before them.
//! ```text
//! v selects
//! list of loops: z head - previous loop's head
//!                1 byte: 1 if a start follows + 2 if vectorized + 4 if `must_progress`
//!                [place: the start]  v copies  v peeled
//! ```
//! Example: a function with three selects and one loop. The loop's head is block 2. The loop starts
//! at line 5, column 9 of scope 0, must progress, has one copy, and no peeled turn. The previous
//! place has line 5, too: `03 01 04 05 00 00 09 01 00`.

use crate::cursor::Cursor;
use crate::error::FormatError;
use crate::map::place::{Place, Places, put_place, read_place};
use crate::varint::{put, put_signed};

/// A loop, as the compiler describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopMap {
    /// The loop's head: the target of its back edges.
    pub head: u32,
    /// Source place of the loop's keyword. A branch at this place is the loop's own condition
    /// (`for`, `while`), not a `break`.
    pub start: Option<Place>,
    /// Number of copies of the loop's code that one turn runs. It is more than 1 if the compiler
    /// unrolled the loop.
    pub copies: u32,
    /// Number of first turns that the compiler moved before the loop.
    pub peeled: u32,
    /// Whether the compiler vectorized the loop. Then a turn runs several iterations of the source.
    pub vectorized: bool,
    /// Whether the compiler may assume that the loop ends or has an effect. In C it may not assume
    /// this for a loop without a condition (`for (;;)`).
    pub must_progress: bool,
}

pub(super) fn put_loops(out: &mut Vec<u8>, selects: u32, loops: &[LoopMap], last_line: &mut u32) {
    put(out, selects.into());
    put(out, loops.len() as u64);
    let mut last = 0;
    for loop_map in loops {
        put_signed(out, i64::from(loop_map.head) - i64::from(last));
        last = loop_map.head;
        let flags = [
            loop_map.start.is_some(),
            loop_map.vectorized,
            loop_map.must_progress,
        ];
        out.push(
            (0..)
                .zip(flags)
                .map(|(bit, flag)| u8::from(flag) << bit)
                .sum(),
        );
        if let Some(place) = loop_map.start {
            put_place(out, place, last_line);
        }
        put(out, loop_map.copies.into());
        put(out, loop_map.peeled.into());
    }
}

/// Reads the number of selects, and the loops.
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
    fn the_example_has_the_documented_bytes() {
        let place = Place {
            scope: 0,
            line: 5,
            column: 9,
        };
        let loop_map = LoopMap {
            head: 2,
            start: Some(place),
            copies: 1,
            peeled: 0,
            vectorized: false,
            must_progress: true,
        };
        let mut bytes = Vec::new();
        put_loops(&mut bytes, 3, &[loop_map], &mut 5);
        assert_eq!(bytes, [3, 1, 4, 5, 0, 0, 9, 1, 0]);
    }
}
