//! Writes the comparison of two traces: their first difference, and the sequences that only one
//! trace has.

use std::io;

use holloway_analysis::trace::diff::{Diff, Unit};

use super::sheet::TraceSheet;
use crate::numbers::{grouped, plural};
use crate::terminal::paint::{Ink, Line};
use crate::trace::compare::{SharedSymbol, StreamDiff};
use crate::trace::{Comparison, LabeledStream};

/// Number of common events that are shown before the first difference.
const EVENTS_BEFORE: u64 = 3;
/// Number of events of each trace that are shown from the first difference on.
const EVENTS_AFTER: u64 = 5;

/// Writes the comparison of two traces.
pub(super) fn write(
    sheet: &mut TraceSheet<'_>,
    labeled_streams: &[LabeledStream<'_>; 2],
    stream_diff: &StreamDiff,
    comparison: &Comparison,
) -> io::Result<()> {
    for (name, labeled) in ["A", "B"].into_iter().zip(labeled_streams) {
        let stream = labeled.stream;
        let title = stream.title();
        sheet.fact(
            name,
            &format!("{title}: {}", plural(stream.trace.grammar.len(), "event")),
        )?;
        sheet.damage(stream.damage)?;
    }
    let [unmatched_a, unmatched_b] = stream_diff.alphabet.unmatched;
    if unmatched_a + unmatched_b > 0 {
        let text = format!(
            "{} of A and {} of B have no counterpart of the same name and structure: their paths count as different",
            plural(unmatched_a, "function"),
            grouped(unmatched_b)
        );
        sheet.fact("builds", &text)?;
    }
    first_difference(sheet, labeled_streams, &stream_diff.diff)?;
    for side in [0, 1] {
        sequences_of_one(sheet, labeled_streams, stream_diff, side, comparison)?;
    }
    Ok(())
}

fn first_difference(
    sheet: &mut TraceSheet<'_>,
    labeled_streams: &[LabeledStream<'_>; 2],
    diff: &Diff,
) -> io::Result<()> {
    if diff.is_same() {
        return sheet.fact("the same", "from the first event to the last");
    }
    let description = match diff.common {
        0 => "at the first event".to_owned(),
        1 => "the first event is the same".to_owned(),
        common => format!("the first {} events are the same", grouped(common)),
    };
    sheet.title("Where they part", &description)?;
    let from = diff.common.saturating_sub(EVENTS_BEFORE);
    write_events(sheet, &labeled_streams[0], from, diff.common - from)?;
    for (name, (labeled, next)) in ["A", "B"]
        .into_iter()
        .zip(labeled_streams.iter().zip(diff.after_common))
    {
        match next {
            None => sheet.fact(name, "ends here")?,
            Some(_) => {
                sheet.fact(name, "goes on:")?;
                write_events(sheet, labeled, diff.common, EVENTS_AFTER)?;
            }
        }
    }
    Ok(())
}

fn write_events(
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

/// Writes the sequences that only the stream `side` has.
fn sequences_of_one(
    sheet: &mut TraceSheet<'_>,
    labeled_streams: &[LabeledStream<'_>; 2],
    stream_diff: &StreamDiff,
    side: usize,
    comparison: &Comparison,
) -> io::Result<()> {
    let sequences = &stream_diff.diff.one_sided[side];
    if sequences.is_empty() {
        return Ok(());
    }
    let (name, other) = [("A", "B"), ("B", "A")][side];
    let unit = match comparison.unit {
        Unit::Events => "events",
        Unit::Functions => "functions entered",
    };
    let description = format!(
        "{} of {} of up to {} {unit} that {other} has not, though it has their parts",
        grouped(sequences.len().min(sheet.top()) as u64),
        plural(sequences.len() as u64, "sequence"),
        comparison.max_len
    );
    sheet.title(&format!("Only {name}"), &description)?;
    for sequence in sequences.iter().take(sheet.top()) {
        let first = stream_diff.first_execution(labeled_streams, side, &sequence.symbols);
        let position = first.map_or_else(String::new, |(first, _)| {
            format!(", first as event {}", grouped(first))
        });
        let mut line = Line::new();
        line.put(Ink::Plain, "  ")
            .put(Ink::Number, &plural(sequence.count, "time"));
        sheet.page.wrapped(line, Ink::Faint, &position)?;
        for &symbol in &sequence.symbols {
            match stream_diff.symbol_in(side, symbol) {
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
