//! Compares two traces: finds the first position where they differ, and the sequences that only one
//! of them contains.
//!
//! The terminals of both traces get common numbers ([`Alphabet`]). If both traces come from the
//! same build, paths are matched by function and path number. Between builds, functions match if
//! they have the same name and the same structure; then their paths have the same numbers. A path
//! of a function without a match gets a number that the other trace does not have.
//!
//! The end of the common beginning is found by hashes of prefixes (`digest`). Sequences are counted
//! by [`grams`](super::grams). A sequence of one trace is listed only if the other trace contains
//! all its shorter parts. The listed sequence then represents all longer sequences that contain it.
//!
//! Cost: linear in the symbols of the grammars, times the maximum length of sequences.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use holloway_format::{Count, FunctionMap};

use super::code::{Code, Event};
use super::digest::{RuleHashes, common_prefix_length};
use super::grams::{Grams, TooMany, grams};
use super::pattern::{Node, Resolved};
use super::query::{freq, query};
use super::{Grammar, Terminal, Trace};
use crate::overlap::Both;

/// Numbers of terminals and functions that are common to two traces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alphabet {
    /// By trace: the number of each terminal.
    pub terminals: Both<Vec<u32>>,
    /// By trace: the number of each function.
    pub functions: Both<Vec<u32>>,
    /// By trace: number of functions without a match in the other trace's image.
    pub unmatched: Both<u64>,
}

/// The symbols that sequences consist of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Unit {
    /// All events.
    #[default]
    Events,
    /// The functions of the paths that start at their function's entry: the order of calls.
    Functions,
}

/// The result of comparing two traces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diff {
    /// Number of events in the common beginning.
    pub common: u64,
    /// By trace: number of events.
    pub lengths: Both<u64>,
    /// By trace: the terminal after the common beginning; `None` if the trace ends there.
    pub after_common: Both<Option<u32>>,
    /// By trace: sequences that the other trace does not contain, most frequent first.
    pub one_sided: Both<Vec<OneSidedSequence>>,
}

/// A sequence that only one trace contains.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OneSidedSequence {
    /// The common numbers of the terminals or functions.
    pub symbols: Vec<u32>,
    /// Number of executions.
    pub count: Count,
}

impl Diff {
    /// Whether the traces are the same.
    pub fn is_same(&self) -> bool {
        self.after_common == [None, None]
    }
}

impl Alphabet {
    /// Numbers the terminals of two traces. `name` returns the name of a function in reports.
    pub fn new(
        codes: Both<&Code<'_>>,
        terminals: Both<&[Terminal]>,
        name: &dyn Fn(&FunctionMap) -> Rc<str>,
    ) -> Alphabet {
        let functions = number_functions(codes, name);
        let counts = codes.map(|code| code.functions().count() as u64);
        // Unmatched functions of the second trace have numbers from `counts[0]` on.
        let number_end = functions[1]
            .iter()
            .map(|&number| u64::from(number) + 1)
            .max();
        let all = number_end.unwrap_or(0).max(counts[0]);
        let matched = counts[0] + counts[1] - all;
        let mut numbers: HashMap<(u8, u32, u32), u32> = HashMap::new();
        let terminals = [0, 1].map(|side: usize| {
            let number = |&terminal: &Terminal| {
                let key = match terminal {
                    Terminal::Path { function, path } => {
                        // A function that is not in the map matches no other function.
                        let known = functions[side].get(function as usize);
                        known.map_or((3 + side as u8, function, path), |&known| (0, known, path))
                    }
                    Terminal::Left(frames) => (1, frames, 0),
                    Terminal::Gap => (2, 0, 0),
                };
                let next = numbers.len() as u32;
                *numbers.entry(key).or_insert(next)
            };
            terminals[side].iter().map(number).collect()
        });
        Alphabet {
            terminals,
            functions,
            unmatched: counts.map(|count| count - matched),
        }
    }

    /// By terminal of a trace (`side` 0 or 1): its symbol, or `None` if sequences do not contain
    /// it.
    pub fn symbols(&self, side: usize, events: &[Event], unit: Unit) -> Vec<Option<u32>> {
        let symbol = |(&number, &event): (&u32, &Event)| match unit {
            Unit::Events => Some(number),
            Unit::Functions => {
                let function = event.function().filter(|_| event.enters());
                function.map(|function| self.functions[side][function as usize])
            }
        };
        self.terminals[side]
            .iter()
            .zip(events)
            .map(symbol)
            .collect()
    }
}

/// Numbers the functions of two traces. Functions of the first trace keep their numbers. Matching
/// functions of the second trace get the same numbers, and its other functions get higher numbers.
///
/// Functions match if they have the same structure and the same key. The keys are tried in this
/// order: linkage name and file, linkage name, name in reports.
fn number_functions(
    codes: Both<&Code<'_>>,
    name: &dyn Fn(&FunctionMap) -> Rc<str>,
) -> Both<Vec<u32>> {
    let first: Vec<(u32, &FunctionMap)> = codes[0].functions().collect();
    let second: Vec<(u32, &FunctionMap)> = codes[1].functions().collect();
    let first_numbers: Vec<u32> = first.iter().map(|entry| entry.0).collect();
    if codes[0].map().build_id == codes[1].map().build_id {
        return [first_numbers.clone(), first_numbers];
    }
    // By function of the second trace: the matching function of the first trace.
    let mut matches: Vec<Option<u32>> = vec![None; second.len()];
    // By function of the first trace.
    let mut is_matched = vec![false; first.len()];
    let linkage_name_and_file =
        |map: &FunctionMap| (Rc::from(&*map.linkage_name), Rc::from(&*map.file));
    let linkage_name = |map: &FunctionMap| (Rc::from(&*map.linkage_name), Rc::from(""));
    let report_name = |map: &FunctionMap| (name(map), Rc::from(""));
    for key in [
        &linkage_name_and_file as &dyn Fn(&FunctionMap) -> (Rc<str>, Rc<str>),
        &linkage_name,
        &report_name,
    ] {
        let mut candidates_by_key: HashMap<_, VecDeque<u32>> = HashMap::new();
        for &(number, map) in first.iter().filter(|entry| !is_matched[entry.0 as usize]) {
            let candidates = candidates_by_key
                .entry((key(map), map.structure_hash()))
                .or_default();
            candidates.push_back(number);
        }
        for &(number, map) in &second {
            if matches[number as usize].is_none()
                && let Some(candidates) =
                    candidates_by_key.get_mut(&(key(map), map.structure_hash()))
                && let Some(matched) = candidates.pop_front()
            {
                matches[number as usize] = Some(matched);
                is_matched[matched as usize] = true;
            }
        }
    }
    let mut new_numbers = first.len() as u32..;
    let second_numbers = matches.into_iter().map(|matched| {
        matched
            .or_else(|| new_numbers.next())
            .expect("two images have fewer than 2^32 functions")
    });
    let second_numbers = second_numbers.collect();
    [first_numbers, second_numbers]
}

/// Compares two traces. Lists sequences of up to `length` symbols of the unit.
///
/// # Errors
/// If a trace has more than `limit` different sequences.
pub fn diff(
    traces: Both<&Trace>,
    events: Both<&[Event]>,
    alphabet: &Alphabet,
    unit: Unit,
    length: usize,
    limit: usize,
) -> Result<Diff, TooMany> {
    let grammars = traces.map(|trace| &trace.grammar);
    let [a, b] =
        [0, 1].map(|side: usize| RuleHashes::new(grammars[side], &alphabet.terminals[side]));
    let common = common_prefix_length(&a, &b);
    let sequences = [0, 1].map(|side: usize| {
        let symbols = alphabet.symbols(side, events[side], unit);
        grams(grammars[side], &symbols, length, limit)
    });
    let [first, second] = sequences;
    let (first, second) = (first?, second?);
    Ok(Diff {
        common,
        lengths: grammars.map(Grammar::len),
        after_common: grammars.map(|grammar| grammar.expand_from(common).next()),
        one_sided: [one_sided(&first, &second), one_sided(&second, &first)],
    })
}

/// The sequences of one trace that the other trace does not contain, although the other trace
/// contains all their shorter parts.
fn one_sided(trace: &Grams, other: &Grams) -> Vec<OneSidedSequence> {
    // By sequence: the number of the same sequence in the other trace. The empty sequence is first.
    let mut counterparts = vec![Some(0)];
    let mut sequences = Vec::new();
    for (id, node) in trace.nodes() {
        let prefix = counterparts[node.parent as usize];
        let counterpart = prefix.and_then(|prefix| other.find(prefix, node.symbol));
        counterparts.push(counterpart);
        if prefix.is_none() || counterpart.is_some() {
            continue;
        }
        let symbols = trace.symbols(id);
        let other_has_suffix = symbols.len() == 1 || other.count(&symbols[1..]) > Count::ZERO;
        if other_has_suffix {
            let count = node.count;
            sequences.push(OneSidedSequence { symbols, count });
        }
    }
    sequences.sort_by(|a, b| (b.count, &a.symbols).cmp(&(a.count, &b.symbols)));
    sequences
}

/// Executions of a sequence of terminals that follow one another. Overlapping executions all count.
/// `numbers` has the number of each terminal, and `sequence` consists of such numbers.
pub fn executions(grammar: &Grammar, numbers: &[u32], sequence: &[u32]) -> Count {
    let has_number = |wanted: &u32| numbers.iter().map(|number| number == wanted).collect();
    let pattern = Resolved {
        node: Node::Sequence((0..sequence.len()).map(Node::Event).collect()),
        sets: sequence.iter().map(has_number).collect(),
    };
    freq(grammar, &pattern).map_or(Count::ZERO, |frequency| frequency.count)
}

/// Positions of the first and the last event of the first execution of a sequence. `symbols` must
/// be the symbols of the terminals ([`Alphabet::symbols`]) from which the sequence was counted.
pub fn first(grammar: &Grammar, symbols: &[Option<u32>], sequence: &[u32]) -> Option<(u64, u64)> {
    let mut sets: Vec<Vec<bool>> = Vec::new();
    let mut nodes = Vec::new();
    // Terminals that sequences do not contain may run between the symbols of the sequence.
    let skipped: Vec<bool> = symbols.iter().map(Option::is_none).collect();
    for &wanted in sequence {
        if !sets.is_empty() && skipped.contains(&true) {
            nodes.push(Node::Repeat {
                node: Box::new(Node::Event(sets.len())),
                min_count: 0,
            });
            sets.push(skipped.clone());
        }
        nodes.push(Node::Event(sets.len()));
        sets.push(
            symbols
                .iter()
                .map(|&symbol| symbol == Some(wanted))
                .collect(),
        );
    }
    let node = Node::Sequence(nodes);
    query(grammar, &Resolved { node, sets }).ok()?.first
}
