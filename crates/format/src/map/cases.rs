//! Names of a switch's cases, from debug information: enumerators, variants, numbers, characters.
//!
//! The list follows the loops (`loops.rs`). The maps of earlier builds end before it.
//! ```text
//! list of cases: z edge (less the previous one's + 1)  list of strings
//! ```
//! Example: edge 3 is taken for `A` and `B` (strings 7 and 8), no loads, selects, loops,
//! or leaks: `00  00 00  01  06  02 07 08  00`.

use crate::cursor::Cursor;
use crate::error::FormatError;
use crate::map::strings::{StringWriter, Strings};
use crate::text::Text;
use crate::varint::{put, put_signed};

/// The cases of a switch that lead along an edge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaseNames {
    /// The edge.
    pub edge: u32,
    /// All cases that lead along it, in the order of the switch.
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
