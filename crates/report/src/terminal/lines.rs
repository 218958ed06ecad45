//! The lines view: the source with a count for each line that has code.
//!
//! Files are ordered by the sum of their lines' counts. Lines near lines that ran are shown too,
//! even if they have no code. Other lines are left out, and `⋮` marks the gap. With `--function` or
//! `--file`, the view shows whole functions or files. Otherwise it shows only the hottest lines and
//! their neighbors: about a hundred rows, or the number of lines that `--top` gives. These lines
//! are only from files whose text is available. Lines of glue come after all others. Neighbors that
//! never ran are not shown among the hottest lines, unless all lines that ran are shown.

use holloway_format::Count;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

use holloway_analysis::bounds::Bound;
use holloway_analysis::lines::Lines;

use super::bounds::{legend, marked};
use super::heat;
use super::paint::{Ink, Line};
use super::sheet::Sheet;
use crate::code::{Origin, is_workspace, library};
use crate::colors::HeatScale;
use crate::lines::{line_bounds, line_counts, lines_of_glue};
use crate::numbers::{grouped, plural, share};
use crate::places;

/// Number of neighbor lines that are shown before and after a line that ran.
const NEIGHBORS: u32 = 3;
/// Number of neighbor lines if only the hottest lines are shown.
const NEIGHBORS_OF_HOT: u32 = 1;
/// The view selects hot lines until they and their neighbors take this number of rows.
const ROWS: usize = 80;
/// Maximum number of libraries that the line about hidden code names.
const MAX_LIBRARIES: usize = 4;

/// A file with lines that ran.
struct File {
    name: String,
    lines: Lines,
    /// Bounds of the lines whose counts may differ from the executions.
    bounds: BTreeMap<u32, Bound>,
    /// The lines whose code is only in glue.
    glue: BTreeSet<u32>,
    /// Sum of the lines' counts.
    sum: Count,
}

impl File {
    /// Sum of the counts of lines that are not only glue.
    fn sum_without_glue(&self) -> Count {
        let lines = self.lines.iter();
        let lines = lines.filter(|(line, _)| !self.glue.contains(line));
        sum(lines.map(|(_, &count)| count))
    }
}

pub(super) fn write(sheet: &mut Sheet<'_>) -> io::Result<()> {
    let Shown { files, hidden } = Shown::select(sheet);
    if files.is_empty() {
        sheet.title("Lines", "with counts: none")?;
        return sheet.page.text(
            Ink::Alarm,
            "  no line ran, or the program has no line tables",
        );
    }
    let options = sheet.options;
    let shows_whole = options.function.is_some() || options.code.selects_files();
    match options.top {
        Some(top) => write_hottest(sheet, &files, Limit::Lines(top))?,
        None if shows_whole => write_files(sheet, &files)?,
        None => write_hottest(sheet, &files, Limit::Rows(ROWS))?,
    }
    hidden.write(sheet)
}

/// The files to show.
struct Shown {
    files: Vec<File>,
    hidden: Hidden,
}

impl Shown {
    /// Selects the files of the workspace, unless the user selected other code, or no code of the
    /// workspace ran.
    fn select(sheet: &Sheet<'_>) -> Shown {
        let files = files(sheet);
        let is_default = !sheet.names.selects() && sheet.options.code.origin == Origin::ByView;
        let is_shown = |file: &File| !is_default || is_workspace(&file.name);
        if !files.iter().any(is_shown) {
            return Shown {
                files,
                hidden: Hidden::default(),
            };
        }
        let all = sum(files.iter().map(|file| file.sum));
        let (files, hidden): (Vec<File>, Vec<File>) = files.into_iter().partition(is_shown);
        let mut libraries: Vec<String> = Vec::new();
        for file in &hidden {
            let library = library(&file.name);
            if !libraries.iter().any(|known| known == library) {
                libraries.push(library.to_owned());
            }
        }
        let ran_in = |file: &File| ran(&file.lines).count() as u64;
        Shown {
            files,
            hidden: Hidden {
                lines: hidden.iter().map(ran_in).sum(),
                executions: sum(hidden.iter().map(|file| file.sum)),
                all_executions: all,
                libraries,
            },
        }
    }
}

/// Lines outside the workspace that ran and are not shown.
#[derive(Default)]
struct Hidden {
    lines: u64,
    executions: Count,
    /// Executions of all lines, hidden or not.
    all_executions: Count,
    /// The libraries that contain the lines, the one with the hottest file first.
    libraries: Vec<String>,
}

impl Hidden {
    /// Writes how many lines are hidden, and the option that shows them.
    fn write(&self, sheet: &mut Sheet<'_>) -> io::Result<()> {
        if self.lines == 0 {
            return Ok(());
        }
        let named = self.libraries.len().min(MAX_LIBRARIES);
        let mut names = self.libraries[..named].join(", ");
        if self.libraries.len() > named {
            names += &format!(", {} more", self.libraries.len() - named);
        }
        let text = format!(
            "hidden: {} outside the workspace ({names}), {} of all line executions; --all-code shows them",
            plural(self.lines, "line"),
            share(self.executions, self.all_executions)
        );
        sheet.page.gap()?;
        sheet.page.wrapped(Line::new(), Ink::Faint, &text)
    }
}

fn sum(counts: impl Iterator<Item = Count>) -> Count {
    counts.fold(Count::ZERO, Count::saturating_add)
}

/// Files with counts, ordered by line executions.
fn files(sheet: &Sheet<'_>) -> Vec<File> {
    let counts = line_counts(sheet.run, &sheet.names);
    let mut bounds = line_bounds(sheet.run, &sheet.names);
    let mut glue = lines_of_glue(sheet.run, &sheet.names);
    let mut files: Vec<File> = counts
        .into_iter()
        .map(|(name, lines)| File {
            sum: sum(lines.values().copied()),
            bounds: bounds.remove(&name).unwrap_or_default(),
            glue: glue.remove(&name).unwrap_or_default(),
            name,
            lines,
        })
        .filter(|file| file.sum > Count::ZERO)
        .collect();
    files.sort_by_cached_key(|file| {
        let sums = (file.sum_without_glue(), file.sum);
        (Reverse(sums), file.name.clone())
    });
    files
}

fn write_files(sheet: &mut Sheet<'_>, files: &[File]) -> io::Result<()> {
    let top = sheet.top();
    let shown = format!(
        "{} of {} with counts, most line executions first",
        files.len().min(top),
        plural(files.len() as u64, "file")
    );
    sheet.title("Lines", &shown)?;
    let mut marks = Vec::new();
    let scale = scale(files.iter().take(top));
    for file in files.iter().take(top) {
        let ran: BTreeSet<u32> = ran(&file.lines).map(|(line, _)| line).collect();
        let visible = visible(&file.lines, &ran, NEIGHBORS);
        write_file(sheet, file, &visible, &scale, &mut marks)?;
    }
    heat::legend(sheet, &scale)?;
    legend(sheet, marks)
}

fn write_hottest(sheet: &mut Sheet<'_>, files: &[File], limit: Limit) -> io::Result<()> {
    let (with_text, hidden) = with_text(sheet, files);
    let hot = HotLines::select(&with_text, limit);
    let shown = format!(
        "{} of {} that ran, in {} of {}, most line executions first",
        grouped(hot.shown),
        plural(hot.ran + hidden, "line"),
        hot.files.len(),
        plural(files.len() as u64, "file")
    );
    let shows_all = hot.shown == hot.ran;
    sheet.title(if shows_all { "Lines" } else { "Hottest lines" }, &shown)?;
    let mut marks = Vec::new();
    let scale = scale(with_text.iter().copied());
    for (&file, lines) in &hot.files {
        let file = with_text[file];
        let mut visible = match shows_all {
            true => visible(&file.lines, lines, NEIGHBORS),
            false => visible(&file.lines, lines, NEIGHBORS_OF_HOT),
        };
        let never_ran = |line: &u32| file.lines.get(line) == Some(&Count::ZERO);
        visible.retain(|line| shows_all || !never_ran(line));
        write_file(sheet, file, &visible, &scale, &mut marks)?;
    }
    heat::legend(sheet, &scale)?;
    legend(sheet, marks)?;
    let mut omitted = Vec::new();
    let colder = hot.ran - hot.shown - hot.glue;
    if colder > 0 {
        let lines = plural(colder, "colder line");
        omitted.push(format!(
            "{lines}, {} at most",
            plural(hot.next_count, "run")
        ));
    }
    if hot.glue > 0 {
        let lines = plural(hot.glue, "line");
        omitted.push(format!("{lines} of glue (allocator shims and the like)"));
    }
    if hidden > 0 {
        let lines = plural(hidden, "line");
        omitted.push(format!("{lines} of files whose source is not here"));
    }
    if omitted.is_empty() {
        return Ok(());
    }
    sheet.page.gap()?;
    let text = format!(
        "… and {}; --top N shows N lines, --file GLOB whole files, --function REGEX whole functions",
        omitted.join(", ")
    );
    sheet.page.wrapped(Line::new(), Ink::Faint, &text)
}

/// Returns the files whose text is available, and the number of lines that ran in the other files.
/// If no file's text is available, returns all files and 0.
fn with_text<'a>(sheet: &Sheet<'_>, files: &'a [File]) -> (Vec<&'a File>, u64) {
    let has_text = |file: &&File| {
        let mut ran = ran(&file.lines);
        ran.any(|(line, _)| sheet.options.source.line(&file.name, line).is_some())
    };
    let (shown, hidden): (Vec<&File>, Vec<&File>) = files.iter().partition(has_text);
    if shown.is_empty() {
        return (hidden, 0);
    }
    let hidden = hidden.iter().map(|file| ran(&file.lines).count() as u64);
    (shown, hidden.sum())
}

/// How many of the hottest lines to show.
#[derive(Clone, Copy)]
enum Limit {
    /// This number of lines.
    Lines(usize),
    /// As many lines as it takes to fill this number of rows, together with their neighbors.
    Rows(usize),
}

/// The hottest lines of all files.
struct HotLines {
    /// The selected lines of each file, by the file's index.
    files: BTreeMap<usize, BTreeSet<u32>>,
    /// Number of selected lines.
    shown: u64,
    /// Number of lines that ran.
    ran: u64,
    /// Count of the hottest line that is not selected and not glue.
    next_count: Count,
    /// Number of lines of glue that are not selected.
    glue: u64,
}

impl HotLines {
    fn select(files: &[&File], limit: Limit) -> HotLines {
        let lines = files.iter().enumerate();
        let lines = lines.flat_map(|(index, file)| {
            ran(&file.lines).map(move |(line, count)| {
                let is_glue = file.glue.contains(&line);
                (is_glue, Reverse(count), index, line)
            })
        });
        let mut lines: Vec<_> = lines.collect();
        lines.sort_unstable();
        let mut hot = HotLines {
            files: BTreeMap::new(),
            shown: 0,
            ran: lines.len() as u64,
            next_count: Count::ZERO,
            glue: 0,
        };
        let mut rows: BTreeSet<(usize, u32)> = BTreeSet::new();
        for &(is_glue, Reverse(count), file, line) in &lines {
            let is_full = match limit {
                Limit::Lines(lines) => hot.shown >= lines as u64,
                Limit::Rows(limit) => rows.len() >= limit,
            };
            if is_full {
                hot.next_count = if is_glue { Count::ZERO } else { count };
                let others = lines[hot.shown as usize..].iter();
                hot.glue = others.filter(|(is_glue, ..)| *is_glue).count() as u64;
                break;
            }
            let neighborhood =
                line.saturating_sub(NEIGHBORS_OF_HOT)..=line.saturating_add(NEIGHBORS_OF_HOT);
            rows.extend(neighborhood.map(|line| (file, line)));
            hot.files.entry(file).or_default().insert(line);
            hot.shown += 1;
        }
        hot
    }
}

/// The scale of the colors of all lines of these files.
fn scale<'a>(files: impl Iterator<Item = &'a File>) -> HeatScale {
    let counts = files.flat_map(|file| file.lines.values().copied());
    HeatScale::up_to(counts.max().unwrap_or_default())
}

/// The lines that ran, with their counts.
fn ran(lines: &Lines) -> impl Iterator<Item = (u32, Count)> {
    let lines = lines.iter().map(|(&line, &count)| (line, count));
    lines.filter(|&(_, count)| count > Count::ZERO)
}

fn write_file(
    sheet: &mut Sheet<'_>,
    file: &File,
    visible: &[u32],
    scale: &HeatScale,
    marks: &mut Vec<Bound>,
) -> io::Result<()> {
    let lines = &file.lines;
    let mut head = Line::new();
    head.put(
        Ink::Place,
        &places::short(&file.name, sheet.options.cwd.as_deref()),
    );
    let ran = format!(
        "  {} line executions · {} of {} with code ran",
        grouped(file.sum),
        ran(lines).count(),
        plural(lines.len() as u64, "line")
    );
    head.put(Ink::Faint, &ran);
    sheet.page.gap()?;
    sheet.page.line(&head)?;
    let widest = lines.values().copied().max().unwrap_or_default();
    let width = grouped(widest).len() + usize::from(!file.bounds.is_empty());
    let width = width.max(5);
    let mut last_shown = 0;
    for &line in visible {
        let is_known =
            lines.contains_key(&line) || sheet.options.source.line(&file.name, line).is_some();
        if !is_known {
            continue;
        }
        if last_shown + 1 < line && last_shown > 0 {
            let mut fold = Line::new();
            fold.right(Ink::Faint, "", width).put(Ink::Faint, "  ⋮");
            sheet.page.line(&fold)?;
        }
        last_shown = line;
        let bound = file.bounds.get(&line).copied().unwrap_or_default();
        let count = lines.get(&line).map(|&count| (count, bound));
        marks.extend(count.map(|(_, bound)| bound));
        write_line(sheet, (&file.name, line), count, scale, width)?;
    }
    Ok(())
}

/// Returns the chosen lines with `neighbors` lines before and after each line, within the file's
/// first and last line with code.
fn visible(lines: &Lines, chosen: &BTreeSet<u32>, neighbors: u32) -> Vec<u32> {
    let mut visible: Vec<u32> = Vec::new();
    let (first, last) = (
        lines.keys().next().copied().unwrap_or(1),
        lines.keys().last().copied().unwrap_or(1),
    );
    for &line in chosen {
        let from = line
            .saturating_sub(neighbors)
            .max(first)
            .max(visible.last().map_or(0, |last| last + 1));
        visible.extend(from..=line.saturating_add(neighbors).min(last));
    }
    visible
}

fn write_line(
    sheet: &mut Sheet<'_>,
    (file, number): (&str, u32),
    count: Option<(Count, Bound)>,
    scale: &HeatScale,
    width: usize,
) -> io::Result<()> {
    let text = sheet.options.source.line(file, number).unwrap_or_default();
    let mut line = Line::new();
    match count {
        None => line.right(Ink::Plain, "", width),
        Some((count, bound)) => {
            let text = marked(bound, &grouped(count));
            line.right(heat::ink(scale, count), &text, width)
        }
    };
    line.put(Ink::Faint, " │")
        .right(Ink::Faint, &number.to_string(), 6)
        .put(Ink::Faint, " │ ");
    line.put_clipped(
        if count.is_some_and(|(count, _)| count == Count::ZERO) {
            Ink::Faint
        } else {
            Ink::Plain
        },
        &text,
    );
    sheet.page.line(&line)
}
