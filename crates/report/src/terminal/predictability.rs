//! The branches view: the branches that are hardest to predict. Below each branch stand its source
//! line and its most frequent outcomes. A branch in library code is named by the line of the user's
//! code that it was inlined into.

use std::collections::HashMap;
use std::io;

use holloway_analysis::FunctionId;
use holloway_analysis::branches::{Branch, Ranking, hardest};
use holloway_format::{Count, Place};

use super::bounds::{legend, marked};
use super::paint::{Ink, Line, clip, clip_start};
use super::sheet::Sheet;
use super::table::{Align, Table};
use crate::numbers::{grouped, share};
use crate::places::inlined_at;

/// The columns after the contexts.
const COLUMNS: [(&str, Align); 5] = [
    ("executions", Align::Right),
    ("taken", Align::Right),
    ("entropy", Align::Right),
    ("branch", Align::Left),
    ("function", Align::Name),
];

/// Minimum columns of a place and of a source line.
const MIN_WIDTH: usize = 20;
/// Number of outcomes that are shown. A longer list ends with the number of the others.
const SHOWN_OUTCOMES: usize = 3;
/// Column in which the line below a branch begins.
const INDENT: usize = 8;

/// A context of expected mispredictions. Each context has a column.
#[derive(Clone, Copy)]
enum Context {
    Alone,
    Path,
    /// This number of previous paths, or fewer if longer sequences of the function are not known.
    Previous(usize),
}

impl Context {
    /// The contexts that any of the branches has. Of the numbers of previous paths, the smallest
    /// and the largest.
    fn all(branches: &[Branch]) -> Vec<Context> {
        let mut all = vec![Context::Alone];
        let mispredictions = branches.iter().map(|branch| &branch.mispredictions);
        if mispredictions.clone().any(|figures| figures.path.is_some()) {
            all.push(Context::Path);
        }
        let longest = mispredictions.map(|figures| figures.previous.len()).max();
        let longest = longest.unwrap_or(0);
        all.extend((longest >= 1).then_some(Context::Previous(1)));
        all.extend((longest >= 2).then_some(Context::Previous(longest)));
        all
    }

    fn heading(self) -> String {
        match self {
            Context::Alone => "alone".to_owned(),
            Context::Path => "path so far".to_owned(),
            Context::Previous(1) => "previous path".to_owned(),
            Context::Previous(paths) => format!("previous {paths}"),
        }
    }

    fn explanation(self) -> String {
        match self {
            Context::Alone => "alone: knowing only each branch's most frequent outcome".to_owned(),
            Context::Path => {
                "path so far: knowing it for each way from the path's start to the branch"
                    .to_owned()
            }
            Context::Previous(1) => {
                "previous path: and for each path before in the same call".to_owned()
            }
            Context::Previous(paths) => {
                format!("previous {paths}: and for each sequence of up to {paths} paths before")
            }
        }
    }

    /// The expected mispredictions of a branch; `None` if it does not have this context.
    fn figure(self, branch: &Branch) -> Option<Count> {
        let figures = &branch.mispredictions;
        match self {
            Context::Alone => Some(figures.alone),
            Context::Path => figures.path,
            Context::Previous(paths) => figures.previous.iter().take(paths).next_back().copied(),
        }
    }
}

/// What a run without previous paths cannot tell.
const WITHOUT_PATTERNS: &str = "These figures are upper limits. The run does not know which path follows which, so a branch that alternates ranks high, although processors learn such patterns. Build with --collect trace and run `holloway predict` to see what they mispredict.";

fn is_previous(context: &Context) -> bool {
    matches!(context, Context::Previous(_))
}

pub(super) fn write(sheet: &mut Sheet<'_>) -> io::Result<()> {
    let previous_paths = sheet.options.previous_paths;
    let top = Some(sheet.top());
    let ranking = hardest(sheet.run, previous_paths, top, &|id| sheet.keeps(id));
    sheet.title("Hardest branches", &subtitle(&ranking))?;
    let contexts = Context::all(&ranking.branches);
    let headings: Vec<String> = contexts.iter().map(|context| context.heading()).collect();
    let mut columns = vec![("rate", Align::Right)];
    columns.extend(headings.iter().map(|heading| (&**heading, Align::Right)));
    columns.extend(COLUMNS);
    let mut table = Table::new(&columns);
    table.group(1..1 + contexts.len(), "expected mispredictions");
    let places = distinct_places(sheet, &ranking.branches);
    for (branch, place) in ranking.branches.iter().zip(places) {
        table.row(row(sheet, branch, &place, &contexts));
        table.note(note(sheet, branch));
    }
    if !ranking.branches.is_empty() && !contexts.iter().any(is_previous) {
        sheet
            .page
            .wrapped(Line::new(), Ink::Plain, WITHOUT_PATTERNS)?;
    }
    table.write(&mut sheet.page)?;
    write_contexts(sheet, &ranking, &contexts)?;
    legend(sheet, ranking.branches.iter().map(|branch| branch.bound))
}

/// Explains, below the table, the contexts that its columns stand for.
fn write_contexts(
    sheet: &mut Sheet<'_>,
    ranking: &Ranking,
    contexts: &[Context],
) -> io::Result<()> {
    if ranking.branches.is_empty() {
        return Ok(());
    }
    let explanations = contexts.iter().map(|context| context.explanation());
    let mut text = explanations.collect::<Vec<String>>().join(" · ");
    let is_unknown = |context: &Context| {
        let mut branches = ranking.branches.iter();
        branches.any(|branch| context.figure(branch).is_none())
    };
    if contexts.iter().any(is_unknown) {
        text += " · -: not known, for example because a call of the function runs only one path";
    }
    sheet.page.gap()?;
    sheet.page.wrapped(Line::new(), Ink::Faint, &text)
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

/// The places of the branches. Branches of one function on one line have their columns, and, if
/// these are equal too, their blocks.
fn distinct_places(sheet: &Sheet<'_>, branches: &[Branch]) -> Vec<String> {
    let places = branches
        .iter()
        .map(|branch| place(sheet, branch, user_place(sheet, branch)));
    let mut places: Vec<String> = places.collect();
    let column = |branch: &Branch| {
        let column = user_place(sheet, branch).map_or(0, |place| place.column);
        (column != 0).then(|| format!(":{column}"))
    };
    let block = |branch: &Branch| Some(format!(" b{}", branch.block));
    let columns: Vec<Option<String>> = branches.iter().map(column).collect();
    let blocks: Vec<Option<String>> = branches.iter().map(block).collect();
    for additions in [columns, blocks] {
        let mut rows: HashMap<(FunctionId, String), Vec<usize>> = HashMap::new();
        for (row, (branch, place)) in branches.iter().zip(&places).enumerate() {
            let key = (branch.function, place.clone());
            rows.entry(key).or_default().push(row);
        }
        for row in rows.into_values().filter(|rows| rows.len() > 1).flatten() {
            places[row] += additions[row].as_deref().unwrap_or_default();
        }
    }
    places
}

fn row(
    sheet: &Sheet<'_>,
    branch: &Branch,
    place: &str,
    contexts: &[Context],
) -> Vec<(Ink, String)> {
    let place = clip_start(place, MIN_WIDTH.max(sheet.page.width() / 4));
    let executions = marked(branch.bound, &grouped(branch.executions));
    let rate = share(branch.mispredictions.expected(), branch.executions);
    let name = sheet.name(sheet.run.function(branch.function));
    let mut row = vec![(Ink::Number, rate)];
    row.extend(contexts.iter().map(|context| {
        let figure = context.figure(branch);
        let figure = figure.map_or_else(|| "-".to_owned(), grouped);
        (Ink::Plain, figure)
    }));
    row.extend([
        (Ink::Plain, executions),
        (Ink::Plain, taken(branch)),
        (Ink::Plain, format!("{:.2}", branch.entropy())),
        (Ink::Place, place),
        (Ink::Strong, name.to_string()),
    ]);
    row
}

/// How often the condition held. Of a branch with more than two outcomes, how many it has.
fn taken(branch: &Branch) -> String {
    match branch.outcomes.len() {
        0..=2 => share(branch.taken, branch.executions),
        ways => format!("{ways} ways"),
    }
}

/// The line below a branch: the source line that names it, and its outcomes with their shares. A
/// branch in library code also has its line there.
fn note(sheet: &Sheet<'_>, branch: &Branch) -> Line {
    let mut line = Line::new();
    line.up_to(INDENT);
    let user = user_place(sheet, branch);
    if let Some(text) = source(sheet, branch, user) {
        let width = MIN_WIDTH.max(sheet.page.width() / 3);
        line.put(Ink::Plain, &clip(&text, width))
            .put(Ink::Plain, "  ");
    }
    line.put(Ink::Outcome, &outcomes(sheet, branch));
    if user != branch.place {
        let library = place(sheet, branch, branch.place);
        line.put(Ink::Faint, &format!("  at {library}"));
    }
    line
}

/// The most frequent outcomes in words: `→ line 7 61.2 %, line 9 38.8 %`.
fn outcomes(sheet: &Sheet<'_>, branch: &Branch) -> String {
    let branches = sheet.branches(sheet.run.function(branch.function));
    let shown = branch.outcomes.iter().take(SHOWN_OUTCOMES);
    let words = shown.map(|outcome| {
        let destination = branches.destination(outcome.edge);
        let word = branches.word(branch.place, &destination);
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

/// The place of a branch. Of a branch in library code, the place in the user's code that it was
/// inlined into, if there is one.
fn user_place(sheet: &Sheet<'_>, branch: &Branch) -> Option<Place> {
    let map = &sheet.run.function(branch.function).map;
    inlined_at(map, branch.place?).or(branch.place)
}

fn source(sheet: &Sheet<'_>, branch: &Branch, place: Option<Place>) -> Option<String> {
    let (file, line) = file_and_line(sheet, branch, place)?;
    let text = sheet.options.source.line(file, line)?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The place, or what the branch is: the optimizer may have joined jumps of several lines into one,
/// which has no line of its own.
fn place(sheet: &Sheet<'_>, branch: &Branch, place: Option<Place>) -> String {
    match file_and_line(sheet, branch, place) {
        Some((file, line)) => sheet.place(file, line),
        None if branch.outcomes.len() > 2 => {
            format!("jump with {} targets", branch.outcomes.len())
        }
        None => "-".to_owned(),
    }
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
