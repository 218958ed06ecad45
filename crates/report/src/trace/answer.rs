//! Computes the answers to questions about a stream, as values. The terminal and JSON reports write
//! them.

use holloway_analysis::Note;
use holloway_analysis::trace::before::{Order, before};
use holloway_analysis::trace::context::{Context, context};
use holloway_analysis::trace::grams::Grams;
use holloway_analysis::trace::hot::{self, Bounds, exact, figure_7};
use holloway_analysis::trace::loops::loops;
use holloway_analysis::trace::query::{Frequency, Matches, freq, query};
use holloway_analysis::trace::stats::{Stats, counts, stats, stats_of_checked};
use holloway_format::Count;
use holloway_format::damage::Sample;

use super::labels::{LabeledStream, StreamPattern};
use super::question::{AskError, HotQuestion, MAX_SEQUENCES, Method, Question};

/// The answer to the [`Question`] of the same name.
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

/// The unit in which an answer counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CountedAs {
    /// Calls of a function.
    Calls,
    /// Executions of events.
    Events,
}

impl CountedAs {
    fn from_pattern(pattern: &StreamPattern) -> CountedAs {
        if pattern.is_function {
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
    /// Whether neither the stream nor the run has losses or damage. A sample is good if
    /// all sampled events are there.
    pub(crate) is_good: bool,
    /// Whether the run recorded only a sample of the events, because the user asked for `--sample`.
    pub(crate) is_sample: bool,
}

/// The answer to [`Question::Hot`].
pub(crate) struct HotSequences {
    pub(crate) bounds: Bounds,
    /// Cost of all events of the stream.
    pub(crate) total: u64,
    /// How the sequences were counted: by [`Method::Figure7`] if exact counting would take too
    /// long.
    pub(crate) method: Method,
    pub(crate) sequences: Vec<hot::HotSubpath>,
}

/// Limit of exact counting: the grammar's symbols × the square of the longest length. Counting up
/// to this limit takes about ten seconds.
const MAX_EXACT_WORK: u64 = 2_000_000_000;

/// Computes the answer of one stream.
fn answer(
    labeled: &LabeledStream<'_>,
    question: &Question<'_>,
    damage: &[Note],
) -> Result<Answer, AskError> {
    let grammar = &labeled.stream.trace.grammar;
    let pattern_error = |text: &str| {
        let text = text.to_owned();
        move |error| AskError::Pattern { text, error }
    };
    Ok(match *question {
        Question::Stats => Answer::Stats(stats(grammar, &labeled.events)),
        Question::Cat { from, count } => {
            let available = labeled.stream.events().saturating_sub(from);
            let count = count.map_or(available, |count| count.min(available));
            Answer::Cat { from, count }
        }
        Question::Verify => Answer::Verify(verify(labeled, damage)),
        Question::Hot(ref hot) => Answer::Hot(hot_sequences(labeled, hot)),
        Question::Freq(text) => {
            let pattern = labeled.pattern(text)?;
            let begins = pattern.begins(&labeled.events);
            let frequency = freq(grammar, &begins).map_err(pattern_error(text))?;
            Answer::Freq(frequency, CountedAs::from_pattern(&pattern))
        }
        Question::Before(p, q) => {
            let patterns = [labeled.pattern(p)?, labeled.pattern(q)?];
            let [p_begins, q_begins] = patterns
                .each_ref()
                .map(|pattern| pattern.begins(&labeled.events));
            let (p_begins, q_begins) = (
                p_begins.single_event().map_err(pattern_error(p))?,
                q_begins.single_event().map_err(pattern_error(q))?,
            );
            let mut order = before(grammar, p_begins, q_begins);
            if patterns[0].is_function {
                // Q follows a call of P directly if it follows the call's last path.
                let p_ends = patterns[0].ends(&labeled.events);
                let p_ends = p_ends.single_event().map_err(pattern_error(p))?;
                order.at_once = before(grammar, p_ends, q_begins).at_once;
            }
            Answer::Before(order, patterns.each_ref().map(CountedAs::from_pattern))
        }
        Question::Context(text) => {
            let pattern = labeled.pattern(text)?;
            let begins = pattern.begins(&labeled.events);
            let begins = begins.single_event().map_err(pattern_error(text))?;
            let mut answer = context(grammar, &labeled.events, begins)?;
            if pattern.is_function {
                let ends = pattern.ends(&labeled.events);
                let ends = ends.single_event().map_err(pattern_error(text))?;
                answer.after = context(grammar, &labeled.events, ends)?.after;
            }
            Answer::Context(answer, CountedAs::from_pattern(&pattern))
        }
        Question::Loops(k) => {
            Answer::Loops(loops(grammar, &labeled.events, k as usize, MAX_SEQUENCES)?)
        }
        Question::Query(text) => {
            let pattern = labeled.pattern(text)?;
            Answer::Query(query(grammar, &pattern.events).map_err(pattern_error(text))?)
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
    // A sample has a gap between two analyzed stretches.
    let is_complete =
        (stats.gaps == Count::ZERO || is_sample) && notes().all(|note| note.sample().is_some());
    Verified {
        is_good: is_same != Some(false) && is_complete,
        is_sample,
        stats,
        is_same,
    }
}

/// Whether there are verified streams, and all of them are good.
pub(crate) fn are_good(answers: &[(&LabeledStream<'_>, Answer)]) -> bool {
    let is_good = |answer: &Answer| matches!(answer, Answer::Verify(verified) if verified.is_good);
    !answers.is_empty() && answers.iter().all(|(_, answer)| is_good(answer))
}

/// Finds the hot sequences of a stream.
pub(crate) fn hot_sequences(labeled: &LabeledStream<'_>, question: &HotQuestion) -> HotSequences {
    let grammar = &labeled.stream.trace.grammar;
    let costs = labeled.costs(question.cost);
    let counts = counts(grammar, costs.len());
    let total = counts.iter().zip(&costs).fold(0u64, |sum, (count, cost)| {
        sum.saturating_add(count.0.saturating_mul(cost.unwrap_or(0)))
    });
    let bounds = question.bounds(total);
    let length = bounds.max_len as u64;
    let work = (grammar.size() as u64).saturating_mul(length.saturating_mul(length));
    let exactly_counted = match question.method {
        Method::Exact if work <= MAX_EXACT_WORK => {
            exact(grammar, &costs, &bounds, MAX_SEQUENCES).ok()
        }
        Method::Exact | Method::Figure7 => None,
    };
    let method = match exactly_counted {
        Some(_) => Method::Exact,
        None => Method::Figure7,
    };
    let mut sequences = exactly_counted.unwrap_or_else(|| figure_7(grammar, &costs, &bounds));
    sequences.retain(|sequence| question.all || sequence.minimal);
    HotSequences {
        bounds,
        total,
        method,
        sequences,
    }
}

/// Computes the answers of all streams. If a pattern names no function of an image, the streams of
/// that image are left out.
///
/// # Errors
/// If a pattern is wrong for every stream, or if there are too many different sequences to count.
pub(crate) fn answers<'a>(
    labeled_streams: &'a [LabeledStream<'a>],
    question: &Question<'_>,
    damage: &[Note],
) -> Result<Vec<(&'a LabeledStream<'a>, Answer)>, AskError> {
    let (mut answers, mut first_error) = (Vec::new(), None);
    for labeled in labeled_streams {
        match answer(labeled, question, damage) {
            Ok(answer) => answers.push((labeled, answer)),
            Err(error @ AskError::Pattern { .. }) => first_error = first_error.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    match first_error {
        Some(error) if answers.is_empty() => Err(error),
        _ => Ok(answers),
    }
}
