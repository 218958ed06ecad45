//! The paths view: the hottest paths, each with its source lines.
//!
//! ```text
//!   1   40.0 %    40.0 %        100 runs × 8 instructions   app::search#3fa2  p12
//!     ┌ loop head
//!     │ src/search.rs:40           while let Some(x) = it.next() {
//!     │                            ┊ inlined core::iter::Range::next at src/search.rs:40
//!     │ <std>/core/src/…/range.rs:30 ┊ if self.start < self.end {  → src/search.rs:41
//!     │ src/search.rs:41           total += x;
//!     └ back to src/search.rs:40
//! ```
//!
//! Cost: the view regenerates only the paths that it shows.

use std::io;
use std::ops::Range;

use holloway_analysis::directions::Destination;
use holloway_analysis::paths::{HotPath, hottest, regenerate};
use holloway_analysis::trail::{End, Frame, Start, Step, Trail, frames, trail};
use holloway_analysis::{Function, FunctionId, Sort};
use holloway_flow::PathId;
use holloway_format::{Count, Outcome, Place};
use unicode_width::UnicodeWidthStr;

use super::outcome;
use super::paint::{Ink, Line, clip, clip_start};
use super::sheet::{Detail, PLACE, Sheet};
use crate::numbers::{grouped, plural, share};
use crate::path_names::short_name;

/// Minimum columns of source text.
const MIN_TEXT_WIDTH: usize = 20;

pub(super) fn write(sheet: &mut Sheet<'_>) -> io::Result<()> {
    let sort = sheet.options.sort;
    let ranking = hottest(sheet.run, sort, Some(sheet.top()), &|id| {
        sheet.names.paths(sheet.run, id)
    });
    let unit = match sort {
        Sort::Count => "path executions",
        Sort::Instructions => "instructions",
    };
    let shown = format!(
        "{} of {}",
        grouped(ranking.paths.len() as u64),
        plural(ranking.ranked, "path")
    );
    let shown = format!(
        "{shown}, by share of {} {unit} (alone, cumulative)",
        grouped(ranking.total)
    );
    sheet.title("Hottest paths", &shown)?;
    let widths = Widths::new(&ranking.paths);
    let detail = Detail::of_items(ranking.paths.len());
    let mut sum = Count::ZERO;
    let mut cut_paths = 0u64;
    for (index, path) in ranking.paths.iter().enumerate() {
        let weight = path.weight(sort);
        sum = sum.saturating_add(weight);
        let shares = (share(weight, ranking.total), share(sum, ranking.total));
        write_head(sheet, index + 1, path, &shares, &widths)?;
        let is_cut = write_rows(sheet, path.function, path.path, detail)?;
        cut_paths += u64::from(is_cut);
    }
    if cut_paths == 0 {
        return Ok(());
    }
    sheet.page.gap()?;
    let text = format!(
        "{} of these paths {} at a cut: the function has so many possible paths that each route \
         through it is counted in pieces. A build with --guide RUN moves cuts to code that seldom runs",
        grouped(cut_paths),
        if cut_paths == 1 {
            "starts or ends"
        } else {
            "start or end"
        },
    );
    sheet.page.wrapped(Line::new(), Ink::Faint, &text)
}

/// Widths of the numbers in the first lines of paths, so that the numbers of all paths align.
struct Widths {
    rank: usize,
    count: usize,
    instructions: usize,
}

impl Widths {
    fn new(paths: &[HotPath]) -> Widths {
        let widest = |number: &dyn Fn(&HotPath) -> u64| {
            paths.iter().map(|path| grouped(number(path)).len()).max()
        };
        Widths {
            rank: paths.len().to_string().len().max(3),
            count: widest(&|path| path.count.0).unwrap_or(0),
            instructions: widest(&|path| path.instructions).unwrap_or(0),
        }
    }
}

/// Writes the first line of a path: its rank, shares, counts, and name.
fn write_head(
    sheet: &mut Sheet<'_>,
    rank: usize,
    path: &HotPath,
    (alone, cumulative): &(String, String),
    widths: &Widths,
) -> io::Result<()> {
    let function = sheet.run.function(path.function);
    let name = sheet.name_of_path(function, path.path);
    let instructions = if path.instructions == 1 {
        "instruction "
    } else {
        "instructions"
    };
    let mut line = Line::new();
    line.right(Ink::Faint, &rank.to_string(), widths.rank);
    line.right(Ink::Number, alone, 9)
        .right(Ink::Faint, cumulative, 9)
        .put(Ink::Plain, "  ");
    line.right(Ink::Strong, &grouped(path.count), widths.count)
        .put(Ink::Plain, " × ");
    line.right(Ink::Plain, &grouped(path.instructions), widths.instructions);
    line.put(
        Ink::Plain,
        &format!(" {instructions} = {}  ", grouped(path.total_instructions())),
    );
    let mut name_and_path = Line::new();
    name_and_path
        .put(Ink::Strong, &name)
        .put(Ink::Faint, &format!("  {}", path.path));
    sheet.page.gap()?;
    if line.width() + name_and_path.width() > sheet.page.width() {
        sheet.page.line(&line)?;
        line = Line::new();
        line.up_to(4);
    }
    sheet.page.line(line.join(name_and_path))
}

/// Writes the rows of a path: its lines and decisions. Returns whether the path starts or ends at a
/// cut.
pub(super) fn write_rows(
    sheet: &mut Sheet<'_>,
    function: FunctionId,
    path: PathId,
    detail: Detail,
) -> io::Result<bool> {
    let function = sheet.run.function(function);
    let Some(regenerated) = regenerate(function, path) else {
        return Ok(false);
    };
    let trail = trail(&function.map, &regenerated);
    let rows = rows(sheet, function, &trail);
    let elided = elided(rows.len(), detail);
    let max_place_width = PLACE.min(sheet.page.width() / 2);
    let place_width = rows
        .iter()
        .map(|row| row.place.width())
        .max()
        .unwrap_or(0)
        .min(max_place_width);
    write_gutter(sheet, "┌", &start(sheet, function, &trail))?;
    for (index, row) in rows.iter().enumerate() {
        if index == elided.start && !elided.is_empty() {
            let lines = plural(elided.len() as u64, "line");
            let name = sheet.names.name(function);
            let choice = path_choice(&name, &short_name(function, path));
            let text = format!("… {lines} more: --function {choice} shows the whole path");
            write_gutter(sheet, "│", &text)?;
        }
        if !elided.contains(&index) {
            row.write(sheet, place_width)?;
        }
    }
    write_gutter(sheet, "└", &end(sheet, function, &trail))?;
    Ok(trail.start == Start::Cut || matches!(trail.end, End::Cut(_)))
}

/// The rows in the middle of a path that are left out.
fn elided(rows: usize, detail: Detail) -> Range<usize> {
    let (first, last) = match detail {
        Detail::Whole => return 0..0,
        Detail::Brief => (14, 8),
        Detail::Excerpt => (5, 3),
    };
    // A gap of one or two rows saves nothing.
    match rows > first + last + 2 {
        true => first..rows - last,
        false => 0..0,
    }
}

/// The words that select a path: its short name after its function's name, without the modules
/// before it. Names with generic parameters stay whole, in quotes.
fn path_choice(name: &str, short_name: &str) -> String {
    match name.contains(['<', ' ', '(', '{']) {
        true => format!("'{name}{short_name}'"),
        false => {
            let last = name.rsplit("::").next().unwrap_or(name);
            format!("{last}{short_name}")
        }
    }
}

fn write_gutter(sheet: &mut Sheet<'_>, mark: &str, text: &str) -> io::Result<()> {
    let rest = if mark == "└" { " " } else { "│" };
    sheet.page.line(
        Line::new()
            .put(Ink::Faint, &format!("    {mark} {text}"))
            .continued_by(&format!("    {rest}   ")),
    )
}

fn start(sheet: &Sheet<'_>, function: &Function, trail: &Trail) -> String {
    let map = &function.map;
    match trail.start {
        Start::Entry if map.line == 0 => "entry".to_owned(),
        Start::Entry => format!("entry {}", sheet.place(&map.file, map.line)),
        Start::Loop | Start::Cut => {
            let kind = match trail.start {
                Start::Cut => "after a cut",
                _ => "loop head",
            };
            let place = trail.at.map(|place| place_in_words(sheet, function, place));
            format!("{kind}{}", place.unwrap_or_default())
        }
    }
}

pub(super) fn end(sheet: &Sheet<'_>, function: &Function, trail: &Trail) -> String {
    let to = |place: Option<Place>| {
        place.map_or_else(String::new, |place| place_in_words(sheet, function, place))
    };
    match trail.end {
        End::Exit(Outcome::Return | Outcome::Jump) => "exit: returns".to_owned(),
        End::Exit(Outcome::Left) => "left in a call that did not come back".to_owned(),
        End::Exit(outcome) => format!("exit: {}", outcome::word(outcome)),
        End::Back(head) => match to(head) {
            place if place.is_empty() => "back to the loop head".to_owned(),
            place => format!("back to{place}"),
        },
        End::Cut(next) => format!("cut, goes on{}", to(next)),
    }
}

/// Lists the lines of a path with the decisions at each line. A line has its file's name if the
/// file is not that of the previous line. A decision is left out if the next line shows where
/// control went.
pub(super) fn in_brief<'a>(
    sheet: &Sheet<'a>,
    function: &'a Function,
    trail: &Trail,
) -> Vec<String> {
    let branches = sheet.branches(function);
    let steps = shown_steps(sheet, function, &trail.steps);
    let mut file = String::new();
    let mut places = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let Some(scope) = function.map.scopes.get(step.place.scope as usize) else {
            continue;
        };
        let place = sheet.place(&scope.file, step.place.line);
        let (step_file, line) = place.rsplit_once(':').unwrap_or(("", &place));
        let text = if step_file == file {
            line.to_owned()
        } else {
            clip_start(&place, PLACE)
        };
        step_file.clone_into(&mut file);
        let next = steps.get(number + 1);
        let decisions = step.decisions.iter();
        let mut destinations: Vec<_> = decisions.map(|&edge| branches.destination(edge)).collect();
        destinations.pop_if(|destination| match destination {
            Destination::Back(to) => {
                to.block.is_none() && next.is_none() && matches!(trail.end, End::Back(_))
            }
            destination => next.is_some_and(|next| branches.is_line(destination, next.place)),
        });
        let decided = branches.in_words(step.place, &destinations);
        places.push(if decided.is_empty() {
            text
        } else {
            format!("{text} {decided}")
        });
    }
    places
}

/// A place as a line of the function's own text. If the code there is inlined, the line in the
/// inlined function follows in parentheses.
pub(super) fn place_in_words(sheet: &Sheet<'_>, function: &Function, place: Place) -> String {
    let line_of = |frame: Frame| {
        let file = &function.map.scopes[frame.scope as usize].file;
        clip_start(&sheet.place(file, frame.line), PLACE)
    };
    let frames: Vec<Frame> = frames(&function.map, &place).collect();
    match frames[..] {
        [] => String::new(),
        [frame] => format!(" {}", line_of(frame)),
        [inner, .., outer] => format!(" {} (inlined from {})", line_of(outer), line_of(inner)),
    }
}

/// A row of a path: a source line, or the names of inlined frames.
struct Row {
    place: String,
    /// Number of inlined frames around the row's code.
    depth: usize,
    text: RowText,
    /// The decisions at the line, in words.
    decided: String,
}

/// The text of a row.
enum RowText {
    /// The source text of the row's line. Empty if it is unknown.
    Source(String),
    /// The names of inlined frames and the line of their call.
    Frames(String),
}

impl Row {
    fn write(&self, sheet: &mut Sheet<'_>, place_width: usize) -> io::Result<()> {
        let mut line = Line::new();
        line.put(Ink::Faint, "    │ ").left(
            Ink::Place,
            &clip_start(&self.place, place_width),
            place_width,
        );
        line.put(Ink::Faint, &format!("  {}", "┊ ".repeat(self.depth)));
        let decided_width = if self.decided.is_empty() {
            0
        } else {
            self.decided.width() + 2
        };
        let room = sheet
            .page
            .width()
            .saturating_sub(line.width() + decided_width)
            .max(MIN_TEXT_WIDTH);
        match &self.text {
            RowText::Source(text) => line.put_clipped(Ink::Plain, &clip(text, room)),
            RowText::Frames(text) => line.put(Ink::Faint, text),
        };
        line.continued_by("    │   ");
        if !self.decided.is_empty() {
            let is_empty = matches!(&self.text, RowText::Source(text) if text.is_empty());
            line.put(
                Ink::Outcome,
                &format!("{}{}", if is_empty { "" } else { "  " }, self.decided),
            );
        }
        sheet.page.line(&line)
    }
}

fn rows<'a>(sheet: &Sheet<'a>, function: &'a Function, trail: &Trail) -> Vec<Row> {
    let branches = sheet.branches(function);
    let mut rows = Vec::new();
    // The scopes of the previous step, outermost first.
    let mut previous: Vec<u32> = Vec::new();
    for step in &shown_steps(sheet, function, &trail.steps) {
        let mut scopes: Vec<u32> = frames(&function.map, &step.place)
            .map(|frame| frame.scope)
            .collect();
        scopes.reverse();
        let shared = scopes
            .iter()
            .zip(&previous)
            .take_while(|(a, b)| a == b)
            .count()
            .max(1);
        if scopes.len() > shared {
            rows.push(inlined_frames_row(sheet, function, &scopes, shared));
        }
        let decided = branches.decided(step);
        rows.push(step_row(
            sheet,
            function,
            step,
            scopes.len().saturating_sub(1),
            decided,
        ));
        previous = scopes;
    }
    rows
}

/// Selects the steps to show. Steps of the standard library without source text and without
/// decisions (except passed checks) are left out. Neighboring steps on one line become one step. If
/// all steps would be left out, all steps are shown.
fn shown_steps<'a>(sheet: &Sheet<'a>, function: &'a Function, steps: &[Step]) -> Vec<Step> {
    let scopes = &function.map.scopes;
    let branches = sheet.branches(function);
    let is_left_out = |step: &Step| {
        let file = scopes
            .get(step.place.scope as usize)
            .map_or("", |scope| &scope.file);
        branches.decided(step).is_empty()
            && sheet.place(file, step.place.line).starts_with("<std>/")
            && sheet.options.source.line(file, step.place.line).is_none()
    };
    let mut shown: Vec<Step> = Vec::new();
    for step in steps.iter().filter(|step| !is_left_out(step)) {
        match shown.last_mut() {
            Some(last)
                if (last.place.scope, last.place.line) == (step.place.scope, step.place.line) =>
            {
                last.decisions.extend(&step.decisions);
            }
            _ => shown.push(step.clone()),
        }
    }
    if shown.is_empty() {
        steps.to_vec()
    } else {
        shown
    }
}

/// The row that introduces inlined frames: their names, outermost first, and the line of the call
/// that was inlined. `stack` has the scopes of a step, outermost first; the frames from the depth
/// `from` on are introduced.
fn inlined_frames_row(sheet: &Sheet<'_>, function: &Function, stack: &[u32], from: usize) -> Row {
    let scopes = &function.map.scopes;
    let names: Vec<_> = stack[from..]
        .iter()
        .map(|&scope| &scopes[scope as usize])
        .map(|scope| sheet.names.name_of(&scope.linkage_name, &scope.name))
        .collect();
    let (caller, first) = (
        &scopes[stack[from - 1] as usize],
        &scopes[stack[from] as usize],
    );
    // The frames between the function that was called and the innermost one say little.
    let names = match &names[..] {
        [first, _, .., last] => format!("{first} › … › {last}"),
        names => names.join(" › "),
    };
    let call = sheet.place(&caller.file, first.call_line);
    Row {
        place: String::new(),
        depth: from,
        text: RowText::Frames(format!("inlined {names} at {call}")),
        decided: String::new(),
    }
}

/// The row of a step: its line with the source text and the decisions.
fn step_row(
    sheet: &Sheet<'_>,
    function: &Function,
    step: &Step,
    depth: usize,
    decided: String,
) -> Row {
    let file = function
        .map
        .scopes
        .get(step.place.scope as usize)
        .map_or("", |scope| &scope.file);
    let text = sheet.options.source.line(file, step.place.line);
    Row {
        place: sheet.place(file, step.place.line),
        depth,
        text: RowText::Source(text.map_or_else(String::new, |text| text.trim().to_owned())),
        decided,
    }
}
