//! The counters of a function, without the rest of its map.

use crate::map::function::{Counters, FunctionMap};

/// The counters of a function.
#[derive(Clone, Copy, Debug)]
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

    /// The noun for the thing that its counters count: `path` or `edge counter`.
    pub(crate) fn counted_thing(&self) -> &'static str {
        self.counters.counted_thing()
    }

    /// The numbers of its paths, or of its edge counters, are below this limit.
    pub(crate) fn counter_limit(&self) -> u64 {
        self.counters.limit(self.path_count)
    }
}
