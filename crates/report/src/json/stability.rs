//! Timed runs, each evaluated on the others' first paths, as JSON (`stability` of docs/json.md).

use std::io::{self, Write};

use holloway_analysis::variation::stability::{StablePath, stability};
use holloway_analysis::variation::{RankOptions, VariationRun};
use serde::Serialize;

use super::document::{self, SCHEMA};
use crate::filter::Filter;
use crate::options::Options;
use crate::variation::{FIRST, lines, trail_of};

/// Writes how the first paths of each run vary on all of them, one object and a newline.
///
/// # Errors
/// Whatever `out` fails with.
pub(crate) fn write(
    runs: &[&VariationRun],
    options: &Options<'_>,
    how: RankOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let names = Filter::new(None);
    let first = options.top.unwrap_or(FIRST);
    let found = stability(runs, how, first, &|function| names.name(function));
    let record = |one: &StablePath| {
        let function = runs[one.run].run.function(one.function);
        let trail = trail_of(function, one.path);
        let lines = trail.and_then(|trail| lines(function, &trail));
        PathRecord {
            function: names.name(function).to_string(),
            run: one.run,
            path: one.path.0,
            file: lines.map_or_else(String::new, |(file, ..)| file.to_owned()),
            lines: lines.map(|(_, first, last)| [first, last]),
            ranks: one
                .ranks
                .iter()
                .map(|rank| rank.map(|rank| rank + 1))
                .collect(),
            shares: one.shares.clone(),
        }
    };
    let document = Document {
        schema: SCHEMA,
        first,
        all: &found.all,
        shares: &found.shares,
        paths: found.paths.iter().map(record).collect(),
    };
    document::write(&document, out)
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    first: usize,
    /// By run: share of its time that is the net variation of all paths of which it is certain.
    all: &'a [f64],
    /// By the run whose first paths are taken, then by the one that they are evaluated on.
    shares: &'a [Vec<f64>],
    paths: Vec<PathRecord>,
}

#[derive(Serialize)]
struct PathRecord {
    function: String,
    /// The run of which `path` is the number.
    run: usize,
    path: u64,
    file: String,
    lines: Option<[u32; 2]>,
    ranks: Vec<Option<usize>>,
    shares: Vec<f64>,
}
