//! Writes the answers that count: frequencies, order, contexts, and matches.

use std::io;

use holloway_analysis::trace::before::{Order, Runs};
use holloway_analysis::trace::context::Context;
use holloway_analysis::trace::query::{Frequency, Matches};
use holloway_format::Count;

use super::sheet::TraceSheet;
use crate::numbers::{grouped, plural, share};
use crate::terminal::paint::{Ink, Line};
use crate::terminal::route::route_of;
use crate::terminal::table::{Align, Table};
use crate::trace::LabeledStream;
use crate::trace::answer::CountedAs;

/// Number of events of a match that are shown. The middle of a longer match is left out.
const SHOWN: u64 = 20;

const NEIGHBORS: [(&str, Align); 4] = [
    ("times", Align::Right),
    ("share", Align::Right),
    ("event", Align::Left),
    ("source", Align::Left),
];

/// Columns of a page on which the neighbors of an event have their source in their rows.
const WIDE: usize = 90;

const CALLERS: [(&str, Align); 3] = [
    ("times", Align::Right),
    ("share", Align::Right),
    ("function", Align::Name),
];

/// `3 times, first as event 7, last as event 90`. A sum over threads has no positions: `3 times`.
fn runs(count: Count, ends: Option<(u64, u64)>) -> String {
    match ends {
        None if count == Count::ZERO => "never".to_owned(),
        None => plural(count, "time"),
        Some((position, _)) if count == Count(1) => format!("once, as event {}", grouped(position)),
        Some((first, last)) => {
            let (count, first, last) = (plural(count, "time"), grouped(first), grouped(last));
            format!("{count}, first as event {first}, last as event {last}")
        }
    }
}

pub(super) fn freq(
    sheet: &mut TraceSheet<'_>,
    labeled: &LabeledStream<'_>,
    frequency: &Frequency,
    unit: CountedAs,
) -> io::Result<()> {
    sheet.fact(unit.verb(), &runs(frequency.count, frequency.ends))?;
    match frequency.ends {
        Some((first, _)) => event_at(sheet, labeled, first),
        None => Ok(()),
    }
}

/// Writes the event at a position of the trace, with its place in the source.
fn event_at(
    sheet: &mut TraceSheet<'_>,
    labeled: &LabeledStream<'_>,
    position: u64,
) -> io::Result<()> {
    match labeled.terminal_at(position) {
        Some(terminal) => sheet.event(labeled, &grouped(position), 0, terminal),
        None => Ok(()),
    }
}

pub(super) fn before(
    sheet: &mut TraceSheet<'_>,
    labeled: &LabeledStream<'_>,
    [p, q]: [(&str, CountedAs); 2],
    order: &Order,
) -> io::Result<()> {
    for (label, (name, unit), pattern_runs) in [("P", p, &order.p), ("Q", q, &order.q)] {
        let called = match unit {
            CountedAs::Calls => "called ",
            CountedAs::Events => "",
        };
        let ran = runs(pattern_runs.count, pattern_runs.ends);
        sheet.fact(label, &format!("{name}: {called}{ran}"))?;
    }
    let first = |runs: &Runs| runs.ends.map(|ends| ends.0);
    let (count_p, count_q) = (order.p.count, order.q.count);
    let answer = match order.p_is_first() {
        Some(true) => Some("P ran before Q"),
        Some(false) if first(&order.p) == first(&order.q) => {
            Some("both ran first as the same event")
        }
        Some(false) => Some("Q ran before P"),
        // A sum over threads has no order: both patterns ran, but in several traces.
        None if count_p > Count::ZERO && count_q > Count::ZERO => None,
        None => Some("they did not both run"),
    };
    if let Some(answer) = answer {
        sheet.fact("order", answer)?;
    }
    let part = |part: Count, whole: Count| {
        format!(
            "{} of {} ({})",
            grouped(part),
            grouped(whole),
            share(part, whole)
        )
    };
    sheet.fact(
        "P, then Q",
        &format!("{} with Q as the next event", part(order.at_once, count_p)),
    )?;
    sheet.fact(
        "",
        &format!(
            "{} with Q before P runs again",
            part(order.before_next_p, count_p)
        ),
    )?;
    sheet.fact(
        "",
        &format!("{} with Q at any time later", part(order.later, count_p)),
    )?;
    sheet.fact(
        "Q after P",
        &format!(
            "{} with P at any time before",
            part(order.preceded, count_q)
        ),
    )?;
    let missing = [
        (
            "P without Q",
            &order.unanswered,
            count_p,
            "before P runs again or the trace ends",
        ),
        (
            "Q without P",
            &order.q_without_p,
            count_q,
            "since the beginning or the Q before",
        ),
    ];
    for (label, runs, whole, when) in missing {
        sheet.fact(label, &format!("{} {when}", part(runs.count, whole)))?;
        if let Some((first, _)) = runs.ends {
            event_at(sheet, labeled, first)?;
        }
    }
    Ok(())
}

pub(super) fn context(
    sheet: &mut TraceSheet<'_>,
    labeled: &LabeledStream<'_>,
    context: &Context,
    unit: CountedAs,
) -> io::Result<()> {
    sheet.fact(unit.verb(), &plural(context.count, "time"))?;
    for (title, list) in [
        ("Right before", &context.before),
        ("Right after", &context.after),
    ] {
        let shown = format!(
            "{} of {}",
            grouped(list.len().min(sheet.top()) as u64),
            plural(list.len() as u64, "different event")
        );
        sheet.title(title, &shown)?;
        let is_wide = sheet.page.width() >= WIDE;
        let columns = if is_wide {
            &NEIGHBORS[..]
        } else {
            &NEIGHBORS[..NEIGHBORS.len() - 1]
        };
        let mut table = Table::new(columns);
        for &(terminal, count) in list.iter().take(sheet.top()) {
            let route = route_of(labeled, terminal);
            let mut cells = vec![
                (Ink::Number, grouped(count)),
                (Ink::Plain, share(count, context.count)),
                (
                    Ink::Strong,
                    format!("{} {}", labeled.marks(terminal), labeled.label(terminal)),
                ),
            ];
            if is_wide {
                cells.push((Ink::Place, route.to_string()));
                table.row(cells);
            } else {
                table.row(cells);
                let mut note = Line::new();
                note.up_to(5).put(Ink::Place, &route);
                table.note(note);
            }
        }
        table.write(&mut sheet.page)?;
    }
    let callers = &context.callers;
    let shown = format!(
        "{} of {}",
        grouped(callers.len().min(sheet.top()) as u64),
        plural(callers.len() as u64, "function")
    );
    sheet.title("Called by", &shown)?;
    let mut table = Table::new(&CALLERS);
    for &(caller, count) in callers.iter().take(sheet.top()) {
        let name = match caller {
            Some(function) => (Ink::Strong, labeled.function(function).to_string()),
            None => (Ink::Faint, "no known function".to_owned()),
        };
        table.row(vec![
            (Ink::Number, grouped(count)),
            (Ink::Plain, share(count, context.count)),
            name,
        ]);
    }
    table.write(&mut sheet.page)
}

pub(super) fn query(
    sheet: &mut TraceSheet<'_>,
    labeled: &LabeledStream<'_>,
    matches: &Matches,
) -> io::Result<()> {
    let count = match matches.count.0 {
        0 => "none".to_owned(),
        1 => "1 match".to_owned(),
        count => format!("{} matches that share no event", grouped(count)),
    };
    sheet.fact("matches", &count)?;
    let Some((first, last)) = matches.first else {
        return Ok(());
    };
    let events = plural(last - first + 1, "event");
    let shown = format!(
        "{events}, from event {} to event {}",
        grouped(first),
        grouped(last)
    );
    sheet.title("First match", &shown)?;
    let elided = if last - first < SHOWN {
        0..0
    } else {
        first + SHOWN / 2..last + 1 - SHOWN / 2
    };
    let mut position = first;
    while position <= last {
        if elided.contains(&position) {
            let left_out = plural(elided.end - elided.start, "more event");
            sheet.fact("", &format!("… {left_out}"))?;
            position = elided.end;
            continue;
        }
        event_at(sheet, labeled, position)?;
        position += 1;
    }
    Ok(())
}
