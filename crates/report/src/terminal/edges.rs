//! The edges view: the edges that control took most often.

use std::io;

use holloway_analysis::Sort;
use holloway_analysis::edges::{HotEdge, block_number, hottest};
use holloway_analysis::trail::{first_place, is_choice, last_place};
use holloway_format::{Count, Outcome, Place};

use super::bounds::{legend, marked};
use super::outcome;
use super::paint::{Ink, clip_start};
use super::sheet::Sheet;
use super::table::{Align, Table};
use crate::numbers::{grouped, plural, share, signed};

const COLUMNS: [(&str, Align); 7] = [
    ("share", Align::Right),
    ("count", Align::Right),
    ("edge", Align::Left),
    ("from", Align::Left),
    ("to", Align::Left),
    ("branch", Align::Left),
    ("function", Align::Name),
];

/// Minimum columns of a place.
const MIN_PLACE_WIDTH: usize = 20;

pub(super) fn write(sheet: &mut Sheet<'_>) -> io::Result<()> {
    let sort = sheet.options.sort;
    let ranking = hottest(sheet.run, sort, Some(sheet.top()), &|id| sheet.keeps(id));
    let measure = match sort {
        Sort::Count => "times taken",
        Sort::Instructions => "instructions in the blocks that they lead to",
    };
    let mut shown = format!(
        "{} of {}, by share of {} {measure}",
        ranking.edges.len(),
        grouped(ranking.ranked),
        grouped(ranking.total)
    );
    if ranking.left > Count::ZERO {
        let left = grouped(ranking.left);
        shown += &match sort {
            Sort::Count => format!(", {left} of them left in a call"),
            Sort::Instructions => format!("; left in a call {}", plural(ranking.left, "time")),
        };
    }
    sheet.title("Hottest edges", &shown)?;
    let mut table = Table::new(&COLUMNS);
    for edge in &ranking.edges {
        table.row(row(sheet, edge, edge.weight(sort), ranking.total));
    }
    table.write(&mut sheet.page)?;
    legend(sheet, ranking.edges.iter().map(|edge| edge.bound))?;
    write_reentries(sheet, &ranking.reentered)
}

/// Lists calls that came back more often than they were made. No edge was taken for these returns,
/// so they have no share.
fn write_reentries(sheet: &mut Sheet<'_>, edges: &[HotEdge<'_>]) -> io::Result<()> {
    if edges.is_empty() {
        return Ok(());
    }
    sheet.page.gap()?;
    for edge in edges.iter().take(sheet.top()) {
        let times = plural(edge.times(), "time");
        let name = sheet.name(sheet.run.function(edge.function));
        let place = place(sheet, edge, start(sheet, edge));
        let text = format!(
            "{times} after a call in b{}, {place}  {name}",
            edge.edge.from
        );
        sheet.fact("entered again", &text)?;
    }
    Ok(())
}

fn row(sheet: &Sheet<'_>, edge: &HotEdge<'_>, weight: Count, total: Count) -> Vec<(Ink, String)> {
    let function = sheet.run.function(edge.function);
    let (from, to) = (edge.edge.from, edge.to);
    let places = |block: u32| &*function.map.blocks[block as usize].places;
    let is_exit = block_number(function, to) < 0;
    let target = if is_exit {
        "exit".to_owned()
    } else {
        place(sheet, edge, first_place(places(to)))
    };
    let blocks = if is_exit {
        format!("b{from} → exit")
    } else {
        format!("b{from} → b{to}")
    };
    vec![
        (Ink::Number, share(weight, total)),
        (Ink::Plain, marked(edge.bound, &signed(edge.count))),
        (Ink::Faint, blocks),
        (Ink::Place, place(sheet, edge, start(sheet, edge))),
        (Ink::Place, target),
        (Ink::Outcome, decision(sheet, edge)),
        (Ink::Strong, sheet.name(function).to_string()),
    ]
}

/// The place of an edge's branch, or the last place of its block.
fn start(sheet: &Sheet<'_>, edge: &HotEdge<'_>) -> Option<Place> {
    let map = &sheet.run.function(edge.function).map;
    let branch = edge.edge.place.filter(|place| place.line != 0);
    branch.or_else(|| last_place(&map.blocks[edge.edge.from as usize].places))
}

/// The decision for an edge, or how the edge leaves the function. The text is empty if the target's
/// place already shows the decision.
fn decision(sheet: &Sheet<'_>, edge: &HotEdge<'_>) -> String {
    if edge.edge.outcome == Outcome::Jump {
        return String::new();
    }
    if !is_choice(edge.edge.outcome) {
        return outcome::word(edge.edge.outcome).to_owned();
    }
    let branches = sheet.branches(sheet.run.function(edge.function));
    branches.unless_shown(edge.number, start(sheet, edge), edge.to)
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
    clip_start(&text, MIN_PLACE_WIDTH.max(sheet.page.width() / 4))
}
