//! Writes the report as text for the terminal: the CPU time, the coverage, then the view that the
//! user chose.
//!
//! Each view has its own module.

pub mod advice;
pub mod annotate;
mod answer;
mod blocks;
pub(crate) mod bounds;
pub(crate) mod branches;
mod coverage;
pub mod covered;
mod cpu_time;
pub(crate) mod decisions;
pub(crate) mod diff;
mod edges;
mod functions;
pub mod graph;
mod heat;
mod lines;
pub mod live_phases;
pub mod loops;
pub mod manager;
pub(crate) mod outcome;
pub(crate) mod overlap;
pub(crate) mod paint;
mod paths;
pub mod phases;
mod predictability;
mod prediction;
pub mod predictors;
mod route;
pub mod samples;
mod sheet;
pub(crate) mod stability;
pub(crate) mod suite;
mod table;
pub mod test_coverage;
mod thread;
pub mod trace;
mod uncovered;
pub mod variation;

use std::io::{self, BufWriter, Write};

use holloway_analysis::{Function, RunProfile};

use sheet::Sheet;

use crate::options::{Head, Options, View, default_view};

/// Writes the whole report: the coverage, the fate of the functions that `--function` selects, and
/// the view.
///
/// # Errors
/// If writing to `out` fails.
pub fn write(run: &RunProfile, options: &Options<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    write_all(&mut Sheet::new(run, options, &mut out))?;
    out.flush()
}

/// Writes the CPU time of a run, if it was recorded. The other functions that write a report of a
/// run include it; answers about traces do not.
///
/// # Errors
/// If writing to `out` fails.
pub fn write_cpu_time(
    run: &RunProfile,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    cpu_time::write(&mut Sheet::new(run, options, &mut out))?;
    out.flush()
}

fn write_all(sheet: &mut Sheet<'_>) -> io::Result<()> {
    let Sheet { run, options, .. } = *sheet;
    if options.head == Head::Shown {
        coverage::write(sheet)?;
        if options.function.is_some() {
            answer::write(sheet)?;
        }
    }
    if !run.functions.iter().any(Function::ran) {
        return sheet.write_nothing_ran();
    }
    let view = options.view.unwrap_or_else(|| default_view(run));
    let any_selected_ran = match view {
        View::Paths => sheet.any_selected_path_ran(),
        View::Lines | View::Uncovered => true,
        View::Functions | View::Edges | View::Branches | View::Blocks | View::PathsFromEdges => run
            .ids()
            .any(|(id, function)| function.ran() && sheet.keeps(id)),
    };
    if !any_selected_ran {
        // The section above shows the fate of the functions that `--function` selects.
        return match options.code.is_given() {
            true => sheet.write_no_such_code(),
            false => Ok(()),
        };
    }
    if matches!(view, View::Paths | View::PathsFromEdges) && sheet.write_without_paths()? {
        return Ok(());
    }
    match view {
        View::Paths => paths::write(sheet),
        View::Functions => functions::write(sheet),
        View::Edges => edges::write(sheet),
        View::Branches => predictability::write(sheet),
        View::Blocks => blocks::write(sheet),
        View::Lines => lines::write(sheet),
        View::PathsFromEdges => prediction::write(sheet),
        View::Uncovered => uncovered::write(sheet),
    }
}
