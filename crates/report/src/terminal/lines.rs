//! The lines view: the source with a count for each line that has code.
//!
//! Files are ordered by the sum of their counts. Lines near lines that ran are shown too, even
//! without code; long stretches that never ran are folded. Without `--top` and `--function`, the
//! view shows only the hottest lines and their neighbors: about a hundred rows, only of files whose
//! text is available.

use holloway_format::Count;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

use holloway_analysis::bounds::Bound;
use holloway_analysis::lines::Lines;

use super::bounds::{legend, marked};
use super::paint::{Ink, Line};
use super::sheet::Sheet;
use crate::lines::{line_bounds, line_counts};
use crate::numbers::{grouped, plural};
use crate::places;

/// Lines shown before and after a line that ran, and before and after a hot line.
const AROUND: u32 = 3;
const AROUND_HOT: u32 = 1;
/// Rows of hot lines and their neighbors beyond which colder lines are left out.
const ROWS: usize = 80;

/// A file with lines that ran.
struct File {
    name: String,
    lines: Lines,
    /// Bounds of the lines whose counts may differ from the executions.
    bounds: BTreeMap<u32, Bound>,
    /// Sum of the lines' counts.
    sum: Count,
}

pub(super) fn write(sheet: &mut Sheet<'_>) -> io::Result<()> {
    let files = files(sheet);
    if files.is_empty() {
        sheet.title("Lines", "with counts: none")?;
        return sheet.page.text(
            Ink::Alarm,
            "  no line ran, or the program has no line tables",
        );
    }
    if sheet.options.top.is_some() || sheet.options.function.is_some() {
        return write_whole(sheet, &files);
    }
    write_hottest(sheet, &files)
}

/// Files with counts, ordered by line executions.
fn files(sheet: &Sheet<'_>) -> Vec<File> {
    let all = line_counts(sheet.run, &sheet.names);
    let mut bounds = line_bounds(sheet.run, &sheet.names);
    let sum = |lines: &Lines| {
        lines
            .values()
            .copied()
            .fold(Count::ZERO, Count::saturating_add)
    };
    let mut files: Vec<File> = all
        .into_iter()
        .map(|(name, lines)| File {
            sum: sum(&lines),
            bounds: bounds.remove(&name).unwrap_or_default(),
            name,
            lines,
        })
        .filter(|file| file.sum > Count::ZERO)
        .collect();
    files.sort_by(|a, b| (b.sum, &a.name).cmp(&(a.sum, &b.name)));
    files
}

fn write_whole(sheet: &mut Sheet<'_>, files: &[File]) -> io::Result<()> {
    let top = sheet.top();
    let shown = format!(
        "{} of {} with counts, most line executions first",
        files.len().min(top),
        plural(files.len() as u64, "file")
    );
    sheet.title("Lines", &shown)?;
    let mut marks = Vec::new();
    for file in files.iter().take(top) {
        let ran: BTreeSet<u32> = ran(&file.lines).map(|(line, _)| line).collect();
        let visible = visible(&file.lines, &ran, AROUND);
        write_file(sheet, file, &visible, &mut marks)?;
    }
    legend(sheet, marks)
}

fn write_hottest(sheet: &mut Sheet<'_>, files: &[File]) -> io::Result<()> {
    let (with_text, hidden) = with_text(sheet, files);
    let hot = HotLines::select(&with_text);
    let shown = format!(
        "{} of {} that ran, in {} of {}, most line executions first",
        grouped(hot.shown),
        plural(hot.ran + hidden, "line"),
        hot.files.len(),
        plural(files.len() as u64, "file")
    );
    sheet.title("Hottest lines", &shown)?;
    let mut marks = Vec::new();
    for (&file, lines) in &hot.files {
        let file = with_text[file];
        let around = if hot.shown < hot.ran {
            AROUND_HOT
        } else {
            AROUND
        };
        let visible = visible(&file.lines, lines, around);
        write_file(sheet, file, &visible, &mut marks)?;
    }
    legend(sheet, marks)?;
    let mut rest = Vec::new();
    if hot.shown < hot.ran {
        let lines = plural(hot.ran - hot.shown, "colder line");
        rest.push(format!("{lines}, {} at most", plural(hot.next, "run")));
    }
    if hidden > 0 {
        let lines = plural(hidden, "line");
        rest.push(format!("{lines} of files whose source is not here"));
    }
    if rest.is_empty() {
        return Ok(());
    }
    sheet.page.gap()?;
    let rest = format!(
        "… and {}; --top N shows N files whole, --function REGEX what matches",
        rest.join(", ")
    );
    sheet.page.wrapped(Line::new(), Ink::Faint, &rest)
}

/// The files whose text is available, and the number of lines that ran in the other files. If no
/// file's text is available, all files and 0.
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

/// The hottest lines of all files.
struct HotLines {
    files: BTreeMap<usize, BTreeSet<u32>>,
    shown: u64,
    ran: u64,
    /// Count of the hottest line that is not shown.
    next: Count,
}

impl HotLines {
    fn select(files: &[&File]) -> HotLines {
        let lines = files.iter().enumerate();
        let lines = lines.flat_map(|(index, file)| {
            ran(&file.lines).map(move |(line, count)| (Reverse(count), index, line))
        });
        let mut lines: Vec<_> = lines.collect();
        lines.sort_unstable();
        let mut hot = HotLines {
            files: BTreeMap::new(),
            shown: 0,
            ran: lines.len() as u64,
            next: Count::ZERO,
        };
        let mut rows: BTreeSet<(usize, u32)> = BTreeSet::new();
        for (Reverse(count), file, line) in lines {
            if rows.len() >= ROWS {
                hot.next = count;
                break;
            }
            let around = line.saturating_sub(AROUND_HOT)..=line.saturating_add(AROUND_HOT);
            rows.extend(around.map(|line| (file, line)));
            hot.files.entry(file).or_default().insert(line);
            hot.shown += 1;
        }
        hot
    }
}

fn ran(lines: &Lines) -> impl Iterator<Item = (u32, Count)> {
    let lines = lines.iter().map(|(&line, &count)| (line, count));
    lines.filter(|&(_, count)| count > Count::ZERO)
}

fn write_file(
    sheet: &mut Sheet<'_>,
    file: &File,
    visible: &[u32],
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
    let mut shown = 0;
    for &line in visible {
        let known =
            lines.contains_key(&line) || sheet.options.source.line(&file.name, line).is_some();
        if !known {
            continue;
        }
        if shown + 1 < line && shown > 0 {
            let mut fold = Line::new();
            fold.right(Ink::Faint, "", width).put(Ink::Faint, "  ⋮");
            sheet.page.line(&fold)?;
        }
        shown = line;
        let bound = file.bounds.get(&line).copied().unwrap_or_default();
        let count = lines.get(&line).map(|&count| (count, bound));
        marks.extend(count.map(|(_, bound)| bound));
        write_line(sheet, &file.name, line, count, width)?;
    }
    Ok(())
}

/// The asked lines with `around` lines before and after each, up to the file's first and last lines
/// with code.
fn visible(lines: &Lines, asked: &BTreeSet<u32>, around: u32) -> Vec<u32> {
    let mut visible: Vec<u32> = Vec::new();
    let (first, last) = (
        lines.keys().next().copied().unwrap_or(1),
        lines.keys().last().copied().unwrap_or(1),
    );
    for &line in asked {
        let from = line
            .saturating_sub(around)
            .max(first)
            .max(visible.last().map_or(0, |last| last + 1));
        visible.extend(from..=line.saturating_add(around).min(last));
    }
    visible
}

fn write_line(
    sheet: &mut Sheet<'_>,
    file: &str,
    number: u32,
    count: Option<(Count, Bound)>,
    width: usize,
) -> io::Result<()> {
    let text = sheet.options.source.line(file, number).unwrap_or_default();
    let mut line = Line::new();
    match count {
        None => line.right(Ink::Plain, "", width),
        Some((Count::ZERO, bound)) => line.right(Ink::Alarm, &marked(bound, "0"), width),
        Some((count, bound)) => line.right(Ink::Number, &marked(bound, &grouped(count)), width),
    };
    line.put(Ink::Faint, " │")
        .right(Ink::Faint, &number.to_string(), 6)
        .put(Ink::Faint, " │ ");
    line.put(
        if count.is_some_and(|(count, _)| count == Count::ZERO) {
            Ink::Faint
        } else {
            Ink::Plain
        },
        &text,
    );
    sheet.page.line(&line)
}
