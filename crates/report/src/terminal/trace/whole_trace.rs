//! Writes the answers about a whole trace: its numbers (Larus 1999, Table 1), its events, and
//! whether its grammar generates the recorded events.

use std::io;

use holloway_analysis::trace::stats::{Stats, change, depth};
use holloway_format::Count;

use super::sheet::TraceSheet;
use crate::numbers::{grouped, mean, plural};
use crate::terminal::paint::Ink;
use crate::terminal::table::{Align, Table};
use crate::trace::answer::{Answer, Verified};
use crate::trace::{LabeledStream, Stream, longest};

const SIZES: [(&str, Align); 9] = [
    ("thread", Align::Right),
    ("trace bytes", Align::Right),
    ("grammar bytes", Align::Right),
    ("ratio", Align::Right),
    ("paths", Align::Right),
    ("different", Align::Right),
    ("rules", Align::Right),
    ("a path", Align::Right),
    ("image", Align::Left),
];

const EVENTS: [(&str, Align); 9] = [
    ("thread", Align::Right),
    ("events", Align::Right),
    ("symbols", Align::Right),
    ("functions", Align::Right),
    ("enters", Align::Right),
    ("leaves", Align::Right),
    ("left", Align::Right),
    ("missing", Align::Right),
    ("instructions", Align::Right),
];

/// Maximum indentation of calls in the listing.
const MAX_INDENT: u64 = 12;

/// Writes the numbers of all streams.
pub(super) fn stats(
    sheet: &mut TraceSheet<'_>,
    answers: &[(&LabeledStream<'_>, Answer)],
) -> io::Result<()> {
    let with_stats = answers.iter().filter_map(|(labeled, answer)| match answer {
        Answer::Stats(stats) => Some((*labeled, stats)),
        _ => None,
    });
    let with_stats: Vec<_> = with_stats.collect();
    if with_stats.is_empty() {
        return Ok(());
    }
    let mut damaged = with_stats.iter().map(|(labeled, _)| *labeled);
    let mut damaged = damaged
        .by_ref()
        .filter(|labeled| !labeled.stream.damage.is_empty());
    for labeled in damaged.by_ref().take(sheet.top()) {
        sheet.head(labeled)?;
    }
    sheet.omitted(damaged.count(), "damaged trace")?;
    let mut sizes = Table::new(&SIZES);
    let mut events = Table::new(&EVENTS);
    let streams: Vec<_> = with_stats
        .iter()
        .map(|(labeled, _)| *labeled.stream)
        .collect();
    let shown = longest(&streams, sheet.top());
    for (labeled, stats) in shown.iter().map(|&index| with_stats[index]) {
        let stream = labeled.stream;
        let name = stream.thread_name();
        sizes.row(size_row(&name, stream, stats));
        events.row(event_row(&name, stats));
    }
    if with_stats.len() > 1 {
        let (stream, stats) = total(&with_stats);
        // Several traces may have the same paths and functions, so these numbers cannot be added.
        let unknown = || plain("-".to_owned());
        let (mut total_size, mut total_events) =
            (size_row("all", &stream, &stats), event_row("all", &stats));
        (total_size[5], total_size[7], total_events[3]) = (unknown(), unknown(), unknown());
        sizes.row(total_size);
        events.row(total_events);
    }
    let traces = plural(with_stats.len() as u64, "trace");
    sheet.heading(
        "Sizes",
        &format!(
            "{traces}, one a thread and image: 4 bytes a path, against the grammar as it is kept"
        ),
    )?;
    sizes.write(&mut sheet.page)?;
    sheet.title(
        "Events",
        "activations entered, left along a path, and left without one",
    )?;
    events.write(&mut sheet.page)?;
    sheet.omitted(with_stats.len() - shown.len(), "trace")
}

/// Adds up the numbers of all traces. A function or path of several traces counts once for each
/// trace.
fn total<'a>(with_stats: &[(&LabeledStream<'a>, &Stats)]) -> (Stream<'a>, Stats) {
    let mut sum = Stats::default();
    with_stats.iter().for_each(|(_, stats)| sum.add(stats));
    let bytes = with_stats
        .iter()
        .map(|(labeled, _)| labeled.stream.file_bytes);
    let stream = Stream {
        image: "",
        file_bytes: bytes.sum(),
        ..*with_stats[0].0.stream
    };
    (stream, sum)
}

fn plain(text: String) -> (Ink, String) {
    (Ink::Plain, text)
}

fn size_row(name: &str, stream: &Stream<'_>, stats: &Stats) -> Vec<(Ink, String)> {
    let bytes = stats.trace_bytes();
    let unknown = || "-".to_owned();
    let ratio = stream.file_bytes.filter(|&bytes| bytes > 0);
    let ratio = ratio.map_or_else(unknown, |file| mean(bytes.into(), file));
    vec![
        plain(name.to_owned()),
        plain(grouped(bytes)),
        plain(stream.file_bytes.map_or_else(unknown, grouped)),
        (Ink::Number, ratio),
        plain(grouped(stats.paths)),
        plain(grouped(stats.distinct_paths)),
        plain(grouped(stats.rules)),
        plain(mean(stats.rules.into(), stats.distinct_paths)),
        (Ink::Strong, stream.image.to_owned()),
    ]
}

fn event_row(name: &str, stats: &Stats) -> Vec<(Ink, String)> {
    let alarm = |count: Count| {
        let ink = if count > Count::ZERO {
            Ink::Alarm
        } else {
            Ink::Plain
        };
        (ink, grouped(count))
    };
    vec![
        plain(name.to_owned()),
        plain(grouped(stats.events)),
        plain(grouped(stats.symbols)),
        plain(grouped(stats.functions)),
        plain(grouped(stats.enters)),
        plain(grouped(stats.leaves)),
        plain(grouped(stats.left)),
        alarm(stats.gaps),
        plain(grouped(stats.instructions)),
    ]
}

/// Writes `count` events from the position `from` on, indented by the depth of calls.
pub(super) fn cat(
    sheet: &mut TraceSheet<'_>,
    labeled: &LabeledStream<'_>,
    from: u64,
    count: u64,
) -> io::Result<()> {
    let length = labeled.stream.events();
    if count == 0 && from < length {
        return sheet.fact("nothing", "no events are asked for (--count 0)");
    }
    if count == 0 {
        return sheet.fact(
            "nothing",
            &format!(
                "there is no event {} in it: it has {}",
                grouped(from),
                grouped(length)
            ),
        );
    }
    let before = labeled.stream.part().before;
    let depth_within_part = depth(
        &labeled.stream.trace.grammar,
        &labeled.events,
        from.saturating_sub(before.events),
    );
    let mut open = before.depth.saturating_add(depth_within_part);
    let events = (from..).zip(labeled.stream.terminals_from(from));
    for (position, terminal) in events.take(usize::try_from(count).unwrap_or(usize::MAX)) {
        let event = labeled.events[terminal as usize];
        // All paths of an activation have the same indentation. Before an event that
        // enters a function, `open` does not count the new activation yet.
        let outer = open.saturating_sub(i64::from(!event.enters()));
        let indent = u64::try_from(outer).unwrap_or(0).min(MAX_INDENT) as usize;
        sheet.event(labeled, &grouped(position), indent, terminal)?;
        open = open.saturating_add(change(event));
    }
    Ok(())
}

/// Writes whether the grammar generates the recorded events.
pub(super) fn verify(sheet: &mut TraceSheet<'_>, verified: &Verified) -> io::Result<()> {
    let same = match verified.is_same {
        Some(true) => "the grammar stands for just the events that came",
        Some(false) => {
            "the grammar does not stand for the events that came: the file is damaged; record it again"
        }
        None => "not known: it could not be checked",
    };
    sheet.fact("events", same)?;
    let stats = &verified.stats;
    if stats.gaps > Count::ZERO {
        let places = plural(stats.gaps, "place");
        let reason = if verified.is_sample {
            ": they are not of the sample"
        } else {
            ""
        };
        sheet.fact(
            "missing",
            &format!("events are missing at {places}{reason}"),
        )?;
    }
    let entered = stats.enters.0;
    let left = stats.leaves.saturating_add(stats.left).0;
    let balance = match entered.checked_sub(left) {
        Some(0) => "all were left again".to_owned(),
        Some(open) => format!("{} open at the end", grouped(open)),
        None => format!("{} were open before it began", grouped(left - entered)),
    };
    let text = format!(
        "{} entered, {} left along a path, {} without: {balance}",
        grouped(entered),
        grouped(stats.leaves),
        grouped(stats.left)
    );
    sheet.fact("activations", &text)?;
    if verified.is_good && verified.is_sample {
        return sheet.fact("good", "of what was sampled nothing is missing or damaged");
    }
    if verified.is_good {
        return sheet.fact("good", "nothing is missing or damaged");
    }
    sheet.alarm("not good", "something is missing or damaged, see above")
}
