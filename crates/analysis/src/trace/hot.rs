//! Finds hot subpaths: short sequences of events with a high total cost, which is the cost of one
//! execution × the number of executions (Larus 1999, section 4.2). A hot subpath is *minimal* if no
//! shorter prefix of it is hot.
//!
//! Two algorithms find them:
//!
//! - [`figure_7`] is the paper's Fig. 7 with corrections. It is one pass over the rules. A
//!   sequence gets the frequency of the lowest rule whose expansion contains all of it. The
//!   algorithm misses sequences whose occurrences are spread over several rules.
//! - [`exact`] finds all sequences with their true counts (`frequent`).
//!
//! The corrections to Fig. 7:
//!
//! - The prefix is frozen *before* the hot string. The printed algorithm clears the string before
//!   it uses the string's length.
//! - A frozen prefix no longer covers its rule.
//! - A rule that appends a child freezes its own prefix if the child's prefix does not cover the
//!   child. (As printed, S → AA, A → cbacc yields "cbacba", which never runs.)
//!
//! Example: the string abbcabbcabbc (S → AAA, A → abbc), each event of cost 1, lengths 2 to 3,
//! minimum cost 6. Fig. 7 finds ab and bc. [`exact`] finds ab bb bc (cost 6), abb bbc (9), and bca
//! cab (6). Of these, ab, bb, bc and cab are minimal.
//!
//! Cost: O(E·L) for E symbols of the grammar and sequences of up to L events. [`exact`] has this
//! cost for each length up to L.

use std::collections::BTreeMap;
use std::convert::Infallible;

use holloway_format::Count;

use super::frequent::frequent;
use super::grams::{Grams, TooMany, fold_rules};
use super::stats::counts;
use super::{Grammar, Part};

/// The criteria for a hot sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// Number of events in the shortest sequence to report, at least 1.
    pub min_len: usize,
    /// Number of events in the longest sequence to report.
    pub max_len: usize,
    /// Minimum cost: number of executions × the sum of the events' costs.
    pub min_cost: u64,
}

/// A hot sequence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HotSubpath {
    /// The terminals of the events.
    pub terminals: Vec<u32>,
    /// Number of executions.
    pub count: Count,
    /// `count` × the sum of the events' costs.
    pub cost: u64,
    /// Whether no shorter prefix of the sequence is hot.
    pub minimal: bool,
}

/// All hot sequences with their exact counts, costliest first. `costs` holds the cost of each
/// terminal; no sequence contains a terminal with the cost `None`.
///
/// # Errors
/// If more than `limit` different sequences run often enough to be part of a hot sequence.
pub fn exact(
    grammar: &Grammar,
    costs: &[Option<u64>],
    bounds: &Bounds,
    limit: usize,
) -> Result<Vec<HotSubpath>, TooMany> {
    let counts = counts(grammar, costs.len());
    let max_cost = costs.iter().flatten().max().copied().unwrap_or(0);
    // A sequence that ran fewer than `min_count` times cannot be hot. A longer sequence that
    // contains it cannot be hot either.
    let max_sequence_cost = max_cost.saturating_mul(bounds.max_len as u64);
    let min_count = Count(bounds.min_cost.div_ceil(max_sequence_cost.max(1)).max(1));
    let has_cost = |terminal: u32| costs[terminal as usize].is_some();
    let grams = frequent(grammar, &counts, has_cost, bounds.max_len, min_count, limit)?;
    let mut hot = list_hot(&grams, costs, bounds);
    sort(&mut hot);
    Ok(hot)
}

/// State of a sequence of the tree: the sum of its events' costs, and whether the sequence or a
/// prefix of it is hot. `None` if an event has no cost.
type PrefixState = Option<(u64, bool)>;

fn list_hot(grams: &Grams, costs: &[Option<u64>], bounds: &Bounds) -> Vec<HotSubpath> {
    // By sequence, beginning with the empty sequence.
    let mut states: Vec<PrefixState> = vec![Some((0, false))];
    let mut hot = Vec::new();
    for (id, node) in grams.nodes() {
        let prefix = states[node.parent as usize];
        let state = prefix.zip(costs[node.symbol as usize]);
        states.push(state.map(|((sum, has_hot_prefix), cost)| {
            let sum = sum.saturating_add(cost);
            let cost = sum.saturating_mul(node.count.0);
            let is_hot = node.length as usize >= bounds.min_len && cost >= bounds.min_cost;
            if is_hot {
                hot.push(HotSubpath {
                    terminals: grams.symbols(id),
                    count: node.count,
                    cost,
                    minimal: !has_hot_prefix,
                });
            }
            (sum, has_hot_prefix || is_hot)
        }));
    }
    hot
}

/// Minimal hot subpaths by the corrected Fig. 7 of the paper, costliest first. The counts of a
/// sequence found in several rules are added up.
pub fn figure_7(grammar: &Grammar, costs: &[Option<u64>], bounds: &Bounds) -> Vec<HotSubpath> {
    let mut figure = FigurePass {
        costs,
        bounds: *bounds,
        hot_counts: BTreeMap::new(),
    };
    let Ok(_) = fold_rules(grammar, |ends_of_rules: &[ColdEnds], rule, frequency| {
        let mut ends = ColdEnds {
            unfrozen_length: Some(0),
            ..ColdEnds::default()
        };
        for symbol in grammar.rule(rule) {
            match symbol.part() {
                Part::Terminal(id) => figure.append(&mut ends, id, frequency),
                Part::Rule(used) => {
                    figure.append_rule(&mut ends, &ends_of_rules[used as usize], frequency);
                }
            }
        }
        Ok::<_, Infallible>(ends)
    });
    let mut hot: Vec<HotSubpath> = figure
        .hot_counts
        .into_iter()
        .map(|(terminals, count)| HotSubpath {
            cost: cost(costs, &terminals).saturating_mul(count.0),
            terminals,
            count,
            minimal: true,
        })
        .collect();
    sort(&mut hot);
    hot
}

/// Sorts by cost, costliest first, then by events.
fn sort(hot: &mut [HotSubpath]) {
    hot.sort_by(|a, b| (b.cost, &a.terminals).cmp(&(a.cost, &b.terminals)));
}

fn cost(costs: &[Option<u64>], terminals: &[u32]) -> u64 {
    let costs = terminals.iter().map(|&id| costs[id as usize].unwrap_or(0));
    costs.fold(0, u64::saturating_add)
}

/// The ends of the string that a rule expands to: the terminals before its first hot subpath, and
/// the terminals after its last hot subpath.
#[derive(Default)]
struct ColdEnds {
    /// The first terminals: at most the maximum length of a sequence.
    prefix: Vec<u32>,
    /// Number of terminals so far; `None` once the prefix is *frozen*, which means that it does not
    /// grow any more. The prefix freezes after a hot subpath, and after a child whose prefix does
    /// not cover the child.
    unfrozen_length: Option<usize>,
    /// The last terminals: at most the maximum length of a sequence.
    suffix: Vec<u32>,
}

impl ColdEnds {
    /// Whether the prefix is the whole string.
    fn covers(&self) -> bool {
        self.unfrozen_length == Some(self.prefix.len())
    }

    /// Freezes the prefix, and removes from it the last `hot_length` terminals of the string.
    fn freeze(&mut self, hot_length: usize) {
        if let Some(length) = self.unfrozen_length.take() {
            self.prefix.truncate(length.saturating_sub(hot_length));
        }
    }
}

/// The state of the algorithm of Fig. 7.
struct FigurePass<'a> {
    costs: &'a [Option<u64>],
    bounds: Bounds,
    /// The hot subpaths found so far, with their counts.
    hot_counts: BTreeMap<Vec<u32>, Count>,
}

impl FigurePass<'_> {
    /// Appends the string of a child rule.
    fn append_rule(&mut self, ends: &mut ColdEnds, child: &ColdEnds, frequency: u64) {
        for &terminal in &child.prefix {
            self.append(ends, terminal, frequency);
        }
        if !child.covers() {
            ends.freeze(0);
            ends.suffix.clone_from(&child.suffix);
        }
    }

    /// Appends a terminal. If the suffix is then hot, adds it to the hot subpaths and clears it.
    fn append(&mut self, ends: &mut ColdEnds, terminal: u32, frequency: u64) {
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
        if let Some(length) = &mut ends.unfrozen_length {
            if *length < max_len {
                ends.prefix.push(terminal);
            }
            *length += 1;
        }
        ends.suffix.push(terminal);
        if ends.suffix.len() > max_len {
            ends.suffix.remove(0);
        }
        let sum = cost(self.costs, &ends.suffix);
        if ends.suffix.len() >= min_len && sum.saturating_mul(frequency) >= min_cost {
            let hot = std::mem::take(&mut ends.suffix);
            ends.freeze(hot.len());
            let count = self.hot_counts.entry(hot).or_default();
            *count = count.saturating_add(Count(frequency));
        }
    }
}
