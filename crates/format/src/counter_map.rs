//! Where the counters of an image's functions are: the part of a path map that the reading of
//! counters needs.
//!
//! A large program's path map takes 100 ms to read. So a compressed path map ends with a *table of
//! counters* ([`CounterMap::encode`]), which takes less than a millisecond:
//!
//! ```text
//! v number of modules
//! each module:    v base  v number of functions
//! each function:  1 byte kind of counters (0 array, 1 hash table, 2 edges,
//!                 3 edges and values)  v offset
//!                 v number of counters (0 for a hash table)  v number of paths  8 bytes hash
//! ```
//! (`v`: varint.) For example, a module at 0 with one function, which has 3 counters at offset 8, 2
//! paths, and the hash 1: `01 00 01 00 08 03 02 01 00 00 00 00 00 00 00`.
//!
//! Without such a table, [`read_used`] reads the parts of the modules that ran.

use std::ops::Range;

use crate::cursor::Cursor;
use crate::error::FormatError;
use crate::image::{ImageMap, ModuleTable, ReadRange};
use crate::map::{FunctionCounters, fragment_counters, fragment_counters_size};
use crate::varint::put;

/// The counters of an image.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CounterMap {
    /// The counters of its modules.
    pub(crate) modules: Vec<ModuleCounters>,
}

/// The counters of a module.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ModuleCounters {
    /// Offset of the module's counters in a thread's block.
    pub(crate) base: u64,
    /// Its functions. `None` if the function's record is damaged.
    pub(crate) functions: Vec<Option<FunctionCounters>>,
}

impl CounterMap {
    /// Encodes the table of counters. `None` if a function is missing.
    pub(crate) fn encode(&self) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        put(&mut out, self.modules.len() as u64);
        for module in &self.modules {
            put(&mut out, module.base);
            put(&mut out, module.functions.len() as u64);
            for function in &module.functions {
                function.as_ref()?.put(&mut out);
            }
        }
        Some(out)
    }

    /// Decodes a table of counters.
    ///
    /// # Errors
    /// If the bytes are no such table.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let mut cursor = Cursor::new(bytes, 0);
        let count = cursor.count(2, "number of modules")?;
        let mut modules = Vec::with_capacity(count);
        for _ in 0..count {
            let base = cursor.var()?;
            let count = cursor.count(12, "number of functions")?;
            let functions = (0..count).map(|_| FunctionCounters::read(&mut cursor).map(Some));
            modules.push(ModuleCounters {
                base,
                functions: functions.collect::<Result<_, _>>()?,
            });
        }
        cursor.end()?;
        Ok(Self { modules })
    }

    /// The counters of the functions in `map`.
    pub(crate) fn of(map: &ImageMap) -> Self {
        let modules = map.modules.iter().map(|placed| ModuleCounters {
            base: placed.base,
            functions: (placed.module.functions.iter())
                .map(FunctionCounters::of)
                .collect(),
        });
        Self {
            modules: modules.collect(),
        }
    }
}

/// Reads the counters of the modules whose range of a thread's block `is_used`. The functions of
/// other modules are left out.
///
/// # Errors
/// If the map is of another build, or any part that is read is damaged. The caller ignores which
/// error it is. It reads the whole map instead, which gives the details.
pub(crate) fn read_used(
    read: &mut ReadRange<'_>,
    build_id: &[u8; 16],
    is_used: impl Fn(Range<u64>) -> bool,
) -> Result<CounterMap, FormatError> {
    let table = ModuleTable::read(read)?;
    if table.build_id != *build_id {
        // A map of another build. Reading the whole map gives `FormatError::BuildMismatch`.
        return Err(FormatError::Head { offset: 16 });
    }
    let mut modules = Vec::new();
    let mut ranges = Vec::new();
    for placed in table.modules()? {
        let mut fragment = |length: u64| {
            let bytes = read(placed.offset..placed.offset.saturating_add(length));
            bytes.ok_or(FormatError::Truncated {
                offset: placed.offset,
            })
        };
        let size = fragment_counters_size(&fragment(placed.length.min(64))?)?;
        let range = placed.base..placed.base.saturating_add(size);
        if range.is_empty() || !is_used(range.clone()) {
            modules.push(ModuleCounters::default());
            continue;
        }
        ranges.push(range);
        modules.push(ModuleCounters {
            base: placed.base,
            functions: fragment_counters(&fragment(placed.length)?, placed.offset)?,
        });
    }
    ranges.sort_unstable_by_key(|range| range.start);
    match ranges.is_sorted_by(|left, right| left.end <= right.start) {
        true => Ok(CounterMap { modules }),
        false => Err(FormatError::Counters { offset: 0 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::Counters;

    fn function(counters: Counters, path_count: u64, hash: u64) -> FunctionCounters {
        FunctionCounters {
            counters,
            hash,
            path_count,
        }
    }

    fn map(modules: &[(u64, &[FunctionCounters])]) -> CounterMap {
        let modules = modules.iter().map(|&(base, functions)| ModuleCounters {
            base,
            functions: functions.iter().copied().map(Some).collect(),
        });
        CounterMap {
            modules: modules.collect(),
        }
    }

    #[test]
    fn the_example_of_the_table() {
        let map = map(&[(0, &[function(Counters::Array { offset: 8, len: 3 }, 2, 1)])]);
        let table = [1, 0, 1, 0, 8, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(map.encode(), Some(table.to_vec()));
        assert_eq!(CounterMap::decode(&table), Ok(map));
    }

    #[test]
    fn tables_survive_and_their_beginnings_are_refused() {
        let edges = |has_values| Counters::Edges {
            offset: 64,
            len: 9,
            has_values,
        };
        let first = [
            function(Counters::Hash { offset: 1 << 40 }, u64::MAX, 7),
            function(edges(false), 0, u64::MAX),
            function(edges(true), 0, 8),
        ];
        let array = Counters::Array {
            offset: 0,
            len: 300,
        };
        let map = map(&[(0, &first), (1 << 50, &[]), (640, &[function(array, 5, 0)])]);
        let table = map.encode().expect("no function is missing");
        for length in 0..table.len() {
            assert!(CounterMap::decode(&table[..length]).is_err(), "{length}");
        }
        assert_eq!(CounterMap::decode(&table), Ok(map));

        let damaged = CounterMap {
            modules: vec![ModuleCounters {
                base: 0,
                functions: vec![None],
            }],
        };
        assert_eq!(damaged.encode(), None);
    }
}
