//! Answers to questions about a stream, as values. Reports show them.

use holloway_analysis::Note;
use holloway_analysis::trace::before::{Order, before};
use holloway_analysis::trace::context::{Context, context};
use holloway_analysis::trace::grams::Grams;
use holloway_analysis::trace::hot::{self, Bounds, as_printed, exact};
use holloway_analysis::trace::loops::loops;
use holloway_analysis::trace::query::{Frequency, Matches, freq, query};
use holloway_analysis::trace::stats::{Stats, counts, stats, stats_of_checked};
use holloway_format::damage::Sample;

use super::labels::{AskedPattern, LabeledStream};
use super::question::{AskError, Hot, LIMIT, Method, Question};

/// An answer.
pub(crate) enum Answer {
    Stats(Stats),
    Cat { from: u64, count: u64 },
    Verify(Verified),
    Hot(HotSequences),
    Freq(Frequency, CountedAs),
    Before(Order, [CountedAs; 2]),
    Context(Context, CountedAs),
    Loops(Grams),
    Query(Matches),
}

/// The unit of an answer's counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CountedAs {
    /// Calls of a function.
    Calls,
    /// Executions of events.
    Events,
}

impl CountedAs {
    fn from_pattern(asked: &AskedPattern) -> CountedAs {
        if asked.is_function {
            CountedAs::Calls
        } else {
            CountedAs::Events
        }
    }

    /// The word in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            CountedAs::Calls => "calls",
            CountedAs::Events => "events",
        }
    }

    /// The verb in sentences: `ran 3 times`.
    pub(crate) fn verb(self) -> &'static str {
        match self {
            CountedAs::Calls => "called",
            CountedAs::Events => "ran",
        }
    }
}

/// The answer to [`Question::Verify`].
pub(crate) struct Verified {
    pub(crate) stats: Stats,
    /// Whether the grammar generates exactly the recorded events. `None` if unknown.
    pub(crate) is_same: Option<bool>,
    /// Whether neither the stream nor the rest of the run has losses or damage. A sample is good if
    /// all sampled events are there.
    pub(crate) is_good: bool,
    /// Whether the run recorded only a sample of the events, as asked.
    pub(crate) is_sample: bool,
}

/// Hot sequences.
pub(crate) struct HotSequences {
    pub(crate) bounds: Bounds,
    /// Cost of all events.
    pub(crate) total: u64,
    /// How the sequences were counted. This is not exact if exact counting would take too long.
    pub(crate) method: Method,
    pub(crate) hot: Vec<hot::HotSubpath>,
}

/// Limit of exact counting: the grammar's symbols × the square of the longest length. Counting up
/// to this limit takes about ten seconds.
const WORK: u64 = 2_000_000_000;

/// The answer of one stream.
fn answer(
    labeled: &LabeledStream<'_>,
    question: &Question<'_>,
    damage: &[Note],
) -> Result<Answer, AskError> {
    let grammar = &labeled.stream.trace.grammar;
    let wrong = |text: &str| {
        let text = text.to_owned();
        move |error| AskError::Pattern { text, error }
    };
    Ok(match *question {
        Question::Stats => Answer::Stats(stats(grammar, &labeled.events)),
        Question::Cat { from, count } => {
            let left = labeled.stream.events().saturating_sub(from);
            let count = count.map_or(left, |count| count.min(left));
            Answer::Cat { from, count }
        }
        Question::Verify => Answer::Verify(verify(labeled, damage)),
        Question::Hot(ref asked) => Answer::Hot(hot_of(labeled, asked)),
        Question::Freq(text) => {
            let asked = labeled.pattern(text)?;
            let begins = asked.begins(&labeled.events);
            let found = freq(grammar, &begins).map_err(wrong(text))?;
            Answer::Freq(found, CountedAs::from_pattern(&asked))
        }
        Question::Before(p, q) => {
            let asked = [labeled.pattern(p)?, labeled.pattern(q)?];
            let [of_p, of_q] = asked
                .each_ref()
                .map(|pattern| pattern.begins(&labeled.events));
            let (of_p, of_q) = (
                of_p.single_event().map_err(wrong(p))?,
                of_q.single_event().map_err(wrong(q))?,
            );
            let mut order = before(grammar, of_p, of_q);
            if asked[0].is_function {
                let ends = asked[0].ends(&labeled.events);
                let ends = ends.single_event().map_err(wrong(p))?;
                order.at_once = before(grammar, ends, of_q).at_once;
            }
            Answer::Before(order, asked.each_ref().map(CountedAs::from_pattern))
        }
        Question::Context(text) => {
            let asked = labeled.pattern(text)?;
            let [begins, ends] = [asked.begins(&labeled.events), asked.ends(&labeled.events)];
            let begins = begins.single_event().map_err(wrong(text))?;
            let mut found = context(grammar, &labeled.events, begins)?;
            if asked.is_function {
                let ends = ends.single_event().map_err(wrong(text))?;
                found.after = context(grammar, &labeled.events, ends)?.after;
            }
            Answer::Context(found, CountedAs::from_pattern(&asked))
        }
        Question::Loops(k) => Answer::Loops(loops(grammar, &labeled.events, k as usize, LIMIT)?),
        Question::Query(text) => {
            let asked = labeled.pattern(text)?;
            Answer::Query(query(grammar, &asked.events).map_err(wrong(text))?)
        }
    })
}

fn verify(labeled: &LabeledStream<'_>, damage: &[Note]) -> Verified {
    let stats = match labeled.stream.checked {
        Some(checked) => stats_of_checked(checked, &labeled.events),
        None => stats(&labeled.stream.trace.grammar, &labeled.events),
    };
    let is_same = labeled.stream.checked.map(|checked| checked.is_same);
    let notes = || damage.iter().chain(labeled.stream.damage);
    let is_sample = notes().any(|note| matches!(note.sample(), Some(Sample::Streams { .. })));
    // A sample has gaps between its bursts.
    let is_whole = (stats.gaps == 0 || is_sample) && notes().all(|note| note.sample().is_some());
    Verified {
        is_good: is_same != Some(false) && is_whole,
        is_sample,
        stats,
        is_same,
    }
}

/// Whether there are verified streams, and all of them are good.
pub(crate) fn are_good(answers: &[(&LabeledStream<'_>, Answer)]) -> bool {
    let is_good = |answer: &Answer| matches!(answer, Answer::Verify(found) if found.is_good);
    !answers.is_empty() && answers.iter().all(|(_, answer)| is_good(answer))
}

fn hot_of(labeled: &LabeledStream<'_>, asked: &Hot) -> HotSequences {
    let grammar = &labeled.stream.trace.grammar;
    let costs = labeled.costs(asked.cost);
    let counts = counts(grammar, costs.len());
    let total = counts.iter().zip(&costs).fold(0u64, |sum, (count, cost)| {
        sum.saturating_add(count.saturating_mul(cost.unwrap_or(0)))
    });
    let bounds = asked.bounds(total);
    let length = bounds.max_len as u64;
    let work = (grammar.size() as u64).saturating_mul(length.saturating_mul(length));
    let counted = match asked.method {
        Method::Exact if work <= WORK => exact(grammar, &costs, &bounds, LIMIT).ok(),
        Method::Exact | Method::Figure7 => None,
    };
    let method = match counted {
        Some(_) => Method::Exact,
        None => Method::Figure7,
    };
    let mut hot = counted.unwrap_or_else(|| as_printed(grammar, &costs, &bounds));
    hot.retain(|sequence| asked.all || sequence.minimal);
    HotSequences {
        bounds,
        total,
        method,
        hot,
    }
}

/// The answers of all streams. If a pattern names no function of an image, the streams of that
/// image are left out.
///
/// # Errors
/// No stream has an answer.
pub(crate) fn answers<'a>(
    labeled_streams: &'a [LabeledStream<'a>],
    question: &Question<'_>,
    damage: &[Note],
) -> Result<Vec<(&'a LabeledStream<'a>, Answer)>, AskError> {
    let (mut answers, mut first) = (Vec::new(), None);
    for labeled in labeled_streams {
        match answer(labeled, question, damage) {
            Ok(answer) => answers.push((labeled, answer)),
            Err(error @ AskError::Pattern { .. }) => first = first.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    match first {
        Some(error) if answers.is_empty() => Err(error),
        _ => Ok(answers),
    }
}
