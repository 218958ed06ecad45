//! Numbers the paths of a function, and chooses the limit above which edges are cut.

use holloway_abi::InlineCounts;
use holloway_flow::{Cfg, Dag, EdgeKind, Numbering, SuccessorOrder, TooManyPaths};

use crate::options::{ModuleOptions, STREAM_LIMIT};

/// Numbers the paths of a function.
///
/// The edges of a function with loops are cut until an array can hold its counters, if that is
/// possible. Paths then also end at a few cold edges, mostly loop exits, and no loop pays for
/// hashing. A function without loops counts at most once per call, so its edges are not cut.
/// Measured on bzip2 and Lua: cutting costs +0 and +7 % of the run time, and hashing costs +96 and
/// +131 %. With cuts, 5 and 2 % more paths are counted.
///
/// With exit edges, a function without loops also counts at its calls, so its edges are cut too.
/// Without these cuts, SQLite hashed 0.4 % of its counts. Streams have no hash tables, so there the
/// edges of every function are cut. For kinds with counters next to the ring, paths from the entry
/// get the lowest numbers ([`super::ring_counters`]).
pub(super) fn number(
    cfg: &Cfg,
    dag: &Dag,
    weights: &[u64],
    options: &ModuleOptions,
) -> Result<Numbering, TooManyPaths> {
    let with_start_order = |numbering: Numbering| match options.collect.traits().inline_counts {
        InlineCounts::Activations => numbering.starts_last(),
        InlineCounts::Nothing | InlineCounts::Paths | InlineCounts::Edges => numbering,
    };
    let order = SuccessorOrder::HottestFirst(weights);
    let mut edges = cfg.edges().iter();
    if dag.back_edges().next().is_some() || edges.any(|edge| edge.kind == EdgeKind::Exit) {
        let limit = options.array_limit.min(options.path_limit);
        if let Ok(numbering) = Numbering::new(cfg, dag.clone(), order, limit) {
            return Ok(with_start_order(numbering));
        }
    }
    let limit = match options.collect.is_stream() {
        true => options.path_limit.min(STREAM_LIMIT),
        false => options.path_limit,
    };
    Numbering::new(cfg, dag.clone(), order, limit).map(with_start_order)
}
