//! SEQUITUR and SEQUITUR(1) (Nevill-Manning, Witten 1997; Larus 1999, sections 3.1 and 3.2).
//!
//! Symbols are appended to the start rule one by one; after each, two properties hold again. *Digram uniqueness*: no two neighbours stand twice
//! in the grammar, overlaps apart; the second time they are replaced by a rule, a new one or one whose whole right side they are. *Rule
//! utility*: every rule but the start is used twice or more; one that is used once is put back into its user.
//!
//! ```text
//! abcab  S → A c A          abcabdabcab  S → A d A           abcabcabcabc  S → A A
//!        A → a b                         A → B c B                         A → B B
//!                                        B → a b                           B → a b c
//! ```
//!
//! SEQUITUR(1) looks at the next symbol l before it makes a rule for a double digram x y at the end of the start: if y l is the whole
//! right side of a rule, it takes l and applies that rule instead. Until then x y stays double. At the end of the input there is no l.
//!
//! ```text
//! 11111211111   SEQUITUR  S → A B 2 B A          SEQUITUR(1)  S → C 2 C
//!                         A → 1 1, B → A 1                    A → 1 1, C → A A 1
//! ```
//!
//! The order of steps is that of the algorithm's authors: of three equal neighbours only one pair is in the table, and taking it out puts the
//! other one in. Some descendants get that wrong and lose uniqueness, or input, on strings like 52225222.
//!
//! Cost: linear in the input; 12 bytes a symbol of the grammar and up to 64 a digram. 5-20 million symbols a second: the builder of real traces
//! ([`super::builder`]) gives it a string that was shortened before.

use super::digrams::Digrams;
use super::grammar::{Grammar, Part, Symbol};

/// Which algorithm makes the grammar.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum LookAhead {
    /// SEQUITUR.
    None,
    /// SEQUITUR(1).
    #[default]
    One,
}

/// Number of a symbol's place in a right side.
type Place = u32;

/// A symbol in a right side: a ring with the rule's guard between its last and its first.
#[derive(Clone, Copy)]
struct Node {
    /// Bits of a [`Symbol`], or [`GUARD`] and the rule's number.
    value: u32,
    previous: Place,
    next: Place,
}

/// Set in the value of guards.
const GUARD: u32 = 1 << 30;
/// The start's guard is the first node.
const START: Place = 0;

#[derive(Clone, Copy)]
struct Rule {
    guard: Place,
    uses: u32,
}

/// Makes a grammar of a string while it comes.
pub struct Sequitur {
    nodes: Vec<Node>,
    free_nodes: Vec<Place>,
    rules: Vec<Rule>,
    free_rules: Vec<u32>,
    digrams: Digrams,
    look_ahead: LookAhead,
    /// The symbol that came last, held back to be looked at: SEQUITUR(1) only.
    held: Option<Symbol>,
    /// What follows the symbol that is being appended.
    next: Option<Symbol>,
    /// The digram at the end of the start is double, since a rule for its second symbol and the next one was seen.
    postponed: bool,
}

impl Sequitur {
    /// An empty string's grammar.
    pub fn new(look_ahead: LookAhead) -> Self {
        let mut made = Self {
            nodes: Vec::new(),
            free_nodes: Vec::new(),
            rules: Vec::new(),
            free_rules: Vec::new(),
            digrams: Digrams::default(),
            look_ahead,
            held: None,
            next: None,
            postponed: false,
        };
        made.new_rule();
        made
    }

    /// Forgets everything but its memory.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.free_nodes.clear();
        self.rules.clear();
        self.free_rules.clear();
        self.digrams.clear();
        (self.held, self.next, self.postponed) = (None, None, false);
        self.new_rule();
    }

    /// Appends a terminal, whose number is below 2^30.
    pub fn push(&mut self, terminal: u32) {
        debug_assert!(terminal < GUARD, "terminals are below 2^30");
        let symbol = Symbol::terminal(terminal);
        match self.look_ahead {
            LookAhead::None => self.append(symbol),
            LookAhead::One => {
                if let Some(held) = self.held.replace(symbol) {
                    self.next = Some(symbol);
                    self.append(held);
                }
            }
        }
    }

    /// The grammar of what was pushed.
    pub fn finish(&mut self) -> Grammar {
        let (symbols, starts) = self.finish_parts();
        Grammar::from_parts(symbols, starts).expect("SEQUITUR's rules have no cycle")
    }

    /// Right sides one after the other, and where each begins; a rule uses later ones only.
    pub(super) fn finish_parts(&mut self) -> (Vec<Symbol>, Vec<u64>) {
        self.next = None;
        if let Some(held) = self.held.take() {
            self.append(held);
        }
        let order = self.users_first();
        let mut numbers = vec![0; self.rules.len()];
        for (number, &rule) in order.iter().enumerate() {
            numbers[rule as usize] = number as u32;
        }
        let (mut symbols, mut starts) = (Vec::new(), vec![0]);
        for &rule in &order {
            symbols.extend(self.right_side(rule).map(|value| match value.part() {
                Part::Terminal(_) => value,
                Part::Rule(used) => Symbol::rule(numbers[used as usize]),
            }));
            starts.push(symbols.len() as u64);
        }
        (symbols, starts)
    }

    /// All rules, each after those that use it.
    fn users_first(&self) -> Vec<u32> {
        let mut unseen: Vec<u32> = self.rules.iter().map(|rule| rule.uses).collect();
        let (mut order, mut ready) = (Vec::new(), vec![0]);
        while let Some(rule) = ready.pop() {
            order.push(rule);
            for symbol in self.right_side(rule) {
                if let Part::Rule(used) = symbol.part() {
                    unseen[used as usize] -= 1;
                    if unseen[used as usize] == 0 {
                        ready.push(used);
                    }
                }
            }
        }
        order
    }

    fn right_side(&self, rule: u32) -> impl Iterator<Item = Symbol> + '_ {
        let mut at = self.next_of(self.rules[rule as usize].guard);
        std::iter::from_fn(move || {
            let value = self.value(at);
            (value & GUARD == 0).then(|| {
                at = self.next_of(at);
                Symbol::from_bits(value)
            })
        })
    }

    fn append(&mut self, symbol: Symbol) {
        if std::mem::take(&mut self.postponed) {
            let last = self.previous_of(START);
            if let Some(rule) = self.whole_rule(self.value(last), symbol.bits()) {
                self.insert_after(last, symbol);
                self.substitute(last, rule);
                return;
            }
            // The rule has gone since.
            self.check(self.previous_of(last));
        }
        self.insert_after(self.previous_of(START), symbol);
        self.check(self.previous_of(self.previous_of(START)));
    }

    /// The rule whose whole right side the digram is.
    fn whole_rule(&self, first: u32, second: u32) -> Option<u32> {
        let at = self.digrams.find(first, second)?;
        self.rule_around(at)
    }

    /// The rule whose whole right side is the digram at `at`.
    fn rule_around(&self, at: Place) -> Option<u32> {
        let before = self.value(self.previous_of(at));
        let after = self.value(self.next_of(self.next_of(at)));
        (before & GUARD != 0 && after & GUARD != 0 && before != GUARD).then_some(before & !GUARD)
    }

    /// Enters the digram at `first`, or replaces it when it is there already; whether it was.
    fn check(&mut self, first: Place) -> bool {
        let (left, right) = (self.value(first), self.value(self.next_of(first)));
        if (left | right) & GUARD != 0 {
            return false;
        }
        match self.digrams.find_or_insert(left, right, first) {
            None => false,
            Some(found) => {
                if self.next_of(found) != first && found != first {
                    self.replace(first, found);
                }
                true
            }
        }
    }

    /// Replaces the double digram at `first` and `found`.
    fn replace(&mut self, first: Place, found: Place) {
        let rule = match self.rule_around(found) {
            Some(rule) => {
                self.substitute(first, rule);
                rule
            }
            None if self.looks_ahead(first) => {
                self.postponed = true;
                return;
            }
            None => self.make_rule(first, found),
        };
        // Only the first symbol can have lost its second last use.
        let head = self.next_of(self.rules[rule as usize].guard);
        if let Part::Rule(used) = Symbol::from_bits(self.value(head)).part()
            && self.rules[used as usize].uses == 1
        {
            self.put_back(head, used);
        }
    }

    fn looks_ahead(&self, first: Place) -> bool {
        let second = self.next_of(first);
        self.next_of(second) == START
            && self
                .next
                .is_some_and(|next| self.whole_rule(self.value(second), next.bits()).is_some())
    }

    fn make_rule(&mut self, first: Place, found: Place) -> u32 {
        let rule = self.new_rule();
        let guard = self.rules[rule as usize].guard;
        let (left, right) = (self.value(first), self.value(self.next_of(first)));
        self.insert_after(guard, Symbol::from_bits(left));
        self.insert_after(self.next_of(guard), Symbol::from_bits(right));
        self.substitute(found, rule);
        self.substitute(first, rule);
        let head = self.next_of(guard);
        self.enter(head);
        rule
    }

    /// Puts `rule` in the place of the digram at `first`.
    fn substitute(&mut self, first: Place, rule: u32) {
        let before = self.previous_of(first);
        self.remove(first);
        self.remove(self.next_of(before));
        self.insert_after(before, Symbol::rule(rule));
        if !self.check(before) {
            self.check(self.next_of(before));
        }
    }

    /// The symbol at `at` is the last use of `rule`, whose right side takes its place.
    fn put_back(&mut self, at: Place, rule: u32) {
        let guard = self.rules[rule as usize].guard;
        let (left, right) = (self.previous_of(at), self.next_of(at));
        let (head, tail) = (self.next_of(guard), self.previous_of(guard));
        self.forget(at);
        self.join(left, head);
        self.join(tail, right);
        self.enter(tail);
        self.free_nodes.extend([at, guard]);
        self.free_rules.push(rule);
    }

    fn new_rule(&mut self) -> u32 {
        let rule = self.free_rules.pop().unwrap_or(self.rules.len() as u32);
        assert!(rule < GUARD, "fewer than 2^30 rules");
        let guard = self.new_node(GUARD | rule);
        (
            self.nodes[guard as usize].previous,
            self.nodes[guard as usize].next,
        ) = (guard, guard);
        let made = Rule { guard, uses: 0 };
        match self.rules.get_mut(rule as usize) {
            Some(place) => *place = made,
            None => self.rules.push(made),
        }
        rule
    }

    fn new_node(&mut self, value: u32) -> Place {
        let node = Node {
            value,
            previous: NOWHERE,
            next: NOWHERE,
        };
        match self.free_nodes.pop() {
            Some(at) => {
                self.nodes[at as usize] = node;
                at
            }
            None => {
                self.nodes.push(node);
                (self.nodes.len() - 1) as Place
            }
        }
    }

    fn insert_after(&mut self, at: Place, symbol: Symbol) {
        if let Part::Rule(rule) = symbol.part() {
            self.rules[rule as usize].uses += 1;
        }
        let node = self.new_node(symbol.bits());
        let next = self.next_of(at);
        self.join(node, next);
        self.join(at, node);
    }

    fn remove(&mut self, at: Place) {
        self.join(self.previous_of(at), self.next_of(at));
        self.forget(at);
        if let Part::Rule(rule) = Symbol::from_bits(self.value(at)).part() {
            self.rules[rule as usize].uses -= 1;
        }
        self.free_nodes.push(at);
    }

    /// Makes neighbours of two symbols. The digram that began at `left` goes; if one of three equal symbols goes with it, the pair
    /// that it hid comes into the table.
    fn join(&mut self, left: Place, right: Place) {
        if self.next_of(left) != NOWHERE {
            self.forget(left);
            if self.in_three(right) {
                self.enter(right);
            }
            if self.in_three(left) {
                self.enter(self.previous_of(left));
            }
        }
        self.nodes[left as usize].next = right;
        self.nodes[right as usize].previous = left;
    }

    /// Whether both neighbours of a symbol equal it.
    fn in_three(&self, at: Place) -> bool {
        let Node {
            value,
            previous,
            next,
        } = self.nodes[at as usize];
        value & GUARD == 0
            && previous != NOWHERE
            && next != NOWHERE
            && self.value(previous) == value
            && self.value(next) == value
    }

    /// Makes the digram at `first` the one in the table.
    fn enter(&mut self, first: Place) {
        let (left, right) = (self.value(first), self.value(self.next_of(first)));
        if (left | right) & GUARD == 0 {
            self.digrams.set(left, right, first);
        }
    }

    /// Takes the digram at `first` out of the table if it is the one in there.
    fn forget(&mut self, first: Place) {
        let (left, right) = (self.value(first), self.value(self.next_of(first)));
        if (left | right) & GUARD == 0 {
            self.digrams.remove(left, right, first);
        }
    }

    #[inline]
    fn value(&self, at: Place) -> u32 {
        self.nodes[at as usize].value
    }

    #[inline]
    fn next_of(&self, at: Place) -> Place {
        self.nodes[at as usize].next
    }

    #[inline]
    fn previous_of(&self, at: Place) -> Place {
        self.nodes[at as usize].previous
    }
}

/// No neighbour yet.
const NOWHERE: Place = Place::MAX;
