//! Answers to questions about traces, on the terminal.
//!
//! [`write()`] shows the answers of a run's streams. [`diff()`] compares the streams of two runs.
//! [`json::trace`](crate::json::trace) has the same two functions. The questions are in
//! [`crate::trace`].

mod counts;
mod diff;
mod hot;
mod loops;
mod sheet;
mod whole_trace;

use std::io::{self, BufWriter, Write};

use sheet::TraceSheet;

use super::paint::{Ink, Line, Page};
use super::sheet::Sheet;
use crate::notes::interrupted;
use crate::numbers::{grouped, plural};
use crate::options::Options;
use crate::trace::answer::{Answer, answers, are_good};
use crate::trace::compare::StreamDiff;
use crate::trace::sums::{Sum, sums};
use crate::trace::{AskError, Comparison, LabeledStream, Question, Run, Stream, longest};

/// Writes the answer of each stream, in the order of the streams. If a pattern names no function in
/// a stream's image, the stream is left out, provided that another stream has an answer. Only the
/// longest streams answer [`Question::Hot`].
///
/// For [`Question::Verify`], returns whether all streams are good. Returns true for any other
/// question.
///
/// # Errors
/// If no stream has an answer, or if writing to `out` fails.
pub fn write(
    question: &Question<'_>,
    run: &Run<'_>,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> Result<bool, AskError> {
    let mut out = BufWriter::new(out);
    if let (Question::Stats, Some(profile)) = (question, run.profile) {
        super::cpu_time::write(&mut Sheet::new(profile, options, &mut out))?;
    }
    let mut sheet = TraceSheet {
        options,
        page: Page::new(&mut out, options),
    };
    let chosen = match question {
        Question::Hot(_) => longest(run.streams, sheet.top()),
        _ => (0..run.streams.len()).collect(),
    };
    let streams = chosen.iter().map(|&index| &run.streams[index]);
    let labeled_streams: Vec<LabeledStream<'_>> = streams
        .map(|stream| LabeledStream::new(stream, options))
        .collect();
    let answers = answers(&labeled_streams, question, run.damage)?;
    if let Some(interrupt) = run.interrupt {
        sheet.alarm("interrupted", &interrupted(interrupt))?;
    }
    sheet.damage(run.damage)?;
    let is_verified = matches!(question, Question::Verify);
    if answers.is_empty() && is_verified && !run.damage.is_empty() {
        sheet.alarm("not good", "no trace can be read, see above")?;
    } else if answers.is_empty() {
        let text = "no trace: the program was not built with --collect trace, or no thread of it ran instrumented code";
        sheet.page.wrapped(Line::new(), Ink::Alarm, text)?;
    }
    if let Question::Stats = question {
        whole_trace::stats(&mut sheet, &answers)?;
    } else {
        for (index, (labeled, answer)) in answers.iter().enumerate() {
            if index > 0 {
                sheet.page.gap()?;
            }
            sheet.head(labeled)?;
            write_answer(&mut sheet, labeled, question, answer)?;
        }
        for sum in &sums(&answers) {
            sheet.page.gap()?;
            write_sum(&mut sheet, question, sum)?;
        }
    }
    sheet.omitted(run.streams.len() - labeled_streams.len(), "trace")?;
    out.flush()?;
    Ok(!is_verified || are_good(&answers))
}

/// Compares the streams of two runs, pair by pair. Writes the first difference, and the sequences
/// that only one of the two streams has.
///
/// # Errors
/// If there are too many different sequences to count, or if writing to `out` fails.
pub fn diff(
    pairs: &[[Stream<'_>; 2]],
    comparison: &Comparison,
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
    let mut same_count = 0;
    for pair in pairs {
        let labeled_streams = pair
            .each_ref()
            .map(|stream| LabeledStream::new(stream, options));
        let stream_diff = StreamDiff::new(&labeled_streams, comparison)?;
        let is_same = stream_diff.diff.is_same();
        same_count += u64::from(is_same);
        let list = if is_same { &mut same } else { &mut different };
        if list.len() < top {
            list.push((labeled_streams, stream_diff));
        }
    }
    if pairs.len() > 1 {
        let count = plural(pairs.len() as u64, "pair");
        let text = format!(
            "{count} of threads, in the order in which they began: {} the same, the others first",
            grouped(same_count)
        );
        sheet.heading("Threads", &text)?;
    }
    let listed = different.iter().chain(&same).take(top);
    for (index, (labeled_streams, stream_diff)) in listed.enumerate() {
        if index > 0 || pairs.len() > 1 {
            sheet.page.gap()?;
        }
        diff::write(&mut sheet, labeled_streams, stream_diff, comparison)?;
    }
    sheet.omitted(pairs.len().saturating_sub(top), "pair")?;
    out.flush()?;
    Ok(())
}

/// Writes the sum of the answers of an image's streams.
fn write_sum(sheet: &mut TraceSheet<'_>, question: &Question<'_>, sum: &Sum<'_>) -> io::Result<()> {
    let stream = sum.stream();
    // The title says "together", not "all": the sum has only the streams that the user chose.
    let title = format!("{}, {} traces together", stream.image, grouped(sum.streams));
    sheet.heading(&title, &plural(sum.events, "event"))?;
    let labeled = LabeledStream::new(&stream, sheet.options);
    write_answer(sheet, &labeled, question, &sum.answer)
}

fn write_answer(
    sheet: &mut TraceSheet<'_>,
    labeled: &LabeledStream<'_>,
    question: &Question<'_>,
    answer: &Answer,
) -> io::Result<()> {
    match (answer, question) {
        (Answer::Stats(_), _) => Ok(()),
        (Answer::Cat { from, count }, _) => whole_trace::cat(sheet, labeled, *from, *count),
        (Answer::Verify(verified), _) => whole_trace::verify(sheet, verified),
        (Answer::Hot(hot), Question::Hot(bounds)) => hot::write(sheet, labeled, bounds, hot),
        (Answer::Before(order, units), &Question::Before(p, q)) => {
            counts::before(sheet, labeled, [(p, units[0]), (q, units[1])], order)
        }
        (Answer::Freq(frequency, unit), _) => counts::freq(sheet, labeled, frequency, *unit),
        (Answer::Context(context, unit), _) => counts::context(sheet, labeled, context, *unit),
        (Answer::Query(matches), _) => counts::query(sheet, labeled, matches),
        (Answer::Loops(grams), _) => loops::write(sheet, labeled, grams),
        (Answer::Hot(_) | Answer::Before(..), _) => Ok(()),
    }
}
