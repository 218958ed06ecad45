//! The size of a trace and its grammar in numbers (Larus 1999, Table 1), and the depth of calls at
//! a position.
//!
//! Cost: linear in the symbols of the grammar.

use holloway_format::Count;

use super::code::Event;
use super::sweep::prefixes;
use super::{Checked, Grammar, Part};

/// Bytes of one path in the stream of its thread: one word.
pub const WORD_BYTES: u64 = 4;

/// The numbers of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Events: paths, frames that were left, and gaps.
    pub events: Count,
    /// Paths run.
    pub paths: Count,
    /// Different paths.
    pub distinct_paths: u64,
    /// Different functions of the paths.
    pub functions: u64,
    /// Instructions run: instructions on paths, and calls that did not return.
    pub instructions: Count,
    /// Activations that began with a path from a function's entry.
    pub enters: Count,
    /// Activations that ended with a path to the exit.
    pub leaves: Count,
    /// Activations that ended without a path to the exit.
    pub left: Count,
    /// Gaps: positions where events are missing.
    pub gaps: Count,
    /// Rules of the grammar.
    pub rules: u64,
    /// Symbols on the right sides of the rules.
    pub symbols: u64,
}

impl Stats {
    /// Bytes of the paths in the stream that the thread appended.
    pub fn trace_bytes(&self) -> u64 {
        self.paths.0.saturating_mul(WORD_BYTES)
    }

    /// Adds the numbers of another trace. A path, function, or rule in both traces counts twice.
    pub fn add(&mut self, other: &Stats) {
        let counts = [
            (&mut self.events, other.events),
            (&mut self.paths, other.paths),
            (&mut self.instructions, other.instructions),
            (&mut self.enters, other.enters),
            (&mut self.leaves, other.leaves),
            (&mut self.left, other.left),
            (&mut self.gaps, other.gaps),
        ];
        for (sum, count) in counts {
            *sum = sum.saturating_add(count);
        }
        let sizes = [
            (&mut self.distinct_paths, other.distinct_paths),
            (&mut self.functions, other.functions),
            (&mut self.rules, other.rules),
            (&mut self.symbols, other.symbols),
        ];
        for (sum, size) in sizes {
            *sum = sum.saturating_add(size);
        }
    }
}

/// By terminal: number of occurrences. `terminals` is the number of terminals.
pub fn counts(grammar: &Grammar, terminals: usize) -> Vec<Count> {
    let frequencies = grammar.frequencies();
    let mut counts = vec![Count::ZERO; terminals];
    for rule in 0..grammar.rules() {
        for symbol in grammar.rule(rule) {
            if let Part::Terminal(id) = symbol.part() {
                let count = &mut counts[id as usize];
                *count = count.saturating_add(Count(frequencies[rule as usize]));
            }
        }
    }
    counts
}

/// The numbers of a trace.
pub fn stats(grammar: &Grammar, events: &[Event]) -> Stats {
    let sizes = Stats {
        events: Count(grammar.len()),
        rules: grammar.rules().into(),
        symbols: grammar.size() as u64,
        ..Stats::default()
    };
    sum_counts(sizes, &counts(grammar, events.len()), events)
}

/// The numbers of a trace file, from the result of its check. They need no assembled grammar.
pub fn stats_of_checked(checked: &Checked, events: &[Event]) -> Stats {
    let sizes = Stats {
        events: checked.events,
        rules: checked.rules,
        symbols: checked.symbols,
        ..Stats::default()
    };
    sum_counts(sizes, &checked.counts, events)
}

/// Adds the numbers that follow from the counts of terminals.
fn sum_counts(mut stats: Stats, counts: &[Count], events: &[Event]) -> Stats {
    let mut functions = Vec::new();
    // Calls before which a path ended, minus calls with which a path started.
    let mut open_calls = 0i64;
    let events = events.iter().zip(counts);
    for (&event, &count) in events.filter(|&(_, &count)| count > Count::ZERO) {
        match event {
            Event::Path {
                function,
                resumes,
                calls,
                ..
            } => {
                stats.paths = stats.paths.saturating_add(count);
                stats.distinct_paths += 1;
                functions.push(function);
                let instructions = count.saturating_mul(event.instructions());
                stats.instructions = stats.instructions.saturating_add(instructions);
                let count_if = |condition| if condition { count } else { Count::ZERO };
                stats.enters = stats.enters.saturating_add(count_if(event.enters()));
                stats.leaves = stats.leaves.saturating_add(count_if(event.leaves()));
                open_calls = open_calls.saturating_add_unsigned(count_if(calls).0);
                open_calls = open_calls.saturating_sub_unsigned(count_if(resumes).0);
            }
            Event::Left(frames) => {
                let left_frames = count.saturating_mul(frames.into());
                stats.left = stats.left.saturating_add(left_frames);
            }
            Event::Gap => stats.gaps = stats.gaps.saturating_add(count),
        }
    }
    let unreturned_calls = Count(u64::try_from(open_calls).unwrap_or(0));
    stats.instructions = stats.instructions.saturating_add(unreturned_calls);
    functions.sort_unstable();
    functions.dedup();
    stats.functions = functions.len() as u64;
    stats
}

/// Change in the number of open activations from the start of the trace to the event at `position`:
/// activations begun minus activations ended. It is negative if more activations ended than began.
pub fn depth(grammar: &Grammar, events: &[Event], position: u64) -> i64 {
    let mut rule_changes = vec![0i64; grammar.rules() as usize];
    for rule in (0..grammar.rules()).rev() {
        rule_changes[rule as usize] = string_change(grammar.rule(rule), events, &rule_changes);
    }
    let prefixes = prefixes(grammar, position);
    let changes = prefixes
        .iter()
        .map(|prefix| string_change(prefix, events, &rule_changes));
    changes.fold(0, i64::saturating_add)
}

/// The change that a string makes to the number of open activations. `rule_changes` holds the
/// changes that rules make.
fn string_change(symbols: &[super::Symbol], events: &[Event], rule_changes: &[i64]) -> i64 {
    let changes = symbols.iter().map(|symbol| match symbol.part() {
        Part::Terminal(id) => change(events[id as usize]),
        Part::Rule(rule) => rule_changes[rule as usize],
    });
    changes.fold(0, i64::saturating_add)
}

/// The change that an event makes to the number of open activations.
pub fn change(event: Event) -> i64 {
    match event {
        Event::Path { enters, leaves, .. } => i64::from(enters) - i64::from(leaves),
        Event::Left(frames) => -i64::from(frames),
        Event::Gap => 0,
    }
}
