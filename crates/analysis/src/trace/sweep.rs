//! A finite automaton over a trace, without expanding it: what it does in a rule depends on the state it comes in with only.
//!
//! For each rule and each state it is met in, a [`Passage`] is kept: the state it leaves in, how many hits there were, the first and the last. Right sides are
//! walked in order, or from their end (`BACK`) for automata that read backwards.
//!
//! Cost: symbols of the grammar × states that its rules are met in, mostly few; the depth of the grammar costs memory, not stack.

use rustc_hash::FxHashMap;

use super::{Grammar, Part, Symbol};

/// A deterministic automaton that reads terminals.
pub(super) trait Machine {
    /// The state after a terminal, and whether that is a hit.
    fn step(&mut self, state: u32, terminal: u32) -> (u32, bool);
    /// Whether nothing can be hit from a state, which is never left.
    fn is_dead(&self, _state: u32) -> bool {
        false
    }
}

/// What an automaton did on a string.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Passage {
    /// The state it is in.
    pub(super) state: u32,
    /// Terminals read.
    pub(super) length: u64,
    /// Hits.
    pub(super) hits: u64,
    /// The place of the first and of the last hit, in the order of reading, from 0.
    pub(super) ends: Option<(u64, u64)>,
}

impl Passage {
    fn new(state: u32) -> Passage {
        Passage {
            state,
            length: 0,
            hits: 0,
            ends: None,
        }
    }

    fn then(&mut self, next: &Passage) {
        if let Some((first, last)) = next.ends {
            let first = self.ends.map_or(self.length + first, |ends| ends.0);
            self.ends = Some((first, self.length + last));
        }
        self.hits = self.hits.saturating_add(next.hits);
        self.length += next.length;
        self.state = next.state;
    }
}

/// An automaton on a grammar, with what is known of its rules. `BACK`: it reads from the end.
pub(super) struct Sweep<'g, M, const BACK: bool> {
    grammar: &'g Grammar,
    pub(super) machine: M,
    known: FxHashMap<u64, Passage>,
}

impl<'g, M: Machine, const BACK: bool> Sweep<'g, M, BACK> {
    pub(super) fn new(grammar: &'g Grammar, machine: M) -> Self {
        Sweep {
            grammar,
            machine,
            known: FxHashMap::default(),
        }
    }

    /// Reads the whole string.
    pub(super) fn whole(&mut self, state: u32) -> Passage {
        self.rule(0, state)
    }

    /// Reads the first `end` terminals of the string; backwards, from the one at `end - 1` to the first.
    pub(super) fn before(&mut self, end: u64, state: u32) -> Passage {
        let pieces = pieces(self.grammar, end);
        let mut passage = Passage::new(state);
        if BACK {
            for piece in pieces.iter().rev() {
                self.symbols(piece, &mut passage);
            }
        } else {
            for piece in pieces {
                self.symbols(piece, &mut passage);
            }
        }
        passage
    }

    fn symbols(&mut self, symbols: &[Symbol], passage: &mut Passage) {
        for at in 0..symbols.len() {
            if self.machine.is_dead(passage.state) {
                return;
            }
            let next = match order::<BACK>(symbols, at).part() {
                Part::Terminal(id) => self.terminal(id, passage.state),
                Part::Rule(rule) => self.rule(rule, passage.state),
            };
            passage.then(&next);
        }
    }

    fn terminal(&mut self, id: u32, state: u32) -> Passage {
        let (state, hit) = self.machine.step(state, id);
        Passage {
            state,
            length: 1,
            hits: hit.into(),
            ends: hit.then_some((0, 0)),
        }
    }

    /// A passage that needs no look into the rule: known, or without hope.
    fn at_once(&self, rule: u32, state: u32) -> Option<Passage> {
        if self.machine.is_dead(state) {
            let length = self.grammar.length(rule);
            return Some(Passage {
                length,
                ..Passage::new(state)
            });
        }
        self.known.get(&key(rule, state)).copied()
    }

    fn rule(&mut self, rule: u32, state: u32) -> Passage {
        if let Some(known) = self.at_once(rule, state) {
            return known;
        }
        let mut stack = vec![Walk::new(rule, state)];
        loop {
            let walk = stack.last_mut().expect("the rule asked for is on it");
            let symbols = self.grammar.rule(walk.rule);
            if walk.next == symbols.len() {
                let done = stack.pop().expect("it was just there");
                self.known.insert(key(done.rule, done.begin), done.passage);
                match stack.last_mut() {
                    Some(user) => user.passage.then(&done.passage),
                    None => return done.passage,
                }
                continue;
            }
            let symbol = order::<BACK>(symbols, walk.next);
            walk.next += 1;
            let state = walk.passage.state;
            let next = match symbol.part() {
                Part::Terminal(id) => Some(self.terminal(id, state)),
                Part::Rule(rule) => {
                    let known = self.at_once(rule, state);
                    if known.is_none() {
                        stack.push(Walk::new(rule, state));
                    }
                    known
                }
            };
            if let (Some(next), Some(walk)) = (next, stack.last_mut()) {
                walk.passage.then(&next);
            }
        }
    }
}

/// A rule on the way down.
struct Walk {
    rule: u32,
    begin: u32,
    next: usize,
    passage: Passage,
}

impl Walk {
    fn new(rule: u32, begin: u32) -> Walk {
        Walk {
            rule,
            begin,
            next: 0,
            passage: Passage::new(begin),
        }
    }
}

fn key(rule: u32, state: u32) -> u64 {
    u64::from(rule) << 32 | u64::from(state)
}

fn order<const BACK: bool>(symbols: &[Symbol], at: usize) -> Symbol {
    if BACK {
        symbols[symbols.len() - 1 - at]
    } else {
        symbols[at]
    }
}

/// The first `end` terminals of the string as beginnings of right sides, in order.
pub(super) fn pieces(grammar: &Grammar, end: u64) -> Vec<&[Symbol]> {
    let (mut pieces, mut rule, mut rest) = (Vec::new(), 0, end.min(grammar.len()));
    while rest > 0 {
        let symbols = grammar.rule(rule);
        let mut whole = 0;
        while rest > 0 && whole < symbols.len() && grammar.length_of(symbols[whole]) <= rest {
            rest -= grammar.length_of(symbols[whole]);
            whole += 1;
        }
        pieces.push(&symbols[..whole]);
        match symbols.get(whole).map(|symbol| symbol.part()) {
            Some(Part::Rule(next)) => rule = next,
            // A terminal is longer than the rest only if that is 0.
            Some(Part::Terminal(_)) | None => break,
        }
    }
    pieces
}
