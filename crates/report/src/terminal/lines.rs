//! The source with a count for each line that has code.
//!
//! Files in the order of their counts' sum; lines without code around counted ones are shown, long stretches
//! that never ran are folded.

use std::cmp::Reverse;
use std::io;

use holloway_analysis::lines::{Lines, counts};

use super::Sheet;
use super::paint::{Ink, Line};
use crate::numbers::{grouped, plural};
use crate::places;

/// Lines shown around a line that ran.
const AROUND: u32 = 3;

pub(super) fn write(sheet: &mut Sheet<'_>) -> io::Result<()> {
    let files = counts(sheet.run, &|function, scope| {
        if scope.parent.is_none() {
            return sheet
                .names
                .matches(&function.map.linkage_name, &function.map.name);
        }
        sheet.names.matches(&scope.linkage_name, &scope.name)
    });
    let sum = |lines: &Lines| {
        lines
            .values()
            .fold(0u64, |sum, &count| sum.saturating_add(count))
    };
    let mut files: Vec<_> = files
        .into_iter()
        .map(|(file, lines)| (Reverse(sum(&lines)), file, lines))
        .collect();
    files.retain(|(Reverse(sum), ..)| *sum > 0);
    files.sort();
    let top = sheet.top();
    sheet.page.gap()?;
    let mut title = Line::new();
    title.put(Ink::Strong, "Lines").put(Ink::Plain, "  ");
    let shown = format!(
        "{} of {} with counts",
        files.len().min(top),
        plural(files.len() as u64, "file")
    );
    sheet.page.wrapped(
        title,
        Ink::Faint,
        &format!("{shown}, most line executions first"),
    )?;
    if files.is_empty() {
        return sheet.page.text(
            Ink::Alarm,
            "  no line ran, or the program has no line tables",
        );
    }
    for (Reverse(sum), file, lines) in files.iter().take(top) {
        write_file(sheet, file, lines, *sum)?;
    }
    Ok(())
}

fn write_file(sheet: &mut Sheet<'_>, file: &str, lines: &Lines, sum: u64) -> io::Result<()> {
    let ran = lines.values().filter(|&&count| count > 0).count() as u64;
    let mut head = Line::new();
    head.put(
        Ink::Place,
        &places::short(file, sheet.options.cwd.as_deref()),
    );
    let ran = format!(
        "  {} line executions · {ran} of {} with code ran",
        grouped(sum),
        plural(lines.len() as u64, "line")
    );
    head.put(Ink::Faint, &ran);
    sheet.page.gap()?;
    sheet.page.line(&head)?;
    let widest = lines.values().copied().max().unwrap_or(0);
    let width = grouped(widest).len().max(5);
    let mut shown = 0;
    let known =
        |line: &u32| lines.contains_key(line) || sheet.options.source.line(file, *line).is_some();
    let visible: Vec<u32> = visible(lines).into_iter().filter(known).collect();
    for line in visible {
        if shown + 1 < line && shown > 0 {
            sheet.page.line(
                Line::new()
                    .put(Ink::Faint, &" ".repeat(width))
                    .put(Ink::Faint, "  ⋮"),
            )?;
        }
        shown = line;
        write_line(sheet, file, line, lines.get(&line).copied(), width)?;
    }
    Ok(())
}

/// The lines that ran and the few around each.
fn visible(lines: &Lines) -> Vec<u32> {
    let mut visible: Vec<u32> = Vec::new();
    let (first, last) = (
        lines.keys().next().copied().unwrap_or(1),
        lines.keys().last().copied().unwrap_or(1),
    );
    for (&line, _) in lines.iter().filter(|&(_, &count)| count > 0) {
        let from = line
            .saturating_sub(AROUND)
            .max(first)
            .max(visible.last().map_or(0, |last| last + 1));
        visible.extend(from..=line.saturating_add(AROUND).min(last));
    }
    visible
}

fn write_line(
    sheet: &mut Sheet<'_>,
    file: &str,
    number: u32,
    count: Option<u64>,
    width: usize,
) -> io::Result<()> {
    let text = sheet.options.source.line(file, number).unwrap_or_default();
    let mut line = Line::new();
    match count {
        None => line.right(Ink::Plain, "", width),
        Some(0) => line.right(Ink::Alarm, "0", width),
        Some(count) => line.right(Ink::Number, &grouped(count), width),
    };
    line.put(Ink::Faint, " │")
        .right(Ink::Faint, &number.to_string(), 6)
        .put(Ink::Faint, " │ ");
    line.put(
        if count == Some(0) {
            Ink::Faint
        } else {
            Ink::Plain
        },
        &text,
    );
    sheet.page.line(&line)
}
