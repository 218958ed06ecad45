//! Adds up the answers of an image's threads. Only counts are added: a position belongs to one
//! thread, so a sum has no positions.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use holloway_analysis::trace::before::Order;
use holloway_analysis::trace::code::Code;
use holloway_analysis::trace::context::Context;
use holloway_analysis::trace::query::{Frequency, Matches};
use holloway_analysis::trace::{Terminal, Trace};
use holloway_format::Count;

use super::answer::Answer;
use super::labels::LabeledStream;
use super::stream::Stream;

/// The sum of the answers of an image's streams.
pub(crate) struct Sum<'a> {
    first_stream: Stream<'a>,
    /// Number of streams in the sum.
    pub(crate) streams: u64,
    /// Number of events in these streams.
    pub(crate) events: u64,
    /// The terminals that the answer refers to, without events.
    trace: Trace,
    pub(crate) answer: Answer,
}

impl Sum<'_> {
    /// A stream without events that has the answer's terminals.
    pub(crate) fn stream(&self) -> Stream<'_> {
        Stream {
            trace: &self.trace,
            ..self.first_stream
        }
    }
}

/// Adds up the answers of each image that has several streams. Only answers that are counts have a
/// sum.
pub(crate) fn sums<'a>(answers: &[(&LabeledStream<'a>, Answer)]) -> Vec<Sum<'a>> {
    let mut images: Vec<Vec<&(&LabeledStream<'a>, Answer)>> = Vec::new();
    let build_id = |code: &Code<'_>| code.map().build_id;
    for labeled_answer in answers {
        let is_same_image = |image: &&mut Vec<&(&LabeledStream<'a>, Answer)>| {
            build_id(image[0].0.stream.code) == build_id(labeled_answer.0.stream.code)
        };
        match images.iter_mut().find(is_same_image) {
            Some(image) => image.push(labeled_answer),
            None => images.push(vec![labeled_answer]),
        }
    }
    images.retain(|image| image.len() > 1);
    images.iter().filter_map(|image| sum(image)).collect()
}

fn sum<'a>(answers: &[&(&LabeledStream<'a>, Answer)]) -> Option<Sum<'a>> {
    let mut terminals = Terminals::default();
    let (first, answer) = answers.first()?;
    let mut sum = empty_sum(answer)?;
    for (labeled, answer) in answers {
        add(&mut sum, labeled, answer, &mut terminals);
    }
    let events = answers.iter().map(|(labeled, _)| labeled.stream.events());
    Some(Sum {
        first_stream: *first.stream,
        streams: answers.len() as u64,
        events: events.fold(0, u64::saturating_add),
        trace: Trace {
            terminals: terminals.list,
            ..Trace::default()
        },
        answer: sum,
    })
}

/// Returns a sum of 0 for answers to the same question, or `None` if these answers have no sum.
fn empty_sum(answer: &Answer) -> Option<Answer> {
    Some(match *answer {
        Answer::Freq(_, unit) => Answer::Freq(Frequency::default(), unit),
        Answer::Query(_) => Answer::Query(Matches::default()),
        Answer::Before(_, units) => Answer::Before(Order::default(), units),
        Answer::Context(_, unit) => Answer::Context(Context::default(), unit),
        _ => return None,
    })
}

fn add(sum: &mut Answer, labeled: &LabeledStream<'_>, answer: &Answer, terminals: &mut Terminals) {
    match (sum, answer) {
        (Answer::Freq(sum, _), Answer::Freq(answer, _)) => add_count(&mut sum.count, answer.count),
        (Answer::Query(sum), Answer::Query(answer)) => add_count(&mut sum.count, answer.count),
        (Answer::Before(sum, _), Answer::Before(answer, _)) => {
            for (sum, count) in [
                (&mut sum.p.count, answer.p.count),
                (&mut sum.q.count, answer.q.count),
                (&mut sum.at_once, answer.at_once),
                (&mut sum.before_next_p, answer.before_next_p),
                (&mut sum.later, answer.later),
                (&mut sum.preceded, answer.preceded),
                (&mut sum.q_without_p.count, answer.q_without_p.count),
                (&mut sum.unanswered.count, answer.unanswered.count),
            ] {
                add_count(sum, count);
            }
        }
        (Answer::Context(sum, _), Answer::Context(answer, _)) => {
            add_count(&mut sum.count, answer.count);
            let mut with_sum_numbers = |list: &[(u32, Count)]| {
                let renumber = |&(terminal, count): &(u32, Count)| {
                    let terminal = labeled.stream.trace.terminals[terminal as usize];
                    (terminals.number(terminal), count)
                };
                list.iter().map(renumber).collect::<Vec<_>>()
            };
            add_list(&mut sum.before, &with_sum_numbers(&answer.before));
            add_list(&mut sum.after, &with_sum_numbers(&answer.after));
            add_list(&mut sum.callers, &answer.callers);
        }
        _ => {}
    }
}

fn add_count(sum: &mut Count, count: Count) {
    *sum = sum.saturating_add(count);
}

/// Adds counts to a list, and sorts it by count, highest first.
fn add_list<K: Copy + Ord>(sum: &mut Vec<(K, Count)>, list: &[(K, Count)]) {
    let mut counts: BTreeMap<K, Count> = sum.drain(..).collect();
    for &(key, count) in list {
        add_count(counts.entry(key).or_default(), count);
    }
    sum.extend(counts);
    sum.sort_by_key(|&(_, count)| Reverse(count));
}

/// The terminals of several streams, numbered for the sum in the order of their first use.
#[derive(Default)]
struct Terminals {
    list: Vec<Terminal>,
    numbers: HashMap<Terminal, u32>,
}

impl Terminals {
    fn number(&mut self, terminal: Terminal) -> u32 {
        *self.numbers.entry(terminal).or_insert_with(|| {
            self.list.push(terminal);
            self.list.len() as u32 - 1
        })
    }
}
