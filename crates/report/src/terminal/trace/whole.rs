//! A trace as a whole: its numbers (Larus 1999, Table 1), its events, whether it is what came.

use std::io;

use holloway_analysis::trace::stats::{Stats, change, depth};

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

/// Depth that the listing follows calls to.
const DEEPEST: u64 = 12;

/// Writes the numbers of all streams.
pub(super) fn stats(
    sheet: &mut TraceSheet<'_>,
    answers: &[(&LabeledStream<'_>, Answer)],
) -> io::Result<()> {
    let known = answers.iter().filter_map(|(sight, answer)| match answer {
        Answer::Stats(stats) => Some((*sight, stats)),
        _ => None,
    });
    let known: Vec<_> = known.collect();
    if known.is_empty() {
        return Ok(());
    }
    let mut damaged = known.iter().map(|(sight, _)| *sight);
    let mut damaged = damaged.by_ref().filter(|one| !one.stream.damage.is_empty());
    for sight in damaged.by_ref().take(sheet.top()) {
        sheet.head(sight)?;
    }
    sheet.more(damaged.count(), "damaged trace")?;
    let mut sizes = Table::new(&SIZES);
    let mut events = Table::new(&EVENTS);
    let streams: Vec<_> = known.iter().map(|(sight, _)| *sight.stream).collect();
    let shown = longest(&streams, sheet.top());
    for (sight, stats) in shown.iter().map(|&place| known[place]) {
        let stream = sight.stream;
        let name = stream.thread_name();
        sizes.row(size_row(&name, stream, stats));
        events.row(event_row(&name, stats));
    }
    if known.len() > 1 {
        let (stream, stats) = total(&known);
        // Paths and functions of several traces may be the same ones.
        let unknown = || plain("-".to_owned());
        let (mut of_sizes, mut of_events) =
            (size_row("all", &stream, &stats), event_row("all", &stats));
        (of_sizes[5], of_sizes[7], of_events[3]) = (unknown(), unknown(), unknown());
        sizes.row(of_sizes);
        events.row(of_events);
    }
    let what = plural(known.len() as u64, "trace");
    sheet.heading(
        "Sizes",
        &format!(
            "{what}, one a thread and image: 4 bytes a path, against the grammar as it is kept"
        ),
    )?;
    sizes.write(&mut sheet.page)?;
    sheet.title(
        "Events",
        "activations entered, left along a path, and left without one",
    )?;
    events.write(&mut sheet.page)?;
    sheet.more(known.len() - shown.len(), "trace")
}

/// All traces together. What they have in common (functions, paths) counts in each.
fn total<'a>(known: &[(&LabeledStream<'a>, &Stats)]) -> (Stream<'a>, Stats) {
    let mut sum = Stats::default();
    known.iter().for_each(|(_, stats)| sum.add(stats));
    let bytes = known.iter().map(|(sight, _)| sight.stream.file_bytes);
    let stream = Stream {
        image: "",
        file_bytes: bytes.sum(),
        ..*known[0].0.stream
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
    let alarm = |count: u64| {
        let ink = if count > 0 { Ink::Alarm } else { Ink::Plain };
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

/// Writes events, indented by calls.
pub(super) fn cat(
    sheet: &mut TraceSheet<'_>,
    sight: &LabeledStream<'_>,
    from: u64,
    count: u64,
) -> io::Result<()> {
    let last = sight.stream.events();
    if count == 0 && from < last {
        return sheet.fact("nothing", "no events are asked for (--count 0)");
    }
    if count == 0 {
        return sheet.fact(
            "nothing",
            &format!(
                "there is no event {} in it: it has {}",
                grouped(from),
                grouped(last)
            ),
        );
    }
    let before = sight.stream.part().before;
    let read = depth(
        &sight.stream.trace.grammar,
        &sight.events,
        from.saturating_sub(before.events),
    );
    let mut open = before.depth.saturating_add(read);
    let events = (from..).zip(sight.stream.terminals_from(from));
    for (position, terminal) in events.take(usize::try_from(count).unwrap_or(usize::MAX)) {
        let event = sight.events[terminal as usize];
        // A path stands as deep as the activation it is in.
        let above = i64::from(!event.enters());
        let at = open.saturating_sub(above);
        let at = u64::try_from(at).unwrap_or(0).min(DEEPEST) as usize;
        sheet.event(sight, &grouped(position), at, terminal)?;
        open = open.saturating_add(change(event));
    }
    Ok(())
}

/// Writes whether the grammar stands for what came.
pub(super) fn verify(sheet: &mut TraceSheet<'_>, found: &Verified) -> io::Result<()> {
    let same = match found.is_same {
        Some(true) => "the grammar stands for just the events that came",
        Some(false) => {
            "the grammar does not stand for the events that came: the file is damaged; record it again"
        }
        None => "not known: it could not be checked",
    };
    sheet.fact("events", same)?;
    let stats = &found.stats;
    if stats.gaps > 0 {
        let places = plural(stats.gaps, "place");
        let why = if found.is_sample {
            ": they are not of the sample"
        } else {
            ""
        };
        sheet.fact("missing", &format!("events are missing at {places}{why}"))?;
    }
    let began = stats.enters;
    let ended = stats.leaves.saturating_add(stats.left);
    let balance = match began.checked_sub(ended) {
        Some(0) => "all were left again".to_owned(),
        Some(open) => format!("{} open at the end", grouped(open)),
        None => format!("{} were open before it began", grouped(ended - began)),
    };
    let text = format!(
        "{} entered, {} left along a path, {} without: {balance}",
        grouped(began),
        grouped(stats.leaves),
        grouped(stats.left)
    );
    sheet.fact("activations", &text)?;
    if found.is_good && found.is_sample {
        return sheet.fact("good", "of what was sampled nothing is missing or damaged");
    }
    if found.is_good {
        return sheet.fact("good", "nothing is missing or damaged");
    }
    sheet.alarm("not good", "something is missing or damaged, see above")
}
