//! The edges taken most.

use std::io;

use holloway_analysis::edges::{HotEdge, block_number, hottest};
use holloway_analysis::trail::{first_place, last_place};
use holloway_format::{Outcome, Place};

use super::Sheet;
use super::outcome;
use super::paint::{Ink, Line, clip_start};
use super::table::{Align, Table};
use crate::numbers::{grouped, share};

const COLUMNS: [(&str, Align); 7] = [
    ("share", Align::Right),
    ("count", Align::Right),
    ("edge", Align::Left),
    ("from", Align::Left),
    ("to", Align::Left),
    ("outcome", Align::Left),
    ("function", Align::Left),
];

/// Columns a place gets at least.
const PLACE: usize = 20;

pub(super) fn write(sheet: &mut Sheet<'_>) -> io::Result<()> {
    let ranking = hottest(sheet.run, Some(sheet.top()), &|id| sheet.keeps(id));
    sheet.page.gap()?;
    let shown = format!(
        "{} of {} that were taken",
        ranking.edges.len(),
        grouped(ranking.ranked)
    );
    let mut title = Line::new();
    title
        .put(Ink::Strong, "Hottest edges")
        .put(Ink::Plain, "  ");
    sheet.page.wrapped(
        title,
        Ink::Faint,
        &format!("{shown}, by share of {} takings", grouped(ranking.total)),
    )?;
    let mut table = Table::new(&COLUMNS);
    for edge in &ranking.edges {
        table.row(row(sheet, edge, ranking.total));
    }
    table.write(&mut sheet.page)
}

fn row(sheet: &Sheet<'_>, edge: &HotEdge<'_>, total: u64) -> Vec<(Ink, String)> {
    let function = sheet.run.function(edge.function);
    let (from, to) = (edge.edge.from, edge.edge.to);
    let places = |block: u32| &*function.map.blocks[block as usize].places;
    let start = edge
        .edge
        .place
        .filter(|place| place.line != 0)
        .or_else(|| last_place(places(from)));
    let exits = block_number(function, to) < 0;
    let target = if exits {
        "exit".to_owned()
    } else {
        place(sheet, edge, first_place(places(to)))
    };
    let ends = if exits {
        format!("b{from} → exit")
    } else {
        format!("b{from} → b{to}")
    };
    vec![
        (Ink::Number, share(edge.count, total)),
        (Ink::Plain, grouped(edge.count)),
        (Ink::Faint, ends),
        (Ink::Place, place(sheet, edge, start)),
        (Ink::Place, target),
        (
            Ink::Outcome,
            if edge.edge.outcome == Outcome::Jump {
                String::new()
            } else {
                outcome::word(edge.edge.outcome)
            },
        ),
        (Ink::Strong, sheet.names.name(function).to_string()),
    ]
}

fn place(sheet: &Sheet<'_>, edge: &HotEdge<'_>, place: Option<Place>) -> String {
    let map = &sheet.run.function(edge.function).map;
    let file = |place: Place| {
        map.scopes
            .get(place.scope as usize)
            .map(|scope| &scope.file)
    };
    let text = place
        .and_then(|place| Some(sheet.place(file(place)?, place.line)))
        .unwrap_or_else(|| "-".to_owned());
    clip_start(&text, PLACE.max(sheet.page.width() / 4))
}
