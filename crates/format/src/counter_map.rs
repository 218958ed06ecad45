//! Where the counters of an image's functions are: the part of a path map that the reading of
//! counters needs.
//!
//! A large program's path map takes 100 ms to read, and a short process runs a few of its modules.
//! [`read_used`] reads the parts of those modules only.

use std::ops::Range;

use crate::error::FormatError;
use crate::image::{ImageMap, ModuleTable, ReadRange};
use crate::map::{FunctionCounters, fragment_counters, fragment_counters_size};

/// The counters of an image.
pub(crate) struct CounterMap {
    /// The counters of its modules.
    pub(crate) modules: Vec<ModuleCounters>,
}

/// The counters of a module.
#[derive(Default)]
pub(crate) struct ModuleCounters {
    /// Offset of the module's counters in a thread's block.
    pub(crate) base: u64,
    /// Its functions. `None` if the function's record is damaged.
    pub(crate) functions: Vec<Option<FunctionCounters>>,
}

impl CounterMap {
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
