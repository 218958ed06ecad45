//! Paths that threads count beside their rings: whole activations and paths left in a call, where sequences over iterations are collected
//! ([`crate::map`], "Paths in streams").
//!
//! Counters lie behind a ring's words, in the same extent, and stay when the ring goes to another thread. Function `f` has its counter of path 0 at byte
//! [`FunctionMap::ring_counters`](crate::FunctionMap::ring_counters) behind them.
//!
//! Cost: linear in the counters.

use crate::image::ImageMap;
use crate::profile::FunctionCounts;
use crate::raw::RawProfile;

/// What these counters say, of all threads together; by module and function. Sums stay at their maximum.
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
        for (function, shape) in (0..).zip(&placed.module.functions) {
            let first = shape
                .ring_counters
                .and_then(|at| usize::try_from(at / 8).ok());
            let Some(own) = first.and_then(|first| sums.get(first..)) else {
                continue;
            };
            let own = (0..shape.ring_counter_count()).zip(own.iter().copied());
            let counts: Vec<(u64, u64)> = own.filter(|&(_, count)| count > 0).collect();
            if !counts.is_empty() {
                functions.push(FunctionCounts {
                    module,
                    function,
                    hash: shape.hash,
                    counts,
                });
            }
        }
    }
    functions
}
