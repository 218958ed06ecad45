//! A row for each function that ran.

use std::io;

use holloway_analysis::Sort;
use holloway_analysis::functions::hottest;

use super::Sheet;
use super::paint::{Ink, Line};
use super::table::{Align, Table};
use crate::numbers::{grouped, share};

const COLUMNS: [(&str, Align); 8] = [
    ("share", Align::Right),
    ("path runs", Align::Right),
    ("calls", Align::Right),
    ("instructions", Align::Right),
    ("paths run", Align::Right),
    ("possible", Align::Right),
    ("hottest path", Align::Right),
    ("function", Align::Left),
];

pub(super) fn write(sheet: &mut Sheet<'_>) -> io::Result<()> {
    let ranking = hottest(sheet.run, sheet.options.sort, Some(sheet.top()), &|id| {
        sheet.keeps(id)
    });
    sheet.page.gap()?;
    let of = match sheet.options.sort {
        Sort::Count => "path executions",
        Sort::Instructions => "instructions",
    };
    let shown = format!(
        "{} of {} that ran",
        ranking.functions.len(),
        grouped(ranking.ranked)
    );
    let mut title = Line::new();
    title
        .put(Ink::Strong, "Hottest functions")
        .put(Ink::Plain, "  ");
    sheet.page.wrapped(
        title,
        Ink::Faint,
        &format!("{shown}, by share of {} {of}", grouped(ranking.total)),
    )?;
    let mut table = Table::new(&COLUMNS);
    for row in &ranking.functions {
        let (path, count) = row.hottest;
        table.row(vec![
            (
                Ink::Number,
                share(row.weight(sheet.options.sort), ranking.total),
            ),
            (Ink::Plain, grouped(row.executions)),
            (Ink::Plain, grouped(row.calls)),
            (Ink::Plain, grouped(row.instructions)),
            (Ink::Plain, grouped(row.distinct)),
            (Ink::Faint, grouped(row.possible)),
            (
                Ink::Plain,
                format!("{} {path}", share(count, row.executions)),
            ),
            (
                Ink::Strong,
                sheet
                    .names
                    .name(sheet.run.function(row.function))
                    .to_string(),
            ),
        ]);
    }
    table.write(&mut sheet.page)
}
