//! In which context an event runs (Larus 1999, section 3.3): what comes right before and after it, and who called its function.
//!
//! Neighbours lie on the fringe of the DAG: of two symbols of a right side, the last terminal of the first and the first of the second. Callers
//! follow from enters and leaves (`frames`): the function of the activation below.
//!
//! Cost: linear in the symbols of the grammar, and as for `frames`.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::convert::Infallible;

use super::code::Event;
use super::frames::{Fold, fold_frames};
use super::grams::{TooMany, fold};
use super::{Grammar, Part};

/// Where events of a set run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Context {
    /// Times any of them ran.
    pub count: u64,
    /// Terminals that stood right before one, most often first, with how often; none before the first of the trace.
    pub before: Vec<(u32, u64)>,
    /// Terminals that stood right after one.
    pub after: Vec<(u32, u64)>,
    /// Functions whose activation is below the one that it ran in, with how often; `None`: no such activation is known.
    pub callers: Vec<(Option<u32>, u64)>,
}

/// The context of the terminals that `wanted` holds for.
///
/// # Errors
/// If calls nest too deeply.
pub fn context(grammar: &Grammar, events: &[Event], wanted: &[bool]) -> Result<Context, TooMany> {
    let mut neighbours = Neighbours {
        wanted,
        count: 0,
        before: BTreeMap::new(),
        after: BTreeMap::new(),
    };
    let Ok(_) = fold(grammar, |parts: &[Fringe], rule, weight| {
        Ok::<_, Infallible>(neighbours.of_rule(grammar, parts, rule, weight))
    });
    let mut callers = Callers {
        wanted,
        callers: BTreeMap::new(),
    };
    fold_frames(grammar, events, &mut callers, |_| Ok(()))?;
    Ok(Context {
        count: neighbours.count,
        before: ranked(neighbours.before),
        after: ranked(neighbours.after),
        callers: ranked(callers.callers),
    })
}

fn ranked<K: Ord>(counts: BTreeMap<K, u64>) -> Vec<(K, u64)> {
    let mut ranked: Vec<_> = counts.into_iter().collect();
    // Stable: equal ones stay in order.
    ranked.sort_by_key(|&(_, count)| Reverse(count));
    ranked
}

fn add<K: Ord>(counts: &mut BTreeMap<K, u64>, key: K, weight: u64) {
    let count = counts.entry(key).or_default();
    *count = count.saturating_add(weight);
}

/// The first and the last terminal of a rule's expansion, unless that is empty.
type Fringe = Option<(u32, u32)>;

struct Neighbours<'a> {
    wanted: &'a [bool],
    count: u64,
    before: BTreeMap<u32, u64>,
    after: BTreeMap<u32, u64>,
}

impl Neighbours<'_> {
    fn of_rule(&mut self, grammar: &Grammar, parts: &[Fringe], rule: u32, weight: u64) -> Fringe {
        let mut fringe: Fringe = None;
        for symbol in grammar.rule(rule) {
            let part = match symbol.part() {
                Part::Terminal(id) => {
                    if self.wanted[id as usize] {
                        self.count = self.count.saturating_add(weight);
                    }
                    Some((id, id))
                }
                Part::Rule(used) => parts[used as usize],
            };
            let Some((first, last)) = part else {
                continue;
            };
            if let Some((_, before)) = fringe {
                if self.wanted[first as usize] {
                    add(&mut self.before, before, weight);
                }
                if self.wanted[before as usize] {
                    add(&mut self.after, first, weight);
                }
            }
            fringe = Some((fringe.map_or(first, |fringe| fringe.0), last));
        }
        fringe
    }
}

/// Occurrences whose caller isn't known yet.
#[derive(Clone, Default)]
struct Asking {
    /// In this activation: the caller is below it.
    here: u64,
    /// In activations that were on it: it is the caller.
    above: u64,
    /// The same, before its first path here: if it begins with that, what is below it is the caller.
    earlier: u64,
    /// Whether a path of it was met.
    begun: bool,
}

impl Asking {
    fn first_path(&mut self) {
        if !self.begun {
            self.begun = true;
            self.earlier = std::mem::take(&mut self.above);
        }
    }
}

struct Callers<'a> {
    wanted: &'a [bool],
    callers: BTreeMap<Option<u32>, u64>,
}

impl Callers<'_> {
    fn found(&mut self, caller: Option<u32>, times: u64, weight: u64) {
        if times > 0 {
            add(&mut self.callers, caller, times.saturating_mul(weight));
        }
    }

    /// Leaves it to the activation below, if there is one.
    fn pass(&mut self, times: u64, below: Option<&mut Asking>, weight: u64) {
        match below {
            Some(below) => below.above = below.above.saturating_add(times),
            None => self.found(None, times, weight),
        }
    }
}

impl Fold for Callers<'_> {
    type Body = Asking;

    fn push(&mut self, body: &mut Asking, terminal: u32, _: u64) {
        body.first_path();
        body.here += u64::from(self.wanted[terminal as usize]);
    }

    fn append(&mut self, body: &mut Asking, later: &Asking, _: u64) {
        body.above = body.above.saturating_add(later.earlier);
        if later.begun {
            body.first_path();
        }
        body.above = body.above.saturating_add(later.above);
        body.here = body.here.saturating_add(later.here);
    }

    fn end(&mut self, _: &mut Asking, _: u64) {}

    fn fall(&mut self, body: &mut Asking, below: Option<&mut Asking>, weight: u64) {
        self.pass(std::mem::take(&mut body.here), below, weight);
    }

    fn begin(&mut self, body: &mut Asking, below: Option<&mut Asking>, weight: u64) {
        self.pass(std::mem::take(&mut body.earlier), below, weight);
    }

    fn settle(&mut self, body: &mut Asking, function: Option<u32>, weight: u64) {
        self.found(function, std::mem::take(&mut body.above), weight);
    }
}
