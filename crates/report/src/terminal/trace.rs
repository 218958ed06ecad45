//! Answers to questions on traces, on the terminal.
//!
//! Entry points, here and in [`json::trace`](crate::json::trace): [`write()`] (a question to each of some streams) and [`diff()`] (streams of two runs
//! against each other). What can be asked, and of what, is in [`crate::trace`].

mod asked;
mod diff;
mod hot;
mod loops;
mod whole;

use std::io::{self, BufWriter, Write};

use holloway_analysis::Note;

use super::TOP;
use super::paint::{Ink, Line, Page, clip_start};
use crate::Options;
use crate::notes::{Label, sentence};
use crate::numbers::{grouped, plural};
use crate::trace::answer::{Answer, answers, are_good};
use crate::trace::compare::Compared;
use crate::trace::sums::{Sum, sums};
use crate::trace::{AskError, Comparison, Question, Run, Sight, Stream, longest};

/// Columns that a place gets at most.
const PLACE: usize = 40;

/// Asks each stream and writes the answers, in the order given. Streams of images in which a name of the question means nothing are left out, if
/// others have an answer; of many, of which a list would be long, all but the longest. Of [`Question::Verify`] gives whether all is well, of any other
/// question true.
///
/// # Errors
/// If there is no answer, or `out` fails.
pub fn write(
    question: &Question<'_>,
    run: &Run<'_>,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> Result<bool, AskError> {
    let mut out = BufWriter::new(out);
    let mut sheet = Sheet {
        options,
        page: Page::new(&mut out, options.color, options.width),
    };
    let longest = match question {
        Question::Hot(_) => longest(run.streams, sheet.top()),
        _ => (0..run.streams.len()).collect(),
    };
    let asked = longest.iter().map(|&place| &run.streams[place]);
    let sights: Vec<Sight<'_>> = asked.map(|one| Sight::new(one, options)).collect();
    let answers = answers(&sights, question, run.damage)?;
    sheet.damage(run.damage)?;
    let is_verified = matches!(question, Question::Verify);
    if answers.is_empty() && is_verified && !run.damage.is_empty() {
        sheet.alarm("not good", "no trace can be read, see above")?;
    } else if answers.is_empty() {
        let text = "no trace: the program was not built with --collect trace, or no thread of it ran instrumented code";
        sheet.page.wrapped(Line::new(), Ink::Alarm, text)?;
    }
    if let Question::Stats = question {
        whole::stats(&mut sheet, &answers)?;
    } else {
        for (index, (sight, answer)) in answers.iter().enumerate() {
            if index > 0 {
                sheet.page.gap()?;
            }
            sheet.head(sight)?;
            sheet.answer(sight, question, answer)?;
        }
        for sum in &sums(&answers) {
            sheet.page.gap()?;
            sheet.sum(question, sum)?;
        }
    }
    sheet.more(run.streams.len() - sights.len(), "trace")?;
    out.flush()?;
    Ok(!is_verified || are_good(&answers))
}

/// Compares streams of two runs, pair by pair, and writes where they part, and which sequences either has alone.
///
/// # Errors
/// If there is too much to count, or `out` fails.
pub fn diff(
    pairs: &[[Stream<'_>; 2]],
    how: &Comparison,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> Result<(), AskError> {
    let mut out = BufWriter::new(out);
    let mut sheet = Sheet {
        options,
        page: Page::new(&mut out, options.color, options.width),
    };
    let top = sheet.top();
    let (mut different, mut same) = (Vec::new(), Vec::new());
    let mut alike = 0;
    for pair in pairs {
        let sights = pair.each_ref().map(|one| Sight::new(one, options));
        let compared = Compared::new(&sights, how)?;
        let is_same = compared.diff.is_same();
        alike += u64::from(is_same);
        let list = if is_same { &mut same } else { &mut different };
        if list.len() < top {
            list.push((sights, compared));
        }
    }
    if pairs.len() > 1 {
        let what = plural(pairs.len() as u64, "pair");
        let text = format!(
            "{what} of threads, in the order in which they began: {} the same, the others first",
            grouped(alike)
        );
        sheet.heading("Threads", &text)?;
    }
    let listed = different.iter().chain(&same).take(top);
    for (index, (sights, compared)) in listed.enumerate() {
        if index > 0 || pairs.len() > 1 {
            sheet.page.gap()?;
        }
        diff::write(&mut sheet, sights, compared, how)?;
    }
    sheet.more(pairs.len().saturating_sub(top), "pair")?;
    out.flush()?;
    Ok(())
}

/// Where answers are written.
struct Sheet<'a> {
    options: &'a Options<'a>,
    page: Page<'a>,
}

impl Sheet<'_> {
    fn top(&self) -> usize {
        self.options.top.unwrap_or(TOP)
    }

    /// Writes which stream follows, and what is wrong with it.
    fn head(&mut self, sight: &Sight<'_>) -> io::Result<()> {
        let stream = sight.stream;
        let mut line = Line::new();
        line.put(Ink::Strong, &stream.title()).put(Ink::Plain, "  ");
        let events = plural(stream.events(), "event");
        let legend = format!("{events}; > enters its function, < leaves it");
        self.page.wrapped(line, Ink::Faint, &legend)?;
        self.damage(stream.damage)
    }

    /// Writes what several streams of an image answer together.
    fn sum(&mut self, question: &Question<'_>, sum: &Sum<'_>) -> io::Result<()> {
        let stream = sum.stream();
        // Those that were chosen.
        let title = format!("{}, {} traces together", stream.image, grouped(sum.streams));
        self.heading(&title, &plural(sum.events, "event"))?;
        let sight = Sight::new(&stream, self.options);
        self.answer(&sight, question, &sum.answer)
    }

    /// Writes what is missing.
    fn damage(&mut self, damage: &[Note]) -> io::Result<()> {
        for note in damage.iter().take(DAMAGED) {
            self.alarm(Label::of(note).text(), &sentence(note))?;
        }
        match damage.len().saturating_sub(DAMAGED) {
            0 => Ok(()),
            more => self.alarm("", &format!("… and {} more", grouped(more as u64))),
        }
    }

    fn alarm(&mut self, label: &str, text: &str) -> io::Result<()> {
        let mut line = Line::new();
        line.put(Ink::Plain, "  ").left(Ink::Alarm, label, LABEL);
        self.page.wrapped(line, Ink::Plain, text)
    }

    /// Writes that so many are not shown.
    fn more(&mut self, left_out: usize, what: &str) -> io::Result<()> {
        if left_out == 0 {
            return Ok(());
        }
        self.page.gap()?;
        let text = format!(
            "… and {} (--top shows more)",
            plural(left_out as u64, &format!("more {what}"))
        );
        self.page.wrapped(Line::new(), Ink::Faint, &text)
    }

    fn answer(
        &mut self,
        sight: &Sight<'_>,
        question: &Question<'_>,
        answer: &Answer,
    ) -> io::Result<()> {
        match (answer, question) {
            (Answer::Stats(_), _) => Ok(()),
            (Answer::Cat { from, count }, _) => whole::cat(self, sight, *from, *count),
            (Answer::Verify(verified), _) => whole::verify(self, verified),
            (Answer::Hot(found), Question::Hot(asked)) => hot::write(self, sight, asked, found),
            (Answer::Before(order, units), &Question::Before(p, q)) => {
                asked::before(self, sight, [(p, units[0]), (q, units[1])], order)
            }
            (Answer::Freq(found, unit), _) => asked::freq(self, sight, found, *unit),
            (Answer::Context(found, unit), _) => asked::context(self, sight, found, *unit),
            (Answer::Query(found), _) => asked::query(self, sight, found),
            (Answer::Loops(grams), _) => loops::write(self, sight, grams),
            (Answer::Hot(_) | Answer::Before(..), _) => Ok(()),
        }
    }

    /// Writes the heading of a list, and what it shows.
    fn title(&mut self, title: &str, shown: &str) -> io::Result<()> {
        self.page.gap()?;
        self.heading(title, shown)
    }

    fn heading(&mut self, title: &str, shown: &str) -> io::Result<()> {
        let mut line = Line::new();
        line.put(Ink::Strong, title).put(Ink::Plain, "  ");
        self.page.wrapped(line, Ink::Faint, shown)
    }

    /// Writes a line of a list of facts.
    fn fact(&mut self, label: &str, text: &str) -> io::Result<()> {
        let mut line = Line::new();
        line.put(Ink::Plain, "  ").left(Ink::Faint, label, LABEL);
        self.page.wrapped(line, Ink::Plain, text)
    }

    /// Writes an event: where it stands in the trace, what it is, where that is in the source.
    fn event(
        &mut self,
        sight: &Sight<'_>,
        position: &str,
        depth: usize,
        terminal: u32,
    ) -> io::Result<()> {
        let mut line = Line::new();
        line.right(Ink::Faint, position, 14)
            .put(Ink::Faint, &format!("  {}  ", sight.marks(terminal)))
            .put(Ink::Plain, &"  ".repeat(depth))
            .left(
                Ink::Strong,
                &sight.label(terminal),
                30usize.saturating_sub(2 * depth),
            )
            .put(Ink::Plain, "  ")
            .put(Ink::Place, &spot(sight, terminal));
        self.page.line(&line)
    }
}

/// Sentences on damage that are shown.
const DAMAGED: usize = 10;
/// Columns of labels.
const LABEL: usize = 14;

/// Where an event stands, in few columns: `src/a.rs:3 … :12`.
fn spot(sight: &Sight<'_>, terminal: u32) -> String {
    let Some((file, first, last)) = sight.spot(terminal) else {
        return String::new();
    };
    let from = clip_start(&format!("{file}:{first}"), PLACE);
    if last == first {
        from
    } else {
        format!("{from} … :{last}")
    }
}
