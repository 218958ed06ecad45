//! The totals of a trace.

use holloway_analysis::trace::stats::stats;
use serde::Serialize;

use super::exact::Exact;
use crate::trace::LabeledStream;

/// The fields have the meaning of the same fields in docs/json.md.
#[derive(Serialize)]
pub(super) struct StatsRecord {
    events: Exact,
    paths: Exact,
    distinct_paths: u64,
    functions: u64,
    instructions: Exact,
    gaps: Exact,
    rules: u64,
    symbols: u64,
}

impl StatsRecord {
    pub(super) fn new(labeled: &LabeledStream<'_>) -> StatsRecord {
        let stats = stats(&labeled.stream.trace.grammar, &labeled.events);
        StatsRecord {
            events: stats.events.into(),
            paths: stats.paths.into(),
            distinct_paths: stats.distinct_paths,
            functions: stats.functions,
            instructions: stats.instructions.into(),
            gaps: stats.gaps.into(),
            rules: stats.rules,
            symbols: stats.symbols,
        }
    }
}
