//! The functions view: a row for each function that ran. The table has a column for selects only if
//! a shown function has selects.

use std::io;

use holloway_abi::Unit;
use holloway_analysis::functions::{Summary, Weight, hottest};

use super::bounds::{legend, marked};
use super::paint::Ink;
use super::sheet::Sheet;
use super::table::{Align, Table};
use crate::numbers::{grouped, share};
use crate::path_names::short_name;

/// The columns if all shown functions counted paths.
const BY_PATHS: [(&str, Align); 8] = [
    ("share", Align::Right),
    ("path runs", Align::Right),
    ("calls", Align::Right),
    ("instructions", Align::Right),
    ("paths run", Align::Right),
    ("possible", Align::Right),
    ("hottest path", Align::Right),
    ("function", Align::Left),
];

/// The columns if a shown function counted edges.
const BY_BLOCKS: [(&str, Align); 5] = [
    ("share", Align::Right),
    ("block runs", Align::Right),
    ("calls", Align::Right),
    ("instructions", Align::Right),
    ("function", Align::Left),
];

pub(super) fn write(sheet: &mut Sheet<'_>) -> io::Result<()> {
    let sort = sheet.options.sort;
    let ranking = hottest(sheet.run, sort, Some(sheet.top()), &|id| sheet.keeps(id));
    let noun = match ranking.weight {
        Weight::Paths => "path executions",
        Weight::Blocks => "block runs",
        Weight::Instructions => "instructions",
    };
    let shown = format!(
        "{} of {} that ran, by share of {} {noun}",
        ranking.functions.len(),
        grouped(ranking.ranked),
        grouped(ranking.total)
    );
    sheet.title("Hottest functions", &shown)?;
    let have_paths = ranking
        .functions
        .iter()
        .all(|summary| summary.paths.is_some());
    let unit = if have_paths { Unit::Paths } else { Unit::Edges };
    let selects = |summary: &Summary| sheet.run.function(summary.function).map.selects;
    let has_selects = ranking.functions.iter().any(|summary| selects(summary) > 0);
    let mut columns = match unit {
        Unit::Paths => BY_PATHS.to_vec(),
        Unit::Edges => BY_BLOCKS.to_vec(),
    };
    let before_name = columns.len() - 1;
    if has_selects {
        columns.insert(before_name, ("selects", Align::Right));
    }
    let mut table = Table::new(&columns);
    for summary in &ranking.functions {
        let share = share(summary.weight(ranking.weight), ranking.total);
        let mut row = row(sheet, summary, unit, share);
        if has_selects {
            let selects = grouped(selects(summary));
            row.insert(before_name, (Ink::Faint, selects));
        }
        table.row(row);
    }
    table.write(&mut sheet.page)?;
    let bounds = |summary: &Summary| {
        let bounds = sheet.run.function(summary.function).bounds();
        [bounds.calls, bounds.sum()]
    };
    let marks: Vec<_> = ranking.functions.iter().flat_map(bounds).collect();
    legend(sheet, marks)
}

fn row(
    sheet: &Sheet<'_>,
    summary: &Summary,
    unit: Unit,
    share_of_all: String,
) -> Vec<(Ink, String)> {
    let function = sheet.run.function(summary.function);
    let (name, bounds) = (sheet.name(function), function.bounds());
    let sum = bounds.sum();
    let paths = summary.paths.filter(|_| unit == Unit::Paths);
    let runs = paths.map_or(summary.blocks, |paths| paths.executions);
    let mut row = vec![
        (Ink::Number, share_of_all),
        (Ink::Plain, marked(sum, &grouped(runs))),
        (Ink::Plain, marked(bounds.calls, &grouped(summary.calls))),
        (Ink::Plain, marked(sum, &grouped(summary.instructions))),
    ];
    if let Some(paths) = paths {
        let (path, count) = paths.hottest;
        row.push((Ink::Plain, grouped(paths.distinct)));
        row.push((Ink::Faint, grouped(paths.possible)));
        row.push((
            Ink::Plain,
            format!(
                "{} {path}{}",
                share(count, paths.executions),
                short_name(function, path)
            ),
        ));
    }
    row.push((Ink::Strong, name.to_string()));
    row
}
