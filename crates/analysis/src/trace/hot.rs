//! Minimal hot subpaths (Larus 1999, section 4.2): short sequences of events that cost much, counted as often as they run.
//!
//! Two ways:
//!
//! - [`as_printed`], the paper's Fig. 7: one pass over the rules, each with the frequency of the rule in which it first lies whole. It misses what is spread over
//!   several rules. Three things are put right: the prefix is frozen *before* the hot string, which takes its length before it is cleared; a frozen
//!   prefix no longer covers its rule; and a rule that takes a prefix which does not cover the child freezes its own. (As printed, S → AA, A → cbacc yields "cbacba",
//!   which never runs.)
//! - [`exact`]: all sequences with their true counts (`frequent`).
//!
//! Of the string abbcabbcabbc (S → AAA, A → abbc), unit costs, lengths 2 to 3, cost 6: Fig. 7 finds ab and bc. Exact: ab bb bc (cost 6), abb bbc (9),
//! bca cab (6), of which ab, bb, bc and cab are minimal: no shorter beginning of theirs is hot.
//!
//! Cost: O(E·L) for E symbols of the grammar and strings up to L; exact, for each length up to L.

use std::collections::BTreeMap;
use std::convert::Infallible;

use super::frequent::frequent;
use super::grams::{Grams, TooMany, fold};
use super::stats::counts;
use super::{Grammar, Part};

/// What is hot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// Events of the shortest sequence to report, at least 1.
    pub min_len: usize,
    /// Events of the longest.
    pub max_len: usize,
    /// Least cost: times it ran × the sum of its events' costs.
    pub min_cost: u64,
}

/// A hot sequence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hot {
    /// Its events, by the numbers of their terminals.
    pub terminals: Vec<u32>,
    /// Times it ran.
    pub count: u64,
    /// That × the sum of the events' costs.
    pub cost: u64,
    /// No beginning of it is hot.
    pub minimal: bool,
}

/// All hot sequences, exactly, costliest first. `costs` are those of terminals; `None`: no sequence reaches over such an event.
///
/// # Errors
/// If more than `limit` different sequences run often enough that one with them may be hot.
pub fn exact(
    grammar: &Grammar,
    costs: &[Option<u64>],
    bounds: &Bounds,
    limit: usize,
) -> Result<Vec<Hot>, TooMany> {
    let counts = counts(grammar, costs.len());
    let dearest = costs.iter().flatten().max().copied().unwrap_or(0);
    // What ran less often can't be hot, nor can be what it is part of.
    let most = dearest.saturating_mul(bounds.max_len as u64);
    let least = bounds.min_cost.div_ceil(most.max(1)).max(1);
    let kept = |terminal: u32| costs[terminal as usize].is_some();
    let grams = frequent(grammar, &counts, kept, bounds.max_len, least, limit)?;
    let mut hot = exact_of(&grams, costs, bounds);
    sort(&mut hot);
    Ok(hot)
}

/// A sequence of the tree: the sum of its costs, and whether it or a beginning of it is hot.
type Seen = Option<(u64, bool)>;

fn exact_of(grams: &Grams, costs: &[Option<u64>], bounds: &Bounds) -> Vec<Hot> {
    let mut seen: Vec<Seen> = vec![Some((0, false))];
    let mut hot = Vec::new();
    for (id, node) in grams.nodes() {
        let before = seen[node.parent as usize];
        let this = before.zip(costs[node.symbol as usize]);
        seen.push(this.map(|((sum, before), cost)| {
            let sum = sum.saturating_add(cost);
            let cost = sum.saturating_mul(node.count);
            let is_hot = node.length as usize >= bounds.min_len && cost >= bounds.min_cost;
            if is_hot {
                hot.push(Hot {
                    terminals: grams.symbols(id),
                    count: node.count,
                    cost,
                    minimal: !before,
                });
            }
            (sum, before || is_hot)
        }));
    }
    hot
}

/// Minimal hot subpaths as the paper's Fig. 7 finds them, put right; costliest first. A sequence found in several rules is added up.
pub fn as_printed(grammar: &Grammar, costs: &[Option<u64>], bounds: &Bounds) -> Vec<Hot> {
    let mut pass = Pass {
        costs,
        bounds: *bounds,
        found: BTreeMap::new(),
    };
    let Ok(_) = fold(grammar, |parts: &[Ends], rule, frequency| {
        let mut ends = Ends {
            so_far: Some(0),
            ..Ends::default()
        };
        for symbol in grammar.rule(rule) {
            match symbol.part() {
                Part::Terminal(id) => pass.append(&mut ends, id, frequency),
                Part::Rule(used) => pass.append_rule(&mut ends, &parts[used as usize], frequency),
            }
        }
        Ok::<_, Infallible>(ends)
    });
    let mut hot: Vec<Hot> = pass
        .found
        .into_iter()
        .map(|(terminals, count)| Hot {
            cost: cost(costs, &terminals).saturating_mul(count),
            terminals,
            count,
            minimal: true,
        })
        .collect();
    sort(&mut hot);
    hot
}

/// Costliest first; equal ones by their events.
fn sort(hot: &mut [Hot]) {
    hot.sort_by(|a, b| (b.cost, &a.terminals).cmp(&(a.cost, &b.terminals)));
}

fn cost(costs: &[Option<u64>], terminals: &[u32]) -> u64 {
    let costs = terminals.iter().map(|&id| costs[id as usize].unwrap_or(0));
    costs.fold(0, u64::saturating_add)
}

/// The beginning and the end of a rule's string, as far as no hot subpath is in them.
#[derive(Default)]
struct Ends {
    /// The first symbols, at most as many as a sequence may have.
    prefix: Vec<u32>,
    /// Symbols so far; nothing once the prefix is frozen: behind a hot subpath, or a child that has more than its prefix.
    so_far: Option<usize>,
    suffix: Vec<u32>,
}

impl Ends {
    fn covers(&self) -> bool {
        self.so_far == Some(self.prefix.len())
    }

    /// Freezes the prefix, without the last symbols of the string so far.
    fn freeze(&mut self, without: usize) {
        if let Some(so_far) = self.so_far.take() {
            self.prefix.truncate(so_far.saturating_sub(without));
        }
    }
}

struct Pass<'a> {
    costs: &'a [Option<u64>],
    bounds: Bounds,
    found: BTreeMap<Vec<u32>, u64>,
}

impl Pass<'_> {
    fn append_rule(&mut self, ends: &mut Ends, child: &Ends, frequency: u64) {
        for &terminal in &child.prefix {
            self.append(ends, terminal, frequency);
        }
        if !child.covers() {
            ends.freeze(0);
            ends.suffix.clone_from(&child.suffix);
        }
    }

    fn append(&mut self, ends: &mut Ends, terminal: u32, frequency: u64) {
        if self.costs[terminal as usize].is_none() {
            ends.freeze(0);
            ends.suffix.clear();
            return;
        }
        let Bounds {
            min_len,
            max_len,
            min_cost,
        } = self.bounds;
        if let Some(so_far) = &mut ends.so_far {
            if *so_far < max_len {
                ends.prefix.push(terminal);
            }
            *so_far += 1;
        }
        ends.suffix.push(terminal);
        if ends.suffix.len() > max_len {
            ends.suffix.remove(0);
        }
        let sum = cost(self.costs, &ends.suffix);
        if ends.suffix.len() >= min_len && sum.saturating_mul(frequency) >= min_cost {
            let hot = std::mem::take(&mut ends.suffix);
            ends.freeze(hot.len());
            let found = self.found.entry(hot).or_default();
            *found = found.saturating_add(frequency);
        }
    }
}
