//! Where a pattern matches in a trace, and how often sequences occur (Larus 1999, sections 3.3 and 7: errors found by control flow).
//!
//! Matches are counted from the left, apart from one another: the one that ends first; then on behind it. The first match is given whole: of those
//! that end there, the one that begins first, found by reading backwards.
//!
//! Cost: as for `sweep`: symbols of the grammar × states met.

use super::Grammar;
use super::automaton::{Automaton, BEGIN, Hits};
use super::pattern::{PatternError, PatternFault, Resolved};
use super::sweep::Sweep;

/// Where a pattern matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Matches {
    /// Matches that share no event.
    pub count: u64,
    /// Position of the first event of the first match, and of its last.
    pub first: Option<(u64, u64)>,
    /// Position of the last event of the last match.
    pub last_end: Option<u64>,
}

/// How often a sequence of events runs, overlaps counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Frequency {
    /// Times it runs.
    pub count: u64,
    /// Positions of its first event, the first time and the last.
    pub ends: Option<(u64, u64)>,
}

/// Finds a pattern.
///
/// # Errors
/// If it matches the empty sequence, or is so entangled that its automaton gets too large.
pub fn query(grammar: &Grammar, pattern: &Resolved) -> Result<Matches, PatternError> {
    let mut sweep: Sweep<'_, _, false> = Sweep::new(grammar, Automaton::new(pattern, Hits::Apart));
    if sweep.machine.is_nullable() {
        return Err(PatternError {
            at: 0,
            fault: PatternFault::MatchesNothing,
        });
    }
    let found = sweep.whole(BEGIN);
    check(&sweep.machine)?;
    let first = match found.ends {
        Some((end, _)) => Some((begin(grammar, pattern, end)?, end)),
        None => None,
    };
    Ok(Matches {
        count: found.hits,
        first,
        last_end: found.ends.map(|(_, last)| last),
    })
}

/// Where the longest match begins that ends at `end`.
fn begin(grammar: &Grammar, pattern: &Resolved, end: u64) -> Result<u64, PatternError> {
    let automaton = Automaton::backwards(pattern, Hits::Anchored);
    let mut sweep: Sweep<'_, _, true> = Sweep::new(grammar, automaton);
    let found = sweep.before(end + 1, BEGIN);
    check(&sweep.machine)?;
    let (_, furthest) = found.ends.expect("a match ends there");
    Ok(end - furthest)
}

/// Counts a sequence of events, each given by the terminals it stands for.
///
/// # Errors
/// If the pattern is no sequence, or its automaton gets too large.
pub fn freq(grammar: &Grammar, pattern: &Resolved) -> Result<Frequency, PatternError> {
    let length = pattern.sequence()?.len() as u64;
    let mut sweep: Sweep<'_, _, false> = Sweep::new(grammar, Automaton::new(pattern, Hits::Ends));
    let found = sweep.whole(BEGIN);
    check(&sweep.machine)?;
    let begin = |end: u64| end + 1 - length;
    Ok(Frequency {
        count: found.hits,
        ends: found.ends.map(|(first, last)| (begin(first), begin(last))),
    })
}

fn check(automaton: &Automaton) -> Result<(), PatternError> {
    if automaton.is_overflown() {
        return Err(PatternError {
            at: 0,
            fault: PatternFault::TooManyStates,
        });
    }
    Ok(())
}
