//! What may be prefetched on a path that varies: the paper's rule (Perelman, Chilimbi, Calder 2005, section 5.4).
//!
//! Of every load on the path whose next address can be told, that of the next turn, or of the one after, is fetched ahead, under a condition that keeps
//! it in bounds or off null. The weaver knows such loads ([`LoadShape`]). Steps that are steady the processor foresees itself, lists and
//! what is reached through them it doesn't: so these come first, then long steps. Steps so short that the turn after next is mostly
//! in the same line of the cache ([`LINE`]) are left out.
//!
//! Advice is for paths that vary as memory does: where at least half of the net variation is in samples that took [`MISS`] cycles or more above the base.

use holloway_flow::PathId;
use holloway_format::{Load, LoadShape};

use super::path::Rank;
use crate::run::Function;
use crate::trail::frames;

/// Cycles that a load takes at least if neither the first nor the second cache holds its line, on processors of the last fifteen years.
pub const MISS: u64 = 30;

/// Bytes of a line of the cache, on almost every processor.
pub const LINE: u64 = 64;

/// The loads to fetch ahead, the most promising first: one of each line of the function and shape, one of each frame's list. Empty where the path doesn't vary as memory does.
pub fn loads(function: &Function, rank: &Rank) -> Vec<Load> {
    if !misses(rank) {
        return Vec::new();
    }
    on_path(function, rank.path)
}

/// The loads of a path whose next addresses can be told.
fn on_path(function: &Function, path: PathId) -> Vec<Load> {
    let Some(path) = function.graph().and_then(|graph| graph.path(path)) else {
        return Vec::new();
    };
    let on_it = |load: &&Load| path.blocks.iter().any(|block| block.0 == load.block);
    let leaves_its_line = |load: &&Load| match load.shape {
        LoadShape::Induction { stride } => 4 * stride.unsigned_abs() >= LINE,
        LoadShape::Chain { .. } | LoadShape::Through { .. } => true,
    };
    let loads = function.map.loads.iter().filter(on_it);
    let mut loads: Vec<Load> = loads.filter(leaves_its_line).copied().collect();
    // Stable: of equal ones the first in the code.
    loads.sort_by_key(|load| promise(load.shape));
    let mut known = Vec::new();
    loads.retain(|load| {
        // A node is fetched whole, wherever in it the loads are.
        let what = match load.shape {
            LoadShape::Chain { .. } => (0, Some(load.place.scope), 0),
            LoadShape::Through { .. } | LoadShape::Induction { .. } => {
                let own = frames(&function.map, &load.place).last();
                (
                    promise(load.shape).0,
                    None,
                    own.map_or(0, |frame| frame.line),
                )
            }
        };
        let is_new = !known.contains(&what);
        known.push(what);
        is_new
    });
    loads
}

/// Order of loads: by shape, then longer steps first.
fn promise(shape: LoadShape) -> (u8, i64) {
    match shape {
        LoadShape::Chain { .. } => (0, 0),
        LoadShape::Through { .. } => (1, 0),
        LoadShape::Induction { stride } => (2, stride.saturating_abs().saturating_neg()),
    }
}

/// Whether most of a path's net variation is in samples that may have missed a cache.
fn misses(rank: &Rank) -> bool {
    let base = rank.base;
    let (mut all, mut long) = (0.0, 0.0);
    for bucket in rank.times.buckets() {
        let over = bucket.middle().saturating_sub(base);
        let cycles = over as f64 * bucket.count as f64;
        all += cycles;
        if over >= MISS {
            long += cycles;
        }
    }
    all > 0.0 && 2.0 * long >= all
}
