//! Finds out whether P runs before Q (Larus 1999, section 3.3), and counts how often Q follows P. P
//! and Q are sets of events, for example a path or all paths of a function.
//!
//! For each count, an automaton of two states reads the grammar (`sweep`). Events that the
//! automaton counts are its *hits*.
//!
//! Cost: linear in the symbols of the grammar.

use holloway_format::Count;

use super::Grammar;
use super::sweep::{BACKWARD, FORWARD, Machine, Passage, Sweep};

/// The order in which P and Q ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Order {
    /// Executions of P.
    pub p: Runs,
    /// Executions of Q.
    pub q: Runs,
    /// Executions of P with Q as the next event.
    pub at_once: Count,
    /// Executions of P after which Q ran before P ran again.
    pub before_next_p: Count,
    /// Executions of P after which Q ran at any time.
    pub later: Count,
    /// Executions of Q before which P ran at any time.
    pub preceded: Count,
    /// Executions of Q that no P precedes: P did not run since the previous Q, or since the start
    /// of the trace.
    pub q_without_p: Runs,
    /// Executions of P that no Q follows: Q did not run before P ran again or the trace ended.
    pub unanswered: Runs,
}

/// Executions of a set of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Runs {
    /// Number of executions.
    pub count: Count,
    /// Positions of the first and the last execution.
    pub ends: Option<(u64, u64)>,
}

impl Order {
    /// Whether P ran before the first Q; `None` if P or Q never ran.
    pub fn p_is_first(&self) -> Option<bool> {
        Some(self.p.ends?.0 < self.q.ends?.0)
    }
}

/// Finds the order in which the events of two sets of terminals ran.
pub fn before(grammar: &Grammar, p: &[bool], q: &[bool]) -> Order {
    let all_hits = |target: Target| {
        let mut sweep: Sweep<'_, _, FORWARD> = Sweep::new(grammar, OrderAutomaton { p, q, target });
        sweep.read_all(0)
    };
    let count_until = |target: Target, end: u64| {
        let mut sweep: Sweep<'_, _, FORWARD> = Sweep::new(grammar, OrderAutomaton { p, q, target });
        Count(sweep.read_prefix(end, 0).hits)
    };
    let runs = |passage: Passage| Runs {
        count: Count(passage.hits),
        ends: passage.ends,
    };
    let (p_runs, q_runs) = (runs(all_hits(Target::P)), runs(all_hits(Target::Q)));
    Order {
        p: p_runs,
        q: q_runs,
        at_once: Count(all_hits(Target::AtOnce).hits),
        before_next_p: Count(all_hits(Target::Next).hits),
        later: q_runs
            .ends
            .map_or(Count::ZERO, |(_, last)| count_until(Target::P, last)),
        q_without_p: runs(all_hits(Target::Without)),
        unanswered: unanswered(grammar, p, q),
        preceded: p_runs.ends.map_or(Count::ZERO, |(first, _)| {
            q_runs.count - count_until(Target::Q, first + 1)
        }),
    }
}

/// Executions of P that no Q follows ([`Order::unanswered`]). If the trace is read backwards, these
/// are the executions of P that no Q precedes. So the target is [`Target::Without`], with P and Q
/// exchanged.
fn unanswered(grammar: &Grammar, p: &[bool], q: &[bool]) -> Runs {
    let automaton = OrderAutomaton {
        p: q,
        q: p,
        target: Target::Without,
    };
    let mut sweep: Sweep<'_, _, BACKWARD> = Sweep::new(grammar, automaton);
    let passage = sweep.read_all(0);
    let from_start = |position_from_end: u64| grammar.len() - 1 - position_from_end;
    Runs {
        count: Count(passage.hits),
        ends: passage
            .ends
            .map(|(last, first)| (from_start(first), from_start(last))),
    }
}

/// The events that an automaton counts.
#[derive(Clone, Copy)]
enum Target {
    P,
    Q,
    /// Q as the next event after P.
    AtOnce,
    /// The first Q after P. If P ran several times before this Q, it counts once.
    Next,
    /// Q, if P did not run since the previous Q or since the start of the trace.
    Without,
}

/// An automaton that counts the events of the target. In state 1, P ran, and the automaton waits
/// for Q. In state 0, it does not.
struct OrderAutomaton<'a> {
    p: &'a [bool],
    q: &'a [bool],
    target: Target,
}

impl Machine for OrderAutomaton<'_> {
    fn step(&mut self, state: u32, terminal: u32) -> (u32, bool) {
        let (p, q) = (self.p[terminal as usize], self.q[terminal as usize]);
        match self.target {
            Target::P => (0, p),
            Target::Q => (0, q),
            Target::AtOnce => (p.into(), state == 1 && q),
            Target::Without => {
                let is_waiting = p || state == 1 && !q;
                (is_waiting.into(), state == 0 && q)
            }
            Target::Next => {
                let is_waiting = p || state == 1 && !q;
                (is_waiting.into(), state == 1 && q)
            }
        }
    }
}
