//! Adds up the ring counters of all threads ([`crate::map`], "Ring counters").
//!
//! Ring counters lie behind a ring's words, in the same extent. If another thread reuses the ring,
//! it adds to the same counters. The counter of a function's path 0 is at byte
//! [`FunctionMap::ring_counters`](crate::FunctionMap::ring_counters).
//!
//! Cost: linear in the counters.

use crate::function_index::FunctionIndex;
use crate::image::ImageMap;
use crate::profile::FunctionCounts;
use crate::raw::RawProfile;
use crate::units::Count;

/// Returns the sums of all threads' ring counters, by module and function. Sums saturate.
pub fn ring_counts(raw: &RawProfile<'_>, map: &ImageMap) -> Vec<FunctionCounts> {
    let mut sums: Vec<u64> = Vec::new();
    for ring in raw.rings() {
        let counters: Vec<u64> = ring.counters().collect();
        sums.resize(sums.len().max(counters.len()), 0);
        for (sum, count) in sums.iter_mut().zip(counters) {
            *sum = sum.saturating_add(count);
        }
    }
    let mut functions = Vec::new();
    for (module, placed) in (0..).zip(&map.modules) {
        for (function, function_map) in (0..).zip(&placed.module.functions) {
            let first = function_map
                .ring_counters
                .and_then(|offset| usize::try_from(offset / 8).ok());
            let Some(sums) = first.and_then(|first| sums.get(first..)) else {
                continue;
            };
            let counts =
                (0..function_map.ring_counter_count()).zip(sums.iter().copied().map(Count));
            let counts: Vec<(u64, Count)> =
                counts.filter(|&(_, count)| count > Count::ZERO).collect();
            if !counts.is_empty() {
                let index = FunctionIndex { module, function };
                functions.push(FunctionCounts::new(index, function_map.hash, counts));
            }
        }
    }
    functions
}
