//! The coverage section, which is above each view, after the CPU time: the numbers of processes,
//! functions, paths, and edges that ran. The section has more lines only if data is missing.

use holloway_format::Count;
use std::io;

use holloway_abi::Unit;
use holloway_analysis::Exits;
use holloway_analysis::coverage::{Coverage, coverage};

use super::paint::Ink;
use super::sheet::Sheet;
use crate::notes::{Label, interrupted, sentence};
use crate::numbers::{grouped, plural, share};

/// Maximum number of reasons for skipping that are named. Functions that were skipped for other
/// reasons are added up. Also the maximum number of modules that are named.
const MAX_LISTED: usize = 3;
/// Maximum number of notes of damage that are listed.
const MAX_NOTES: usize = 5;

pub(super) fn write(sheet: &mut Sheet<'_>) -> io::Result<()> {
    write_with(sheet, "ran", &|sheet, coverage| {
        write_paths_and_edges(sheet, coverage)?;
        sheet.fact("instructions", &grouped(coverage.instructions))
    })
}

/// Writes the coverage. `write_counts` writes the lines about counts. `ran` is the verb for
/// functions with counts, such as "ran".
pub(super) fn write_with(
    sheet: &mut Sheet<'_>,
    ran: &str,
    write_counts: &dyn Fn(&mut Sheet<'_>, &Coverage) -> io::Result<()>,
) -> io::Result<()> {
    super::cpu_time::write(sheet)?;
    let coverage = coverage(sheet.run);
    sheet.page.text(Ink::Strong, "Coverage")?;
    if let Some(interrupt) = sheet.run.interrupt {
        alarm(sheet, "interrupted", &interrupted(interrupt))?;
    }
    sheet.fact("processes", &processes(sheet, &coverage))?;
    let ran = format!(
        "{} of {} instrumented {ran}",
        grouped(coverage.run),
        grouped(coverage.instrumented)
    );
    sheet.fact("functions", &format!("{ran}{}", left_out(&coverage)))?;
    if !coverage.skipped.is_empty() {
        sheet.fact("skipped", &skipped(&coverage))?;
    }
    write_counts(sheet, &coverage)?;
    if !coverage.without_lines.is_empty() {
        alarm(sheet, "no lines", &without_lines(&coverage))?;
    }
    if let Some(text) = lost(&coverage) {
        alarm(sheet, "lost", &text)?;
    }
    damage(sheet)
}

/// Writes the counts of paths or of edges, or both if some functions of the run counted paths and
/// others counted edges.
fn write_paths_and_edges(sheet: &mut Sheet<'_>, coverage: &Coverage) -> io::Result<()> {
    let is_edge_run = sheet.run.unit() == Unit::Edges;
    if coverage.by_paths > 0 || !is_edge_run && coverage.by_edges == 0 {
        sheet.fact("paths", &paths(coverage))?;
    }
    if coverage.by_edges > 0 || is_edge_run && coverage.by_paths == 0 {
        sheet.fact("edges", &edges_of(coverage))?;
    }
    if coverage.left > Count::ZERO {
        let times = plural(coverage.left, "time");
        sheet.fact("left", &format!("{times} by a call that did not come back"))?;
    }
    if coverage.entered_again > Count::ZERO {
        let times = plural(coverage.entered_again, "time");
        sheet.fact(
            "entered again",
            &format!("{times} by a call that came back once more"),
        )?;
    }
    write_without_exits(sheet, coverage)
}

/// Writes that frames that were left in a call are not counted, and in which images.
fn write_without_exits(sheet: &mut Sheet<'_>, coverage: &Coverage) -> io::Result<()> {
    let mixed = sheet.run.exits() == Exits::Mixed;
    for (images, sentence) in [
        (
            &coverage.paths_without_exits,
            "not counted$ (--exits on counts frames left by longjmp, unwinding, exit)",
        ),
        (
            &coverage.edges_without_exits,
            "not measured$: counts take every call to have come back (--exits on)",
        ),
    ] {
        if !images.is_empty() {
            let scope = match mixed {
                true => format!(" in {}", images.join(", ")),
                false => String::new(),
            };
            sheet.fact("left", &sentence.replace('$', &scope))?;
        }
    }
    Ok(())
}

/// The loss of counts or words, and its reason.
fn lost(coverage: &Coverage) -> Option<String> {
    let blocks = match (coverage.lost, coverage.failure) {
        (0, None) => return None,
        (0, Some(_)) => "a part of the run".to_owned(),
        (lost, _) => plural(lost, "counter block"),
    };
    let reason = match coverage.failure {
        Some(failure) => format!(": {failure}; all counts are too low"),
        None => " (disk full?): all counts are too low".to_owned(),
    };
    Some(format!("{blocks} could not be written{reason}"))
}

fn alarm(sheet: &mut Sheet<'_>, label: &str, text: &str) -> io::Result<()> {
    sheet.labeled(Ink::Alarm, label, text)
}

fn processes(sheet: &Sheet<'_>, coverage: &Coverage) -> String {
    let mut text = grouped(coverage.processes);
    if coverage.forked > 0 {
        text += &format!(" ({} forked)", grouped(coverage.forked));
    }
    text += &format!(" · {}", plural(coverage.threads, "thread"));
    // Several builds of a program have one name.
    let mut images: Vec<&str> = Vec::new();
    for image in &sheet.run.images {
        if !images.contains(&&*image.name) {
            images.push(&image.name);
        }
    }
    if !images.is_empty() {
        text += &format!(" · {}", images.join(", "));
    }
    text
}

/// The functions without counts, by their fate: ` · 3 skipped · 5 inlined away`.
fn left_out(coverage: &Coverage) -> String {
    let mut text = String::new();
    let mut part = |count: u64, fate: &str| {
        if count > 0 {
            text += &format!(" · {} {fate}", grouped(count));
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
        .take(MAX_LISTED)
        .map(|(reason, count)| format!("{}: {reason}", grouped(*count)))
        .collect();
    let others: u64 = coverage
        .skipped
        .iter()
        .skip(MAX_LISTED)
        .map(|&(_, count)| count)
        .sum();
    if others > 0 {
        parts.push(format!("{}: other reasons", grouped(others)));
    }
    parts.join(" · ")
}

fn without_lines(coverage: &Coverage) -> String {
    let modules = &coverage.without_lines;
    let mut names = modules[..modules.len().min(MAX_LISTED)].join(", ");
    if modules.len() > MAX_LISTED {
        names += &format!(" and {} more", modules.len() - MAX_LISTED);
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
    let mut text = format!("{executed} executed · {distinct} different of {possible} possible");
    if coverage.hashed_executions > Count::ZERO {
        let hashed = share(coverage.hashed_executions, coverage.path_executions);
        text += &format!(" · {hashed} counted in hash tables");
    }
    if coverage.by_edges > 0 {
        text += &format!(" · in {}", plural(coverage.by_paths, "function"));
    }
    text
}

fn edges_of(coverage: &Coverage) -> String {
    let taken = grouped(coverage.edges_taken);
    let (distinct, possible) = (
        grouped(coverage.distinct_edges),
        grouped(coverage.possible_edges),
    );
    let mut text = format!("{taken} taken · {distinct} different of {possible}");
    if coverage.by_paths > 0 {
        text += &format!(" · in {}", plural(coverage.by_edges, "function"));
    }
    text
}

fn damage(sheet: &mut Sheet<'_>) -> io::Result<()> {
    let run = sheet.run;
    for note in run.damage.iter().take(MAX_NOTES) {
        alarm(sheet, Label::for_note(note).text(), &sentence(note))?;
    }
    match run.damage.len().saturating_sub(MAX_NOTES) {
        0 => Ok(()),
        more => alarm(
            sheet,
            "damaged",
            &format!("{} more", plural(more as u64, "record")),
        ),
    }
}
