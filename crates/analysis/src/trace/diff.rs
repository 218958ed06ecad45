//! Compares two traces: finds the first position where they differ, and the sequences that only one
//! of them contains.
//!
//! Terminals get numbers common to both traces ([`Alphabet`]). Paths of one build are matched by
//! function and path number. Between builds, functions match if they have the same name and the
//! same structure; then their paths have the same numbers. A path of a function without a match
//! gets its own number.
//!
//! The common beginning is found by hashes of prefixes (digest.rs). Sequences come from
//! [`grams`](super::grams). A sequence is listed only if the other trace contains all its parts, so
//! it stands for all longer sequences that contain it.
//!
//! Cost: linear in the symbols of the grammars, times the length of sequences.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use holloway_format::FunctionMap;

use super::code::{Code, Event};
use super::digest::{Digests, common_prefix_length};
use super::grams::{Grams, TooMany, grams};
use super::pattern::{Node, Resolved};
use super::query::query;
use super::{Grammar, Terminal, Trace};
use crate::overlap::Both;

/// Numbers of terminals and functions that are common to two traces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alphabet {
    /// By trace: the number of each terminal.
    pub terminals: Both<Vec<u32>>,
    /// By trace: the number of each function.
    pub functions: Both<Vec<u32>>,
    /// By trace: number of functions that the other image lacks or has with another structure.
    pub alone: Both<u64>,
}

/// The symbols that sequences consist of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Unit {
    /// All events.
    #[default]
    Events,
    /// Functions, at each entry.
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
    pub parted: Both<Option<u32>>,
    /// By trace: sequences that the other trace does not contain, most frequent first.
    pub only: Both<Vec<OneSidedSequence>>,
}

/// A sequence that only one trace contains.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OneSidedSequence {
    /// The common numbers of its terminals or functions.
    pub symbols: Vec<u32>,
    /// Number of executions.
    pub count: u64,
}

impl Diff {
    /// Whether the traces are the same.
    pub fn is_same(&self) -> bool {
        self.parted == [None, None]
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
        let highest = functions[1]
            .iter()
            .map(|&number| u64::from(number) + 1)
            .max();
        let common = counts[0] + counts[1] - highest.unwrap_or(0).max(counts[0]);
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
            alone: counts.map(|count| count - common),
        }
    }

    /// By terminal: its symbol in sequences of a trace, or `None` if it is not part of sequences.
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
fn number_functions(
    codes: Both<&Code<'_>>,
    name: &dyn Fn(&FunctionMap) -> Rc<str>,
) -> Both<Vec<u32>> {
    let ours: Vec<(u32, &FunctionMap)> = codes[0].functions().collect();
    let theirs: Vec<(u32, &FunctionMap)> = codes[1].functions().collect();
    let own: Vec<u32> = ours.iter().map(|entry| entry.0).collect();
    if codes[0].map().build_id == codes[1].map().build_id {
        return [own.clone(), own];
    }
    let mut matching: Vec<Option<u32>> = vec![None; theirs.len()];
    let mut is_matched = vec![false; ours.len()];
    let file = |map: &FunctionMap| (Rc::from(&*map.linkage_name), Rc::from(&*map.file));
    let linkage = |map: &FunctionMap| (Rc::from(&*map.linkage_name), Rc::from(""));
    let reported = |map: &FunctionMap| (name(map), Rc::from(""));
    for key in [
        &file as &dyn Fn(&FunctionMap) -> (Rc<str>, Rc<str>),
        &linkage,
        &reported,
    ] {
        let mut candidates_by_key: HashMap<_, VecDeque<u32>> = HashMap::new();
        for &(number, map) in ours.iter().filter(|entry| !is_matched[entry.0 as usize]) {
            let candidates = candidates_by_key
                .entry((key(map), map.structure_hash()))
                .or_default();
            candidates.push_back(number);
        }
        for &(number, map) in &theirs {
            if matching[number as usize].is_none()
                && let Some(candidates) =
                    candidates_by_key.get_mut(&(key(map), map.structure_hash()))
                && let Some(ours) = candidates.pop_front()
            {
                matching[number as usize] = Some(ours);
                is_matched[ours as usize] = true;
            }
        }
    }
    let others = ours.len() as u32..;
    let mut others = others.into_iter();
    let numbers = matching
        .into_iter()
        .map(|matching| matching.or_else(|| others.next()));
    [
        own,
        numbers
            .map(|number| number.expect("numbers enough"))
            .collect(),
    ]
}

/// Compares two traces. Lists sequences of up to `length` symbols of the unit.
///
/// # Errors
/// A trace has more than `limit` different sequences.
pub fn diff(
    traces: Both<&Trace>,
    events: Both<&[Event]>,
    alphabet: &Alphabet,
    unit: Unit,
    length: usize,
    limit: usize,
) -> Result<Diff, TooMany> {
    let grammars = traces.map(|trace| &trace.grammar);
    let [a, b] = [0, 1].map(|side: usize| Digests::new(grammars[side], &alphabet.terminals[side]));
    let common = common_prefix_length(&a, &b);
    let tables = [0, 1].map(|side: usize| {
        let symbols = alphabet.symbols(side, events[side], unit);
        grams(grammars[side], &symbols, length, limit)
    });
    let [a, b] = tables;
    let tables = [a?, b?];
    Ok(Diff {
        common,
        lengths: grammars.map(Grammar::len),
        parted: grammars.map(|grammar| grammar.expand_from(common).next()),
        only: [
            one_sided(&tables[0], &tables[1]),
            one_sided(&tables[1], &tables[0]),
        ],
    })
}

/// Sequences of one table that are not in the other table, although all their parts are.
fn one_sided(table: &Grams, other: &Grams) -> Vec<OneSidedSequence> {
    let mut counterparts = vec![Some(0)];
    let mut sequences = Vec::new();
    for (id, node) in table.nodes() {
        let prefix = counterparts[node.parent as usize];
        let found = prefix.and_then(|prefix| other.find(prefix, node.symbol));
        counterparts.push(found);
        if prefix.is_none() || found.is_some() {
            continue;
        }
        let symbols = table.symbols(id);
        if symbols.len() == 1 || other.count(&symbols[1..]) > 0 {
            let count = node.count;
            sequences.push(OneSidedSequence { symbols, count });
        }
    }
    sequences.sort_by(|a, b| (b.count, &a.symbols).cmp(&(a.count, &b.symbols)));
    sequences
}

/// Positions of the first and the last event of the first execution of a sequence. `symbols` must
/// be the symbols that the sequence's table was made from.
pub fn first(grammar: &Grammar, symbols: &[Option<u32>], sequence: &[u32]) -> Option<(u64, u64)> {
    let mut sets: Vec<Vec<bool>> = Vec::new();
    let mut nodes = Vec::new();
    let between: Vec<bool> = symbols.iter().map(Option::is_none).collect();
    for &wanted in sequence {
        if !sets.is_empty() && between.contains(&true) {
            nodes.push(Node::Repeat {
                node: Box::new(Node::Event(sets.len())),
                min_count: 0,
            });
            sets.push(between.clone());
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
