//! The view of paths from edges: the paths that an edge profile of the run would predict, compared
//! with the paths that ran.

use std::io;

use holloway_analysis::predict::{Comparison, Lengths, Prediction, prediction};

use super::paint::Ink;
use super::sheet::Sheet;
use super::table::{Align, Table};
use crate::numbers::{grouped, mean, plural, share};

const LENGTHS: [(&str, Align); 8] = [
    ("", Align::Left),
    ("paths", Align::Right),
    ("longest", Align::Right),
    ("mean", Align::Right),
    ("mean run", Align::Right),
    ("longest", Align::Right),
    ("mean", Align::Right),
    ("mean run", Align::Right),
];

const FUNCTIONS: [(&str, Align); 9] = [
    ("paths", Align::Right),
    ("runs", Align::Right),
    ("path runs", Align::Right),
    ("ran", Align::Right),
    ("predicted", Align::Right),
    ("hottest", Align::Left),
    ("ran", Align::Right),
    ("predicted", Align::Right),
    ("function", Align::Name),
];

pub(super) fn write(sheet: &mut Sheet<'_>) -> io::Result<()> {
    let prediction = prediction(sheet.run, &|id| sheet.keeps(id));
    sheet.title(
        "Paths from edges",
        "the paths that an edge profile of this run predicts, hottest edges first, against the ones that ran",
    )?;
    write_lengths(sheet, &prediction)?;
    write_right(sheet, &prediction)?;
    write_functions(sheet, &prediction)
}

/// Writes the lengths of the paths that ran, of the predicted paths, and of the right paths: the
/// predicted paths that ran.
fn write_lengths(sheet: &mut Sheet<'_>, prediction: &Prediction) -> io::Result<()> {
    let mut table = Table::new(&LENGTHS);
    table.group(2..5, "edges a path");
    table.group(5..8, "instructions a path");
    for (name, lengths) in [
        ("ran", &prediction.real),
        ("predicted", &prediction.predicted),
        ("right", &prediction.right),
    ] {
        let mut row = vec![
            (Ink::Strong, name.to_owned()),
            (Ink::Plain, grouped(lengths.paths)),
        ];
        for length in [lengths.edges, lengths.instructions] {
            row.push((Ink::Plain, grouped(length.longest)));
            row.push((Ink::Plain, mean(length.sum, lengths.paths)));
            row.push((Ink::Number, mean(length.executed, lengths.executions)));
        }
        table.row(row);
    }
    table.write(&mut sheet.page)
}

/// Writes the share of the prediction that is right.
fn write_right(sheet: &mut Sheet<'_>, prediction: &Prediction) -> io::Result<()> {
    sheet.page.gap()?;
    let executions = prediction.real.executions;
    let functions = prediction.functions.len() as u64;
    let max_paths = prediction
        .functions
        .iter()
        .map(|function| function.real.paths)
        .max();
    sheet.fact(
        "right",
        &format!(
            "{} of the {} that ran · {} of {}",
            share(prediction.right.paths, prediction.real.paths),
            plural(prediction.real.paths, "path"),
            share(prediction.right.executions, executions),
            plural(executions, "path execution")
        ),
    )?;
    sheet.fact(
        "hottest",
        &format!(
            "path predicted in {} of {}",
            grouped(prediction.hottest_right),
            plural(functions, "function")
        ),
    )?;
    sheet.fact(
        "functions",
        &format!(
            "{} different paths at most, {} on average",
            grouped(max_paths.unwrap_or(0)),
            mean(prediction.real.paths.into(), functions)
        ),
    )
}

fn write_functions(sheet: &mut Sheet<'_>, prediction: &Prediction) -> io::Result<()> {
    let shown: Vec<&Comparison> = prediction.functions.iter().take(sheet.top()).collect();
    let subtitle = format!(
        "{} of {} that ran, most path executions first",
        shown.len(),
        grouped(prediction.functions.len() as u64)
    );
    sheet.title("Functions", &subtitle)?;
    let mut table = Table::new(&FUNCTIONS);
    table.group(0..2, "right");
    table.group(3..5, "different paths");
    table.group(6..8, "longest, instructions");
    let longest = |lengths: &Lengths| (Ink::Plain, grouped(lengths.instructions.longest));
    for comparison in shown {
        let name = sheet.name(sheet.run.function(comparison.function));
        table.row(vec![
            (
                Ink::Number,
                share(comparison.right.paths, comparison.real.paths),
            ),
            (
                Ink::Number,
                share(comparison.right.executions, comparison.real.executions),
            ),
            (Ink::Plain, grouped(comparison.real.executions)),
            (Ink::Plain, grouped(comparison.real.paths)),
            (Ink::Plain, grouped(comparison.predicted.paths)),
            if comparison.hottest_right {
                (Ink::Plain, "right".to_owned())
            } else {
                (Ink::Alarm, "wrong".to_owned())
            },
            longest(&comparison.real),
            longest(&comparison.predicted),
            (Ink::Strong, name.to_string()),
        ]);
    }
    table.write(&mut sheet.page)
}
