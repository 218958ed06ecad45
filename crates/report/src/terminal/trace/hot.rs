//! Hot sequences, costliest first, each with its events.

use std::io;

use super::sheet::TraceSheet;
use crate::numbers::{grouped, plural, share};
use crate::terminal::paint::{Ink, Line};
use crate::trace::answer::HotSequences;
use crate::trace::{Cost, Hot, LabeledStream, Method};

/// Events of a sequence beyond which its middle is left out, and the events kept at either end.
const EVENTS: usize = 24;
const KEPT: usize = 10;

/// Writes hot sequences.
pub(super) fn write(
    sheet: &mut TraceSheet<'_>,
    labeled: &LabeledStream<'_>,
    asked: &Hot,
    found: &HotSequences,
) -> io::Result<()> {
    let unit = match asked.cost {
        Cost::Instructions => "instructions",
        Cost::Paths => "paths",
    };
    let bounds = &found.bounds;
    let noun = if asked.all {
        "sequence"
    } else {
        "minimal sequence"
    };
    let how = match found.method {
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
        "{} of {} of {lengths} that cost at least {} of {} {unit}, {how}",
        grouped(found.hot.len().min(sheet.top()) as u64),
        plural(found.hot.len() as u64, noun),
        grouped(bounds.min_cost),
        grouped(found.total),
    );
    sheet.title("Hot sequences", &shown)?;
    if asked.method == Method::Exact && found.method == Method::Figure7 {
        let text = "too much to count each exactly: ask for a smaller --max-len";
        sheet.page.wrapped(Line::new(), Ink::Alarm, text)?;
    }
    for (index, sequence) in found.hot.iter().take(sheet.top()).enumerate() {
        let once = sequence.cost.checked_div(sequence.count).unwrap_or(0);
        let mut line = Line::new();
        line.right(Ink::Faint, &(index + 1).to_string(), 3)
            .right(Ink::Number, &share(sequence.cost, found.total), 9)
            .put(Ink::Plain, "  ")
            .put(Ink::Strong, &grouped(sequence.count))
            .put(
                Ink::Plain,
                &format!(" × {} {unit} = {}", grouped(once), grouped(sequence.cost)),
            );
        sheet.page.gap()?;
        sheet.page.line(&line)?;
        let length = sequence.terminals.len();
        let elided = if length > EVENTS {
            KEPT..length - KEPT
        } else {
            0..0
        };
        for (at, &terminal) in sequence.terminals.iter().enumerate() {
            if at == elided.start && !elided.is_empty() {
                sheet.fact(
                    "",
                    &format!("… {}", plural(elided.len() as u64, "more event")),
                )?;
            }
            if !elided.contains(&at) {
                sheet.event(labeled, "", 0, terminal)?;
            }
        }
    }
    Ok(())
}
