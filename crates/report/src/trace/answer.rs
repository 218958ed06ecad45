//! What a question finds out about a stream, before it is shown.

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

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CountedAs {
    /// Calls of a function.
    Calls,
    /// Times that events ran.
    Events,
}

impl CountedAs {
    fn of(asked: &AskedPattern) -> CountedAs {
        if asked.is_function {
            CountedAs::Calls
        } else {
            CountedAs::Events
        }
    }

    /// As the JSON says it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            CountedAs::Calls => "calls",
            CountedAs::Events => "events",
        }
    }

    /// What happened so many times.
    pub(crate) fn verb(self) -> &'static str {
        match self {
            CountedAs::Calls => "called",
            CountedAs::Events => "ran",
        }
    }
}

/// What was checked.
pub(crate) struct Verified {
    pub(crate) stats: Stats,
    /// Whether the grammar stands for what came; nothing where that isn't known.
    pub(crate) is_same: Option<bool>,
    /// Whether nothing is missing or damaged, in the rest of the run neither. A sample is good if
    /// it holds what was sampled.
    pub(crate) is_good: bool,
    /// Whether only a part of what ran was to be recorded.
    pub(crate) is_sample: bool,
}

/// Hot sequences.
pub(crate) struct HotSequences {
    pub(crate) bounds: Bounds,
    /// What all events cost.
    pub(crate) total: u64,
    /// How they were counted: exactly only where that is possible.
    pub(crate) method: Method,
    pub(crate) hot: Vec<hot::HotSubpath>,
}

/// Sequences are counted exactly up to this product of the grammar's symbols and the square of the
/// longest length: about ten seconds.
const WORK: u64 = 2_000_000_000;

/// Asks a stream.
fn answer(
    sight: &LabeledStream<'_>,
    question: &Question<'_>,
    damage: &[Note],
) -> Result<Answer, AskError> {
    let grammar = &sight.stream.trace.grammar;
    let wrong = |text: &str| {
        let text = text.to_owned();
        move |error| AskError::Pattern { text, error }
    };
    Ok(match *question {
        Question::Stats => Answer::Stats(stats(grammar, &sight.events)),
        Question::Cat { from, count } => {
            let left = sight.stream.events().saturating_sub(from);
            let count = count.map_or(left, |count| count.min(left));
            Answer::Cat { from, count }
        }
        Question::Verify => Answer::Verify(verify(sight, damage)),
        Question::Hot(ref asked) => Answer::Hot(hot_of(sight, asked)),
        Question::Freq(text) => {
            let asked = sight.pattern(text)?;
            let begins = asked.begins(&sight.events);
            let found = freq(grammar, &begins).map_err(wrong(text))?;
            Answer::Freq(found, CountedAs::of(&asked))
        }
        Question::Before(p, q) => {
            let asked = [sight.pattern(p)?, sight.pattern(q)?];
            let [of_p, of_q] = asked.each_ref().map(|one| one.begins(&sight.events));
            let (of_p, of_q) = (
                of_p.single_event().map_err(wrong(p))?,
                of_q.single_event().map_err(wrong(q))?,
            );
            let mut order = before(grammar, of_p, of_q);
            if asked[0].is_function {
                let ends = asked[0].ends(&sight.events);
                let ends = ends.single_event().map_err(wrong(p))?;
                order.at_once = before(grammar, ends, of_q).at_once;
            }
            Answer::Before(order, asked.each_ref().map(CountedAs::of))
        }
        Question::Context(text) => {
            let asked = sight.pattern(text)?;
            let [begins, ends] = [asked.begins(&sight.events), asked.ends(&sight.events)];
            let begins = begins.single_event().map_err(wrong(text))?;
            let mut found = context(grammar, &sight.events, begins)?;
            if asked.is_function {
                let ends = ends.single_event().map_err(wrong(text))?;
                found.after = context(grammar, &sight.events, ends)?.after;
            }
            Answer::Context(found, CountedAs::of(&asked))
        }
        Question::Loops(k) => Answer::Loops(loops(grammar, &sight.events, k as usize, LIMIT)?),
        Question::Query(text) => {
            let asked = sight.pattern(text)?;
            Answer::Query(query(grammar, &asked.events).map_err(wrong(text))?)
        }
    })
}

fn verify(sight: &LabeledStream<'_>, damage: &[Note]) -> Verified {
    let stats = match sight.stream.checked {
        Some(checked) => stats_of_checked(checked, &sight.events),
        None => stats(&sight.stream.trace.grammar, &sight.events),
    };
    let is_same = sight.stream.checked.map(|checked| checked.is_same);
    let notes = || damage.iter().chain(sight.stream.damage);
    let is_sample = notes().any(|note| matches!(note.sample(), Some(Sample::Streams { .. })));
    // Between the bursts of a sample there are gaps.
    let is_whole = (stats.gaps == 0 || is_sample) && notes().all(|note| note.sample().is_some());
    Verified {
        is_good: is_same != Some(false) && is_whole,
        is_sample,
        stats,
        is_same,
    }
}

/// Whether what was to be verified is good: there is something, and all of it is.
pub(crate) fn are_good(answers: &[(&LabeledStream<'_>, Answer)]) -> bool {
    let is_good = |answer: &Answer| matches!(answer, Answer::Verify(found) if found.is_good);
    !answers.is_empty() && answers.iter().all(|(_, answer)| is_good(answer))
}

fn hot_of(sight: &LabeledStream<'_>, asked: &Hot) -> HotSequences {
    let grammar = &sight.stream.trace.grammar;
    let costs = sight.costs(asked.cost);
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
    hot.retain(|one| asked.all || one.minimal);
    HotSequences {
        bounds,
        total,
        method,
        hot,
    }
}

/// Asks all streams. If a name means nothing in some of the images, their streams are left out.
///
/// # Errors
/// If none has an answer.
pub(crate) fn answers<'a>(
    sights: &'a [LabeledStream<'a>],
    question: &Question<'_>,
    damage: &[Note],
) -> Result<Vec<(&'a LabeledStream<'a>, Answer)>, AskError> {
    let (mut answers, mut first) = (Vec::new(), None);
    for sight in sights {
        match answer(sight, question, damage) {
            Ok(answer) => answers.push((sight, answer)),
            Err(error @ AskError::Pattern { .. }) => first = first.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    match first {
        Some(error) if answers.is_empty() => Err(error),
        _ => Ok(answers),
    }
}
