//! What was counted, before any number is shown: a few lines, more only where something is missing.

use std::io;

use holloway_analysis::coverage::{Coverage, coverage};

use super::Sheet;
use super::paint::{Ink, Line};
use crate::numbers::{grouped, plural, share};

/// Reasons for skipping named on the line; the rest are summed up.
const REASONS: usize = 3;
/// Damaged records listed.
const DAMAGED: usize = 5;

pub(super) fn write(sheet: &mut Sheet<'_>) -> io::Result<()> {
    let coverage = coverage(sheet.run);
    sheet.page.text(Ink::Strong, "Coverage")?;
    row(sheet, "processes", &processes(sheet, &coverage))?;
    let ran = format!(
        "{} of {} instrumented ran",
        grouped(coverage.run),
        grouped(coverage.instrumented)
    );
    row(sheet, "functions", &format!("{ran}{}", left_out(&coverage)))?;
    if !coverage.skipped.is_empty() {
        row(sheet, "skipped", &skipped(&coverage))?;
    }
    row(sheet, "paths", &paths(&coverage))?;
    row(
        sheet,
        "instructions",
        &format!("{} on these paths", grouped(coverage.instructions)),
    )?;
    if !coverage.without_lines.is_empty() {
        alarm(sheet, "no lines", &without_lines(&coverage))?;
    }
    if coverage.lost > 0 {
        let what = plural(coverage.lost, "counter block");
        alarm(
            sheet,
            "lost",
            &format!("{what} could not be written (disk full?): all counts are too low"),
        )?;
    }
    damage(sheet)
}

fn row(sheet: &mut Sheet<'_>, label: &str, text: &str) -> io::Result<()> {
    let mut line = Line::new();
    line.put(Ink::Plain, "  ").left(Ink::Faint, label, 14);
    sheet.page.wrapped(line, Ink::Plain, text)
}

fn alarm(sheet: &mut Sheet<'_>, label: &str, text: &str) -> io::Result<()> {
    let mut line = Line::new();
    line.put(Ink::Plain, "  ").left(Ink::Alarm, label, 14);
    sheet.page.wrapped(line, Ink::Plain, text)
}

fn processes(sheet: &Sheet<'_>, coverage: &Coverage) -> String {
    let mut text = grouped(coverage.processes);
    if coverage.forked > 0 {
        text += &format!(" ({} forked)", grouped(coverage.forked));
    }
    text += &format!(" · {}", plural(coverage.threads, "thread"));
    let images: Vec<&str> = sheet.run.images.iter().map(|image| &*image.name).collect();
    if !images.is_empty() {
        text += &format!(" · {}", images.join(", "));
    }
    text
}

fn left_out(coverage: &Coverage) -> String {
    let mut text = String::new();
    let mut part = |count: u64, what: &str| {
        if count > 0 {
            text += &format!(" · {} {what}", grouped(count));
        }
    };
    part(coverage.skipped_total(), "skipped");
    part(coverage.inlined, "inlined away");
    part(coverage.gone, "without code");
    text
}

fn skipped(coverage: &Coverage) -> String {
    let mut parts: Vec<String> = coverage
        .skipped
        .iter()
        .take(REASONS)
        .map(|(reason, count)| format!("{} {reason}", grouped(*count)))
        .collect();
    let rest: u64 = coverage
        .skipped
        .iter()
        .skip(REASONS)
        .map(|&(_, count)| count)
        .sum();
    if rest > 0 {
        parts.push(format!("{} for other reasons", grouped(rest)));
    }
    parts.join(" · ")
}

fn without_lines(coverage: &Coverage) -> String {
    let modules = &coverage.without_lines;
    let mut names = modules[..modules.len().min(REASONS)].join(", ");
    if modules.len() > REASONS {
        names += &format!(" and {} more", modules.len() - REASONS);
    }
    format!(
        "no line tables in {names}, so no places in the source: compile with -g or -gline-tables-only"
    )
}

fn paths(coverage: &Coverage) -> String {
    let executed = grouped(coverage.path_executions);
    let (distinct, possible) = (
        grouped(coverage.distinct_paths),
        grouped(coverage.possible_paths),
    );
    let hashed = share(coverage.hashed_executions, coverage.path_executions);
    format!("{executed} executed · {distinct} different of {possible} possible · {hashed} hashed")
}

fn damage(sheet: &mut Sheet<'_>) -> io::Result<()> {
    let run = sheet.run;
    for sentence in run.damage.iter().take(DAMAGED) {
        alarm(sheet, "damaged", sentence)?;
    }
    match run.damage.len().saturating_sub(DAMAGED) {
        0 => Ok(()),
        more => alarm(
            sheet,
            "damaged",
            &format!("{} more", plural(more as u64, "record")),
        ),
    }
}
