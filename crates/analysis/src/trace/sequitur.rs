//! SEQUITUR and SEQUITUR(1): build a grammar of a string, symbol by symbol (Nevill-Manning, Witten
//! 1997; Larus 1999, sections 3.1 and 3.2).
//!
//! A *digram* is a pair of adjacent symbols. Symbols are appended to the start rule one by one.
//! After each symbol, the algorithm restores two properties:
//!
//! - *Digram uniqueness*: no digram occurs twice in the grammar, except where the two occurrences
//!   overlap. The second occurrence of a digram is replaced by a rule: an existing rule whose right
//!   side is this digram, or a new rule, which then also replaces the first occurrence.
//! - *Rule utility*: every rule except the start rule is used at least twice. A rule that is used
//!   once is replaced by its right side.
//!
//! ```text
//! abcab  S → A c A          abcabdabcab  S → A d A           abcabcabcabc  S → A A
//!        A → a b                         A → B c B                         A → B B
//!                                        B → a b                           B → a b c
//! ```
//!
//! SEQUITUR(1) looks at the next symbol l before it makes a rule for a repeated digram x y at the
//! end of the start rule. If y l is the right side of an existing rule, SEQUITUR(1) appends l and
//! applies that rule instead. Until then, x y stays repeated. At the end of the input, there is no
//! l.
//!
//! ```text
//! 11111211111   SEQUITUR  S → A B 2 B A          SEQUITUR(1)  S → C 2 C
//!                         A → 1 1, B → A 1                    A → 1 1, C → A A 1
//! ```
//!
//! The order of steps follows the algorithm's authors. Of three equal adjacent symbols, only one
//! digram is in the table of digrams (`digrams`). When this digram is removed, the other digram
//! is entered into the table. Some other implementations omit this step, and lose uniqueness or
//! input on strings like 52225222.
//!
//! Cost: linear in the input; 12 bytes for each symbol of the grammar and up to 64 for each digram.
//! It processes 5-20 million symbols a second. So the builder of real traces ([`super::builder`])
//! shortens the string first.

use super::digrams::Digrams;
use super::grammar::{Grammar, Part, Symbol};

/// The algorithm that builds the grammar.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum LookAhead {
    /// SEQUITUR.
    None,
    /// SEQUITUR(1).
    #[default]
    One,
}

/// Index of a symbol in the array of nodes.
type NodeIndex = u32;

/// A symbol in a right side. The symbols of a rule form a circular list. The rule's *guard*, a node
/// that is no symbol, is between the last and the first symbol.
#[derive(Clone, Copy)]
struct Node {
    /// Bits of a [`Symbol`], or [`GUARD`] and the rule's number.
    value: u32,
    previous: NodeIndex,
    next: NodeIndex,
}

/// Bit that is set in the value of guards.
const GUARD: u32 = 1 << 30;
/// The guard of the start rule. It is the first node.
const START: NodeIndex = 0;

#[derive(Clone, Copy)]
struct Rule {
    guard: NodeIndex,
    uses: u32,
}

/// Builds a grammar of a string while the string arrives.
pub struct Sequitur {
    nodes: Vec<Node>,
    free_nodes: Vec<NodeIndex>,
    rules: Vec<Rule>,
    free_rules: Vec<u32>,
    digrams: Digrams,
    look_ahead: LookAhead,
    /// Only in SEQUITUR(1): the last pushed symbol. It is appended when the next symbol is known.
    held: Option<Symbol>,
    /// The input symbol that follows the symbol being appended.
    next: Option<Symbol>,
    /// Whether the last digram of the start rule stays repeated for now, because a rule exists for
    /// the digram of its second symbol and the next input symbol.
    is_postponed: bool,
}

impl Sequitur {
    /// Creates the grammar of the empty string.
    pub fn new(look_ahead: LookAhead) -> Self {
        let mut sequitur = Self {
            nodes: Vec::new(),
            free_nodes: Vec::new(),
            rules: Vec::new(),
            free_rules: Vec::new(),
            digrams: Digrams::default(),
            look_ahead,
            held: None,
            next: None,
            is_postponed: false,
        };
        sequitur.new_rule();
        sequitur
    }

    /// Starts again with the empty string, and keeps the memory.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.free_nodes.clear();
        self.rules.clear();
        self.free_rules.clear();
        self.digrams.clear();
        (self.held, self.next, self.is_postponed) = (None, None, false);
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

    /// Returns the grammar of the pushed terminals.
    pub fn finish(&mut self) -> Grammar {
        let (symbols, starts) = self.finish_parts();
        Grammar::from_parts(symbols, starts).expect("SEQUITUR's rules have no cycle")
    }

    /// All right sides, one after the other, and the start of each. A rule uses only later rules.
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

    /// All rules. A rule comes after the rules that use it.
    fn users_first(&self) -> Vec<u32> {
        // By rule: number of uses in rules that are not in `order` yet.
        let mut unseen_uses: Vec<u32> = self.rules.iter().map(|rule| rule.uses).collect();
        let (mut order, mut ready) = (Vec::new(), vec![0]);
        while let Some(rule) = ready.pop() {
            order.push(rule);
            for symbol in self.right_side(rule) {
                if let Part::Rule(used) = symbol.part() {
                    unseen_uses[used as usize] -= 1;
                    if unseen_uses[used as usize] == 0 {
                        ready.push(used);
                    }
                }
            }
        }
        order
    }

    fn right_side(&self, rule: u32) -> impl Iterator<Item = Symbol> + '_ {
        let mut node = self.next_of(self.rules[rule as usize].guard);
        std::iter::from_fn(move || {
            let value = self.value(node);
            (value & GUARD == 0).then(|| {
                node = self.next_of(node);
                Symbol::from_bits(value)
            })
        })
    }

    fn append(&mut self, symbol: Symbol) {
        if std::mem::take(&mut self.is_postponed) {
            let last = self.previous_of(START);
            if let Some(rule) = self.rule_for_digram(self.value(last), symbol.bits()) {
                self.insert_after(last, symbol);
                self.substitute(last, rule);
                return;
            }
            // The expected rule no longer exists, so replace the postponed digram now.
            self.check_digram(self.previous_of(last));
        }
        self.insert_after(self.previous_of(START), symbol);
        self.check_digram(self.previous_of(self.previous_of(START)));
    }

    /// The rule whose right side is exactly this digram.
    fn rule_for_digram(&self, first: u32, second: u32) -> Option<u32> {
        let node = self.digrams.find(first, second)?;
        self.rule_of_digram_at(node)
    }

    /// The rule whose right side is exactly the digram that begins at `first`.
    fn rule_of_digram_at(&self, first: NodeIndex) -> Option<u32> {
        let before = self.value(self.previous_of(first));
        let after = self.value(self.next_of(self.next_of(first)));
        let is_start = before == GUARD;
        (before & GUARD != 0 && after & GUARD != 0 && !is_start).then_some(before & !GUARD)
    }

    /// Enters the digram at `first` into the table. If the table contains an equal digram, replaces
    /// both by a rule, unless they overlap. Returns whether the table contained an equal digram.
    fn check_digram(&mut self, first: NodeIndex) -> bool {
        let (left, right) = (self.value(first), self.value(self.next_of(first)));
        if (left | right) & GUARD != 0 {
            return false;
        }
        match self.digrams.find_or_insert(left, right, first) {
            None => false,
            Some(earlier) => {
                if self.next_of(earlier) != first && earlier != first {
                    self.replace(first, earlier);
                }
                true
            }
        }
    }

    /// Replaces the equal digrams that begin at `first` and `earlier` by a rule.
    fn replace(&mut self, first: NodeIndex, earlier: NodeIndex) {
        let rule = match self.rule_of_digram_at(earlier) {
            Some(rule) => {
                self.substitute(first, rule);
                rule
            }
            None if self.waits_for_next(first) => {
                self.is_postponed = true;
                return;
            }
            None => self.add_rule(first, earlier),
        };
        // If the first symbol of the rule is a rule, it may now be used only once. No other rule
        // can have lost a use.
        let head = self.next_of(self.rules[rule as usize].guard);
        if let Part::Rule(used) = Symbol::from_bits(self.value(head)).part()
            && self.rules[used as usize].uses == 1
        {
            self.inline_rule(head, used);
        }
    }

    /// Whether the digram at `first` ends the start rule, and a rule exists for the digram of its
    /// second symbol and the next input symbol.
    fn waits_for_next(&self, first: NodeIndex) -> bool {
        let second = self.next_of(first);
        self.next_of(second) == START
            && self.next.is_some_and(|next| {
                self.rule_for_digram(self.value(second), next.bits())
                    .is_some()
            })
    }

    /// Makes a new rule for the equal digrams at `first` and `earlier`, and replaces both.
    fn add_rule(&mut self, first: NodeIndex, earlier: NodeIndex) -> u32 {
        let rule = self.new_rule();
        let guard = self.rules[rule as usize].guard;
        let (left, right) = (self.value(first), self.value(self.next_of(first)));
        self.insert_after(guard, Symbol::from_bits(left));
        self.insert_after(self.next_of(guard), Symbol::from_bits(right));
        self.substitute(earlier, rule);
        self.substitute(first, rule);
        let head = self.next_of(guard);
        self.enter_digram(head);
        rule
    }

    /// Replaces the digram at `first` by `rule`.
    fn substitute(&mut self, first: NodeIndex, rule: u32) {
        let before = self.previous_of(first);
        self.remove(first);
        self.remove(self.next_of(before));
        self.insert_after(before, Symbol::rule(rule));
        if !self.check_digram(before) {
            self.check_digram(self.next_of(before));
        }
    }

    /// Replaces the node `user`, the only use of `rule`, by the right side of `rule`.
    fn inline_rule(&mut self, user: NodeIndex, rule: u32) {
        let guard = self.rules[rule as usize].guard;
        let (left, right) = (self.previous_of(user), self.next_of(user));
        let (head, tail) = (self.next_of(guard), self.previous_of(guard));
        self.remove_digram(user);
        self.join(left, head);
        self.join(tail, right);
        self.enter_digram(tail);
        self.free_nodes.extend([user, guard]);
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
        let new_rule = Rule { guard, uses: 0 };
        match self.rules.get_mut(rule as usize) {
            Some(slot) => *slot = new_rule,
            None => self.rules.push(new_rule),
        }
        rule
    }

    fn new_node(&mut self, value: u32) -> NodeIndex {
        let node = Node {
            value,
            previous: NO_NODE,
            next: NO_NODE,
        };
        match self.free_nodes.pop() {
            Some(index) => {
                self.nodes[index as usize] = node;
                index
            }
            None => {
                self.nodes.push(node);
                (self.nodes.len() - 1) as NodeIndex
            }
        }
    }

    fn insert_after(&mut self, previous: NodeIndex, symbol: Symbol) {
        if let Part::Rule(rule) = symbol.part() {
            self.rules[rule as usize].uses += 1;
        }
        let node = self.new_node(symbol.bits());
        let next = self.next_of(previous);
        self.join(node, next);
        self.join(previous, node);
    }

    fn remove(&mut self, node: NodeIndex) {
        self.join(self.previous_of(node), self.next_of(node));
        self.remove_digram(node);
        if let Part::Rule(rule) = Symbol::from_bits(self.value(node)).part() {
            self.rules[rule as usize].uses -= 1;
        }
        self.free_nodes.push(node);
    }

    /// Makes two nodes adjacent. Removes the digram that began at `left` from the table. If this
    /// digram belonged to three equal symbols, enters the other digram of the three into the table.
    fn join(&mut self, left: NodeIndex, right: NodeIndex) {
        if self.next_of(left) != NO_NODE {
            self.remove_digram(left);
            if self.is_middle_of_three(right) {
                self.enter_digram(right);
            }
            if self.is_middle_of_three(left) {
                self.enter_digram(self.previous_of(left));
            }
        }
        self.nodes[left as usize].next = right;
        self.nodes[right as usize].previous = left;
    }

    /// Whether both neighbors of a symbol equal it.
    fn is_middle_of_three(&self, node: NodeIndex) -> bool {
        let Node {
            value,
            previous,
            next,
        } = self.nodes[node as usize];
        value & GUARD == 0
            && previous != NO_NODE
            && next != NO_NODE
            && self.value(previous) == value
            && self.value(next) == value
    }

    /// Enters the digram at `first` into the table, in place of an equal digram.
    fn enter_digram(&mut self, first: NodeIndex) {
        let (left, right) = (self.value(first), self.value(self.next_of(first)));
        if (left | right) & GUARD == 0 {
            self.digrams.set(left, right, first);
        }
    }

    /// Removes the digram at `first` from the table, if the table holds this occurrence.
    fn remove_digram(&mut self, first: NodeIndex) {
        let (left, right) = (self.value(first), self.value(self.next_of(first)));
        if (left | right) & GUARD == 0 {
            self.digrams.remove(left, right, first);
        }
    }

    #[inline]
    fn value(&self, node: NodeIndex) -> u32 {
        self.nodes[node as usize].value
    }

    #[inline]
    fn next_of(&self, node: NodeIndex) -> NodeIndex {
        self.nodes[node as usize].next
    }

    #[inline]
    fn previous_of(&self, node: NodeIndex) -> NodeIndex {
        self.nodes[node as usize].previous
    }
}

/// No neighbor yet.
const NO_NODE: NodeIndex = NodeIndex::MAX;
