//! The blocks view: the blocks that control reached most often, each with its first source line.

use holloway_format::Count;
use std::io;

use holloway_analysis::Sort;
use holloway_analysis::blocks::{HotBlock, hottest};
use holloway_analysis::trail::first_place;

use super::bounds::{legend, marked};
use super::paint::{Ink, clip, clip_start};
use super::sheet::Sheet;
use super::table::{Align, Table};
use crate::numbers::{grouped, share};

const COLUMNS: [(&str, Align); 7] = [
    ("share", Align::Right),
    ("count", Align::Right),
    ("instructions", Align::Right),
    ("block", Align::Left),
    ("place", Align::Left),
    ("function", Align::Left),
    ("source", Align::Left),
];

/// Minimum columns of a place and of a source line.
const MIN_WIDTH: usize = 20;

pub(super) fn write(sheet: &mut Sheet<'_>) -> io::Result<()> {
    let sort = sheet.options.sort;
    let ranking = hottest(sheet.run, sort, Some(sheet.top()), &|id| sheet.keeps(id));
    let unit = match sort {
        Sort::Count => "block runs",
        Sort::Instructions => "instructions",
    };
    let shown = format!(
        "{} of {} that ran, by share of {} {unit}",
        ranking.blocks.len(),
        grouped(ranking.ranked),
        grouped(ranking.total)
    );
    sheet.title("Hottest blocks", &shown)?;
    let mut table = Table::new(&COLUMNS);
    for block in &ranking.blocks {
        table.row(row(sheet, block, ranking.total));
    }
    table.write(&mut sheet.page)?;
    legend(sheet, ranking.blocks.iter().map(|block| block.bound))
}

fn row(sheet: &Sheet<'_>, block: &HotBlock<'_>, total: Count) -> Vec<(Ink, String)> {
    let function = sheet.run.function(block.function);
    let weight = block.weight(sheet.options.sort);
    let place_of_branch = || {
        let mut edges = function.map.edges.iter();
        edges.find(|edge| edge.from == block.block)?.place
    };
    let first = first_place(&block.map.places).or_else(place_of_branch);
    let file_and_line = first.and_then(|place| {
        let scope = function.map.scopes.get(place.scope as usize)?;
        (place.line != 0).then_some((&scope.file, place.line))
    });
    let place =
        file_and_line.map_or_else(|| "-".to_owned(), |(file, line)| sheet.place(file, line));
    let text = file_and_line.and_then(|(file, line)| sheet.options.source.line(file, line));
    vec![
        (Ink::Number, share(weight, total)),
        (Ink::Plain, marked(block.bound, &grouped(block.count))),
        (Ink::Plain, grouped(block.map.instructions)),
        (Ink::Faint, format!("b{}", block.block)),
        (
            Ink::Place,
            clip_start(&place, MIN_WIDTH.max(sheet.page.width() / 4)),
        ),
        (Ink::Strong, sheet.name(function).to_string()),
        (
            Ink::Plain,
            clip(
                text.unwrap_or_default().trim(),
                MIN_WIDTH.max(sheet.page.width() / 3),
            ),
        ),
    ]
}
