//! Writes the stability of timed runs as JSON: the net variation of each run's first-ranked paths
//! in all runs (section `stability` of docs/json.md).

use std::io::{self, Write};

use holloway_analysis::variation::stability::{StablePath, stability};
use holloway_analysis::variation::{RankOptions, VariationRun};
use serde::Serialize;

use super::cpu_time::CpuTimeRecord;
use super::document::{self, SCHEMA};
use crate::filter::Filter;
use crate::options::Options;
use crate::path_names::full_name;
use crate::variation::{FIRST_PATHS, lines, trail_of};

/// Writes the net variation of each run's first paths in all runs, as one object and a newline.
///
/// # Errors
/// If writing to `out` fails.
pub(crate) fn write(
    runs: &[&VariationRun],
    options: &Options<'_>,
    rank_options: RankOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let names = Filter::all();
    let first = options.top.unwrap_or(FIRST_PATHS);
    let stability = stability(runs, rank_options, first, &|function| names.name(function));
    let record = |path: &StablePath| {
        let function = runs[path.run].run.function(path.function);
        let trail = trail_of(function, path.path);
        let lines = trail.and_then(|trail| lines(function, &trail));
        PathRecord {
            function: names.name(function).to_string(),
            run: path.run,
            path: path.path.0,
            path_name: full_name(function, path.path),
            file: lines.map_or_else(String::new, |(file, ..)| file.to_owned()),
            lines: lines.map(|(_, first, last)| [first, last]),
            ranks: path
                .ranks
                .iter()
                .map(|rank| rank.map(|rank| rank + 1))
                .collect(),
            shares: path.shares.clone(),
        }
    };
    let cpu_times = runs.iter().map(|run| CpuTimeRecord::new(&run.run));
    let document = Document {
        schema: SCHEMA,
        cpu_times: cpu_times.collect(),
        first,
        all: &stability.all,
        shares: &stability.shares,
        paths: stability.paths.iter().map(record).collect(),
    };
    document::write(&document, out)
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    /// For each run, its CPU time, if it was recorded.
    cpu_times: Vec<Option<CpuTimeRecord>>,
    first: usize,
    /// For each run, the certain net variation of all paths, as a share of the run's time.
    all: &'a [f64],
    /// Net variation of one run's first paths in another run, as a share of the other run's time.
    /// The first index is the run that has these first paths, and the second index is the run that
    /// they are evaluated on.
    shares: &'a [Vec<f64>],
    paths: Vec<PathRecord>,
}

#[derive(Serialize)]
struct PathRecord {
    function: String,
    /// Index of the run to which the path number `path` belongs.
    run: usize,
    path: u64,
    path_name: String,
    file: String,
    lines: Option<[u32; 2]>,
    ranks: Vec<Option<usize>>,
    shares: Vec<f64>,
}
