//! Comparison of two traces: their first difference, and the sequences that only one of them has.

use std::io;

use holloway_analysis::trace::diff::{Diff, Unit};

use super::sheet::TraceSheet;
use crate::numbers::{grouped, plural};
use crate::terminal::paint::{Ink, Line};
use crate::trace::compare::{Compared, SharedSymbol};
use crate::trace::{Comparison, LabeledStream};

/// Events shown before the first difference, and after it.
const BEFORE: u64 = 3;
const AFTER: u64 = 5;

/// Writes the comparison of two traces.
pub(super) fn write(
    sheet: &mut TraceSheet<'_>,
    labeled_streams: &[LabeledStream<'_>; 2],
    compared: &Compared,
    how: &Comparison,
) -> io::Result<()> {
    for (name, labeled) in ["A", "B"].into_iter().zip(labeled_streams) {
        let stream = labeled.stream;
        let which = stream.title();
        sheet.fact(
            name,
            &format!("{which}: {}", plural(stream.trace.grammar.len(), "event")),
        )?;
        sheet.damage(stream.damage)?;
    }
    let [only_a, only_b] = compared.alphabet.unmatched;
    if only_a + only_b > 0 {
        let text = format!(
            "{} of A and {} of B have no counterpart of the same name and structure: their paths are taken for different ones",
            plural(only_a, "function"),
            grouped(only_b)
        );
        sheet.fact("builds", &text)?;
    }
    parting(sheet, labeled_streams, &compared.diff)?;
    for side in [0, 1] {
        only(sheet, labeled_streams, compared, side, how)?;
    }
    Ok(())
}

fn parting(
    sheet: &mut TraceSheet<'_>,
    labeled_streams: &[LabeledStream<'_>; 2],
    diff: &Diff,
) -> io::Result<()> {
    if diff.is_same() {
        return sheet.fact("the same", "from the first event to the last");
    }
    let shown = match diff.common {
        0 => "at the first event".to_owned(),
        1 => "the first event is the same".to_owned(),
        common => format!("the first {} events are the same", grouped(common)),
    };
    sheet.title("Where they part", &shown)?;
    let from = diff.common.saturating_sub(BEFORE);
    list(sheet, &labeled_streams[0], from, diff.common - from)?;
    for (name, (labeled, parted)) in ["A", "B"]
        .into_iter()
        .zip(labeled_streams.iter().zip(diff.after_common))
    {
        match parted {
            None => sheet.fact(name, "ends here")?,
            Some(_) => {
                sheet.fact(name, "goes on:")?;
                list(sheet, labeled, diff.common, AFTER)?;
            }
        }
    }
    Ok(())
}

fn list(
    sheet: &mut TraceSheet<'_>,
    labeled: &LabeledStream<'_>,
    from: u64,
    count: u64,
) -> io::Result<()> {
    let events = (from..from + count).zip(labeled.stream.trace.grammar.expand_from(from));
    for (position, terminal) in events {
        sheet.event(labeled, &grouped(position), 0, terminal)?;
    }
    Ok(())
}

fn only(
    sheet: &mut TraceSheet<'_>,
    labeled_streams: &[LabeledStream<'_>; 2],
    compared: &Compared,
    side: usize,
    how: &Comparison,
) -> io::Result<()> {
    let all = &compared.diff.one_sided[side];
    if all.is_empty() {
        return Ok(());
    }
    let (name, other) = [("A", "B"), ("B", "A")][side];
    let unit = match how.unit {
        Unit::Events => "events",
        Unit::Functions => "functions entered",
    };
    let shown = format!(
        "{} of {} of up to {} {unit} that {other} has not, though it has their parts",
        grouped(all.len().min(sheet.top()) as u64),
        plural(all.len() as u64, "sequence"),
        how.max_len
    );
    sheet.title(&format!("Only {name}"), &shown)?;
    for sequence in all.iter().take(sheet.top()) {
        let first = compared.first(labeled_streams, side, &sequence.symbols);
        let at = first.map_or_else(String::new, |(first, _)| {
            format!(", first as event {}", grouped(first))
        });
        let mut line = Line::new();
        line.put(Ink::Plain, "  ")
            .put(Ink::Number, &plural(sequence.count, "time"));
        sheet.page.wrapped(line, Ink::Faint, &at)?;
        for &symbol in &sequence.symbols {
            match compared.shown(side, symbol) {
                Some(SharedSymbol::Terminal(terminal)) => {
                    sheet.event(&labeled_streams[side], "", 0, terminal)?;
                }
                Some(SharedSymbol::Function(function)) => {
                    sheet.fact("", &labeled_streams[side].function(function))?;
                }
                None => {}
            }
        }
    }
    Ok(())
}
