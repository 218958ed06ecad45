//! The source of a whole function or file, with counts in the margin and the outcomes of branches
//! behind the lines.
//!
//! ```text
//! app::search  src/search.rs:1–11
//!   8 of 10 lines with code ran · 0: never ran · no number: no code
//!
//!       3 │      1 │ pub fn search(text: &[u8], wanted: u8) -> usize {
//!  36,256 │      3 │     for byte in text.iter() {  → line 4 ×36,253 (99.9 %), line 11 ×3 (0.0 %)
//!       0 │      6 │         7 => panic!("bell"),
//! ```

use std::io::{self, BufWriter, Write};

use holloway_analysis::RunProfile;
use holloway_format::Count;

use super::bounds::{legend, marked};
use super::heat;
use super::paint::{Ink, Line};
use super::sheet::Sheet;
use crate::annotation::{AnnotatedLine, Annotation, LineWay, TextState};
use crate::numbers::{grouped, plural};
use crate::options::Options;
use crate::source::TextProblem;

/// Ways of a branch that are named. The others of a long list are added up.
const SHOWN_WAYS: usize = 6;
/// Maximum number of functions that a heading names.
const SHOWN_NAMES: usize = 3;

/// Writes annotated functions or files.
///
/// # Errors
/// If writing to `out` fails.
pub fn write(
    run: &RunProfile,
    annotations: &[Annotation],
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let sheet = &mut Sheet::new(run, options, &mut out);
    let shown = annotations.len().min(sheet.top());
    for (index, annotation) in annotations[..shown].iter().enumerate() {
        if index > 0 {
            sheet.page.gap()?;
        }
        write_part(sheet, annotation)?;
    }
    if annotations.len() > shown {
        let more = grouped((annotations.len() - shown) as u64);
        sheet.page.gap()?;
        let text = format!("… and {more} more; --top N shows N");
        sheet.page.text(Ink::Faint, &text)?;
    }
    let counts = annotations[..shown].iter().flat_map(|part| &part.lines);
    let bounds = counts.filter_map(|line| line.count).map(|(_, bound)| bound);
    legend(sheet, bounds)?;
    out.flush()
}

fn write_part(sheet: &mut Sheet<'_>, part: &Annotation) -> io::Result<()> {
    let mut head = Line::new();
    let place = match (&part.functions[..], part.lines.first(), part.lines.last()) {
        ([_, ..], Some(first), Some(last)) => {
            format!("{}:{}–{}", part.short_file, first.line, last.line)
        }
        _ => part.short_file.clone(),
    };
    if !part.functions.is_empty() {
        head.put(Ink::Strong, &names(&part.functions))
            .put(Ink::Plain, "  ");
    }
    head.put(Ink::Place, &place);
    sheet.page.line(&head)?;
    let with_code = plural(part.with_code() as u64, "line");
    let ran = grouped(part.ran() as u64);
    let without_text = |reason: &str| {
        format!("{ran} of {with_code} with code ran · {reason}, so only lines with code are listed")
    };
    let text = match &part.text {
        TextState::Known => {
            format!("{ran} of {with_code} with code ran · 0: never ran · no number: no code")
        }
        TextState::Short => format!(
            "{ran} of {with_code} with code ran · the file has fewer lines than when it was compiled"
        ),
        TextState::Unknown(TextProblem::Missing) => without_text("the file is not on this machine"),
        TextState::Unknown(TextProblem::Unreadable(reason)) => {
            without_text(&format!("the file cannot be read ({reason})"))
        }
    };
    let mut line = Line::new();
    line.put(Ink::Plain, "  ");
    sheet.page.wrapped(line, Ink::Faint, &text)?;
    sheet.page.gap()?;
    let counts = part.lines.iter().filter_map(|line| line.count);
    let widths = counts.map(|(count, bound)| marked(bound, &grouped(count)).chars().count());
    let width = widths.max().unwrap_or(0).max(5);
    for line in &part.lines {
        write_line(sheet, part, line, width)?;
    }
    heat::legend(sheet, &part.scale)
}

/// The names of functions: `a, b, c, and 2 more`.
fn names(functions: &[String]) -> String {
    let named = functions.len().min(SHOWN_NAMES);
    let mut names = functions[..named].join(", ");
    if functions.len() > named {
        names += &format!(", and {} more", functions.len() - named);
    }
    names
}

fn write_line(
    sheet: &mut Sheet<'_>,
    part: &Annotation,
    annotated: &AnnotatedLine,
    width: usize,
) -> io::Result<()> {
    let mut line = Line::new();
    match annotated.count {
        None => line.right(Ink::Plain, "", width),
        Some((count, bound)) => {
            let text = marked(bound, &grouped(count));
            line.right(heat::ink(&part.scale, count), &text, width)
        }
    };
    line.put(Ink::Faint, " │")
        .right(Ink::Faint, &annotated.line.to_string(), 6)
        .put(Ink::Faint, " │ ")
        .continued_by(&format!("{} │       │       ", " ".repeat(width)));
    let never_ran = annotated
        .count
        .is_some_and(|(count, _)| count == Count::ZERO);
    let ink = if never_ran { Ink::Faint } else { Ink::Plain };
    line.put_clipped(ink, &annotated.text);
    let branches = annotated.branches.iter().map(|ways| in_words(ways));
    let outcomes = branches.collect::<Vec<_>>().join(" · ");
    if !outcomes.is_empty() {
        line.put(Ink::Outcome, &format!("  {outcomes}"));
    }
    sheet.page.line(&line)
}

/// The ways of a branch in words: `→ line 4 ×36,253 (99.9 %), line 11 ×3 (0.0 %)`.
pub(crate) fn in_words(ways: &[LineWay]) -> String {
    let shown = match ways.len() > SHOWN_WAYS + 1 {
        true => SHOWN_WAYS,
        false => ways.len(),
    };
    let mut words: Vec<String> = ways[..shown].iter().map(LineWay::in_words).collect();
    if let [_, ..] = &ways[shown..] {
        let counts = ways[shown..].iter().map(|way| way.count);
        let sum = counts.fold(Count::ZERO, Count::saturating_add);
        words.push(format!(
            "{} other ways ×{}",
            ways.len() - shown,
            grouped(sum)
        ));
    }
    format!("→ {}", words.join(", "))
}
