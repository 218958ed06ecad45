//! Finds the context in which an event runs (Larus 1999, section 3.3): the events right before and
//! after it, and the callers of its function.
//!
//! Each pair of neighboring events is counted in one rule: the rule with two adjacent symbols such
//! that the first event is the last terminal of the left symbol, and the second event is the first
//! terminal of the right symbol. The first and last terminal of a rule are its *fringe*. The caller
//! of an event's activation is the activation below it on the stack (`frames`).
//!
//! Cost: linear in the symbols of the grammar, and the cost of `frames`.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::convert::Infallible;

use holloway_format::Count;

use super::code::Event;
use super::frames::{Fold, fold_frames};
use super::grams::{TooMany, fold_rules};
use super::{Grammar, Part};

/// The context of a set of events.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Context {
    /// Executions of the events.
    pub count: Count,
    /// Terminals right before an event of the set, most frequent first, with their counts. No
    /// terminal is before the first event of the trace.
    pub before: Vec<(u32, Count)>,
    /// Terminals right after an event of the set, most frequent first, with their counts.
    pub after: Vec<(u32, Count)>,
    /// Functions that called the events' activations, most frequent first, with the counts of the
    /// events; `None` counts events whose caller is unknown.
    pub callers: Vec<(Option<u32>, Count)>,
}

/// Finds the context of the terminals for which `wanted` holds.
///
/// # Errors
/// If calls nest too deeply.
pub fn context(grammar: &Grammar, events: &[Event], wanted: &[bool]) -> Result<Context, TooMany> {
    let mut neighbors = Neighbors {
        wanted,
        count: Count::ZERO,
        before: BTreeMap::new(),
        after: BTreeMap::new(),
    };
    let Ok(_) = fold_rules(grammar, |fringes: &[Fringe], rule, weight| {
        Ok::<_, Infallible>(neighbors.read_rule(grammar, fringes, rule, weight))
    });
    let mut callers = Callers {
        wanted,
        callers: BTreeMap::new(),
    };
    fold_frames(grammar, events, &mut callers, |_| Ok(()))?;
    Ok(Context {
        count: neighbors.count,
        before: ranked(neighbors.before),
        after: ranked(neighbors.after),
        callers: ranked(callers.callers),
    })
}

/// Sorts counts, highest first.
fn ranked<K: Ord>(counts: BTreeMap<K, Count>) -> Vec<(K, Count)> {
    let mut ranked: Vec<_> = counts.into_iter().collect();
    // The sort is stable: entries with equal counts stay in the order of their keys.
    ranked.sort_by_key(|&(_, count)| Reverse(count));
    ranked
}

fn add<K: Ord>(counts: &mut BTreeMap<K, Count>, key: K, weight: u64) {
    let count = counts.entry(key).or_default();
    *count = count.saturating_add(Count(weight));
}

/// The first and the last terminal of a rule's expansion; `None` if the expansion is empty.
type Fringe = Option<(u32, u32)>;

/// Counts the neighbors of wanted events.
struct Neighbors<'a> {
    wanted: &'a [bool],
    count: Count,
    before: BTreeMap<u32, Count>,
    after: BTreeMap<u32, Count>,
}

impl Neighbors<'_> {
    /// Counts the neighbors in a rule. Returns the fringe of the rule.
    fn read_rule(
        &mut self,
        grammar: &Grammar,
        fringes: &[Fringe],
        rule: u32,
        weight: u64,
    ) -> Fringe {
        let mut fringe: Fringe = None;
        for symbol in grammar.rule(rule) {
            let part = match symbol.part() {
                Part::Terminal(id) => {
                    if self.wanted[id as usize] {
                        self.count = self.count.saturating_add(Count(weight));
                    }
                    Some((id, id))
                }
                Part::Rule(used) => fringes[used as usize],
            };
            let Some((first, last)) = part else {
                continue;
            };
            if let Some((_, previous)) = fringe {
                if self.wanted[first as usize] {
                    add(&mut self.before, previous, weight);
                }
                if self.wanted[previous as usize] {
                    add(&mut self.after, first, weight);
                }
            }
            fringe = Some((fringe.map_or(first, |fringe| fringe.0), last));
        }
        fringe
    }
}

/// Counts of executions of wanted events whose caller is not known yet. They belong to a part of an
/// activation: the activation's paths in one section of the trace.
#[derive(Clone, Default)]
struct OpenCounts {
    /// Events of this activation. Their caller is the activation below it.
    in_activation: u64,
    /// Events of activations that this activation called.
    in_callees: u64,
    /// Events of activations above this activation, before the part's first path. If the activation
    /// begins with this path, their caller is the activation below. Else, their caller is this
    /// activation.
    before_first_path: u64,
    /// Whether the part has a path.
    has_path: bool,
}

impl OpenCounts {
    fn add_path(&mut self) {
        if !self.has_path {
            self.has_path = true;
            self.before_first_path = std::mem::take(&mut self.in_callees);
        }
    }
}

/// Counts the callers of wanted events.
struct Callers<'a> {
    wanted: &'a [bool],
    callers: BTreeMap<Option<u32>, Count>,
}

impl Callers<'_> {
    fn add_caller(&mut self, caller: Option<u32>, times: u64, weight: u64) {
        if times > 0 {
            add(&mut self.callers, caller, times.saturating_mul(weight));
        }
    }

    /// Passes executions to their caller, the activation below. If there is none, the caller is
    /// unknown.
    fn pass_down(&mut self, times: u64, below: Option<&mut OpenCounts>, weight: u64) {
        match below {
            Some(below) => below.in_callees = below.in_callees.saturating_add(times),
            None => self.add_caller(None, times, weight),
        }
    }
}

impl Fold for Callers<'_> {
    type Body = OpenCounts;

    fn push(&mut self, body: &mut OpenCounts, terminal: u32, _: u64) {
        body.add_path();
        body.in_activation += u64::from(self.wanted[terminal as usize]);
    }

    fn append(&mut self, body: &mut OpenCounts, later: &OpenCounts, _: u64) {
        body.in_callees = body.in_callees.saturating_add(later.before_first_path);
        if later.has_path {
            body.add_path();
        }
        body.in_callees = body.in_callees.saturating_add(later.in_callees);
        body.in_activation = body.in_activation.saturating_add(later.in_activation);
    }

    fn end(&mut self, _: &mut OpenCounts, _: u64) {}

    fn end_above(&mut self, body: &mut OpenCounts, below: Option<&mut OpenCounts>, weight: u64) {
        self.pass_down(std::mem::take(&mut body.in_activation), below, weight);
    }

    fn begin_above(&mut self, body: &mut OpenCounts, below: Option<&mut OpenCounts>, weight: u64) {
        self.pass_down(std::mem::take(&mut body.before_first_path), below, weight);
    }

    fn set_function(&mut self, body: &mut OpenCounts, function: Option<u32>, weight: u64) {
        self.add_caller(function, std::mem::take(&mut body.in_callees), weight);
    }
}
