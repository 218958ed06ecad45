//! Answers to questions on traces, on the terminal.
//!
//! [`write()`] asks a question of each of some streams, [`diff()`] compares streams of two runs.
//! [`json::trace`](crate::json::trace) has the same two functions, [`crate::trace`] the questions.

mod asked;
mod diff;
mod hot;
mod loops;
mod sheet;
mod whole;

use std::io::{self, BufWriter, Write};

use sheet::TraceSheet;

use super::paint::{Ink, Line, Page};
use crate::numbers::{grouped, plural};
use crate::options::Options;
use crate::trace::answer::{Answer, answers, are_good};
use crate::trace::compare::Compared;
use crate::trace::sums::{Sum, sums};
use crate::trace::{AskError, Comparison, LabeledStream, Question, Run, Stream, longest};

/// Asks each stream and writes the answers, in the order given. A stream is left out if a name of
/// the question means nothing in its image and another stream has an answer. Of many streams with
/// long answers, only the longest are asked.
///
/// Gives whether all is well for [`Question::Verify`], and true for any other question.
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
    let mut sheet = TraceSheet {
        options,
        page: Page::new(&mut out, options),
    };
    let longest = match question {
        Question::Hot(_) => longest(run.streams, sheet.top()),
        _ => (0..run.streams.len()).collect(),
    };
    let asked = longest.iter().map(|&place| &run.streams[place]);
    let sights: Vec<LabeledStream<'_>> =
        asked.map(|one| LabeledStream::new(one, options)).collect();
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
            write_answer(&mut sheet, sight, question, answer)?;
        }
        for sum in &sums(&answers) {
            sheet.page.gap()?;
            write_sum(&mut sheet, question, sum)?;
        }
    }
    sheet.more(run.streams.len() - sights.len(), "trace")?;
    out.flush()?;
    Ok(!is_verified || are_good(&answers))
}

/// Compares streams of two runs, pair by pair. Writes where they part, and which sequences only one
/// of them has.
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
    let mut sheet = TraceSheet {
        options,
        page: Page::new(&mut out, options),
    };
    let top = sheet.top();
    let (mut different, mut same) = (Vec::new(), Vec::new());
    let mut alike = 0;
    for pair in pairs {
        let sights = pair.each_ref().map(|one| LabeledStream::new(one, options));
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

/// Writes what several streams of an image answer together.
fn write_sum(sheet: &mut TraceSheet<'_>, question: &Question<'_>, sum: &Sum<'_>) -> io::Result<()> {
    let stream = sum.stream();
    // Those that were chosen.
    let title = format!("{}, {} traces together", stream.image, grouped(sum.streams));
    sheet.heading(&title, &plural(sum.events, "event"))?;
    let sight = LabeledStream::new(&stream, sheet.options);
    write_answer(sheet, &sight, question, &sum.answer)
}

fn write_answer(
    sheet: &mut TraceSheet<'_>,
    sight: &LabeledStream<'_>,
    question: &Question<'_>,
    answer: &Answer,
) -> io::Result<()> {
    match (answer, question) {
        (Answer::Stats(_), _) => Ok(()),
        (Answer::Cat { from, count }, _) => whole::cat(sheet, sight, *from, *count),
        (Answer::Verify(verified), _) => whole::verify(sheet, verified),
        (Answer::Hot(found), Question::Hot(asked)) => hot::write(sheet, sight, asked, found),
        (Answer::Before(order, units), &Question::Before(p, q)) => {
            asked::before(sheet, sight, [(p, units[0]), (q, units[1])], order)
        }
        (Answer::Freq(found, unit), _) => asked::freq(sheet, sight, found, *unit),
        (Answer::Context(found, unit), _) => asked::context(sheet, sight, found, *unit),
        (Answer::Query(found), _) => asked::query(sheet, sight, found),
        (Answer::Loops(grams), _) => loops::write(sheet, sight, grams),
        (Answer::Hot(_) | Answer::Before(..), _) => Ok(()),
    }
}
