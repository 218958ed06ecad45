//! Finds the matches of a pattern in a trace, and counts sequences of events (Larus 1999, section
//! 3.3, and section 7 about finding errors by their control flow).
//!
//! Matches are counted from the left and share no event: the match that ends first, then the match
//! that ends first among the matches after it, and so on. The first match is returned with its
//! beginning and end. If several matches end at the same position, the longest is returned. A
//! second automaton finds its beginning by reading backwards.
//!
//! Cost: symbols of the grammar × states reached (`sweep`).

use holloway_format::Count;

use super::Grammar;
use super::automaton::{Automaton, BEGIN, Hits};
use super::pattern::{PatternError, PatternFault, Resolved};
use super::sweep::{BACKWARD, FORWARD, Sweep};

/// The matches of a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Matches {
    /// Number of matches. They share no event.
    pub count: Count,
    /// Positions of the first and the last event of the first match.
    pub first: Option<(u64, u64)>,
    /// Position of the last event of the last match.
    pub last_end: Option<u64>,
}

/// The executions of a sequence of events; overlapping executions all count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Frequency {
    /// Number of executions.
    pub count: Count,
    /// Positions at which the first and the last execution begin.
    pub ends: Option<(u64, u64)>,
}

/// Finds the matches of a pattern.
///
/// # Errors
/// If the pattern matches the empty sequence, or its automaton needs too many states.
pub fn query(grammar: &Grammar, pattern: &Resolved) -> Result<Matches, PatternError> {
    let mut sweep: Sweep<'_, _, FORWARD> =
        Sweep::new(grammar, Automaton::new(pattern, Hits::Disjoint));
    if sweep.machine.matches_empty() {
        return Err(PatternError {
            position: 0,
            fault: PatternFault::MatchesEmpty,
        });
    }
    let passage = sweep.read_all(BEGIN);
    check_states(&sweep.machine)?;
    let first = match passage.ends {
        Some((end, _)) => Some((longest_match_start(grammar, pattern, end)?, end)),
        None => None,
    };
    Ok(Matches {
        count: Count(passage.hits),
        first,
        last_end: passage.ends.map(|(_, last)| last),
    })
}

/// Position where the longest match that ends at `end` begins.
fn longest_match_start(
    grammar: &Grammar,
    pattern: &Resolved,
    end: u64,
) -> Result<u64, PatternError> {
    let automaton = Automaton::backwards(pattern, Hits::Anchored);
    let mut sweep: Sweep<'_, _, BACKWARD> = Sweep::new(grammar, automaton);
    let passage = sweep.read_prefix(end + 1, BEGIN);
    check_states(&sweep.machine)?;
    let (_, last_hit) = passage.ends.expect("a match ends at `end`");
    Ok(end - last_hit)
}

/// Counts a sequence of events. Each event of the sequence is a set of terminals.
///
/// # Errors
/// If the pattern is not a plain sequence, or its automaton needs too many states.
pub fn freq(grammar: &Grammar, pattern: &Resolved) -> Result<Frequency, PatternError> {
    let length = pattern.sequence()?.len() as u64;
    let mut sweep: Sweep<'_, _, FORWARD> =
        Sweep::new(grammar, Automaton::new(pattern, Hits::EveryEnd));
    let passage = sweep.read_all(BEGIN);
    check_states(&sweep.machine)?;
    let start = |end: u64| end + 1 - length;
    Ok(Frequency {
        count: Count(passage.hits),
        ends: passage
            .ends
            .map(|(first, last)| (start(first), start(last))),
    })
}

fn check_states(automaton: &Automaton) -> Result<(), PatternError> {
    if automaton.has_too_many_states() {
        return Err(PatternError {
            position: 0,
            fault: PatternFault::TooManyStates,
        });
    }
    Ok(())
}
