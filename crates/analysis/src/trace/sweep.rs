//! Runs a finite automaton over a trace without expanding the grammar.
//!
//! The automaton marks some events as *hits*. Its behavior in the expansion of a rule depends only
//! on its state at the start of the rule. So the result is computed once for each rule and each
//! state in which the automaton starts that rule, and stored as a [`Passage`]. Automata that read
//! backwards (`BACK`) read each right side from its end.
//!
//! Cost: the symbols of the grammar times the start states of each rule, which are mostly few. A
//! deep grammar costs memory, not stack.

use rustc_hash::FxHashMap;

use super::{Grammar, Part, Symbol};

/// A deterministic automaton that reads terminals.
pub(super) trait Machine {
    /// The state after a terminal, and whether that terminal is a hit.
    fn step(&mut self, state: u32, terminal: u32) -> (u32, bool);
    /// Whether the automaton never leaves this state, and no terminal in it is a hit.
    fn is_dead(&self, _state: u32) -> bool {
        false
    }
}

/// The result of running an automaton on a string.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Passage {
    /// The state at the end of the string.
    pub(super) state: u32,
    /// Number of terminals of the string. Too small if reading a prefix stopped early in a dead
    /// state.
    pub(super) length: u64,
    /// Number of hits.
    pub(super) hits: u64,
    /// Positions of the first and the last hit, counted from 0 in the order of reading.
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

    /// Appends the passage through the next string.
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

/// Direction of a [`Sweep`]: from the start of the string.
pub(super) const FORWARD: bool = false;
/// Direction of a [`Sweep`]: from the end of the string.
pub(super) const BACKWARD: bool = true;

/// An automaton on a grammar, with the passages computed so far. With `BACK`, it reads from the
/// end.
pub(super) struct Sweep<'g, M, const BACK: bool> {
    grammar: &'g Grammar,
    pub(super) machine: M,
    passages: FxHashMap<u64, Passage>,
}

impl<'g, M: Machine, const BACK: bool> Sweep<'g, M, BACK> {
    pub(super) fn new(grammar: &'g Grammar, machine: M) -> Self {
        Sweep {
            grammar,
            machine,
            passages: FxHashMap::default(),
        }
    }

    /// Reads the whole string, starting in `state`.
    pub(super) fn read_all(&mut self, state: u32) -> Passage {
        self.rule(0, state)
    }

    /// Reads the first `end` terminals of the string, starting in `state`. With `BACK`, the
    /// automaton reads them from position `end - 1` down to 0.
    pub(super) fn read_prefix(&mut self, end: u64, state: u32) -> Passage {
        let prefixes = prefixes(self.grammar, end);
        let mut passage = Passage::new(state);
        if BACK {
            for prefix in prefixes.iter().rev() {
                self.read_symbols(prefix, &mut passage);
            }
        } else {
            for prefix in prefixes {
                self.read_symbols(prefix, &mut passage);
            }
        }
        passage
    }

    fn read_symbols(&mut self, symbols: &[Symbol], passage: &mut Passage) {
        for index in 0..symbols.len() {
            if self.machine.is_dead(passage.state) {
                return;
            }
            let next = match symbol_in_reading_order::<BACK>(symbols, index).part() {
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

    /// The passage through a rule if it is stored, or if the state is dead. `None` if the rule must
    /// be read.
    fn passage_without_reading(&self, rule: u32, state: u32) -> Option<Passage> {
        if self.machine.is_dead(state) {
            let length = self.grammar.length(rule);
            return Some(Passage {
                length,
                ..Passage::new(state)
            });
        }
        self.passages.get(&key(rule, state)).copied()
    }

    /// Reads the expansion of a rule. An explicit stack replaces recursion.
    fn rule(&mut self, rule: u32, state: u32) -> Passage {
        if let Some(passage) = self.passage_without_reading(rule, state) {
            return passage;
        }
        let mut stack = vec![OpenRule::new(rule, state)];
        loop {
            let top = stack
                .last_mut()
                .expect("the requested rule is on the stack");
            let symbols = self.grammar.rule(top.rule);
            if top.next == symbols.len() {
                let finished = stack.pop().expect("the stack is not empty");
                self.passages
                    .insert(key(finished.rule, finished.start_state), finished.passage);
                match stack.last_mut() {
                    Some(user) => user.passage.then(&finished.passage),
                    None => return finished.passage,
                }
                continue;
            }
            let symbol = symbol_in_reading_order::<BACK>(symbols, top.next);
            top.next += 1;
            let state = top.passage.state;
            let next = match symbol.part() {
                Part::Terminal(id) => Some(self.terminal(id, state)),
                Part::Rule(rule) => {
                    let passage = self.passage_without_reading(rule, state);
                    if passage.is_none() {
                        stack.push(OpenRule::new(rule, state));
                    }
                    passage
                }
            };
            if let (Some(next), Some(top)) = (next, stack.last_mut()) {
                top.passage.then(&next);
            }
        }
    }
}

/// A rule whose right side is being read.
struct OpenRule {
    rule: u32,
    start_state: u32,
    /// Number of symbols that were read.
    next: usize,
    /// The passage through these symbols.
    passage: Passage,
}

impl OpenRule {
    fn new(rule: u32, start_state: u32) -> OpenRule {
        OpenRule {
            rule,
            start_state,
            next: 0,
            passage: Passage::new(start_state),
        }
    }
}

fn key(rule: u32, state: u32) -> u64 {
    u64::from(rule) << 32 | u64::from(state)
}

fn symbol_in_reading_order<const BACK: bool>(symbols: &[Symbol], index: usize) -> Symbol {
    if BACK {
        symbols[symbols.len() - 1 - index]
    } else {
        symbols[index]
    }
}

/// The first `end` terminals of the string, as prefixes of right sides, in order.
pub(super) fn prefixes(grammar: &Grammar, end: u64) -> Vec<&[Symbol]> {
    let (mut prefixes, mut rule) = (Vec::new(), 0);
    let mut remaining = end.min(grammar.len());
    while remaining > 0 {
        let symbols = grammar.rule(rule);
        // Number of symbols whose whole expansion belongs to the prefix.
        let mut fitting = 0;
        while remaining > 0
            && fitting < symbols.len()
            && grammar.length_of(symbols[fitting]) <= remaining
        {
            remaining -= grammar.length_of(symbols[fitting]);
            fitting += 1;
        }
        prefixes.push(&symbols[..fitting]);
        match symbols.get(fitting).map(|symbol| symbol.part()) {
            Some(Part::Rule(next)) => rule = next,
            // A terminal has length 1, so it always fits unless `remaining` is 0.
            Some(Part::Terminal(_)) | None => break,
        }
    }
    prefixes
}
