//! Two traces against each other: where they part for the first time, and which sequences one has and the other has not.
//!
//! Terminals get numbers common to both ([`Alphabet`]): paths of one build by function and number; of different builds, by functions that have the same
//! name and the same structure, so that their paths are numbered alike. A path of a function that is not the same is one of its own.
//!
//! The common beginning is found by hashes of beginnings (digest.rs). Sequences come from [`grams`](super::grams); listed are those of which no
//! part is missing in the other trace, so that each stands for all that contain it.
//!
//! Cost: linear in the symbols of the grammars, times the length of sequences.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use holloway_format::FunctionMap;

use super::code::{Code, Event};
use super::digest::{Digests, common_beginning};
use super::grams::{Grams, TooMany, grams};
use super::pattern::{Node, Resolved};
use super::query::query;
use super::{Grammar, Terminal, Trace};
use crate::overlap::Both;

/// Numbers that terminals and functions of two traces have in common.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alphabet {
    /// By trace: the number of each terminal.
    pub terminals: Both<Vec<u32>>,
    /// By trace: the number of each function.
    pub functions: Both<Vec<u32>>,
    /// Functions of either image that the other has not, or with another structure.
    pub alone: Both<u64>,
}

/// What sequences are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Unit {
    /// All events.
    #[default]
    Events,
    /// Functions, as they are entered.
    Functions,
}

/// Two traces compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diff {
    /// Events that both begin with.
    pub common: u64,
    /// Events of either.
    pub lengths: Both<u64>,
    /// The terminal of either that comes then; nothing where it ends.
    pub parted: Both<Option<u32>>,
    /// Sequences of either that the other has not, those that ran most often first.
    pub only: Both<Vec<Only>>,
}

/// A sequence that one trace has and the other has not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Only {
    /// By the common numbers of terminals or functions.
    pub symbols: Vec<u32>,
    /// Times it ran.
    pub count: u64,
}

impl Diff {
    /// Whether the traces are the same.
    pub fn is_same(&self) -> bool {
        self.parted == [None, None]
    }
}

impl Alphabet {
    /// Numbers the terminals of two traces; `name` is the name a reader knows a function by.
    pub fn new(
        codes: Both<&Code<'_>>,
        terminals: Both<&[Terminal]>,
        name: &dyn Fn(&FunctionMap) -> Rc<str>,
    ) -> Alphabet {
        let functions = functions(codes, name);
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
                        // A function that the map has not is like no other.
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

    /// What sequences of a trace are made of: by terminal, the common number of what it is, if it is anything.
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

/// The first trace's functions by their own numbers, the second's by those of the first that are the same, others behind.
fn functions(codes: Both<&Code<'_>>, name: &dyn Fn(&FunctionMap) -> Rc<str>) -> Both<Vec<u32>> {
    let ours: Vec<(u32, &FunctionMap)> = codes[0].functions().collect();
    let theirs: Vec<(u32, &FunctionMap)> = codes[1].functions().collect();
    let own: Vec<u32> = ours.iter().map(|one| one.0).collect();
    if codes[0].map().build_id == codes[1].map().build_id {
        return [own.clone(), own];
    }
    let mut same: Vec<Option<u32>> = vec![None; theirs.len()];
    let mut taken = vec![false; ours.len()];
    let file = |map: &FunctionMap| (Rc::from(&*map.linkage_name), Rc::from(&*map.file));
    let linkage = |map: &FunctionMap| (Rc::from(&*map.linkage_name), Rc::from(""));
    let shown = |map: &FunctionMap| (name(map), Rc::from(""));
    for key in [
        &file as &dyn Fn(&FunctionMap) -> (Rc<str>, Rc<str>),
        &linkage,
        &shown,
    ] {
        let mut places: HashMap<_, VecDeque<u32>> = HashMap::new();
        for &(number, map) in ours.iter().filter(|one| !taken[one.0 as usize]) {
            let place = places.entry((key(map), map.structure_hash())).or_default();
            place.push_back(number);
        }
        for &(number, map) in &theirs {
            if same[number as usize].is_none()
                && let Some(place) = places.get_mut(&(key(map), map.structure_hash()))
                && let Some(found) = place.pop_front()
            {
                same[number as usize] = Some(found);
                taken[found as usize] = true;
            }
        }
    }
    let others = ours.len() as u32..;
    let mut others = others.into_iter();
    let numbers = same.into_iter().map(|same| same.or_else(|| others.next()));
    [
        own,
        numbers
            .map(|number| number.expect("numbers enough"))
            .collect(),
    ]
}

/// Compares two traces; sequences of up to `length` of the unit are listed.
///
/// # Errors
/// If either has more than `limit` different sequences.
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
    let common = common_beginning(&a, &b);
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
        only: [only(&tables[0], &tables[1]), only(&tables[1], &tables[0])],
    })
}

/// Sequences of one table that the other has not, though it has all their parts.
fn only(table: &Grams, other: &Grams) -> Vec<Only> {
    let mut theirs = vec![Some(0)];
    let mut only = Vec::new();
    for (id, node) in table.nodes() {
        let begins = theirs[node.parent as usize];
        let found = begins.and_then(|begins| other.find(begins, node.symbol));
        theirs.push(found);
        if begins.is_none() || found.is_some() {
            continue;
        }
        let symbols = table.symbols(id);
        if symbols.len() == 1 || other.count(&symbols[1..]) > 0 {
            let count = node.count;
            only.push(Only { symbols, count });
        }
    }
    only.sort_by(|a, b| (b.count, &a.symbols).cmp(&(a.count, &b.symbols)));
    only
}

/// Where a sequence runs for the first time: positions of its first and its last event. `symbols` as for the table it is from.
pub fn first(grammar: &Grammar, symbols: &[Option<u32>], sequence: &[u32]) -> Option<(u64, u64)> {
    let mut sets: Vec<Vec<bool>> = Vec::new();
    let mut nodes = Vec::new();
    let between: Vec<bool> = symbols.iter().map(Option::is_none).collect();
    for &wanted in sequence {
        if !sets.is_empty() && between.contains(&true) {
            nodes.push(Node::Repeat {
                node: Box::new(Node::One(sets.len())),
                least: 0,
            });
            sets.push(between.clone());
        }
        nodes.push(Node::One(sets.len()));
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
