//! How many paths a function is numbered with.

use holloway_abi::InlineCounts;
use holloway_flow::{Cfg, Dag, EdgeKind, Numbering, SuccessorOrder, TooManyPaths};

use crate::options::{ModuleOptions, STREAM_LIMIT};

/// Numbers the paths. A function with loops is cut until an array holds its counters, if that is
/// possible. Paths then end at a few cold edges, mostly of loop exits, and no loop pays for
/// hashing. A function without loops counts at most once per call, so its paths stay whole.
/// Measured on bzip2 and Lua: cutting costs +0 and +7 %, hashing instead +96 and +131 %. Cutting
/// counts 5 and 2 % more paths.
///
/// With exit edges, a function without loops counts at each of its calls too, so it is also cut:
/// SQLite hashed 0.4 % of its counts, and now hashes none. A stream cannot hash, so there every
/// function is cut. For kinds with counters next to the ring, paths from the entry get the lowest
/// numbers ([`super::ring_counters`]).
pub(super) fn number(
    cfg: &Cfg,
    dag: &Dag,
    weights: &[u64],
    options: &ModuleOptions,
) -> Result<Numbering, TooManyPaths> {
    let ordered = |numbering: Numbering| match options.collect.traits().inline_counts {
        InlineCounts::Activations => numbering.starts_last(),
        InlineCounts::Nothing | InlineCounts::Paths | InlineCounts::Edges => numbering,
    };
    let order = SuccessorOrder::HottestFirst(weights);
    let mut edges = cfg.edges().iter();
    if dag.back_edges().next().is_some() || edges.any(|edge| edge.kind == EdgeKind::Exit) {
        let limit = options.array_limit.min(options.path_limit);
        if let Ok(numbering) = Numbering::new(cfg, dag.clone(), order, limit) {
            return Ok(ordered(numbering));
        }
    }
    let limit = match options.collect.is_stream() {
        true => options.path_limit.min(STREAM_LIMIT),
        false => options.path_limit,
    };
    Numbering::new(cfg, dag.clone(), order, limit).map(ordered)
}
