//! Writes advice for people: each piece with its place, its bound, the evidence, and what to do.

use std::io::{self, BufWriter, Write};

use holloway_analysis::advice::Advice;

use super::paint::{Ink, Line};
use super::sheet::Sheet;
use crate::advice::{AdviceReport, action, bound, evidence, missing, place_of, title};
use crate::numbers::grouped;
use crate::options::Options;
use crate::places::user_place;

/// Writes the pieces of advice with the largest bounds. [`Options::top`] is their number (default
/// 10).
///
/// # Errors
/// If writing to `out` fails.
pub fn write(
    report: &AdviceReport<'_>,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let sheet = &mut Sheet::new(report.run, options, &mut out);
    super::coverage::write(sheet)?;
    let pieces = report.selected(&sheet.names);
    let shown = pieces.len().min(sheet.top());
    let subtitle = format!(
        "{} of {}, by the most that each may save; bounds follow from a model and do not add up",
        grouped(shown as u64),
        grouped(pieces.len() as u64)
    );
    sheet.title("Advice", &subtitle)?;
    if pieces.is_empty() {
        sheet.indented(
            Ink::Plain,
            "no advice: nothing that this run shows may save 1 % of it",
        )?;
    }
    for (rank, piece) in (1..).zip(&pieces[..shown]) {
        write_piece(sheet, rank, piece)?;
    }
    if !report.advised.missing.is_empty() {
        sheet.title(
            "Not looked for",
            "the run lacks what these kinds of advice need",
        )?;
        for &kind in &report.advised.missing {
            sheet.indented(Ink::Faint, &missing(kind))?;
        }
    }
    out.flush()
}

fn write_piece(sheet: &mut Sheet<'_>, rank: usize, piece: &Advice<'_>) -> io::Result<()> {
    let function = piece.function;
    let place = piece.place;
    let place_name = place.and_then(|place| place_of(function, &place, sheet.options));
    let mut head = Line::new();
    head.right(Ink::Number, &rank.to_string(), 3)
        .put(Ink::Plain, "  ")
        .put(Ink::Place, place_name.as_deref().unwrap_or("?"))
        .put(Ink::Plain, "  ")
        .put(Ink::Strong, &sheet.name(function))
        .put(Ink::Plain, "  ")
        .put(Ink::Number, title(piece.finding.kind()));
    sheet.page.gap()?;
    sheet.page.line(&head)?;
    let source = place.and_then(|place| {
        let (file, line) = user_place(&function.map, &place)?;
        sheet.options.source.line(file, line)
    });
    if let Some(text) = source {
        sheet.indented(Ink::Faint, text.trim())?;
    }
    sheet.indented(Ink::Plain, &bound(piece))?;
    let words = evidence(piece, sheet.options);
    sheet.indented(Ink::Plain, &words)?;
    sheet.indented(Ink::Plain, &format!("→ {}", action(piece)))
}
