//! Names of a switch's cases, from debug information: enumerators, variants, numbers, characters.
//!
//! In a function's record, the list comes after the loops (`loops.rs`). The records of earlier
//! versions end before it.
//! ```text
//! list of cases: z edge - (previous edge + 1)  list of strings
//! ```
//! Example: the switch takes edge 3 for `A` and `B` (strings 7 and 8). The record has no loads,
//! selects, loops, or leaks: `00  00 00  01  06  02 07 08  00`.

use crate::cursor::Cursor;
use crate::error::FormatError;
use crate::map::strings::{StringWriter, Strings};
use crate::text::Text;
use crate::varint::{put, put_signed};

/// The cases for which a switch takes an edge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaseNames {
    /// The edge.
    pub edge: u32,
    /// The names of these cases, in the order of the switch.
    pub names: Vec<Text>,
}

pub(super) fn put_cases<'a>(
    out: &mut Vec<u8>,
    strings: &mut StringWriter<'a>,
    cases: &'a [CaseNames],
) {
    put(out, cases.len() as u64);
    let mut next = 0u32;
    for CaseNames { edge, names } in cases {
        put_signed(out, i64::from(*edge) - i64::from(next));
        next = edge.wrapping_add(1);
        put(out, names.len() as u64);
        for name in names {
            put(out, strings.number(name).into());
        }
    }
}

pub(super) fn read_cases(
    cursor: &mut Cursor<'_>,
    edges: usize,
    strings: &Strings,
) -> Result<Vec<CaseNames>, FormatError> {
    if cursor.end().is_ok() {
        return Ok(Vec::new());
    }
    let count = cursor.count(2, "number of cases")?;
    let mut cases = Vec::with_capacity(count);
    let mut next = 0u32;
    for _ in 0..count {
        let edge = cursor.near(next, edges as u64, "edge of a case")?;
        next = edge.wrapping_add(1);
        let names = cursor.count(1, "number of names")?;
        let names = (0..names).map(|_| {
            let offset = cursor.offset();
            strings.get(cursor.var32()?, offset)
        });
        let names = names.collect::<Result<_, _>>()?;
        cases.push(CaseNames { edge, names });
    }
    Ok(cases)
}
