//! The output of answers about traces: headings, facts, events, and notes of damage.

use std::io;

use holloway_analysis::Note;

use crate::notes::{Label, sentence};
use crate::numbers::{grouped, plural};
use crate::options::Options;
use crate::terminal::paint::{Ink, Line, Page};
use crate::terminal::route::route_of;
use crate::terminal::sheet::TOP;
use crate::trace::LabeledStream;

/// Columns of the names of events, so that their places align.
pub(super) const LABELS_WIDTH: usize = 24;
/// Maximum number of notes of damage that are shown.
const MAX_NOTES: usize = 10;
/// Columns of a label.
const LABEL_WIDTH: usize = 14;

/// The output of answers about traces.
pub(super) struct TraceSheet<'a> {
    pub(super) options: &'a Options<'a>,
    pub(super) page: Page<'a>,
}

impl TraceSheet<'_> {
    /// Maximum number of items of a list (`--top`).
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
        for note in damage.iter().take(MAX_NOTES) {
            self.alarm(Label::for_note(note).text(), &sentence(note))?;
        }
        match damage.len().saturating_sub(MAX_NOTES) {
            0 => Ok(()),
            more => self.alarm("", &format!("… and {} more", grouped(more as u64))),
        }
    }

    pub(super) fn alarm(&mut self, label: &str, text: &str) -> io::Result<()> {
        let mut line = Line::new();
        line.put(Ink::Plain, "  ")
            .left(Ink::Alarm, label, LABEL_WIDTH);
        self.page.wrapped(line, Ink::Plain, text)
    }

    /// Writes the number of items that are not shown.
    pub(super) fn omitted(&mut self, left_out: usize, noun: &str) -> io::Result<()> {
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

    /// Writes an empty line, and a heading with a description of the items below it.
    pub(super) fn title(&mut self, title: &str, description: &str) -> io::Result<()> {
        self.page.gap()?;
        self.heading(title, description)
    }

    pub(super) fn heading(&mut self, title: &str, description: &str) -> io::Result<()> {
        let mut line = Line::new();
        line.put(Ink::Strong, title).put(Ink::Plain, "  ");
        self.page.wrapped(line, Ink::Faint, description)
    }

    /// Writes a line of a list of facts.
    pub(super) fn fact(&mut self, label: &str, text: &str) -> io::Result<()> {
        let mut line = Line::new();
        line.put(Ink::Plain, "  ")
            .left(Ink::Faint, label, LABEL_WIDTH);
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
                LABELS_WIDTH.saturating_sub(2 * depth),
            )
            .put(Ink::Plain, "  ");
        self.with_route(line, labeled, terminal)
    }

    /// Writes a line that ends with an event's place in the source.
    pub(super) fn with_route(
        &mut self,
        mut line: Line,
        labeled: &LabeledStream<'_>,
        terminal: u32,
    ) -> io::Result<()> {
        let route = route_of(labeled, terminal);
        line.put(Ink::Place, &route);
        self.page.line(&line)
    }
}
