//! Exports of runs: files that other programs open. docs/export.md says which format is for which
//! program.
//!
//! Each format has its own file. `stacks` makes stacks of paths for flame graphs, `coverage` has
//! lines and branches for tools of coverage, and `table` has the rows of tables.

mod callgrind;
mod cobertura;
mod coverage;
mod csv;
mod dot;
mod firefox;
mod folded;
mod format;
mod lcov;
mod parquet;
mod pprof;
mod run;
mod sample_profile;
mod sarif;
mod sarif_log;
mod speedscope;
mod stacks;
mod table;
mod words;

use std::io::Write;

use crate::json;
pub use format::{Content, Format};
use run::Result;
pub use run::{ExportError, ExportRun};
use stacks::Stacks;
pub use stacks::Weight;

/// Writes a run in a format. `weight` is the weight of folded stacks; other formats have all
/// weights.
///
/// # Errors
/// If the run has nothing that the format shows, or `out` cannot be written.
pub fn write(
    export: &ExportRun<'_>,
    format: Format,
    weight: Weight,
    out: &mut (dyn Write + Send),
) -> Result<()> {
    export.check(format)?;
    match format {
        Format::Speedscope => speedscope::write(&Stacks::new(export), &export.title(), out),
        Format::Pprof => pprof::write(export.run, &Stacks::new(export), out),
        Format::Firefox => firefox::write(&Stacks::new(export), &export.title(), out),
        Format::Folded => folded::write(&stacks_with(export, weight)?, weight, out),
        Format::Sarif => sarif::write(export, out),
        Format::Lcov => lcov::write(export, out),
        Format::Cobertura => cobertura::write(export, out),
        Format::Callgrind => callgrind::write(export, out),
        Format::SampleProfile => sample_profile::write(export, out),
        Format::Csv => csv::write(export, out),
        Format::Parquet => parquet::write(export, out),
        Format::Dot => dot::write(export, out),
        Format::Json => Ok(json::write(export.run, export.options, out)?),
    }
}

/// The stacks of a run that has this weight.
fn stacks_with(export: &ExportRun<'_>, weight: Weight) -> Result<Stacks> {
    let stacks = Stacks::new(export);
    match stacks.weights().contains(&weight) {
        true => Ok(stacks),
        false => Err(ExportError::NoTimes),
    }
}
