//! The page on which answers about traces are written.

use std::io;

use holloway_analysis::Note;

use crate::notes::{Label, sentence};
use crate::numbers::{grouped, plural};
use crate::options::Options;
use crate::terminal::paint::{Ink, Line, Page, clip_start};
use crate::terminal::sheet::TOP;
use crate::trace::LabeledStream;

/// Most columns of a place.
const PLACE: usize = 40;
/// Most notes of damage that are shown.
const DAMAGED: usize = 10;
/// Columns of a label.
const LABEL: usize = 14;

/// The page on which answers about traces are written.
pub(super) struct TraceSheet<'a> {
    pub(super) options: &'a Options<'a>,
    pub(super) page: Page<'a>,
}

impl TraceSheet<'_> {
    pub(super) fn top(&self) -> usize {
        self.options.top.unwrap_or(TOP)
    }

    /// Writes the title of a stream and its damage.
    pub(super) fn head(&mut self, labeled: &LabeledStream<'_>) -> io::Result<()> {
        let stream = labeled.stream;
        let mut line = Line::new();
        line.put(Ink::Strong, &stream.title()).put(Ink::Plain, "  ");
        let events = plural(stream.events(), "event");
        let legend = format!("{events}; > enters its function, < leaves it");
        self.page.wrapped(line, Ink::Faint, &legend)?;
        self.damage(stream.damage)
    }

    /// Writes notes of damage.
    pub(super) fn damage(&mut self, damage: &[Note]) -> io::Result<()> {
        for note in damage.iter().take(DAMAGED) {
            self.alarm(Label::for_note(note).text(), &sentence(note))?;
        }
        match damage.len().saturating_sub(DAMAGED) {
            0 => Ok(()),
            more => self.alarm("", &format!("… and {} more", grouped(more as u64))),
        }
    }

    pub(super) fn alarm(&mut self, label: &str, text: &str) -> io::Result<()> {
        let mut line = Line::new();
        line.put(Ink::Plain, "  ").left(Ink::Alarm, label, LABEL);
        self.page.wrapped(line, Ink::Plain, text)
    }

    /// Writes the number of items that are not shown.
    pub(super) fn more(&mut self, left_out: usize, noun: &str) -> io::Result<()> {
        if left_out == 0 {
            return Ok(());
        }
        self.page.gap()?;
        let text = format!(
            "… and {} (--top shows more)",
            plural(left_out as u64, &format!("more {noun}"))
        );
        self.page.wrapped(Line::new(), Ink::Faint, &text)
    }

    /// Writes the heading of a list, and what it shows.
    pub(super) fn title(&mut self, title: &str, shown: &str) -> io::Result<()> {
        self.page.gap()?;
        self.heading(title, shown)
    }

    pub(super) fn heading(&mut self, title: &str, shown: &str) -> io::Result<()> {
        let mut line = Line::new();
        line.put(Ink::Strong, title).put(Ink::Plain, "  ");
        self.page.wrapped(line, Ink::Faint, shown)
    }

    /// Writes a line of a list of facts.
    pub(super) fn fact(&mut self, label: &str, text: &str) -> io::Result<()> {
        let mut line = Line::new();
        line.put(Ink::Plain, "  ").left(Ink::Faint, label, LABEL);
        self.page.wrapped(line, Ink::Plain, text)
    }

    /// Writes an event: its position in the trace, its name, its place in the source.
    pub(super) fn event(
        &mut self,
        labeled: &LabeledStream<'_>,
        position: &str,
        depth: usize,
        terminal: u32,
    ) -> io::Result<()> {
        let mut line = Line::new();
        line.right(Ink::Faint, position, 14)
            .put(Ink::Faint, &format!("  {}  ", labeled.marks(terminal)))
            .put(Ink::Plain, &"  ".repeat(depth))
            .left(
                Ink::Strong,
                &labeled.label(terminal),
                30usize.saturating_sub(2 * depth),
            )
            .put(Ink::Plain, "  ")
            .put(Ink::Place, &spot(labeled, terminal));
        self.page.line(&line)
    }
}

/// An event's lines in the source, in few columns: `src/a.rs:3 … :12`.
pub(super) fn spot(labeled: &LabeledStream<'_>, terminal: u32) -> String {
    let Some((file, first, last)) = labeled.spot(terminal) else {
        return String::new();
    };
    let from = clip_start(&format!("{file}:{first}"), PLACE);
    if last == first {
        from
    } else {
        format!("{from} … :{last}")
    }
}
