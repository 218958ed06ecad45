//! The counters of a function, without the rest of its map.

use crate::cursor::Cursor;
use crate::error::FormatError;
use crate::map::function::{Counters, FunctionMap};
use crate::varint::put;

/// The kinds of counters in a table of counters.
const ARRAY: u8 = 0;
const HASH: u8 = 1;
const EDGES: u8 = 2;
const EDGES_AND_VALUES: u8 = 3;

/// The counters of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FunctionCounters {
    /// Where its counters are.
    pub(crate) counters: Counters,
    /// Hash of its graph.
    pub(crate) hash: u64,
    /// Number of possible paths; 0 where edges are counted.
    pub(crate) path_count: u64,
}

impl FunctionCounters {
    /// The counters of an intact function.
    pub(crate) fn of(function: &FunctionMap) -> Option<Self> {
        (!function.is_damaged()).then_some(Self {
            counters: function.counters,
            hash: function.hash,
            path_count: function.path_count,
        })
    }

    /// Appends the counters to a table of counters ([`crate::counter_map`]).
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        let (kind, offset, len) = match self.counters {
            Counters::Array { offset, len } => (ARRAY, offset, len),
            Counters::Hash { offset } => (HASH, offset, 0),
            Counters::Edges {
                offset,
                len,
                has_values,
            } => (
                if has_values { EDGES_AND_VALUES } else { EDGES },
                offset,
                len,
            ),
        };
        out.push(kind);
        for number in [offset, len, self.path_count] {
            put(out, number);
        }
        out.extend_from_slice(&self.hash.to_le_bytes());
    }

    /// Reads the counters of a function from a table of counters.
    pub(crate) fn read(cursor: &mut Cursor<'_>) -> Result<Self, FormatError> {
        let (start, kind) = (cursor.offset(), cursor.u8()?);
        let (offset, len) = (cursor.var()?, cursor.var()?);
        let counters = match kind {
            ARRAY => Counters::Array { offset, len },
            HASH => Counters::Hash { offset },
            EDGES | EDGES_AND_VALUES => Counters::Edges {
                offset,
                len,
                has_values: kind == EDGES_AND_VALUES,
            },
            code => {
                return Err(FormatError::Code {
                    what: "kind of counters",
                    code: code.into(),
                    offset: start,
                });
            }
        };
        Ok(Self {
            counters,
            path_count: cursor.var()?,
            hash: cursor.u64()?,
        })
    }

    /// The noun for the thing that its counters count: `path` or `edge counter`.
    pub(crate) fn counted_thing(&self) -> &'static str {
        self.counters.counted_thing()
    }

    /// The numbers of its paths, or of its edge counters, are below this limit.
    pub(crate) fn counter_limit(&self) -> u64 {
        self.counters.limit(self.path_count)
    }
}
