//! The branches view: the branches that are hardest to predict. Below each branch stand its source
//! line and its most frequent outcomes.

use std::io;

use holloway_analysis::branches::{Branch, Ranking, hardest};
use holloway_analysis::trail::frames;
use holloway_format::{Count, Place};

use super::bounds::{legend, marked};
use super::paint::{Ink, Line, clip, clip_start};
use super::sheet::Sheet;
use super::table::{Align, Table};
use crate::numbers::{grouped, share};
use crate::places::is_library;

/// Minimum columns of a place and of a source line.
const MIN_WIDTH: usize = 20;
/// Number of outcomes that are shown. A longer list ends with the number of the others.
const SHOWN_OUTCOMES: usize = 3;
/// Column in which the line below a branch begins.
const INDENT: usize = 8;

pub(super) fn write(sheet: &mut Sheet<'_>) -> io::Result<()> {
    let ranking = hardest(sheet.run, Some(sheet.top()), &|id| sheet.keeps(id));
    sheet.title("Hardest branches", &subtitle(&ranking))?;
    let columns = columns(has_paths(&ranking));
    let mut table = Table::new(&columns);
    table.group(1..columns.len() - 5, "expected mispredictions");
    for branch in &ranking.branches {
        table.row(row(sheet, branch, columns.len()));
        table.note(note(sheet, branch));
    }
    table.write(&mut sheet.page)?;
    write_contexts(sheet, &ranking)?;
    legend(sheet, ranking.branches.iter().map(|branch| branch.bound))
}

/// Explains, below the table, the contexts that its columns stand for.
fn write_contexts(sheet: &mut Sheet<'_>, ranking: &Ranking) -> io::Result<()> {
    if ranking.branches.is_empty() {
        return Ok(());
    }
    let mut text = "alone: knowing only each branch's most frequent outcome".to_owned();
    if has_paths(ranking) {
        text += " · path so far: knowing it for each way from the path's start to the branch";
    }
    sheet.page.gap()?;
    sheet.page.wrapped(Line::new(), Ink::Faint, &text)
}

/// Whether any branch has the context of its path.
fn has_paths(ranking: &Ranking) -> bool {
    let mut branches = ranking.branches.iter();
    branches.any(|branch| branch.mispredictions.path.is_some())
}

fn subtitle(ranking: &Ranking) -> String {
    format!(
        "{} of {} that ran, by expected mispredictions: {} of {} executions",
        ranking.branches.len(),
        grouped(ranking.ranked),
        grouped(ranking.mispredictions),
        grouped(ranking.executions)
    )
}

/// The columns. Contexts that no branch has are left out.
fn columns(has_paths: bool) -> Vec<(&'static str, Align)> {
    let mut columns = vec![("rate", Align::Right), ("alone", Align::Right)];
    columns.extend(has_paths.then_some(("path so far", Align::Right)));
    columns.extend([
        ("executions", Align::Right),
        ("taken", Align::Right),
        ("entropy", Align::Right),
        ("branch", Align::Left),
        ("function", Align::Left),
    ]);
    columns
}

fn row(sheet: &Sheet<'_>, branch: &Branch, columns: usize) -> Vec<(Ink, String)> {
    let mispredictions = &branch.mispredictions;
    let place = clip_start(
        &place(sheet, branch, branch.place),
        MIN_WIDTH.max(sheet.page.width() / 4),
    );
    let executions = marked(branch.bound, &grouped(branch.executions));
    let mut row = vec![
        (
            Ink::Number,
            share(mispredictions.expected(), branch.executions),
        ),
        (Ink::Plain, grouped(mispredictions.alone)),
    ];
    if columns == 8 {
        let path = mispredictions.path.map_or_else(|| "-".to_owned(), grouped);
        row.push((Ink::Plain, path));
    }
    row.extend([
        (Ink::Plain, executions),
        (Ink::Plain, share(branch.taken, branch.executions)),
        (Ink::Plain, format!("{:.2}", branch.entropy())),
        (Ink::Place, place),
        (
            Ink::Strong,
            sheet.name(sheet.run.function(branch.function)).to_string(),
        ),
    ]);
    row
}

/// The line below a branch: its source line, and its outcomes with their shares. A branch in
/// library code also has the line of the user's code that it was inlined into.
fn note(sheet: &Sheet<'_>, branch: &Branch) -> Line {
    let mut line = Line::new();
    line.up_to(INDENT);
    if let Some(text) = source(sheet, branch, branch.place) {
        let width = MIN_WIDTH.max(sheet.page.width() / 3);
        line.put(Ink::Plain, &clip(&text, width))
            .put(Ink::Plain, "  ");
    }
    line.put(Ink::Outcome, &outcomes(sheet, branch));
    if let Some(user) = user_place(sheet, branch) {
        line.put(
            Ink::Faint,
            &format!("  in {}", place(sheet, branch, Some(user))),
        );
    }
    line
}

/// The most frequent outcomes in words: `→ line 7 61.2 %, line 9 38.8 %`.
fn outcomes(sheet: &Sheet<'_>, branch: &Branch) -> String {
    let branches = sheet.branches(sheet.run.function(branch.function));
    let shown = branch.outcomes.iter().take(SHOWN_OUTCOMES);
    let words = shown.map(|outcome| {
        let destination = branches.destination(outcome.edge);
        let word = branches.word(sheet, branch.place, &destination);
        format!("{word} {}", share(outcome.count, branch.executions))
    });
    let mut words: Vec<String> = words.collect();
    let others = branch.outcomes.iter().skip(SHOWN_OUTCOMES);
    let others = others.filter(|outcome| outcome.count > Count::ZERO).count();
    if others > 0 {
        words.push(format!("{others} more"));
    }
    format!("→ {}", words.join(", "))
}

/// The place in the user's code that a branch in library code was inlined into.
fn user_place(sheet: &Sheet<'_>, branch: &Branch) -> Option<Place> {
    let map = &sheet.run.function(branch.function).map;
    let is_in_library = |scope: u32| is_library(&map.scopes[scope as usize].file);
    let place = branch.place.filter(|place| place.line != 0)?;
    let mut frames = frames(map, &place);
    frames
        .next()
        .filter(|innermost| is_in_library(innermost.scope))?;
    let user = frames.find(|frame| !is_in_library(frame.scope))?;
    Some(Place {
        scope: user.scope,
        line: user.line,
        column: 0,
    })
}

fn source(sheet: &Sheet<'_>, branch: &Branch, place: Option<Place>) -> Option<String> {
    let (file, line) = file_and_line(sheet, branch, place)?;
    let text = sheet.options.source.line(file, line)?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn place(sheet: &Sheet<'_>, branch: &Branch, place: Option<Place>) -> String {
    file_and_line(sheet, branch, place)
        .map_or_else(|| "-".to_owned(), |(file, line)| sheet.place(file, line))
}

fn file_and_line<'a>(
    sheet: &Sheet<'a>,
    branch: &Branch,
    place: Option<Place>,
) -> Option<(&'a str, u32)> {
    let map = &sheet.run.function(branch.function).map;
    let place = place.filter(|place| place.line != 0)?;
    let scope = map.scopes.get(place.scope as usize)?;
    Some((&scope.file, place.line))
}
