//! Loads that a program could prefetch, and how their addresses change from turn to turn (Perelman,
//! Chilimbi, Calder 2005, section 5.4).
//!
//! In a function's record, the list comes after the graph. It is written only if this list or a
//! later one (`loops.rs`, `cases.rs`, leaks) is not empty. The records of earlier versions end
//! before it.
//! ```text
//! list of loads: z block - previous load's block  place
//!                1 byte shape: 0 induction, 1 chain, 2 through, 3 field, 4 outer, 5 geometric,
//!                6 geometric and through, 7 rows
//!                z the stride (shapes 0, 2, 4, 7), the offset (1, 3), or the factor (5, 6)
//! ```
//! Example: a load in block 2 at line 5, column 9 of scope 0. The address grows by 4 bytes each
//! turn. The previous place has line 5, too: `01 04 00 00 09 00 08`.

use crate::cursor::Cursor;
use crate::error::FormatError;
use crate::map::place::{Place, Places, put_place, read_place};
use crate::varint::{put, put_signed};

/// A load in a loop whose next address can be predicted before the next turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// The block of the load.
    pub block: u32,
    /// The source place of the load.
    pub place: Place,
    /// How the address changes.
    pub shape: LoadShape,
}

/// How a load's address changes from one turn of its innermost loop to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadShape {
    /// The address grows by the same number of bytes each turn: `a[i]`.
    Induction {
        /// Bytes per turn.
        stride: i64,
    },
    /// The load is in a node of a list, and a pointer in the node leads to the next turn's node:
    /// `p->value` with `p = p->next`.
    Chain {
        /// Offset in a node of the pointer to the next node.
        offset: i64,
    },
    /// The address is computed from a value that another load, of shape `Induction`, has loaded:
    /// `*a[i]`, `b[a[i]]`.
    Through {
        /// Stride of the other load, in bytes per turn.
        stride: i64,
    },
    /// The address comes from a member of a list's node, and a pointer in the node leads to the
    /// next turn's node: `p->tail->mark` with `p = p->next`.
    Field {
        /// Offset in a node of the pointer to the next node.
        offset: i64,
    },
    /// The address takes the same steps in each turn of the loop around the innermost one, but
    /// shifted: `a[i][j]` with an inner loop over `i`, where `a[i]` is a pointer.
    Outer {
        /// Bytes per turn of the outer loop.
        stride: i64,
    },
    /// The index is multiplied in each turn: `a[i]` with `i = 2 * i`, as in a heap.
    Geometric {
        /// The factor per turn.
        factor: i64,
        /// Whether the load is not of the element, but of what the element points to: `a[i]->cost`.
        through: bool,
    },
    /// The address is computed from an element of a row, and each row begins where the row before
    /// it ends: `b[a[i]]` with an inner loop over the row's `i`, as in a graph or a sparse matrix.
    Rows {
        /// Bytes from one element to the next.
        stride: i64,
    },
}

impl LoadShape {
    fn code(self) -> (u8, i64) {
        match self {
            Self::Induction { stride } => (0, stride),
            Self::Chain { offset } => (1, offset),
            Self::Through { stride } => (2, stride),
            Self::Field { offset } => (3, offset),
            Self::Outer { stride } => (4, stride),
            Self::Geometric { factor, through } => (5 + u8::from(through), factor),
            Self::Rows { stride } => (7, stride),
        }
    }

    fn from_code(code: u8, number: i64) -> Option<Self> {
        match code {
            0 => Some(Self::Induction { stride: number }),
            1 => Some(Self::Chain { offset: number }),
            2 => Some(Self::Through { stride: number }),
            3 => Some(Self::Field { offset: number }),
            4 => Some(Self::Outer { stride: number }),
            5 | 6 => Some(Self::Geometric {
                factor: number,
                through: code == 6,
            }),
            7 => Some(Self::Rows { stride: number }),
            _ => None,
        }
    }
}

pub(super) fn put_loads(out: &mut Vec<u8>, loads: &[Load], last_line: &mut u32) {
    put(out, loads.len() as u64);
    let mut last = 0;
    for load in loads {
        put_signed(out, i64::from(load.block) - i64::from(last));
        last = load.block;
        put_place(out, load.place, last_line);
        let (code, number) = load.shape.code();
        out.push(code);
        put_signed(out, number);
    }
}

pub(super) fn read_loads(
    cursor: &mut Cursor<'_>,
    blocks: usize,
    places: &mut Places,
) -> Result<Vec<Load>, FormatError> {
    if cursor.end().is_ok() {
        return Ok(Vec::new());
    }
    let count = cursor.count(6, "number of loads")?;
    let mut loads = Vec::with_capacity(count);
    let mut last = 0;
    for _ in 0..count {
        let block = cursor.near(last, blocks as u64, "block of a load")?;
        last = block;
        let place = read_place(cursor, places)?;
        let offset = cursor.offset();
        let code = cursor.u8()?;
        let shape = LoadShape::from_code(code, cursor.signed()?);
        loads.push(Load {
            block,
            place,
            shape: shape.ok_or(FormatError::Code {
                what: "shape of a load",
                code: code.into(),
                offset,
            })?,
        });
    }
    Ok(loads)
}
