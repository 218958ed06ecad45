//! The counts of paths that threads count behind their rings ([`crate::map`], "Ring counters").
//!
//! Ring counters lie behind a ring's words, in the same extent. They stay when the ring goes to
//! another thread. A function has the counter of its path 0 at byte
//! [`FunctionMap::ring_counters`](crate::FunctionMap::ring_counters).
//!
//! Cost: linear in the counters.

use crate::image::ImageMap;
use crate::profile::FunctionCounts;
use crate::raw::RawProfile;
use crate::units::Count;

/// The sums of the ring counters of all threads, by module and function. Sums stop at their
/// maximum.
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
            let Some(sums) = first.and_then(|first| sums.get(first..)) else {
                continue;
            };
            let counts = (0..shape.ring_counter_count()).zip(sums.iter().copied().map(Count));
            let counts: Vec<(u64, Count)> =
                counts.filter(|&(_, count)| count > Count::ZERO).collect();
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
