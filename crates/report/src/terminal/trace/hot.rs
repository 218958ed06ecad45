//! Writes the hot sequences, costliest first, each with its events.

use std::io;

use super::sheet::TraceSheet;
use crate::numbers::{grouped, plural, share};
use crate::terminal::paint::{Ink, Line};
use crate::trace::answer::HotSequences;
use crate::trace::{Cost, HotQuestion, LabeledStream, Method};

/// Number of events beyond which the middle of a sequence is left out.
const MAX_EVENTS: usize = 24;
/// Number of events that are then shown at the start and at the end of the sequence.
const EVENTS_AT_EITHER_END: usize = 10;

pub(super) fn write(
    sheet: &mut TraceSheet<'_>,
    labeled: &LabeledStream<'_>,
    question: &HotQuestion,
    answer: &HotSequences,
) -> io::Result<()> {
    let unit = match question.cost {
        Cost::Instructions => "instructions",
        Cost::Paths => "paths",
    };
    let bounds = &answer.bounds;
    let noun = if question.all {
        "sequence"
    } else {
        "minimal sequence"
    };
    let method = match answer.method {
        Method::Exact => {
            "each counted as often as it runs, also within others and over itself: shares overlap, and may exceed 100 %"
        }
        Method::Figure7 => {
            "counted in the rule in which it first lies whole, so that some are missed"
        }
    };
    let longest = plural(bounds.max_len as u64, "event");
    let lengths = if bounds.min_len == bounds.max_len {
        longest
    } else {
        format!("{} to {longest}", grouped(bounds.min_len as u64))
    };
    let shown = format!(
        "{} of {} of {lengths} that cost at least {} of {} {unit}, {method}",
        grouped(answer.sequences.len().min(sheet.top()) as u64),
        plural(answer.sequences.len() as u64, noun),
        grouped(bounds.min_cost),
        grouped(answer.total),
    );
    sheet.title("Hot sequences", &shown)?;
    if question.method == Method::Exact && answer.method == Method::Figure7 {
        let text = "too much to count each exactly: ask for a smaller --max-len";
        sheet.page.wrapped(Line::new(), Ink::Alarm, text)?;
    }
    for (index, sequence) in answer.sequences.iter().take(sheet.top()).enumerate() {
        let once = sequence.cost.checked_div(sequence.count.0).unwrap_or(0);
        let mut line = Line::new();
        line.right(Ink::Faint, &(index + 1).to_string(), 3)
            .right(Ink::Number, &share(sequence.cost, answer.total), 9)
            .put(Ink::Plain, "  ")
            .put(Ink::Strong, &grouped(sequence.count))
            .put(
                Ink::Plain,
                &format!(" × {} {unit} = {}", grouped(once), grouped(sequence.cost)),
            );
        sheet.page.gap()?;
        sheet.page.line(&line)?;
        let length = sequence.terminals.len();
        let elided = if length > MAX_EVENTS {
            EVENTS_AT_EITHER_END..length - EVENTS_AT_EITHER_END
        } else {
            0..0
        };
        for (index, &terminal) in sequence.terminals.iter().enumerate() {
            if index == elided.start && !elided.is_empty() {
                sheet.fact(
                    "",
                    &format!("… {}", plural(elided.len() as u64, "more event")),
                )?;
            }
            if !elided.contains(&index) {
                sheet.event(labeled, "", 0, terminal)?;
            }
        }
    }
    Ok(())
}
