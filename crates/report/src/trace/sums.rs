//! Sums of the answers of an image's threads: counts are added up. A position belongs to one
//! thread, so sums have none.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use holloway_analysis::trace::before::Order;
use holloway_analysis::trace::code::Code;
use holloway_analysis::trace::context::Context;
use holloway_analysis::trace::query::{Frequency, Matches};
use holloway_analysis::trace::{Terminal, Trace};

use super::answer::Answer;
use super::labels::LabeledStream;
use super::stream::Stream;

/// The sum of the answers of an image's streams.
pub(crate) struct Sum<'a> {
    first: Stream<'a>,
    /// Streams that it is of.
    pub(crate) streams: u64,
    /// Events in them.
    pub(crate) events: u64,
    /// Has the terminals that the answer speaks of, and no events.
    trace: Trace,
    pub(crate) answer: Answer,
}

impl Sum<'_> {
    /// A stream in which the answer's terminals are.
    pub(crate) fn stream(&self) -> Stream<'_> {
        Stream {
            trace: &self.trace,
            ..self.first
        }
    }
}

/// Adds up the answers of each image that has several streams. Answers that are no counts have no
/// sum.
pub(crate) fn sums<'a>(answers: &[(&LabeledStream<'a>, Answer)]) -> Vec<Sum<'a>> {
    let mut images: Vec<Vec<&(&LabeledStream<'a>, Answer)>> = Vec::new();
    let build = |code: &Code<'_>| code.map().build_id;
    for one in answers {
        let of = |image: &&mut Vec<&(&LabeledStream<'a>, Answer)>| {
            build(image[0].0.stream.code) == build(one.0.stream.code)
        };
        match images.iter_mut().find(of) {
            Some(image) => image.push(one),
            None => images.push(vec![one]),
        }
    }
    images.retain(|image| image.len() > 1);
    images.iter().filter_map(|image| sum(image)).collect()
}

fn sum<'a>(answers: &[&(&LabeledStream<'a>, Answer)]) -> Option<Sum<'a>> {
    let mut terminals = Terminals::default();
    let (first, answer) = answers.first()?;
    let mut sum = none(answer)?;
    for (sight, answer) in answers {
        add(&mut sum, sight, answer, &mut terminals);
    }
    let events = answers.iter().map(|(sight, _)| sight.stream.events());
    Some(Sum {
        first: *first.stream,
        streams: answers.len() as u64,
        events: events.fold(0, u64::saturating_add),
        trace: Trace {
            terminals: terminals.list,
            ..Trace::default()
        },
        answer: sum,
    })
}

/// The sum of no answers of this kind.
fn none(answer: &Answer) -> Option<Answer> {
    Some(match *answer {
        Answer::Freq(_, unit) => Answer::Freq(Frequency::default(), unit),
        Answer::Query(_) => Answer::Query(Matches::default()),
        Answer::Before(_, units) => Answer::Before(Order::default(), units),
        Answer::Context(_, unit) => Answer::Context(Context::default(), unit),
        _ => return None,
    })
}

fn add(sum: &mut Answer, sight: &LabeledStream<'_>, answer: &Answer, terminals: &mut Terminals) {
    match (sum, answer) {
        (Answer::Freq(sum, _), Answer::Freq(one, _)) => more(&mut sum.count, one.count),
        (Answer::Query(sum), Answer::Query(one)) => more(&mut sum.count, one.count),
        (Answer::Before(sum, _), Answer::Before(one, _)) => {
            for (sum, count) in [
                (&mut sum.p.count, one.p.count),
                (&mut sum.q.count, one.q.count),
                (&mut sum.at_once, one.at_once),
                (&mut sum.next, one.next),
                (&mut sum.later, one.later),
                (&mut sum.preceded, one.preceded),
                (&mut sum.without.count, one.without.count),
                (&mut sum.unanswered.count, one.unanswered.count),
            ] {
                more(sum, count);
            }
        }
        (Answer::Context(sum, _), Answer::Context(one, _)) => {
            more(&mut sum.count, one.count);
            let mut number = |list: &[(u32, u64)]| {
                let of = |&(terminal, count): &(u32, u64)| {
                    let terminal = sight.stream.trace.terminals[terminal as usize];
                    (terminals.number(terminal), count)
                };
                list.iter().map(of).collect::<Vec<_>>()
            };
            add_list(&mut sum.before, &number(&one.before));
            add_list(&mut sum.after, &number(&one.after));
            add_list(&mut sum.callers, &one.callers);
        }
        _ => {}
    }
}

fn more(sum: &mut u64, count: u64) {
    *sum = sum.saturating_add(count);
}

/// Adds to counts; most frequent first.
fn add_list<K: Copy + Ord>(sum: &mut Vec<(K, u64)>, list: &[(K, u64)]) {
    let mut counts: BTreeMap<K, u64> = sum.drain(..).collect();
    for &(key, count) in list {
        more(counts.entry(key).or_default(), count);
    }
    sum.extend(counts);
    sum.sort_by_key(|&(_, count)| Reverse(count));
}

/// The terminals of several streams, numbered as they come.
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
