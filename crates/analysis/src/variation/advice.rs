//! Suggests loads to prefetch on a path whose time varies, by the paper's rule (Perelman, Chilimbi,
//! Calder 2005, section 5.4).
//!
//! The rule prefetches each load on the path whose next address is predictable, for the next turn
//! of the loop or the turn after it. The weaver finds such loads ([`LoadShape`]). The processor
//! predicts constant strides itself, but neither linked lists nor data that their nodes point to.
//! So lists come first, then data behind pointers and indices that are multiplied, and then large
//! strides. A stride is left out if it is so small that the load of the turn after next is mostly
//! in the same cache line ([`LINE`]).
//!
//! Only paths that cache misses may slow get advice: at least half of the net variation must be in
//! samples that took at least [`MISS`] cycles more than the base time, and not longer than misses
//! of all these loads take ([`LONGEST_MISS`]). What takes longer is rarely a miss
//! ([`is_interrupted`]).

use holloway_flow::{BlockId, Dominators, Loops, PathId};
use holloway_format::{Cycles, Load, LoadShape};

use super::rank::Ranking;
use super::ranked_path::RankedPath;
use crate::flow::uncut_graph_of;
use crate::paths::{instructions, regenerate};
use crate::run::Function;
use crate::trail::frames;

/// Minimum cycles of a load whose line is in neither the first nor the second cache, on processors
/// of the last fifteen years.
pub const MISS: Cycles = Cycles(30);

/// Maximum cycles of a load from main memory whose page is in no cache of translations either.
pub const LONGEST_MISS: Cycles = Cycles(1_000);

/// Cycles over the base time that a page fault or a system call takes, and cache misses of a short
/// path do not.
pub const LONG: Cycles = Cycles(2_500);

/// Instructions between a prefetch and the load: about the cycles of a load from main memory, since
/// code that waits for memory executes about one instruction per cycle otherwise.
const DISTANCE: u64 = 400;

/// The largest number of iterations between a prefetch and the load. More of them would fill the
/// first cache.
const MOST_TURNS: u64 = 64;

/// The least share of a run of a path that always waits.
const SHARE: f64 = 0.01;

/// The fewest iterations of a loop in which prefetches may pay.
const FEWEST_ITERATIONS: f64 = 8.0;

/// The fewest instructions of a turn along a list for which fetching the next node may pay. Current
/// processors reorder more instructions than this, so they come to a shorter turn's next node as
/// soon as a prefetch would. A list whose turns have 10 instructions became slower with prefetches.
const LONG_TURN: u64 = 64;

/// The least stride in bytes that processors do not predict well.
const FAR: u64 = 1024;

/// Bytes of a cache line, on almost every processor.
pub const LINE: u64 = 64;

/// Returns the loads to prefetch, the most promising first: one load for each shape and source line
/// of the function, and one for the list of each inlined frame. Empty if cache misses do not
/// explain the path's variation.
pub fn loads(function: &Function, path: &RankedPath) -> Vec<Load> {
    let on_path = loads_on_path(function, path.path);
    let longest = LONGEST_MISS.0.saturating_mul(on_path.len() as u64);
    if part_between(path, MISS, Cycles(longest)) < 0.5 {
        return Vec::new();
    }
    let mut loads = predictable_loads(on_path);
    keep_one_of_each(function, &mut loads);
    loads
}

/// The loads that a machine should prefetch, each with the number of iterations ahead: the
/// [`waiting_loads`], but no loads of a list with turns of less than `LONG_TURN` instructions.
pub fn prefetches(function: &Function, path: &RankedPath, ranking: &Ranking) -> Vec<(Load, u32)> {
    let length = regenerate(function, path.path).map_or(0, |path| instructions(function, &path));
    let mut loads = waiting_loads(function, path, ranking);
    loads.retain(|(load, _)| {
        let is_list = matches!(
            load.shape,
            LoadShape::Chain { .. } | LoadShape::Field { .. }
        );
        !is_list || length >= LONG_TURN || path.has_callees || has_inner_loop(function, load.block)
    });
    loads
}

/// The loads that wait for memory and whose next addresses are predictable, each with the number of
/// iterations ahead at which to prefetch it. They are loads of paths that get [advice](loads)
/// because their net variation is certain, and of paths that take 1 % of the run, call no other
/// code, and always wait: half of their samples take at least [`MISS`] cycles more than they have
/// instructions. The paper's rule does not find the latter, whose base time contains the misses.
///
/// Of these paths, all loads are returned, with two exceptions: those whose addresses grow by a
/// small constant, which the processor predicts itself, and those in loops that end after a few
/// iterations.
pub fn waiting_loads(
    function: &Function,
    path: &RankedPath,
    ranking: &Ranking,
) -> Vec<(Load, u32)> {
    let length = regenerate(function, path.path).map_or(0, |path| instructions(function, &path));
    let varies = path.is_certain() && !loads(function, path).is_empty();
    let waits = !path.has_callees
        && ranking.share(path.total) >= SHARE
        && path.times.quantile(0.5) >= Cycles(length).saturating_add(MISS);
    if !varies && !waits {
        return Vec::new();
    }
    let mut loads = predictable_loads(loads_on_path(function, path.path));
    loads.retain(|load| match load.shape {
        LoadShape::Induction { stride } => stride.unsigned_abs() >= FAR,
        LoadShape::Chain { .. }
        | LoadShape::Through { .. }
        | LoadShape::Field { .. }
        | LoadShape::Outer { .. }
        | LoadShape::Rows { .. }
        | LoadShape::Geometric { .. } => true,
    });
    let distances = loads.iter().map(|load| {
        // A path with copies of one load runs several turns of the load's own loop.
        let copies = loads.iter().filter(|other| is_copy(load, other)).count() as u64;
        let turns = (DISTANCE * copies).div_ceil(length.max(1));
        let iterations = iterations(function, *load)?;
        let most = MOST_TURNS.min(iterations as u64 / 2);
        (iterations >= FEWEST_ITERATIONS).then_some((*load, turns.min(most).max(1) as u32))
    });
    distances.flatten().collect()
}

/// Whether the innermost loop around a block contains another loop.
fn has_inner_loop(function: &Function, block: u32) -> bool {
    let Ok(cfg) = uncut_graph_of(&function.map) else {
        return false;
    };
    let loops = Loops::new(&cfg, &Dominators::new(&cfg));
    let around = loops.innermost(BlockId(block));
    loops
        .all()
        .iter()
        .any(|inner| inner.parent.is_some() && inner.parent == around)
}

/// Whether two loads are the same load of the source, in rows.
fn is_copy(load: &Load, other: &Load) -> bool {
    load == other
        || matches!(load.shape, LoadShape::Rows { .. })
            && (load.place, load.shape) == (other.place, other.shape)
}

/// How many iterations the innermost loop around a load has on average. If the load is in rows, the
/// loop around this one counts, too. `None` outside of loops.
fn iterations(function: &Function, load: Load) -> Option<f64> {
    let cfg = uncut_graph_of(&function.map).ok()?;
    let loops = Loops::new(&cfg, &Dominators::new(&cfg));
    let innermost = loops.innermost(BlockId(load.block))?;
    let outer = match load.shape {
        LoadShape::Rows { .. } => loops.all()[innermost].parent,
        LoadShape::Induction { .. }
        | LoadShape::Chain { .. }
        | LoadShape::Through { .. }
        | LoadShape::Field { .. }
        | LoadShape::Outer { .. }
        | LoadShape::Geometric { .. } => None,
    };
    let flow = function.flow();
    let average = |index: usize| {
        let inside = &loops.all()[index];
        let all = flow.blocks[inside.head.index()].to_f64();
        let back = inside.back_edges.iter();
        let back: i64 = back.map(|edge| flow.edges[edge.index()]).sum();
        all / (all - back as f64).max(1.0)
    };
    let averages = [innermost].into_iter().chain(outer).map(average);
    averages.reduce(f64::max)
}

/// Whether rare and long executions make up most of a path's net variation: at most one sample in
/// twenty, and at least [`LONG`] cycles over the base time. Page faults, system calls, and locks
/// look like this.
pub fn is_interrupted(path: &RankedPath) -> bool {
    let quantile = path.times.quantile(0.95);
    quantile.saturating_sub(path.base) < LONG && part_between(path, LONG, Cycles(u64::MAX)) >= 0.5
}

/// The loads of a path that the map describes.
fn loads_on_path(function: &Function, path: PathId) -> Vec<Load> {
    let Some(path) = function.graph().and_then(|graph| graph.path(path)) else {
        return Vec::new();
    };
    let is_on_path = |load: &&Load| path.blocks.iter().any(|block| block.0 == load.block);
    let loads = function.map.loads.iter();
    loads.filter(is_on_path).copied().collect()
}

/// Those of a path's loads whose next addresses are predictable.
fn predictable_loads(mut loads: Vec<Load>) -> Vec<Load> {
    let leaves_its_line = |load: &Load| match load.shape {
        LoadShape::Induction { stride } => 4 * stride.unsigned_abs() >= LINE,
        LoadShape::Chain { .. }
        | LoadShape::Through { .. }
        | LoadShape::Field { .. }
        | LoadShape::Outer { .. }
        | LoadShape::Rows { .. }
        | LoadShape::Geometric { .. } => true,
    };
    loads.retain(leaves_its_line);
    // A stable sort: of equal loads, the first one in the code comes first.
    loads.sort_by_key(|load| priority(load.shape));
    loads
}

/// Keeps one load for each shape and source line of the function, and one for the list of each
/// inlined frame.
fn keep_one_of_each(function: &Function, loads: &mut Vec<Load>) {
    let mut seen = Vec::new();
    loads.retain(|load| {
        // A prefetch fetches a complete list node, so only one load of each list is needed.
        let key = match load.shape {
            LoadShape::Chain { .. } => (0, Some(load.place.scope), 0),
            LoadShape::Through { .. }
            | LoadShape::Induction { .. }
            | LoadShape::Field { .. }
            | LoadShape::Outer { .. }
            | LoadShape::Rows { .. }
            | LoadShape::Geometric { .. } => {
                let user_frame = frames(&function.map, &load.place).last();
                (
                    priority(load.shape).0,
                    None,
                    user_frame.map_or(0, |frame| frame.line),
                )
            }
        };
        let is_new = !seen.contains(&key);
        seen.push(key);
        is_new
    });
}

/// The sort key of a load: shapes in the order of the module's comment, and larger strides first.
fn priority(shape: LoadShape) -> (u8, i64) {
    match shape {
        LoadShape::Chain { .. } => (0, 0),
        LoadShape::Field { .. } => (1, 0),
        LoadShape::Outer { .. } => (2, 0),
        LoadShape::Through { .. } | LoadShape::Rows { .. } => (3, 0),
        LoadShape::Geometric { through, .. } => (4, i64::from(!through)),
        LoadShape::Induction { stride } => (5, stride.saturating_abs().saturating_neg()),
    }
}

/// The part of a path's net variation that is in samples from `least` to `most` cycles over the
/// base.
fn part_between(path: &RankedPath, least: Cycles, most: Cycles) -> f64 {
    let (mut all, mut part) = (0.0, 0.0);
    for bucket in path.times.buckets() {
        let over = bucket.middle().saturating_sub(path.base);
        let cycles = over.to_f64() * bucket.count.to_f64();
        all += cycles;
        if (least..=most).contains(&over) {
            part += cycles;
        }
    }
    if all > 0.0 { part / all } else { 0.0 }
}
