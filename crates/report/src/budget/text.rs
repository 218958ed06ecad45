//! Writes the results of a check as text, and as annotations of GitHub.

use std::io;
use std::path::Path;

use unicode_width::UnicodeWidthStr as _;

use super::limit::Checked;
use super::results::{Out, Results};
use crate::numbers::plural;
use crate::places::short;

/// Writes the results for people: a row for each limit.
///
/// # Errors
/// If writing to `out` fails.
pub fn text(results: &Results, out: Out<'_>) -> io::Result<()> {
    let Results {
        budget,
        run,
        checked,
    } = results;
    let limits = plural(checked.len() as u64, "limit");
    match results.broken() {
        0 => writeln!(out, "{budget}  {run} keeps {limits}")?,
        broken => writeln!(out, "{budget}  {run} breaks {broken} of {limits}")?,
    }
    let rows: Vec<[String; 3]> = checked
        .iter()
        .map(|checked| [checked.name(), checked.value.to_string(), checked.allowed()])
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].width()).max();
    let [names, values] = [0, 1].map(|column| width(column).unwrap_or_default());
    for (checked, [name, value, allowed]) in checked.iter().zip(&rows) {
        let word = match checked.keeps() {
            true => "kept  ",
            false => "BROKEN",
        };
        let name_gap = " ".repeat(names - name.width());
        let value_gap = " ".repeat(values - value.width());
        writeln!(
            out,
            "  {word}  {name}{name_gap}  {value_gap}{value}  {allowed}{}",
            left_out(checked)
        )?;
    }
    Ok(())
}

/// Writes the broken limits as annotations of GitHub: commands that a workflow turns into comments
/// on lines of the source. A line with the number of broken limits follows.
///
/// # Errors
/// If writing to `out` fails.
pub fn annotations(results: &Results, cwd: Option<&Path>, out: Out<'_>) -> io::Result<()> {
    for checked in results.checked.iter().filter(|checked| !checked.keeps()) {
        let (file, line) = match &checked.place {
            Some((file, line)) => (short(file, cwd), *line),
            None => (results.budget.clone(), checked.limit.line),
        };
        writeln!(
            out,
            "::error file={},line={line},title={}::{}",
            property(&file),
            property(&checked.name()),
            message(&figure(checked))
        )?;
    }
    let limits = plural(results.checked.len() as u64, "limit");
    let broken = results.broken();
    writeln!(out, "{broken} of {limits} broken")
}

/// A broken limit as a sentence: `instructions of ^parse: 12 (at most 10)`.
pub(super) fn sentence(checked: &Checked) -> String {
    format!("{}: {}", checked.name(), figure(checked))
}

/// What the figure leaves out: `, not measured: 2 decisions`.
fn left_out(checked: &Checked) -> String {
    match checked.not_measured.parts() {
        0 => String::new(),
        _ => format!(", not measured: {}", checked.not_measured.words()),
    }
}

/// The figure, and the limit in brackets: `12 (at most 10)`.
fn figure(checked: &Checked) -> String {
    let left_out = left_out(checked);
    format!("{} ({}{left_out})", checked.value, checked.allowed())
}

/// Escapes the message of a command of a workflow.
fn message(text: &str) -> String {
    let text = text.replace('%', "%25");
    text.replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property of a command of a workflow.
fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}
